package authmgmttest_test

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// each returns a rule's name in all groups that have updates.
func each(name string) string {
	return "clients/" + name + " tokens/" + name + " invitations/" + name + " organizations/" + name
}

var errLocked = errors.New("still locked")

// events changes what update functions return.
func events(change func(*authmgmt.AuditEvent, *error)) func(*mutant) {
	return updating(func(c *mutate.Call) {
		c.Go()
		change(mutate.Get[authmgmt.AuditEvent](c.Out), c.Err())
	}, updates...)
}

// updateMutants are wrong about update functions and the events that they return.
var updateMutants = []broken{
	{name: "forgets the event of a change", breaks: each("update-stores-the-event"), mutate: events(
		func(e *authmgmt.AuditEvent, _ *error) { *e = authmgmt.AuditEvent{} })},
	{name: "forgets snapshots", breaks: "clients/update-stores-the-event clients/create-stores-the-event audit/stores-every-field",
		mutate: out(func(e *authmgmt.AuditEvent) { e.Before = nil })},
	{name: "gives every event an ID", breaks: each("update-without-event"), mutate: events(func(e *authmgmt.AuditEvent, _ *error) {
		if e.ID == uuid.Nil {
			e.ID, e.Organization = uuid.New(), "org-a"
		}
	})},
	{name: "stores events before it asks", breaks: each("update-error-changes-nothing"), mutate: events(
		func(_ *authmgmt.AuditEvent, err *error) { *err = nil })}, // what was to be rolled back stays
	{name: "hides the error of an update", breaks: each("update-error-changes-nothing") + " keychecker/update-error-changes-nothing",
		mutate: errs(
			func(err error) error { return errors.New("the update failed: " + err.Error()) }, append(updates, "UpdateKeyChecks")...)},
	{name: "swallows panics", breaks: each("update-panic") + " keychecker/update-panic", mutate: around(func(c *mutate.Call) {
		defer func() {
			if p := recover(); p != nil {
				*c.Err() = errors.New("a panic")
			}
		}()
		c.Go()
	}, append(updates, "UpdateKeyChecks")...)},
	{name: "stays locked after a panic", breaks: each("update-panic") + " " + each("update-goexit") +
		" keychecker/update-panic keychecker/update-goexit", mutate: func(m *mutant) {
		var mu sync.Mutex
		mutate.Around(&m.On, func(c *mutate.Call) {
			if !mu.TryLock() {
				*c.Err() = errLocked
				return
			}
			c.Go()
			mu.Unlock()
		}, append(updates, "UpdateKeyChecks")...)
	}},
	{name: "takes an update that ended its goroutine for done", breaks: each("update-goexit"), mutate: updating(func(c *mutate.Call) {
		var wg sync.WaitGroup
		wg.Go(c.Go)
		wg.Wait()
	}, updates...)},
	{name: "stores what an update left that ended its goroutine", breaks: "organizations/update-goexit",
		mutate: replace("UpdateOrganization", func(m *mutant, ctx context.Context, org string, update organizationUpdate) error {
			done := false
			defer func() {
				if !done {
					_ = m.AuthMgmt.UpdateOrganization(ctx, org, func(o *authmgmt.Organization) (authmgmt.AuditEvent, error) {
						o.RBAC = !o.RBAC
						return authmgmt.AuditEvent{}, nil
					})
				}
			}()
			err := m.AuthMgmt.UpdateOrganization(ctx, org, update)
			done = true
			return err
		})},
	{name: "reads, and writes later", breaks: each("update-concurrent") + " invitations/one-winner clients/one-rotation clients/one-conditional-update", mutate: func(m *mutant) {
		mutate.Late(&m.On, conformance.Seam, updates...)
	}},
	{name: "calls updates of what is not there", breaks: "clients/update-unknown tokens/update-unknown invitations/update-unknown",
		mutate: around(func(c *mutate.Call) {
			if c.Go(); errors.Is(*c.Err(), mortise.ErrNotFound) {
				c.Update()
			}
		}, "UpdateClient", "UpdateToken", "UpdateInvitation")},
	{name: "moves what is renamed", breaks: "clients/update-ignores-fixed-fields invitations/update-ignores-fixed-fields",
		mutate: func(m *mutant) {
			names, emails := make(map[string]string), make(map[string]string)
			mutate.Updates(&m.On, func(call *mutate.Call) {
				c := *mutate.Get[*authmgmt.Client](call.In)
				id := c.ID
				call.Go()
				names[id] = c.ID
			}, "UpdateClient")
			mutate.Updates(&m.On, func(call *mutate.Call) {
				i := *mutate.Get[*authmgmt.Invitation](call.In)
				id := i.ID
				call.Go()
				emails[id] = i.Email
			}, "UpdateInvitation")
			out(func(c *authmgmt.Client) { c.ID = cmp.Or(names[c.ID], c.ID) })(m)
			out(func(i *authmgmt.Invitation) { i.Email = cmp.Or(emails[i.ID], i.Email) })(m)
		}},
	{name: "updates every field of a token", breaks: "tokens/update-ignores-the-rest", mutate: func(m *mutant) {
		expires := make(map[uuid.UUID]time.Time)
		mutate.Updates(&m.On, func(c *mutate.Call) {
			k := *mutate.Get[*authmgmt.Token](c.In)
			id := k.ID
			c.Go()
			expires[id] = k.ExpiresAt
		}, "UpdateToken")
		out(func(k *authmgmt.Token) {
			if at, ok := expires[k.ID]; ok {
				k.ExpiresAt = at
			}
		})(m)
	}},
	{name: "keeps the first revocation", breaks: "tokens/update-changes-the-revocation", mutate: updating(func(c *mutate.Call) {
		k := *mutate.Get[*authmgmt.Token](c.In)
		first := k.RevokedAt
		if c.Go(); !first.IsZero() {
			k.RevokedAt = first
		}
	}, "UpdateToken")},
	{name: "stores events of what it refuses",
		breaks: "clients/create-refused-changes-nothing tokens/create-refused-changes-nothing " +
			"invitations/create-refused-changes-nothing tokens/create-refused-stores-no-event " +
			"clients/create-refuses-an-id-that-is-taken invitations/exclusive-refuses-a-pending-one",
		mutate: func(m *mutant) {
			mutate.Around(&m.On, func(c *mutate.Call) {
				given := mutate.Get[authmgmt.AuditEvent](c.In)
				e := *given
				*given = authmgmt.AuditEvent{}
				c.Go()
				*c.Err() = errors.Join(*c.Err(), m.withEvent(context.Background(), e))
			}, creates...)
		}},
	{name: "forgets the event of what it creates",
		breaks: "clients/create-stores-the-event tokens/create-stores-the-event invitations/create-stores-the-event",
		mutate: arg(func(e *authmgmt.AuditEvent) { *e = authmgmt.AuditEvent{} }, creates...)},
	{name: "writes a client in two transactions", breaks: "clients/reads-are-whole",
		mutate: replace("UpdateClient", func(m *mutant, ctx context.Context, org, id string, update clientUpdate) error {
			var changed authmgmt.Client
			err := m.AuthMgmt.UpdateClient(ctx, org, id, func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
				before := c.Clone()
				e, err := update(c)
				changed = c.Clone()
				c.Secrets = before.Secrets
				return e, err
			})
			if err != nil {
				return err
			}
			conformance.Seam()
			return m.AuthMgmt.UpdateClient(ctx, org, id, func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
				c.Secrets = changed.Secrets
				return authmgmt.AuditEvent{}, nil
			})
		})},
	{name: "keeps no event of what is deleted", breaks: "clients/delete-keeps-the-event", mutate: updating(func(call *mutate.Call) {
		if call.Go(); !(*mutate.Get[*authmgmt.Client](call.In)).DeletedAt.IsZero() {
			*mutate.Get[authmgmt.AuditEvent](call.Out) = authmgmt.AuditEvent{}
		}
	}, "UpdateClient")},
}
