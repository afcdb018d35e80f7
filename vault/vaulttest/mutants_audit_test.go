package vaulttest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/audittest"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// sharedAuditMutants are wrong about what every audit trail does.
func sharedAuditMutants() (all []broken) {
	for _, x := range audittest.Mutants("vault", (*vault.AuditEvent).Position, func(q *vault.AuditQuery) audittest.Asked {
		return audittest.Asked{
			Kind: (*string)(&q.Kind), Actor: (*string)(&q.Actor), About: &q.Vault, From: &q.From, To: &q.To, After: &q.After, Limit: &q.Limit,
		}
	}) {
		all = append(all, broken{name: x.Name, breaks: x.Breaks, mutate: func(m *mutant) {
			on := struct {
				ListAuditEvents func(context.Context, string, vault.AuditQuery) (mortise.Page[vault.AuditEvent], error)
			}{m.auditEvents}
			x.Make(&on)
			m.auditEvents = on.ListAuditEvents
		}})
	}
	return all
}

// auditMutants are wrong about the audit trail of the vault.
var auditMutants = []broken{
	{name: "takes limit 0 for no limit", breaks: []string{"audit/limit-zero"}, mutate: func(m *mutant) {
		m.auditEvents = func(ctx context.Context, org string, q vault.AuditQuery) (mortise.Page[vault.AuditEvent], error) {
			if q.Limit == 0 {
				q.Limit = vault.MaxPageSize
			}
			return m.db.ListAuditEvents(ctx, org, q)
		}
	}},
	{name: "prunes what is at the time", breaks: []string{"audit/prune"}, mutate: func(m *mutant) {
		m.pruneAudit = func(ctx context.Context, before time.Time, limit int) (int, error) {
			return m.db.PruneAudit(ctx, before.Add(time.Microsecond), limit)
		}
	}},
	{name: "prunes without a limit", breaks: []string{"audit/prune-limit"}, mutate: func(m *mutant) {
		m.pruneAudit = func(ctx context.Context, before time.Time, _ int) (int, error) {
			return m.db.PruneAudit(ctx, before, 1000)
		}
	}},
	{name: "prunes nothing and counts", breaks: []string{"audit/prune", "audit/prune-limit", "store/durable-absence"}, mutate: func(m *mutant) {
		m.pruneAudit = func(ctx context.Context, before time.Time, limit int) (int, error) {
			if before.Year() < 2020 {
				return 0, ctx.Err()
			}
			return min(limit, 3), ctx.Err()
		}
	}},
}

// ctxMutants go on when they should not, or say that something is not there when they
// cannot know, or say too much.
var ctxMutants = []broken{
	{name: "ignores the context", breaks: []string{"store/ended-context"}, mutate: func(m *mutant) {
		m.keyUsage = func(context.Context) (keyring.Usage, error) { return m.db.KeyUsage(context.Background()) }
	}},
	{name: "finds nothing when the context has ended", breaks: []string{"store/ended-context"}, mutate: func(m *mutant) {
		m.findTokens = func(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
			found, err := m.db.FindTokens(ctx, org, id, revision, lookups)
			if err != nil {
				return nil, vault.ErrConflict
			}
			return found, nil
		}
	}},
	{name: "finds nothing while it is broken", breaks: []string{"store/failure"}, mutate: func(m *mutant) {
		m.failure = errors.Join(errBroken, vault.ErrNotFound)
	}},
	{name: "takes tokens while it is broken", breaks: []string{"store/failure"}, mutate: func(m *mutant) {
		m.failure = &vault.TakenError{}
	}},
	{name: "shows what it refuses", breaks: []string{"store/errors-hold-nothing"}, mutate: inserting(func(_ *mutant, insert insertTokens) insertTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			tokens, err := insert(ctx, org, id, revision, rows)
			if err != nil && len(rows) > 0 {
				err = fmt.Errorf("insert %x: %w", rows[0].Sealed.Ciphertext, err)
			}
			return tokens, err
		}
	})},
	{name: "shows fingerprints that it refuses", breaks: []string{"store/errors-hold-nothing"}, mutate: inserting(func(_ *mutant, insert insertTokens) insertTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			tokens, err := insert(ctx, org, id, revision, rows)
			if err != nil && len(rows) > 0 && len(rows[0].Fingerprints) > 0 {
				err = fmt.Errorf("insert %v: %w", rows[0].Fingerprints[0].Fingerprint[:], err)
			}
			return tokens, err
		}
	})},
}

// empty opens a new backend in the place of the one before.
func empty(t *testing.T, _ vault.Backend) vault.Backend { return newMutant(t).backend() }

// losing opens a backend that has lost something of the one before.
func losing(lose func(*testing.T, vault.Store)) func(*testing.T, vault.Backend) vault.Backend {
	return func(t *testing.T, b vault.Backend) vault.Backend {
		lose(t, b.Store)
		return b
	}
}

// reopenMutants lose something when they are opened again.
var reopenMutants = []broken{
	{name: "loses everything", breaks: []string{"store/durable", "store/durable-absence", "store/durable-constraints"}, mutate: func(*mutant) {}, reopen: empty},
	{name: "loses the audit trail", breaks: []string{"store/durable"}, mutate: func(*mutant) {}, reopen: losing(func(t *testing.T, s vault.Store) {
		_, err := s.PruneAudit(t.Context(), time.Now(), 1000)
		require.NoError(t, err)
	})},
	{name: "loses a fingerprint", breaks: []string{"store/durable"}, mutate: func(m *mutant) {}, reopen: losing(func(_ *testing.T, s vault.Store) {
		s.(*mutant).everyLookup(func(l *vault.Lookup) {
			if l.Version == 5 {
				l.Scope = "nowhere"
			}
		})
	})},
	{name: "forgets which tokens were deleted", breaks: []string{"store/durable-absence"}, mutate: func(m *mutant) {}, reopen: losing(func(_ *testing.T, s vault.Store) {
		m := s.(*mutant)
		insert := m.insertTokens
		m.insertTokens = func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			tokens, err := insert(ctx, org, id, revision, rows)
			if errors.As(err, new(*vault.TakenError)) {
				return []string{rows[0].Token}, nil
			}
			return tokens, err
		}
	})},
	{name: "forgets what is required", breaks: []string{"store/durable", "store/durable-constraints"}, mutate: func(m *mutant) {}, reopen: losing(func(_ *testing.T, s vault.Store) {
		swallowing(keyring.ErrUnknownKey)(s.(*mutant))
		s.(*mutant).everyKeys(func(keys []keyring.Key) []keyring.Key {
			for i := range keys {
				keys[i].Required = false
			}
			return keys
		})
	})},
}
