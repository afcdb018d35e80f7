package authmgmttest

import (
	"errors"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// revocationRules are the rules of Restorable.
var revocationRules = []rule{
	{Rule{"restorable/revocations", conformance.RevocationsText}, needStore | needRestorable,
		func(t *testing.T, s *subject) {
			ctx := t.Context()
			c, k, i := s.addClient(t, newClient(orgA, "build", 0)), s.addToken(t, newToken(orgA, 0)), s.addInvitation(t, newInvitation(orgA, "i", 0))
			failed := errors.New("failed")
			conformance.TakesAway(t, s.Store,
				conformance.Taken{Method: "CreateClient", Call: func() error { s.addClient(t, newClient(orgA, "other", 0)); return nil }},
				conformance.Taken{Method: "UpdateClient without an event", Call: func() error {
					return s.Store.UpdateClient(ctx, orgA, c.ID, func(*authmgmt.Client) (authmgmt.AuditEvent, error) { return authmgmt.AuditEvent{}, nil })
				}},
				conformance.Taken{Method: "UpdateClient that fails", Call: func() error {
					return s.Store.UpdateClient(ctx, orgA, c.ID, func(*authmgmt.Client) (authmgmt.AuditEvent, error) {
						return newEvent(orgA, mortise.KindClientUpdated, c.ID, 0), failed
					})
				}},
				conformance.Taken{Method: "UpdateClient", Takes: true, At: moment(0), Call: func() error {
					s.updateClient(t, c, func(c *authmgmt.Client) { c.Name = "renamed" })
					return nil
				}},
				conformance.Taken{Method: "UpdateClient of its secrets", Takes: true, Call: func() error {
					s.updateClient(t, c, func(c *authmgmt.Client) { c.Secrets = nil })
					return nil
				}},
				conformance.Taken{Method: "UpdateToken", Takes: true, Call: func() error {
					s.updateToken(t, k, func(k *authmgmt.Token) { k.RevokedAt = moment(time.Hour) })
					return nil
				}},
				conformance.Taken{Method: "UpdateInvitation", Takes: true, Call: func() error {
					s.updateInvitation(t, i, func(i *authmgmt.Invitation) { i.CancelledAt = moment(time.Hour) })
					return nil
				}},
				conformance.Taken{Method: "MarkDeleted", Takes: true, At: moment(2 * time.Hour), Call: func() error {
					_, err := s.Store.MarkDeleted(ctx, orgB, moment(2*time.Hour), authmgmt.AuditEvent{})
					return err
				}},
				conformance.Taken{Method: "MarkDeleted again", Call: func() error {
					_, err := s.Store.MarkDeleted(ctx, orgB, moment(3*time.Hour), authmgmt.AuditEvent{})
					return err
				}},
			)
		}},
}
