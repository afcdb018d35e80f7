package vaulttest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// putting makes a mutant whose PutVault is another one.
func putting(change func(m *mutant, put putVault) putVault) func(*mutant) {
	return func(m *mutant) { m.putVault = change(m, m.putVault) }
}

type putVault = func(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error

// overwriting makes PutVault store what it should refuse with an error.
func overwriting(refusal error) func(*mutant) {
	return putting(func(m *mutant, put putVault) putVault {
		return func(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
			err := put(ctx, v, left, a)
			if !errors.Is(err, refusal) {
				return err
			}
			stored, err := m.db.Vault(ctx, v.Organization, v.ID)
			if v.Revision = stored.Revision + 1; err != nil {
				v.Revision = 1
			}
			return put(ctx, v, nil, a)
		}
	})
}

// vaultMutants are wrong about changes of vaults.
var vaultMutants = []broken{
	{name: "makes vaults that are there", breaks: []string{"vaults/put-refuses-an-id-that-is-there", "vaults/made-once", "store/durable-constraints"}, mutate: overwriting(vault.ErrExists)},
	{name: "lets the last one win", breaks: []string{"vaults/put-of-another-revision", "vaults/changed-by-one"}, mutate: overwriting(vault.ErrConflict)},
	{name: "makes what it should change", breaks: []string{"vaults/put-of-none"}, mutate: overwriting(vault.ErrNotFound)},
	{name: "changes CreatedAt", breaks: []string{"vaults/created-at-does-not-change"}, mutate: func(m *mutant) {
		created := make(map[string]vault.Vault)
		put := m.putVault
		m.putVault = func(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
			created[v.ID] = v
			return put(ctx, v, left, a)
		}
		m.everyVault(func(v *vault.Vault) { v.CreatedAt = created[v.ID].CreatedAt })
	}},
	{name: "forgets the event of a change", breaks: []string{"vaults/put-stores-the-event"}, mutate: putting(func(_ *mutant, put putVault) putVault {
		return func(ctx context.Context, v vault.Vault, left []string, _ vault.AuditEvent) error {
			return put(ctx, v, left, vault.AuditEvent{})
		}
	})},
	{name: "stores events of what it refuses", breaks: []string{
		"vaults/put-refuses-an-id-that-is-there", "vaults/put-of-another-revision", "vaults/put-of-none", "vaults/left-scope-in-use", "vaults/changed-by-one",
	}, mutate: putting(func(m *mutant, put putVault) putVault {
		return func(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
			err := put(ctx, v, left, a)
			if err != nil && ctx.Err() == nil {
				_ = m.db.AddAuditEvent(ctx, a)
			}
			return err
		}
	})},
	{name: "gives events an ID", breaks: []string{"vaults/event-without-id"}, mutate: func(m *mutant) {
		m.everyNewEvent(func(e *vault.AuditEvent) {
			if e.ID == uuid.Nil {
				e.ID = uuid.New()
			}
		})
	}},
	{name: "needs an ID of an event", breaks: []string{"vaults/event-without-id"}, mutate: func(m *mutant) {
		add := m.addAuditEvent
		m.addAuditEvent = func(ctx context.Context, e vault.AuditEvent) error {
			if e.ID == uuid.Nil {
				return errors.New("no ID")
			}
			return add(ctx, e)
		}
	}},
	{name: "empties a vault that is changed", breaks: []string{"vaults/put-changes-no-token", "tokens/find-other-revision"}, mutate: putting(func(m *mutant, put putVault) putVault {
		return func(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
			err := put(ctx, v, left, a)
			if err == nil && v.Revision > 1 {
				for _, r := range m.rowsOf(ctx, v.Organization, v.ID) {
					_ = m.db.DeleteToken(ctx, v.Organization, v.ID, r.Token, vault.AuditEvent{})
				}
			}
			return err
		}
	})},
	{name: "loses a revision", breaks: []string{"vaults/put-stores-every-field"}, mutate: func(m *mutant) {
		m.everyVault(func(v *vault.Vault) { v.Revision = min(v.Revision, 1) })
	}},
}

// leaving makes a mutant that decides otherwise whether scopes that are left are in use.
func leaving(inUse func(r *vault.Row, left []string) bool) func(*mutant) {
	return putting(func(m *mutant, put putVault) putVault {
		return func(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
			if stored, err := m.db.Vault(ctx, v.Organization, v.ID); err == nil && stored.Revision == v.Revision-1 {
				for _, r := range m.rowsOf(ctx, v.Organization, v.ID) {
					if inUse(&r, left) {
						return vault.ErrScopeInUse
					}
				}
			}
			return put(ctx, v, left, a)
		}
	})
}

// scopeMutants are wrong about scopes that are left.
var scopeMutants = []broken{
	{name: "lets every scope be left", breaks: []string{
		"vaults/left-scope-in-use", "vaults/left-scope-of-random-rows", "vaults/left-scope-after-rotation", "vaults/left-scope-while-inserting", "store/durable-constraints",
	}, mutate: putting(func(_ *mutant, put putVault) putVault {
		return func(ctx context.Context, v vault.Vault, _ []string, a vault.AuditEvent) error {
			conformance.Seam() // until all have inserted
			return put(ctx, v, nil, a)
		}
	})},
	{name: "looks at the first scope that is left", breaks: []string{"vaults/left-scope-in-use"}, mutate: putting(func(_ *mutant, put putVault) putVault {
		return func(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
			return put(ctx, v, left[:min(1, len(left))], a)
		}
	})},
	{name: "changes the vault and then looks at its scopes", breaks: []string{"vaults/left-scope-in-use"}, mutate: putting(func(m *mutant, put putVault) putVault {
		return func(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
			if err := put(ctx, v, left, a); !errors.Is(err, vault.ErrScopeInUse) {
				return err
			}
			_ = put(ctx, v, nil, vault.AuditEvent{})
			return vault.ErrScopeInUse
		}
	})},
	{name: "compares scopes without case", breaks: []string{"vaults/left-scope-of-others"}, mutate: leaving(func(r *vault.Row, left []string) bool {
		return slices.ContainsFunc(left, func(scope string) bool { return r.Deterministic && strings.EqualFold(r.Scope, scope) })
	})},
	{name: "asks whether a scope begins so", breaks: []string{"vaults/left-scope-of-others"}, mutate: leaving(func(r *vault.Row, left []string) bool {
		return slices.ContainsFunc(left, func(scope string) bool { return r.Deterministic && strings.HasPrefix(r.Scope, scope) })
	})},
	{name: "asks all rows for their scopes", breaks: []string{"vaults/left-scope-of-random-rows"}, mutate: leaving(func(r *vault.Row, left []string) bool {
		return slices.Contains(left, r.Scope)
	})},
	{name: "asks all vaults for their scopes", breaks: []string{"vaults/left-scope-of-others"}, mutate: func(m *mutant) {
		put, insert := m.putVault, m.insertTokens
		scopes := make(map[string]bool)
		m.insertTokens = func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			tokens, err := insert(ctx, org, id, revision, rows)
			scopes[rows[0].Scope] = err == nil
			return tokens, err
		}
		m.putVault = func(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
			if slices.ContainsFunc(left, func(scope string) bool { return scopes[scope] }) {
				return vault.ErrScopeInUse
			}
			return put(ctx, v, left, a)
		}
	}},
	{name: "keeps scopes of deleted rows in use", breaks: []string{"vaults/left-scope-of-deleted-rows"}, mutate: func(m *mutant) {
		put, del := m.putVault, m.deleteToken
		gone := false
		m.deleteToken = func(ctx context.Context, org, id, token string, a vault.AuditEvent) error {
			gone = true
			return del(ctx, org, id, token, a)
		}
		m.putVault = func(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
			if gone && len(left) > 0 {
				return vault.ErrScopeInUse
			}
			return put(ctx, v, left, a)
		}
	}},
	{name: "asks the fingerprints of version 1 for their scopes", breaks: []string{"vaults/left-scope-after-rotation"}, mutate: putting(func(m *mutant, put putVault) putVault {
		return func(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
			if usage, err := m.db.KeyUsage(ctx); err == nil && usage.Fingerprints[1] == 0 {
				left = nil
			}
			return put(ctx, v, left, a)
		}
	})},
	{name: "looks at scopes before it locks the vault", breaks: []string{"vaults/left-scope-while-inserting"}, mutate: func(m *mutant) {
		putting(func(m *mutant, put putVault) putVault {
			return func(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
				for _, r := range m.rowsOf(ctx, v.Organization, v.ID) {
					if r.Deterministic && slices.Contains(left, r.Scope) {
						return vault.ErrScopeInUse
					}
				}
				conformance.Seam()
				conformance.Seam() // until all have inserted
				return put(ctx, v, nil, a)
			}
		})(m)
		m.insertTokens = late(m.insertTokens)
	}},
}

// raceMutants look first and act later.
var raceMutants = []broken{
	{name: "looks for a vault before it makes it", breaks: []string{"vaults/made-once", "vaults/changed-by-one"}, mutate: putting(func(m *mutant, put putVault) putVault {
		return func(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
			stored, err := m.db.Vault(ctx, v.Organization, v.ID)
			free := errors.Is(err, vault.ErrNotFound) && v.Revision == 1 || err == nil && stored.Revision == v.Revision-1
			conformance.Seam()
			if err = put(ctx, v, left, a); free && (errors.Is(err, vault.ErrExists) || errors.Is(err, vault.ErrConflict)) {
				return nil
			}
			return err
		}
	})},
	{name: "looks for a value before it inserts it", breaks: []string{
		"tokens/one-token-of-a-value", "tokens/one-token-of-each-value", "tokens/one-token-during-a-rotation",
	}, mutate: func(m *mutant) {
		insert := m.insertTokens
		m.insertTokens = func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			own := make([]string, len(rows))
			for i := range rows {
				for _, f := range rows[i].Fingerprints {
					found, err := m.db.FindTokens(ctx, org, id, revision, []vault.Lookup{{Scope: rows[i].Scope, Version: f.Version, Fingerprints: []keyring.Fingerprint{f.Fingerprint}}})
					if err == nil && found[0][0] != "" {
						own[i] = found[0][0]
						break
					}
				}
			}
			conformance.Seam()
			tokens, err := insert(ctx, org, id, revision, rows)
			for i := range tokens {
				if own[i] == "" {
					tokens[i] = rows[i].Token
				}
			}
			return tokens, err
		}
	}},
	{name: "looks for a token before it gives it", breaks: []string{"tokens/given-once"}, mutate: func(m *mutant) {
		insert := m.insertTokens
		m.insertTokens = func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			free := true
			for _, r := range m.rowsOf(ctx, org, id) {
				free = free && r.Token != rows[0].Token
			}
			conformance.Seam()
			tokens, err := insert(ctx, org, id, revision, rows)
			if free && len(rows) == 1 && errors.As(err, new(*vault.TakenError)) {
				return []string{rows[0].Token}, nil
			}
			return tokens, err
		}
	}},
	{name: "looks for a token before it deletes it", breaks: []string{"tokens/deleted-once"}, mutate: func(m *mutant) {
		del := m.deleteToken
		m.deleteToken = func(ctx context.Context, org, id, token string, a vault.AuditEvent) error {
			rows, err := m.db.Rows(ctx, org, id, []string{token})
			there := err == nil && rows[0].Token != ""
			conformance.Seam()
			if err := del(ctx, org, id, token, a); !there || !errors.Is(err, vault.ErrTokenNotFound) {
				return err
			}
			return nil
		}
	}},
	{name: "inserts row by row", breaks: []string{
		"store/reads-are-whole", "tokens/insert-a-token-twice", "tokens/insert-a-token-that-is-there", "tokens/insert-refused-adds-nothing",
	}, mutate: func(m *mutant) {
		insert := m.insertTokens
		m.insertTokens = func(ctx context.Context, org, id string, revision int64, rows []vault.Row) (tokens []string, err error) {
			for i := range rows {
				one, err := insert(ctx, org, id, revision, rows[i:i+1])
				if err != nil {
					return nil, err
				}
				tokens = append(tokens, one...)
				if i < 10 {
					conformance.Seam()
				}
			}
			return tokens, nil
		}
	}},
	{name: "stores the event before the vault", breaks: []string{"store/reads-are-whole"}, mutate: putting(func(m *mutant, put putVault) putVault {
		return func(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
			if err := m.db.AddAuditEvent(ctx, a); err != nil {
				return err
			}
			conformance.Seam()
			return put(ctx, v, left, vault.AuditEvent{})
		}
	})},
	{name: "looks whether a version is the first before it registers it", breaks: []string{"keys/one-is-first"}, mutate: func(m *mutant) {
		var mu sync.Mutex
		first := make(map[int]bool)
		register := m.registerKey
		m.registerKey = func(ctx context.Context, k keyring.Key) (keyring.Key, error) {
			known, _ := m.db.Keys(ctx)
			conformance.Seam()
			if len(known) == 0 {
				mu.Lock()
				first[k.Version] = true
				mu.Unlock()
			}
			return register(ctx, k)
		}
		m.everyKeys(func(keys []keyring.Key) []keyring.Key {
			for i := range keys {
				keys[i].Required = keys[i].Required || first[keys[i].Version]
			}
			return keys
		})
	}},
	{name: "looks for a successor before it retires", breaks: []string{"keys/one-stays-required"}, mutate: func(m *mutant) {
		retire := m.retireKey
		m.retireKey = func(ctx context.Context, p keyring.Purpose, version, successor int) error {
			keys, _ := m.db.Keys(ctx)
			good := version != successor && slices.ContainsFunc(keys, func(k keyring.Key) bool { return k.Purpose == p && k.Version == successor && k.Required })
			conformance.Seam()
			err := retire(ctx, p, version, successor)
			if p == keyring.FingerprintKey && good && errors.Is(err, keyring.ErrInUse) {
				return nil
			}
			return err
		}
	}},
	{name: "counts rows before it retires", breaks: []string{"keys/retire-while-inserting"}, mutate: func(m *mutant) {
		m.insertTokens = late(m.insertTokens)
		retire := m.retireKey
		m.retireKey = func(ctx context.Context, p keyring.Purpose, version, successor int) error {
			usage, _ := m.db.KeyUsage(ctx)
			conformance.Seam()
			conformance.Seam() // until all have inserted
			err := retire(ctx, p, version, successor)
			if p == keyring.SealKey && usage.Sealed[version] == 0 && errors.Is(err, keyring.ErrInUse) {
				return nil
			}
			return err
		}
	}},
}
