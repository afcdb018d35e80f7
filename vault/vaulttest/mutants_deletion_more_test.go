package vaulttest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// everyMark makes both marks other ones; the vault of an organization is "".
func (m *mutant) everyMark(change func(mark marking) marking) {
	whole, one := m.markDeleted, m.markVaultDeleted
	mark := change(func(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (time.Time, error) {
		if id == "" {
			return whole(ctx, org, at, a)
		}
		return one(ctx, org, id, at, a)
	})
	m.markVaultDeleted = mark
	m.markDeleted = func(ctx context.Context, org string, at time.Time, a vault.AuditEvent) (time.Time, error) {
		return mark(ctx, org, "", at, a)
	}
}

type marking = func(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (time.Time, error)

// everyRemoval makes the steps of both deletions other ones, as everyMark does.
func (m *mutant) everyRemoval(change func(remove removing) removing) {
	whole, one := m.removeDeleted, m.removeDeletedVault
	remove := change(func(ctx context.Context, org, id string, limit int) (bool, error) {
		if id == "" {
			return whole(ctx, org, limit)
		}
		return one(ctx, org, id, limit)
	})
	m.removeDeletedVault = remove
	m.removeDeleted = func(ctx context.Context, org string, limit int) (bool, error) { return remove(ctx, org, "", limit) }
}

type removing = func(ctx context.Context, org, id string, limit int) (bool, error)

// makingAgain makes a mutant that takes new vaults in place of what a mark says.
func makingAgain(again func(k *marks, org, id string) bool) func(*mutant) {
	return func(m *mutant) {
		k, put := m.marked(), m.putVault
		m.putVault = func(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
			err := put(ctx, v, left, a)
			if errors.Is(err, vault.ErrDeleted) && again(k, v.Organization, v.ID) {
				return nil
			}
			return err
		}
	}
}

// deletionMutants are wrong about marks.
var deletionMutants = []broken{
	{name: "makes vaults in deleted organizations", breaks: []string{"deletion/organization-never-again", "deletion/of-nothing"}, mutate: makingAgain(
		func(k *marks, org, _ string) bool { return k.has(org, "") })},
	{name: "makes deleted vaults again", breaks: []string{"deletion/vault-never-again"}, mutate: makingAgain(
		func(k *marks, org, _ string) bool { return !k.has(org, "") })},
	{name: "has deleted vaults", breaks: []string{"deletion/vault-never-again", "deletion/organization-never-again"}, mutate: func(m *mutant) {
		put := m.putVault
		m.putVault = func(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
			err := put(ctx, v, left, a)
			if errors.Is(err, vault.ErrDeleted) {
				return vault.ErrExists
			}
			return err
		}
	}},
	{name: "deletes what begins alike", breaks: []string{"deletion/leaves-others-alone"}, mutate: func(m *mutant) {
		m.everyMark(func(mark marking) marking {
			return func(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (time.Time, error) {
				if id == "" {
					_, _ = m.db.MarkDeleted(ctx, org+" ", at, vault.AuditEvent{})
				}
				return mark(ctx, org, id, at, a)
			}
		})
	}},
	{name: "deletes the tokens of all", breaks: []string{"deletion/leaves-others-alone"}, mutate: func(m *mutant) {
		m.everyRemoval(func(remove removing) removing {
			return func(ctx context.Context, org, id string, limit int) (bool, error) {
				_ = m.db.DeleteToken(ctx, "org-b", "customers", "t3", vault.AuditEvent{})
				return remove(ctx, org, id, limit)
			}
		})
	}},
	{name: "marks names up to U+0000", breaks: []string{"deletion/names-are-bytes"}, mutate: func(m *mutant) {
		before := func(s string) string { s, _, _ = strings.Cut(s, "\x00"); return s }
		m.everyMark(func(mark marking) marking {
			return func(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (time.Time, error) {
				return mark(ctx, before(org), before(id), at, a)
			}
		})
	}},
	{name: "marks names in whatever case", breaks: []string{"deletion/names-are-bytes"}, mutate: func(m *mutant) {
		m.everyMark(func(mark marking) marking {
			return func(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (time.Time, error) {
				_, _ = mark(ctx, strings.ToUpper(org), strings.ToUpper(id), at, vault.AuditEvent{})
				return mark(ctx, org, id, at, a)
			}
		})
	}},
	{name: "shows the trail of a deleted organization", breaks: []string{"deletion/event-of-an-organization", "deletion/events-in-steps"}, mutate: func(m *mutant) {
		had, events := make(map[string][]vault.AuditEvent), m.auditEvents
		m.everyMark(func(mark marking) marking {
			return func(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (time.Time, error) {
				page, _ := events(ctx, org, vault.AuditQuery{Limit: 1000})
				since, err := mark(ctx, org, id, at, a)
				if id == "" && err == nil {
					had[org] = page.Items
				}
				return since, err
			}
		})
		m.auditEvents = func(ctx context.Context, org string, q vault.AuditQuery) (mortise.Page[vault.AuditEvent], error) {
			page, err := events(ctx, org, q)
			for _, e := range had[org] {
				if q.Matches(&e) && len(page.Items) < q.Limit {
					page.Items = append(page.Items, e)
				}
			}
			return page, err
		}
	}},
	{name: "shows the event of a deletion whatever is asked for", breaks: []string{"deletion/event-of-an-organization"}, mutate: func(m *mutant) {
		k, events := m.marked(), m.auditEvents
		m.auditEvents = func(ctx context.Context, org string, q vault.AuditQuery) (mortise.Page[vault.AuditEvent], error) {
			if k.has(org, "") && q.Limit > 0 {
				q = vault.AuditQuery{Limit: q.Limit}
			}
			return events(ctx, org, q)
		}
	}},
	{name: "keeps the event of a deletion for ever", breaks: []string{"deletion/event-of-an-organization"}, mutate: func(m *mutant) {
		var kept []vault.AuditEvent
		events := m.auditEvents
		m.everyMark(func(mark marking) marking {
			return func(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (time.Time, error) {
				kept = append(kept, a)
				return mark(ctx, org, id, at, a)
			}
		})
		m.auditEvents = func(ctx context.Context, org string, q vault.AuditQuery) (mortise.Page[vault.AuditEvent], error) {
			page, err := events(ctx, org, q)
			for _, e := range kept {
				if e.Organization == org && len(page.Items) == 0 && q.Matches(&e) && q.Limit > 0 {
					page.Items = append(page.Items, e)
				}
			}
			return page, err
		}
	}},
	{name: "hides the trail of a deleted vault", breaks: []string{"deletion/trail-of-a-vault"}, mutate: func(m *mutant) {
		k := m.marked()
		m.everyAuditPage(func(_ *vault.AuditQuery, page *mortise.Page[vault.AuditEvent]) {
			page.Items = slices.DeleteFunc(page.Items, func(e vault.AuditEvent) bool { return e.Vault != "" && k.has(e.Organization, e.Vault) })
		})
	}},
	{name: "refuses events of an organization that has deleted vaults", breaks: []string{"deletion/trail-of-a-vault"}, mutate: func(m *mutant) {
		k, add := m.marked(), m.addAuditEvent
		m.addAuditEvent = func(ctx context.Context, e vault.AuditEvent) error {
			if e.Vault == "" && k.any() {
				return vault.ErrNotFound
			}
			return add(ctx, e)
		}
	}},
	{name: "takes the last time", breaks: []string{"deletion/the-first-time-stays", "deletion/durable"}, mutate: func(m *mutant) {
		m.everyMark(func(mark marking) marking {
			return func(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (time.Time, error) {
				_, err := mark(ctx, org, id, at, a)
				return at.UTC(), err
			}
		})
	}},
	{name: "marks at full seconds", breaks: []string{"deletion/the-first-time-stays", "deletion/durable"}, mutate: func(m *mutant) {
		m.everyMark(func(mark marking) marking {
			return func(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (time.Time, error) {
				return mark(ctx, org, id, at.Truncate(time.Second), a)
			}
		})
	}},
	{name: "stores an event of each mark", breaks: []string{"deletion/the-first-time-stays"}, mutate: func(m *mutant) {
		var more []vault.AuditEvent
		m.everyMark(func(mark marking) marking {
			return func(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (time.Time, error) {
				since, err := mark(ctx, org, id, at, a)
				if err == nil && !since.Equal(at) && a.ID != uuid.Nil {
					more = append(more, a)
				}
				return since, err
			}
		})
		m.everyAuditPage(func(q *vault.AuditQuery, page *mortise.Page[vault.AuditEvent]) {
			for _, e := range more {
				if q.Matches(&e) && len(page.Items) > 0 && page.Items[0].Organization == e.Organization {
					page.Items = append(page.Items, e)
				}
			}
		})
	}},
	{name: "deletes only organizations that have something", breaks: []string{"deletion/of-nothing"}, mutate: func(m *mutant) {
		m.everyMark(func(mark marking) marking {
			return func(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (time.Time, error) {
				if vaults, err := m.db.ListVaults(ctx, org, "", 1); err == nil && len(vaults) == 0 {
					return time.Time{}, vault.ErrNotFound
				}
				return mark(ctx, org, id, at, a)
			}
		})
	}},
	{name: "deletes vaults that never were", breaks: []string{"deletion/of-nothing"}, mutate: func(m *mutant) {
		m.everyMark(func(mark marking) marking {
			return func(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (time.Time, error) {
				if id != "" {
					_ = m.db.PutVault(ctx, vault.Vault{Organization: org, ID: id, Revision: 1}, nil, vault.AuditEvent{})
				}
				return mark(ctx, org, id, at, a)
			}
		})
	}},
	{name: "removes without a mark", breaks: []string{"deletion/of-nothing"}, mutate: func(m *mutant) {
		m.everyRemoval(func(remove removing) removing {
			return func(ctx context.Context, org, id string, limit int) (bool, error) {
				more, err := remove(ctx, org, id, limit)
				if errors.Is(err, vault.ErrNotFound) {
					err = nil
				}
				return more, err
			}
		})
	}},
	{name: "stores an event without ID with a mark", breaks: []string{"deletion/without-event"}, mutate: func(m *mutant) {
		m.everyMark(func(mark marking) marking {
			return func(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (time.Time, error) {
				if a.ID == uuid.Nil && a.Kind != "" {
					a.ID = uuid.New()
				}
				return mark(ctx, org, id, at, a)
			}
		})
	}},
}

// deletionStepMutants are wrong about the steps, and about what they leave.
var deletionStepMutants = []broken{
	{name: "removes everything at once", breaks: []string{
		"deletion/steps-are-bounded", "deletion/events-in-steps", "deletion/organization-of-deleted-vaults",
	}, mutate: func(m *mutant) {
		m.everyRemoval(func(remove removing) removing {
			return func(ctx context.Context, org, id string, _ int) (bool, error) { return remove(ctx, org, id, 1_000_000) }
		})
	}},
	{name: "removes something with a limit of none", breaks: []string{"deletion/steps-are-bounded"}, mutate: func(m *mutant) {
		m.everyRemoval(func(remove removing) removing {
			return func(ctx context.Context, org, id string, limit int) (bool, error) {
				if limit < 1 {
					limit = 20
				}
				return remove(ctx, org, id, limit)
			}
		})
	}},
	{name: "has always more to remove", breaks: []string{"deletion/steps-are-bounded"}, mutate: func(m *mutant) {
		m.everyRemoval(func(remove removing) removing {
			return func(ctx context.Context, org, id string, limit int) (bool, error) {
				_, err := remove(ctx, org, id, limit)
				return err == nil, err
			}
		})
	}},
	{name: "removes deleted vaults with the mark of their organization", breaks: []string{"deletion/organization-of-deleted-vaults"}, mutate: func(m *mutant) {
		k := m.marked()
		m.everyMark(func(mark marking) marking {
			return func(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (time.Time, error) {
				for _, was := range []string{"customers", "customers "} {
					if id == "" && k.has(org, was) {
						_, _ = m.db.RemoveDeletedVault(ctx, org, was, 1_000_000)
					}
				}
				return mark(ctx, org, id, at, a)
			}
		})
	}},
	{name: "forgets marks", breaks: []string{"deletion/durable"}, mutate: func(*mutant) {}, reopen: losing(func(_ *testing.T, s vault.Store) {
		makingAgain(func(*marks, string, string) bool { return true })(s.(*mutant))
	})},
	{name: "forgets to go on with a deletion", breaks: []string{"deletion/durable"}, mutate: func(*mutant) {}, reopen: losing(func(_ *testing.T, s vault.Store) {
		s.(*mutant).everyRemoval(func(removing) removing {
			return func(context.Context, string, string, int) (bool, error) { return false, vault.ErrNotFound }
		})
	})},
	{name: "counts rows of what is deleted", breaks: []string{"deletion/no-part-in-rotation", "deletion/leaves-others-alone", "deletion/retires-keys"}, mutate: func(m *mutant) {
		k := m.marked()
		m.everyUsage(func(u *keyring.Usage) {
			if k.any() {
				u.Rows++
			}
		})
	}},
	{name: "counts tokens of what is deleted", breaks: []string{"deletion/no-part-in-rotation", "deletion/leaves-others-alone"}, mutate: func(m *mutant) {
		k, all := m.marked(), m.statsAll
		m.statsAll = func(ctx context.Context, seal, most int) (vault.AllStats, error) {
			totals, err := all(ctx, seal, most)
			if k.any() {
				totals.Tokens.N++
			}
			return totals, err
		}
	}},
	{name: "scans rows of what is deleted", breaks: []string{"deletion/no-part-in-rotation", "deletion/leaves-others-alone", "deletion/beside-open-scans"}, mutate: func(m *mutant) {
		var kept []vault.Row
		m.everyMark(func(mark marking) marking {
			return func(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (time.Time, error) {
				rows, _ := m.db.ListRows(ctx, org, id, "t", 1000)
				if id == "" {
					rows, _ = m.db.ListRows(ctx, org, "customers ", "", 1)
					more, _ := m.db.ListRows(ctx, org, "deleted", "", 1000)
					rows = append(rows, more...)
				}
				kept = append(kept, rows...)
				return mark(ctx, org, id, at, a)
			}
		})
		m.everyScan(func(scan scan) scan {
			return func(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error) {
				page, err := scan(ctx, version, after, limit)
				for _, r := range kept {
					if page.Next == "" && len(page.Rows) < limit {
						page.Rows = append(page.Rows, r)
					}
				}
				return page, err
			}
		})
	}},
	{name: "reseals rows of what is deleted", breaks: []string{"deletion/no-part-in-rotation"}, mutate: func(m *mutant) {
		k, reseal := m.marked(), m.reseal
		m.reseal = func(ctx context.Context, rows []vault.Resealed) (int, error) {
			n, err := reseal(ctx, rows)
			if k.has(rows[0].Row.Organization, rows[0].Row.Vault) {
				n = len(rows)
			}
			return n, err
		}
	}},
	{name: "refuses fingerprints of what is deleted", breaks: []string{"deletion/no-part-in-rotation"}, mutate: func(m *mutant) {
		k, add := m.marked(), m.addFingerprints
		m.addFingerprints = func(ctx context.Context, version int, of []vault.RowFingerprint) ([]vault.RowID, error) {
			refused, err := add(ctx, version, of)
			if k.has(of[0].Row.Organization, of[0].Row.Vault) {
				refused = append(refused, of[0].Row)
			}
			return refused, err
		}
	}},
	{name: "needs keys for what is deleted", breaks: []string{"deletion/retires-keys"}, mutate: func(m *mutant) {
		k, retire := m.marked(), m.retireKey
		m.retireKey = func(ctx context.Context, p keyring.Purpose, version, successor int) error {
			if k.any() && p == keyring.SealKey {
				return keyring.ErrInUse
			}
			return retire(ctx, p, version, successor)
		}
	}},
	{name: "removes fingerprints of what is deleted with their version", breaks: []string{"deletion/retires-keys"}, mutate: func(m *mutant) {
		k, remove := m.marked(), m.removeFingerprints
		m.removeFingerprints = func(ctx context.Context, version, limit int) (int, error) {
			n, err := remove(ctx, version, limit)
			if k.any() && err == nil {
				n += 4
			}
			return n, err
		}
	}},
	{name: "goes on with a scan by how many rows there are", breaks: []string{"deletion/beside-open-scans"}, mutate: func(m *mutant) {
		m.everyScan(func(scan scan) scan {
			return func(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error) {
				page, err := scan(ctx, version, "", 1_000_000)
				// A position is as long as there are rows before it.
				from := min(len(after), len(page.Rows))
				to := min(from+limit, len(page.Rows))
				next := vault.ScanPosition("")
				if to < len(page.Rows) {
					next = vault.ScanPosition(strings.Repeat("x", to))
				}
				return vault.RowPage{Rows: page.Rows[from:to], Next: next}, err
			}
		})
	}},
}

// deletionRaceMutants lose races of deletions.
var deletionRaceMutants = []broken{
	{name: "makes a vault after it has looked for a mark", breaks: []string{"deletion/beside-creation"}, mutate: func(m *mutant) {
		var mu sync.Mutex
		own := make(map[[2]string]vault.Vault)
		put, get := m.putVault, m.vault
		m.putVault = func(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
			if _, err := m.db.RemoveDeleted(ctx, v.Organization, 0); err == nil || v.Revision != 1 {
				return put(ctx, v, left, a)
			}
			conformance.Seam() // until it is marked
			err := put(ctx, v, left, a)
			if errors.Is(err, vault.ErrDeleted) {
				mu.Lock()
				defer mu.Unlock()
				own[[2]string{v.Organization, v.ID}], err = v, nil
			}
			return err
		}
		m.vault = func(ctx context.Context, org, id string) (vault.Vault, error) {
			mu.Lock()
			defer mu.Unlock()
			if v, ok := own[[2]string{org, id}]; ok {
				return v, nil
			}
			return get(ctx, org, id)
		}
	}},
	{name: "marks a vault after it has stored the event", breaks: []string{"deletion/whole"}, mutate: func(m *mutant) {
		m.everyMark(func(mark marking) marking {
			return func(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (time.Time, error) {
				if err := m.db.AddAuditEvent(ctx, a); err != nil {
					return time.Time{}, err
				}
				conformance.Seam()
				return mark(ctx, org, id, at, vault.AuditEvent{})
			}
		})
	}},
	{name: "stores the event after it has marked a vault", breaks: []string{"deletion/whole"}, mutate: func(m *mutant) {
		var mu sync.Mutex
		var late []vault.AuditEvent
		m.everyMark(func(mark marking) marking {
			return func(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (time.Time, error) {
				since, err := mark(ctx, org, id, at, vault.AuditEvent{})
				conformance.Seam()
				mu.Lock()
				defer mu.Unlock()
				late = append(late, a)
				return since, err
			}
		})
		m.everyAuditPage(func(_ *vault.AuditQuery, page *mortise.Page[vault.AuditEvent]) {
			mu.Lock()
			defer mu.Unlock()
			page.Items = append(page.Items, late...)
		})
	}},
}
