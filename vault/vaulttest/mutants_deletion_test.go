package vaulttest_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/vault"
)

// MarkDeleted is that of the mutant.
func (m *mutant) MarkDeleted(ctx context.Context, org string, at time.Time, a vault.AuditEvent) (time.Time, error) {
	if err := m.fail(); err != nil {
		return time.Time{}, err
	}
	return m.markDeleted(ctx, org, at, a)
}

// RemoveDeleted is that of the mutant.
func (m *mutant) RemoveDeleted(ctx context.Context, org string, limit int) (bool, error) {
	if err := m.fail(); err != nil {
		return false, err
	}
	return m.removeDeleted(ctx, org, limit)
}

// MarkVaultDeleted is that of the mutant.
func (m *mutant) MarkVaultDeleted(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (time.Time, error) {
	if err := m.fail(); err != nil {
		return time.Time{}, err
	}
	return m.markVaultDeleted(ctx, org, id, at, a)
}

// RemoveDeletedVault is that of the mutant.
func (m *mutant) RemoveDeletedVault(ctx context.Context, org, id string, limit int) (bool, error) {
	if err := m.fail(); err != nil {
		return false, err
	}
	return m.removeDeletedVault(ctx, org, id, limit)
}

// marks are what was marked as deleted.
type marks struct {
	mu  sync.Mutex
	ids map[[2]string]bool // organization and vault, which is "" for the organization
}

// marked makes the mutant note what is marked as deleted.
func (m *mutant) marked() *marks {
	k := &marks{ids: make(map[[2]string]bool)}
	note := func(org, id string, err error) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if err == nil {
			k.ids[[2]string{org, id}] = true
		}
	}
	whole, one := m.markDeleted, m.markVaultDeleted
	m.markDeleted = func(ctx context.Context, org string, at time.Time, a vault.AuditEvent) (time.Time, error) {
		since, err := whole(ctx, org, at, a)
		note(org, "", err)
		return since, err
	}
	m.markVaultDeleted = func(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (time.Time, error) {
		since, err := one(ctx, org, id, at, a)
		note(org, id, err)
		return since, err
	}
	return k
}

// has reports whether a vault is marked, or its organization is.
func (k *marks) has(org, id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ids[[2]string{org, ""}] || k.ids[[2]string{org, id}]
}

// any reports whether anything is marked.
func (k *marks) any() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.ids) > 0
}

// hidden are the rules that look for what is marked in every method.
var hidden = []string{"deletion/organization-is-hidden", "deletion/vault-is-hidden"}

// answering makes a mutant that has an answer where there is what is marked no more.
func answering(name string, mutate func(m *mutant, k *marks), more ...string) broken {
	return broken{name: name, breaks: append(more, hidden...), mutate: func(m *mutant) { mutate(m, m.marked()) }}
}

// showingMutants show what is marked as deleted, or take changes of it.
var showingMutants = []broken{
	answering("shows deleted vaults", func(m *mutant, k *marks) {
		get := m.vault
		m.vault = func(ctx context.Context, org, id string) (vault.Vault, error) {
			v, err := get(ctx, org, id)
			if errors.Is(err, vault.ErrNotFound) && k.has(org, id) {
				return vault.Vault{Organization: org, ID: id, Revision: 2}, nil
			}
			return v, err
		}
	}),
	answering("lists deleted vaults", func(m *mutant, k *marks) {
		list := m.listVaults
		m.listVaults = func(ctx context.Context, org, after string, limit int) ([]vault.Vault, error) {
			vaults, err := list(ctx, org, after, limit)
			if id := "customers"; k.has(org, id) && limit > 0 && after < id {
				vaults = append([]vault.Vault{{Organization: org, ID: id}}, vaults...)
			}
			return vaults, err
		}
	}),
	answering("finds nothing in deleted vaults", func(m *mutant, k *marks) {
		find := m.findTokens
		m.findTokens = func(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
			found, err := find(ctx, org, id, revision, lookups)
			if errors.Is(err, vault.ErrNotFound) && k.has(org, id) {
				found, err = make([][]string, len(lookups)), nil
				for i := range lookups {
					found[i] = make([]string, len(lookups[i].Fingerprints))
				}
			}
			return found, err
		}
	}),
	answering("finds the second revision of deleted vaults stale", func(m *mutant, k *marks) {
		find := m.findTokens
		m.findTokens = func(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
			found, err := find(ctx, org, id, revision, lookups)
			if errors.Is(err, vault.ErrNotFound) && k.has(org, id) && revision != 2 {
				err = vault.ErrConflict
			}
			return found, err
		}
	}),
	answering("takes tokens for deleted vaults", func(m *mutant, k *marks) {
		insert := m.insertTokens
		m.insertTokens = func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			tokens, err := insert(ctx, org, id, revision, rows)
			if errors.Is(err, vault.ErrNotFound) && k.has(org, id) && revision == 2 {
				return []string{rows[0].Token}, nil
			}
			return tokens, err
		}
	}),
	answering("imports into deleted vaults", func(m *mutant, k *marks) {
		imports := m.importTokens
		m.importTokens = func(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
			err := imports(ctx, org, id, revision, rows, a)
			if errors.Is(err, vault.ErrNotFound) && k.has(org, id) && revision == 2 {
				return nil
			}
			return err
		}
	}),
	answering("reads no rows of deleted vaults", func(m *mutant, k *marks) {
		rows := m.rows
		m.rows = func(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error) {
			got, err := rows(ctx, org, id, tokens)
			if errors.Is(err, vault.ErrNotFound) && k.has(org, id) {
				return make([]vault.Row, len(tokens)), nil
			}
			return got, err
		}
	}),
	answering("lists no rows of deleted vaults", func(m *mutant, k *marks) {
		list := m.listRows
		m.listRows = func(ctx context.Context, org, id, after string, limit int) ([]vault.Row, error) {
			got, err := list(ctx, org, id, after, limit)
			if errors.Is(err, vault.ErrNotFound) && k.has(org, id) {
				return nil, nil
			}
			return got, err
		}
	}),
	answering("deletes tokens of deleted vaults", func(m *mutant, k *marks) {
		del := m.deleteToken
		m.deleteToken = func(ctx context.Context, org, id, token string, a vault.AuditEvent) error {
			err := del(ctx, org, id, token, a)
			if errors.Is(err, vault.ErrTokenNotFound) && k.has(org, id) && token == "t1" {
				return nil
			}
			return err
		}
	}),
	answering("changes deleted vaults", func(m *mutant, k *marks) {
		put := m.putVault
		m.putVault = func(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
			err := put(ctx, v, left, a)
			if errors.Is(err, vault.ErrNotFound) && k.has(v.Organization, v.ID) && v.Revision == 3 {
				return nil
			}
			return err
		}
	}),
	answering("counts nothing in deleted vaults", func(m *mutant, k *marks) {
		stats := m.vaultStats
		m.vaultStats = func(ctx context.Context, org, id string, most int) (vault.Stats, error) {
			got, err := stats(ctx, org, id, most)
			if errors.Is(err, vault.ErrNotFound) && k.has(org, id) {
				return vault.Stats{}, nil
			}
			return got, err
		}
	}),
	answering("stores events of deleted vaults nowhere", func(m *mutant, k *marks) {
		add := m.addAuditEvent
		m.addAuditEvent = func(ctx context.Context, e vault.AuditEvent) error {
			err := add(ctx, e)
			if errors.Is(err, vault.ErrNotFound) && k.has(e.Organization, e.Vault) {
				return nil
			}
			return err
		}
	}),
	{name: "counts what deleted organizations had", breaks: []string{"deletion/organization-is-hidden"}, mutate: func(m *mutant) {
		k, stats, had := m.marked(), m.stats, make(map[string]vault.Stats)
		m.stats = func(ctx context.Context, org string, most int) (vault.Stats, error) {
			if k.has(org, "") {
				return had[org], ctx.Err()
			}
			return stats(ctx, org, most)
		}
		mark := m.markDeleted
		m.markDeleted = func(ctx context.Context, org string, at time.Time, a vault.AuditEvent) (time.Time, error) {
			had[org], _ = stats(ctx, org, 1000)
			return mark(ctx, org, at, a)
		}
	}},
	{name: "marks vaults of deleted organizations", breaks: []string{
		"deletion/organization-is-hidden", "deletion/organization-of-deleted-vaults",
	}, mutate: func(m *mutant) {
		k, mark, remove := m.marked(), m.markVaultDeleted, m.removeDeletedVault
		m.markVaultDeleted = func(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (time.Time, error) {
			since, err := mark(ctx, org, id, at, a)
			if errors.Is(err, vault.ErrNotFound) && k.has(org, "") {
				return at, nil
			}
			return since, err
		}
		m.removeDeletedVault = func(ctx context.Context, org, id string, limit int) (bool, error) {
			more, err := remove(ctx, org, id, limit)
			if errors.Is(err, vault.ErrNotFound) && k.has(org, "") {
				return false, nil
			}
			return more, err
		}
	}},
}
