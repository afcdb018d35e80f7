package vaulttest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/vault"
)

// fieldMutants keep something else than they were given.
var fieldMutants = []broken{
	{name: "truncates times to seconds", breaks: []string{
		"vaults/times-keep-microseconds", "tokens/times-keep-microseconds", "audit/times-keep-microseconds",
		"vaults/put-stores-every-field", "tokens/insert-stores-every-field",
	}, mutate: func(m *mutant) {
		m.everyVault(func(v *vault.Vault) { v.UpdatedAt = v.UpdatedAt.Truncate(time.Second) })
		m.everyRow(func(r *vault.Row) { r.CreatedAt = r.CreatedAt.Truncate(time.Second) })
		m.everyEvent(func(e *vault.AuditEvent) { e.At = e.At.Truncate(time.Second) })
	}},
	{name: "returns local times", breaks: []string{
		"vaults/times-keep-microseconds", "tokens/times-keep-microseconds", "audit/times-keep-microseconds",
	}, mutate: func(m *mutant) {
		here := time.FixedZone("here", 3600)
		m.everyVault(func(v *vault.Vault) { v.CreatedAt = v.CreatedAt.In(here) })
		m.everyRow(func(r *vault.Row) { r.CreatedAt = r.CreatedAt.In(here) })
		m.everyEvent(func(e *vault.AuditEvent) { e.At = e.At.In(here) })
	}},
	{name: "cuts strings at U+0000", breaks: []string{
		"vaults/strings-keep-every-byte", "tokens/strings-keep-every-byte", "audit/strings-keep-every-byte",
	}, mutate: func(m *mutant) {
		before := func(s string) string { s, _, _ = strings.Cut(s, "\x00"); return s }
		m.everyVault(func(v *vault.Vault) { v.ID = before(v.ID) })
		m.everyRow(func(r *vault.Row) { r.Scope = before(r.Scope) })
		m.everyEvent(func(e *vault.AuditEvent) { e.Actor = vault.Actor(before(string(e.Actor))) })
	}},
	{name: "keeps names as JSON", breaks: []string{
		"vaults/strings-keep-every-byte", "tokens/strings-keep-every-byte", "audit/strings-keep-every-byte", "tokens/list-by-token",
	}, mutate: func(m *mutant) {
		valid := func(s *string) { *s = strings.ToValidUTF8(*s, "\ufffd") }
		m.everyVault(func(v *vault.Vault) { valid(&v.Organization) })
		m.everyRow(func(r *vault.Row) { valid(&r.Token) })
		m.everyEvent(func(e *vault.AuditEvent) { valid(&e.Vault) })
	}},
	{name: "escapes schemas and tokens", breaks: []string{
		"vaults/strings-keep-every-byte", "audit/strings-keep-every-byte",
	}, mutate: func(m *mutant) {
		escape := func(s *string) {
			text, _ := json.Marshal(*s)
			if *s = string(text[1 : len(text)-1]); *s == "1" {
				*s = "1.0"
			}
		}
		m.everyVault(func(v *vault.Vault) {
			for i := range v.Schema.Tables {
				escape(&v.Schema.Tables[i].Name)
			}
		})
		m.everyEvent(func(e *vault.AuditEvent) {
			for i := range e.Tokens {
				escape(&e.Tokens[i].Token)
			}
		})
	}},
	{name: "sorts tables, columns and tokens", breaks: []string{
		"vaults/order-is-kept", "vaults/put-stores-every-field", "audit/stores-every-field",
	}, mutate: func(m *mutant) {
		sorted := func(s *vault.Schema) {
			for i := range s.Tables {
				slices.SortFunc(s.Tables[i].Columns, func(a, b vault.Column) int { return strings.Compare(a.Name, b.Name) })
			}
			slices.SortFunc(s.Tables, func(a, b vault.Table) int { return strings.Compare(a.Name, b.Name) })
		}
		m.everyVault(func(v *vault.Vault) { sorted(&v.Schema) })
		m.everyEvent(func(e *vault.AuditEvent) {
			slices.SortFunc(e.Tokens, func(a, b vault.AuditToken) int { return strings.Compare(a.Token, b.Token) })
		})
	}},
	{name: "drops tables without columns", breaks: []string{"vaults/schema-may-be-empty", "vaults/put-stores-every-field", "store/durable"}, mutate: func(m *mutant) {
		m.everyVault(func(v *vault.Vault) {
			v.Schema.Tables = slices.DeleteFunc(v.Schema.Tables, func(t vault.Table) bool { return len(t.Columns) == 0 })
		})
	}},
	{name: "has a table in an empty schema", breaks: []string{"vaults/schema-may-be-empty"}, mutate: func(m *mutant) {
		m.everyVault(func(v *vault.Vault) {
			if len(v.Schema.Tables) == 0 {
				v.Schema.Tables = []vault.Table{{}}
			}
		})
	}},
	{name: "takes no schema for an empty one", breaks: []string{"audit/stores-every-field"}, mutate: func(m *mutant) {
		m.everyEvent(func(e *vault.AuditEvent) {
			if e.Schema == nil {
				e.Schema = new(vault.Schema)
			}
		})
	}},
	{name: "forgets redactions", breaks: []string{"audit/stores-every-field", "audit/many-tokens"}, mutate: func(m *mutant) {
		m.everyEvent(func(e *vault.AuditEvent) {
			for i := range e.Tokens {
				e.Tokens[i].Redaction = ""
			}
		})
	}},
	{name: "keeps a hundred tokens of an event", breaks: []string{"audit/many-tokens"}, mutate: func(m *mutant) {
		m.everyEvent(func(e *vault.AuditEvent) { e.Tokens = e.Tokens[:min(100, len(e.Tokens))] })
	}},
	{name: "shows fingerprints", breaks: []string{
		"tokens/insert-stores-every-field", "tokens/rows-in-order", "tokens/list-by-token", "rotation/rows-without-fingerprint", "rotation/rows-not-sealed-under",
	}, mutate: func(m *mutant) {
		m.everyRow(func(r *vault.Row) { r.Fingerprints = []vault.VersionedFingerprint{{Version: 1}} })
	}},
	{name: "takes all rows for deterministic", breaks: []string{"tokens/insert-stores-every-field", "tokens/insert-random-rows"}, mutate: func(m *mutant) {
		m.everyRow(func(r *vault.Row) { r.Deterministic = r.Token != "" })
	}},
	{name: "keeps ciphertexts as text", breaks: []string{"tokens/ciphertexts-keep-every-byte", "tokens/insert-stores-every-field"}, mutate: func(m *mutant) {
		m.everyRow(func(r *vault.Row) { r.Sealed.Ciphertext = bytes.ToValidUTF8(r.Sealed.Ciphertext, []byte("?")) })
	}},
	{name: "cuts ciphertexts", breaks: []string{"tokens/ciphertexts-keep-every-byte", "tokens/insert-many"}, mutate: func(m *mutant) {
		m.everyRow(func(r *vault.Row) { r.Sealed.Ciphertext = r.Sealed.Ciphertext[:min(64<<10, len(r.Sealed.Ciphertext))] })
	}},
	{name: "compares half of a fingerprint", breaks: []string{"tokens/fingerprints-keep-every-byte"}, mutate: func(m *mutant) {
		m.everyLookup(func(l *vault.Lookup) {
			for i := range l.Fingerprints {
				clear(l.Fingerprints[i][16:])
			}
		})
		m.everyInsertion(func(r *vault.Row) {
			for i := range r.Fingerprints {
				clear(r.Fingerprints[i].Fingerprint[16:])
			}
		})
	}},
	{name: "knows at most 999 parameters", breaks: []string{
		"tokens/insert-many", "tokens/find-many", "tokens/rows-many", "imports/many", "rotation/add-many", "rotation/reseal-many",
	}, mutate: func(m *mutant) {
		errMany := errors.New("too many parameters")
		find, insert, rows, add, reseal := m.findTokens, m.insertTokens, m.rows, m.addFingerprints, m.reseal
		imports := m.importTokens
		m.importTokens = func(ctx context.Context, org, id string, revision int64, given []vault.Row, a vault.AuditEvent) error {
			if len(given) > 999 {
				return errMany
			}
			return imports(ctx, org, id, revision, given, a)
		}
		m.findTokens = func(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
			n := 0
			for _, l := range lookups {
				n += len(l.Fingerprints)
			}
			if n > 999 {
				return nil, errMany
			}
			return find(ctx, org, id, revision, lookups)
		}
		m.insertTokens = func(ctx context.Context, org, id string, revision int64, given []vault.Row) ([]string, error) {
			if len(given) > 999 {
				return nil, errMany
			}
			return insert(ctx, org, id, revision, given)
		}
		m.rows = func(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error) {
			if len(tokens) > 999 {
				return nil, errMany
			}
			return rows(ctx, org, id, tokens)
		}
		m.addFingerprints = func(ctx context.Context, version int, of []vault.RowFingerprint) ([]vault.RowID, error) {
			if len(of) > 999 {
				return nil, errMany
			}
			return add(ctx, version, of)
		}
		m.reseal = func(ctx context.Context, given []vault.Resealed) (int, error) {
			if len(given) > 999 {
				return 0, errMany
			}
			return reseal(ctx, given)
		}
	}},
	{name: "returns aliases", breaks: []string{"vaults/copies", "tokens/copies", "audit/copies", "tokens/delete-stores-the-event"}, mutate: func(m *mutant) {
		var mu sync.Mutex
		schemas, ciphertexts, events := make(map[string]vault.Schema), make(map[string][]byte), make(map[uuid.UUID][]vault.AuditToken)
		put, insert := m.putVault, m.insertTokens
		m.putVault = func(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
			mu.Lock()
			schemas[v.ID] = v.Schema
			mu.Unlock()
			return put(ctx, v, left, a)
		}
		m.everyVault(func(v *vault.Vault) {
			mu.Lock()
			defer mu.Unlock()
			if s, ok := schemas[v.ID]; ok {
				v.Schema = s
			}
		})
		m.insertTokens = func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			mu.Lock()
			for i := range rows {
				ciphertexts[rows[i].Token] = rows[i].Sealed.Ciphertext
			}
			mu.Unlock()
			return insert(ctx, org, id, revision, rows)
		}
		m.everyRow(func(r *vault.Row) {
			mu.Lock()
			defer mu.Unlock()
			if c, ok := ciphertexts[r.Token]; ok {
				r.Sealed.Ciphertext = c
			}
		})
		m.everyNewEvent(func(e *vault.AuditEvent) {
			mu.Lock()
			defer mu.Unlock()
			events[e.ID] = e.Tokens
		})
		m.everyEvent(func(e *vault.AuditEvent) {
			mu.Lock()
			defer mu.Unlock()
			e.Tokens = events[e.ID]
		})
	}},
}

// nameMutants take names for the same that are not.
var nameMutants = []broken{
	{name: "ignores case", breaks: []string{"vaults/names-are-bytes", "tokens/names-are-bytes", "tokens/rows-in-order"}, mutate: func(m *mutant) { m.renamed(strings.ToLower) }},
	{name: "ignores spaces at the end", breaks: []string{"vaults/names-are-bytes", "tokens/names-are-bytes"}, mutate: func(m *mutant) {
		m.renamed(func(s string) string { return strings.TrimRight(s, " ") })
	}},
	{name: "knows vaults by their ID alone", breaks: []string{"vaults/id-is-of-its-organization", "vaults/get-other-organization"}, mutate: func(m *mutant) {
		get := m.vault
		m.vault = func(ctx context.Context, _, id string) (vault.Vault, error) { return get(ctx, "org-a", id) }
	}},
	{name: "reads tokens by their vault's ID alone", breaks: []string{"vaults/get-other-organization", "tokens/list-of-vault", "tokens/scopes-are-apart"}, mutate: func(m *mutant) {
		find, list := m.findTokens, m.listRows
		m.findTokens = func(ctx context.Context, _, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
			return find(ctx, "org-a", id, revision, lookups)
		}
		m.listRows = func(ctx context.Context, _, id, after string, limit int) ([]vault.Row, error) {
			return list(ctx, "org-a", id, after, limit)
		}
	}},
	{name: "makes what it is asked for", breaks: []string{"vaults/get-unknown"}, mutate: func(m *mutant) {
		get := m.vault
		m.vault = func(ctx context.Context, org, id string) (vault.Vault, error) {
			v, err := get(ctx, org, id)
			if errors.Is(err, vault.ErrNotFound) {
				return vault.Vault{Organization: org, ID: id}, nil
			}
			return v, err
		}
	}},
	{name: "lists nothing of no vault", breaks: []string{"vaults/get-unknown", "vaults/get-other-organization", "store/ended-context"}, mutate: func(m *mutant) {
		rows := m.rows
		m.rows = func(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error) {
			got, err := rows(ctx, org, id, tokens)
			if err != nil {
				return make([]vault.Row, len(tokens)), nil
			}
			return got, nil
		}
	}},
}
