package authmgmttest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// each returns a rule's name in all groups that have updates.
func each(name string) []string {
	return []string{"clients/" + name, "tokens/" + name, "invitations/" + name, "organizations/" + name}
}

var errLocked = errors.New("still locked")

// updateMutants are wrong about update functions and the events that they return.
var updateMutants = []broken{
	{name: "forgets the event of a change", breaks: each("update-stores-the-event"), mutate: func(m *mutant) {
		m.everyUpdate(func(call func() (authmgmt.AuditEvent, error)) (authmgmt.AuditEvent, error) {
			_, err := call()
			return authmgmt.AuditEvent{}, err
		})
	}},
	{name: "forgets snapshots", breaks: []string{
		"clients/update-stores-the-event", "clients/create-stores-the-event", "audit/stores-every-field",
	}, mutate: func(m *mutant) {
		m.everyEvent(func(e *authmgmt.AuditEvent) { e.Before = nil })
	}},
	{name: "gives every event an ID", breaks: each("update-without-event"), mutate: func(m *mutant) {
		m.everyUpdate(func(call func() (authmgmt.AuditEvent, error)) (authmgmt.AuditEvent, error) {
			e, err := call()
			if e.ID == uuid.Nil {
				e.ID, e.Organization = uuid.New(), "org-a"
			}
			return e, err
		})
	}},
	{name: "stores events before it asks", breaks: each("update-error-changes-nothing"), mutate: func(m *mutant) {
		m.everyUpdate(func(call func() (authmgmt.AuditEvent, error)) (authmgmt.AuditEvent, error) {
			e, err := call()
			if err != nil { // what was to be rolled back stays
				return e, nil
			}
			return e, err
		})
	}},
	{name: "hides the error of an update", breaks: append(each("update-error-changes-nothing"), "keychecker/update-error-changes-nothing"), mutate: func(m *mutant) {
		m.aroundUpdates(func(update func() error) error {
			if err := update(); err != nil {
				return errors.New("the update failed: " + err.Error())
			}
			return nil
		})
	}},
	{name: "swallows panics", breaks: append(each("update-panic"), "keychecker/update-panic"), mutate: func(m *mutant) {
		m.aroundUpdates(func(update func() error) (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = errors.New("a panic")
				}
			}()
			return update()
		})
	}},
	{name: "stays locked after a panic", breaks: slices.Concat(each("update-panic"), each("update-goexit"), []string{
		"keychecker/update-panic", "keychecker/update-goexit",
	}), mutate: func(m *mutant) {
		var mu sync.Mutex
		m.aroundUpdates(func(update func() error) error {
			if !mu.TryLock() {
				return errLocked
			}
			err := update()
			mu.Unlock()
			return err
		})
	}},
	{name: "takes an update that ended its goroutine for done", breaks: each("update-goexit"), mutate: func(m *mutant) {
		m.everyUpdate(func(call func() (authmgmt.AuditEvent, error)) (e authmgmt.AuditEvent, err error) {
			var wg sync.WaitGroup
			wg.Go(func() { e, err = call() })
			wg.Wait()
			return e, err
		})
	}},
	{name: "stores what an update left that ended its goroutine", breaks: []string{"organizations/update-goexit"}, mutate: func(m *mutant) {
		m.updateOrganization = func(ctx context.Context, org string, update organizationUpdate) error {
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
		}
	}},
	{name: "reads, and writes later", breaks: []string{
		"clients/update-concurrent", "invitations/update-concurrent", "tokens/update-concurrent", "organizations/update-concurrent",
		"invitations/one-winner",
	}, mutate: func(m *mutant) {
		m.updateClient = func(ctx context.Context, org, id string, update clientUpdate) error {
			c, err := m.AuthMgmt.Client(ctx, org, id)
			if err != nil {
				return err
			}
			e, err := update(&c)
			if err != nil {
				return err
			}
			conformance.Seam()
			return m.AuthMgmt.UpdateClient(ctx, org, id, func(stored *authmgmt.Client) (authmgmt.AuditEvent, error) {
				*stored = c
				return e, nil
			})
		}
		m.updateInvitation = func(ctx context.Context, org, id string, update invitationUpdate) error {
			i, err := m.AuthMgmt.Invitation(ctx, org, id)
			if err != nil {
				return err
			}
			e, err := update(&i)
			if err != nil {
				return err
			}
			conformance.Seam()
			return m.AuthMgmt.UpdateInvitation(ctx, org, id, func(stored *authmgmt.Invitation) (authmgmt.AuditEvent, error) {
				*stored = i
				return e, nil
			})
		}
		m.updateToken = func(ctx context.Context, org string, id uuid.UUID, update tokenUpdate) error {
			var k authmgmt.Token
			err := m.AuthMgmt.UpdateToken(ctx, org, id, func(stored *authmgmt.Token) (authmgmt.AuditEvent, error) {
				k = *stored
				return authmgmt.AuditEvent{}, nil
			})
			if err != nil {
				return err
			}
			conformance.Seam()
			e, err := update(&k)
			if err != nil {
				return err
			}
			return m.AuthMgmt.UpdateToken(ctx, org, id, func(stored *authmgmt.Token) (authmgmt.AuditEvent, error) {
				*stored = k
				return e, nil
			})
		}
		events := 0
		m.updateOrganization = func(ctx context.Context, org string, update organizationUpdate) error {
			return m.AuthMgmt.UpdateOrganization(ctx, org, func(o *authmgmt.Organization) (authmgmt.AuditEvent, error) {
				e, err := update(o)
				if events++; events%10 == 0 {
					e = authmgmt.AuditEvent{} // lost
				}
				return e, err
			})
		}
	}},
	{name: "calls updates of what is not there", breaks: []string{
		"clients/update-unknown", "tokens/update-unknown", "invitations/update-unknown",
	}, mutate: func(m *mutant) {
		m.updateClient = func(ctx context.Context, org, id string, update clientUpdate) error {
			err := m.AuthMgmt.UpdateClient(ctx, org, id, update)
			if errors.Is(err, authmgmt.ErrNotFound) {
				_, _ = update(&authmgmt.Client{})
			}
			return err
		}
		m.updateToken = func(ctx context.Context, org string, id uuid.UUID, update tokenUpdate) error {
			err := m.AuthMgmt.UpdateToken(ctx, org, id, update)
			if errors.Is(err, authmgmt.ErrNotFound) {
				_, _ = update(&authmgmt.Token{})
			}
			return err
		}
		m.updateInvitation = func(ctx context.Context, org, id string, update invitationUpdate) error {
			err := m.AuthMgmt.UpdateInvitation(ctx, org, id, update)
			if errors.Is(err, authmgmt.ErrNotFound) {
				_, _ = update(&authmgmt.Invitation{})
			}
			return err
		}
	}},
	{name: "moves what is renamed", breaks: []string{
		"clients/update-ignores-fixed-fields", "invitations/update-ignores-fixed-fields",
	}, mutate: func(m *mutant) {
		names := make(map[string]string)
		m.updateClient = func(ctx context.Context, org, id string, update clientUpdate) error {
			return m.AuthMgmt.UpdateClient(ctx, org, id, func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
				e, err := update(c)
				names[id] = c.ID
				return e, err
			})
		}
		m.everyClient(func(c *authmgmt.Client) {
			if name, ok := names[c.ID]; ok {
				c.ID = name
			}
		})
		emails := make(map[string]string)
		m.updateInvitation = func(ctx context.Context, org, id string, update invitationUpdate) error {
			return m.AuthMgmt.UpdateInvitation(ctx, org, id, func(i *authmgmt.Invitation) (authmgmt.AuditEvent, error) {
				e, err := update(i)
				emails[id] = i.Email
				return e, err
			})
		}
		m.everyInvitation(func(i *authmgmt.Invitation) {
			if email, ok := emails[i.ID]; ok {
				i.Email = email
			}
		})
	}},
	{name: "updates every field of a token", breaks: []string{"tokens/update-ignores-the-rest"}, mutate: func(m *mutant) {
		expires := make(map[uuid.UUID]time.Time)
		m.updateToken = func(ctx context.Context, org string, id uuid.UUID, update tokenUpdate) error {
			return m.AuthMgmt.UpdateToken(ctx, org, id, func(k *authmgmt.Token) (authmgmt.AuditEvent, error) {
				e, err := update(k)
				expires[id] = k.ExpiresAt
				return e, err
			})
		}
		m.everyToken(func(k *authmgmt.Token) {
			if at, ok := expires[k.ID]; ok {
				k.ExpiresAt = at
			}
		})
	}},
	{name: "keeps the first revocation", breaks: []string{"tokens/update-changes-the-revocation"}, mutate: func(m *mutant) {
		m.updateToken = func(ctx context.Context, org string, id uuid.UUID, update tokenUpdate) error {
			return m.AuthMgmt.UpdateToken(ctx, org, id, func(k *authmgmt.Token) (authmgmt.AuditEvent, error) {
				first := k.RevokedAt
				e, err := update(k)
				if !first.IsZero() {
					k.RevokedAt = first
				}
				return e, err
			})
		}
	}},
	{name: "stores events of what it refuses", breaks: []string{
		"clients/create-refused-changes-nothing", "tokens/create-refused-changes-nothing", "invitations/create-refused-changes-nothing",
		"tokens/create-refused-stores-no-event", "clients/create-refuses-an-id-that-is-taken", "invitations/exclusive-refuses-a-pending-one",
	}, mutate: func(m *mutant) {
		m.createClient = func(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
			return errors.Join(m.AuthMgmt.CreateClient(ctx, c, authmgmt.AuditEvent{}), m.withEvent(ctx, e))
		}
		m.createToken = func(ctx context.Context, k authmgmt.Token, e authmgmt.AuditEvent) error {
			return errors.Join(m.AuthMgmt.CreateToken(ctx, k, authmgmt.AuditEvent{}), m.withEvent(ctx, e))
		}
		m.createInvitation = func(ctx context.Context, i authmgmt.Invitation, exclusive bool, e authmgmt.AuditEvent) error {
			return errors.Join(m.AuthMgmt.CreateInvitation(ctx, i, exclusive, authmgmt.AuditEvent{}), m.withEvent(ctx, e))
		}
	}},
	{name: "forgets the event of what it creates", breaks: []string{
		"clients/create-stores-the-event", "tokens/create-stores-the-event", "invitations/create-stores-the-event",
	}, mutate: func(m *mutant) {
		m.createClient = func(ctx context.Context, c authmgmt.Client, _ authmgmt.AuditEvent) error {
			return m.AuthMgmt.CreateClient(ctx, c, authmgmt.AuditEvent{})
		}
		m.createToken = func(ctx context.Context, k authmgmt.Token, _ authmgmt.AuditEvent) error {
			return m.AuthMgmt.CreateToken(ctx, k, authmgmt.AuditEvent{})
		}
		m.createInvitation = func(ctx context.Context, i authmgmt.Invitation, exclusive bool, _ authmgmt.AuditEvent) error {
			return m.AuthMgmt.CreateInvitation(ctx, i, exclusive, authmgmt.AuditEvent{})
		}
	}},
	{name: "writes a client in two transactions", breaks: []string{"clients/reads-are-whole"}, mutate: func(m *mutant) {
		m.updateClient = func(ctx context.Context, org, id string, update clientUpdate) error {
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
		}
	}},
	{name: "keeps no event of what is deleted", breaks: []string{"clients/delete-keeps-the-event"}, mutate: func(m *mutant) {
		m.updateClient = func(ctx context.Context, org, id string, update clientUpdate) error {
			return m.AuthMgmt.UpdateClient(ctx, org, id, func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
				e, err := update(c)
				if !c.DeletedAt.IsZero() {
					e = authmgmt.AuditEvent{}
				}
				return e, err
			})
		}
	}},
}
