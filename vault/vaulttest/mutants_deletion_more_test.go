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
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// makingAgain makes a mutant that takes new vaults in place of what a mark says.
func makingAgain(again func(k *marks, org string) bool) func(*mutant) {
	return func(m *mutant) {
		k := m.marked()
		mutate.Around(&m.On, func(c *mutate.Call) {
			if c.Go(); errors.Is(*c.Err(), mortise.ErrDeleted) && again(k, mutate.Get[vault.Vault](c.In).Organization) {
				*c.Err() = nil
			}
		}, "PutVault")
	}
}

// mark marks a vault, or an organization.
func (m *mutant) mark(org, id string, at time.Time) {
	if id == "" {
		_, _ = m.db.MarkDeleted(bg, org, at, vault.AuditEvent{})
	} else {
		_, _ = m.db.MarkVaultDeleted(bg, org, id, at, vault.AuditEvent{})
	}
}

// beforeMark calls do before something is marked; the vault of an organization is "".
func beforeMark(do func(m *mutant, org, id string, a *vault.AuditEvent)) func(*mutant) {
	return around(func(m *mutant, c *mutate.Call) {
		do(m, org(c), id(c), mutate.Get[vault.AuditEvent](c.In))
		c.Go()
	}, marking...)
}

// onceMarked calls do after each call of the methods, once anything is marked.
func onceMarked(do func(*mutate.Call), methods ...string) func(*mutant) {
	return func(m *mutant) {
		k := m.marked()
		mutate.Around(&m.On, func(c *mutate.Call) {
			if c.Go(); k.any() {
				do(c)
			}
		}, methods...)
	}
}

// deletionMutants are wrong about marks.
var deletionMutants = []broken{
	{name: "makes vaults in deleted organizations", breaks: "deletion/organization-never-again deletion/of-nothing", mutate: makingAgain(
		func(k *marks, org string) bool { return k.has(org, "") })},
	{name: "makes deleted vaults again", breaks: "deletion/vault-never-again", mutate: makingAgain(
		func(k *marks, org string) bool { return !k.has(org, "") })},
	{name: "has deleted vaults", breaks: "deletion/vault-never-again deletion/organization-never-again", mutate: errs(func(err error) error {
		if errors.Is(err, mortise.ErrDeleted) {
			return mortise.ErrExists
		}
		return err
	}, "PutVault")},
	{name: "deletes what begins alike", breaks: "deletion/leaves-others-alone",
		mutate: beforeMark(func(m *mutant, org, id string, _ *vault.AuditEvent) {
			if id == "" {
				m.mark(org+" ", "", time.Now())
			}
		})},
	{name: "deletes the tokens of all", breaks: "deletion/leaves-others-alone", mutate: around(func(m *mutant, c *mutate.Call) {
		_ = m.db.DeleteToken(bg, "org-b", "customers", "t3", vault.AuditEvent{})
		c.Go()
	}, removing...)},
	{name: "marks names up to U+0001", breaks: "deletion/names-are-bytes", mutate: around(func(_ *mutant, c *mutate.Call) {
		for i := range c.In {
			if s, ok := c.In[i].Interface().(string); ok {
				before, _, _ := strings.Cut(s, "\x01")
				c.In[i].SetString(before)
			}
		}
		c.Go()
	}, marking...)},
	{name: "marks names in whatever case", breaks: "deletion/names-are-bytes",
		mutate: beforeMark(func(m *mutant, org, id string, _ *vault.AuditEvent) {
			m.mark(strings.ToUpper(org), strings.ToUpper(id), time.Now())
		})},
	{name: "shows the trail of a deleted organization", breaks: "deletion/event-of-an-organization deletion/removes-events",
		mutate: func(m *mutant) {
			had := make(map[string][]vault.AuditEvent)
			around(func(_ *mutant, c *mutate.Call) {
				page, _ := m.db.ListAuditEvents(bg, org(c), vault.AuditQuery{Limit: 1000})
				if c.Go(); *c.Err() == nil {
					had[org(c)] = page.Items
				}
			}, "MarkDeleted")(m)
			around(func(_ *mutant, c *mutate.Call) {
				c.Go()
				q, page := mutate.Get[vault.AuditQuery](c.In), mutate.Get[mortise.Page[vault.AuditEvent]](c.Out)
				for _, e := range had[org(c)] {
					if q.Matches(&e) && len(page.Items) < q.Limit {
						page.Items = append(page.Items, e)
					}
				}
			}, "ListAuditEvents")(m)
		}},
	{name: "shows the event of a deletion whatever is asked for", breaks: "deletion/event-of-an-organization", mutate: func(m *mutant) {
		k := m.marked()
		mutate.Around(&m.On, func(c *mutate.Call) {
			if q := mutate.Get[vault.AuditQuery](c.In); k.has(org(c), "") && q.Limit > 0 {
				*q = vault.AuditQuery{Limit: q.Limit}
			}
			c.Go()
		}, "ListAuditEvents")
	}},
	{name: "keeps the event of a deletion for ever", breaks: "deletion/event-of-an-organization", mutate: func(m *mutant) {
		var kept []vault.AuditEvent
		in(func(e *vault.AuditEvent) { kept = append(kept, *e) }, marking...)(m)
		around(func(_ *mutant, c *mutate.Call) {
			c.Go()
			q, page := mutate.Get[vault.AuditQuery](c.In), mutate.Get[mortise.Page[vault.AuditEvent]](c.Out)
			for _, e := range kept {
				if e.Organization == org(c) && len(page.Items) == 0 && q.Matches(&e) && q.Limit > 0 {
					page.Items = append(page.Items, e)
				}
			}
		}, "ListAuditEvents")(m)
	}},
	{name: "hides the trail of a deleted vault", breaks: "deletion/trail-of-a-vault", mutate: func(m *mutant) {
		k := m.marked()
		m.everyAuditPage(func(_ *vault.AuditQuery, page *mortise.Page[vault.AuditEvent]) {
			page.Items = slices.DeleteFunc(page.Items, func(e vault.AuditEvent) bool { return e.Vault != "" && k.has(e.Organization, e.Vault) })
		})
	}},
	{name: "refuses events of an organization that has deleted vaults", breaks: "deletion/trail-of-a-vault",
		mutate: onceMarked(func(c *mutate.Call) {
			if mutate.Get[vault.AuditEvent](c.In).Vault == "" {
				*c.Err() = mortise.ErrNotFound
			}
		}, "AddAuditEvent")},
	{name: "takes the last time", breaks: "deletion/the-first-time-stays deletion/durable", mutate: around(func(_ *mutant, c *mutate.Call) {
		c.Go()
		*mutate.Get[time.Time](c.Out) = mutate.Get[time.Time](c.In).UTC()
	}, marking...)},
	{name: "marks at full seconds", breaks: "deletion/the-first-time-stays deletion/durable", mutate: arg(
		func(at *time.Time) { *at = at.Truncate(time.Second) }, marking...)},
	{name: "stores an event of each mark", breaks: "deletion/the-first-time-stays", mutate: func(m *mutant) {
		var more []vault.AuditEvent
		around(func(_ *mutant, c *mutate.Call) {
			c.Go()
			a := mutate.Get[vault.AuditEvent](c.In)
			if *c.Err() == nil && !mutate.Get[time.Time](c.Out).Equal(*mutate.Get[time.Time](c.In)) && a.ID != uuid.Nil {
				more = append(more, *a)
			}
		}, marking...)(m)
		m.everyAuditPage(func(q *vault.AuditQuery, page *mortise.Page[vault.AuditEvent]) {
			for _, e := range more {
				if q.Matches(&e) && len(page.Items) > 0 && page.Items[0].Organization == e.Organization {
					page.Items = append(page.Items, e)
				}
			}
		})
	}},
	{name: "deletes only organizations that have something", breaks: "deletion/of-nothing", mutate: refusing(mortise.ErrNotFound,
		func(m *mutant, c *mutate.Call) bool {
			page, err := m.db.ListVaults(bg, org(c), "", 1)
			return err == nil && len(page.Items) == 0
		}, marking...)},
	{name: "deletes vaults that never were", breaks: "deletion/of-nothing",
		mutate: beforeMark(func(m *mutant, org, id string, _ *vault.AuditEvent) {
			if id != "" {
				_ = m.db.PutVault(bg, vault.Vault{Organization: org, ID: id, Revision: 1}, nil, vault.AuditEvent{})
			}
		})},
	{name: "removes without a mark", breaks: "deletion/of-nothing", mutate: accepting(mortise.ErrNotFound, removing...)},
	{name: "stores an event without ID with a mark", breaks: "deletion/without-event",
		mutate: beforeMark(func(_ *mutant, _, _ string, a *vault.AuditEvent) {
			if a.ID == uuid.Nil && a.Kind != "" {
				a.ID = uuid.New()
			}
		})},
}

// deletionStepMutants are wrong about the steps, and about what they leave.
var deletionStepMutants = []broken{
	{name: "removes deleted vaults with the mark of their organization", breaks: "deletion/organization-of-deleted-vaults",
		mutate: func(m *mutant) {
			k := m.marked()
			beforeMark(func(m *mutant, org, id string, _ *vault.AuditEvent) {
				for _, was := range []string{"customers", "customers "} {
					if id == "" && k.has(org, was) {
						_, _, _ = m.db.RemoveDeletedVault(bg, org, was, 1_000_000)
					}
				}
			})(m)
		}},
	{name: "forgets marks", breaks: "deletion/durable", mutate: func(*mutant) {}, reopen: losing(func(_ *testing.T, s vault.Store) {
		makingAgain(func(*marks, string) bool { return true })(s.(*mutant))
	})},
	{name: "forgets to go on with a deletion", breaks: "deletion/durable", mutate: func(*mutant) {}, reopen: losing(func(_ *testing.T, s vault.Store) {
		refusing(mortise.ErrNotFound, func(*mutant, *mutate.Call) bool { return true }, removing...)(s.(*mutant))
	})},
	{name: "counts rows of what is deleted",
		breaks: "deletion/no-part-in-rotation deletion/leaves-others-alone deletion/retires-keys",
		mutate: onceMarked(func(c *mutate.Call) { mutate.Get[keyring.Usage](c.Out).Rows++ }, "KeyUsage")},
	{name: "scans rows of what is deleted",
		breaks: "deletion/no-part-in-rotation deletion/leaves-others-alone deletion/beside-open-scans",
		mutate: func(m *mutant) {
			var kept []vault.Row
			list := func(org, id string, limit int) {
				page, _ := m.db.ListRows(bg, org, id, "", limit)
				kept = append(kept, page.Items...)
			}
			beforeMark(func(_ *mutant, org, id string, _ *vault.AuditEvent) {
				if id == "" {
					list(org, "customers ", 1)
					list(org, "deleted", 1000)
				} else {
					list(org, id, 1000)
				}
			})(m)
			scanning(func(_ *mutant, page *mortise.Page[vault.Row], _ mortise.Cursor, limit int) {
				for _, r := range kept {
					if page.Next == "" && len(page.Items) < limit {
						page.Items = append(page.Items, r)
					}
				}
			})(m)
		}},
	{name: "reseals rows of what is deleted", breaks: "deletion/no-part-in-rotation", mutate: func(m *mutant) {
		k := m.marked()
		around(func(_ *mutant, c *mutate.Call) {
			c.Go()
			if rows := *mutate.Get[[]vault.Resealed](c.In); k.has(rows[0].Row.Organization, rows[0].Row.Vault) {
				*mutate.Get[int](c.Out) = len(rows)
			}
		}, "Reseal")(m)
	}},
	{name: "refuses fingerprints of what is deleted", breaks: "deletion/no-part-in-rotation", mutate: func(m *mutant) {
		k := m.marked()
		around(func(_ *mutant, c *mutate.Call) {
			c.Go()
			if of := *mutate.Get[[]vault.RowFingerprint](c.In); k.has(of[0].Row.Organization, of[0].Row.Vault) {
				refused := mutate.Get[[]vault.RowID](c.Out)
				*refused = append(*refused, of[0].Row)
			}
		}, "AddFingerprints")(m)
	}},
	{name: "needs keys for what is deleted", breaks: "deletion/retires-keys", mutate: onceMarked(func(c *mutate.Call) {
		if *mutate.Get[keyring.Purpose](c.In) == keyring.SealKey {
			*c.Err() = keyring.ErrInUse
		}
	}, "RetireKey")},
	{name: "removes fingerprints of what is deleted with their version", breaks: "deletion/retires-keys",
		mutate: onceMarked(func(c *mutate.Call) {
			*mutate.Get[int](c.Out) += 4
		}, "RemoveFingerprints")},
	{name: "goes on with a scan by how many rows there are", breaks: "deletion/beside-open-scans",
		mutate: around(func(_ *mutant, c *mutate.Call) {
			after, limit := c.In[2].String(), int(c.In[3].Int())
			c.In[2].SetString("")
			c.In[3].SetInt(1_000_000)
			c.Go()
			// A position is as long as there are rows before it.
			page := mutate.Get[mortise.Page[vault.Row]](c.Out)
			from := min(len(after), len(page.Items))
			to := min(from+limit, len(page.Items))
			if to < len(page.Items) {
				page.Next = mortise.Cursor(strings.Repeat("x", to))
			}
			page.Items = page.Items[from:to]
		}, scans...)},
}

// deletionRaceMutants lose races of deletions.
var deletionRaceMutants = []broken{
	{name: "makes a vault after it has looked for a mark", breaks: "deletion/beside-creation", mutate: func(m *mutant) {
		var mu sync.Mutex
		own := make(map[[2]string]vault.Vault)
		put, get := m.On.PutVault, m.On.Vault
		m.On.PutVault = func(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
			if _, _, err := m.db.RemoveDeleted(ctx, v.Organization, 0); err == nil || v.Revision != 1 {
				return put(ctx, v, left, a)
			}
			conformance.Seam() // until it is marked
			err := put(ctx, v, left, a)
			if errors.Is(err, mortise.ErrDeleted) {
				mu.Lock()
				defer mu.Unlock()
				own[[2]string{v.Organization, v.ID}], err = v, nil
			}
			return err
		}
		m.On.Vault = func(ctx context.Context, org, id string) (vault.Vault, error) {
			mu.Lock()
			defer mu.Unlock()
			if v, ok := own[[2]string{org, id}]; ok {
				return v, nil
			}
			return get(ctx, org, id)
		}
	}},
	{name: "marks a vault after it has stored the event", breaks: "deletion/whole", mutate: storingBefore(marking...)},
	{name: "stores the event after it has marked a vault", breaks: "deletion/whole", mutate: func(m *mutant) {
		var mu sync.Mutex
		var late []vault.AuditEvent
		around(func(_ *mutant, c *mutate.Call) {
			given := mutate.Get[vault.AuditEvent](c.In)
			a := *given
			*given = vault.AuditEvent{}
			c.Go()
			conformance.Seam()
			mu.Lock()
			defer mu.Unlock()
			late = append(late, a)
		}, marking...)(m)
		m.everyAuditPage(func(_ *vault.AuditQuery, page *mortise.Page[vault.AuditEvent]) {
			mu.Lock()
			defer mu.Unlock()
			page.Items = append(page.Items, late...)
		})
	}},
}
