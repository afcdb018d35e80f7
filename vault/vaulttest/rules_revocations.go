package vaulttest

import (
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/vault"
)

// revocationRules are the rules of mortise.RevocationCounter.
var revocationRules = []rule{
	{Rule{"revocations/grow", conformance.RevocationsText}, needRevocations,
		func(t *testing.T, s *subject) {
			ctx, v := t.Context(), s.customers(t)
			other := s.addVault(t, newVault(orgA, "other"))
			deleted := newEvent(orgA, mortise.KindDeleted, v.ID, time.Hour)
			conformance.TakesAway(t, s.Store,
				conformance.Taken{Method: "InsertTokens", Call: func() error { s.adds(t, v, row("t1", "a.b", "ann", 1)); return nil }},
				conformance.Taken{Method: "DeleteToken of none", Call: func() error { return s.Store.DeleteToken(ctx, orgA, v.ID, "t2", deleted) }},
				conformance.Taken{Method: "DeleteToken", Takes: true, At: deleted.At, Call: func() error { return s.Store.DeleteToken(ctx, orgA, v.ID, "t1", deleted) }},
				conformance.Taken{Method: "MarkVaultDeleted", Takes: true, At: moment(2 * time.Hour), Call: func() error {
					_, err := s.Store.MarkVaultDeleted(ctx, orgA, other.ID, moment(2*time.Hour), vault.AuditEvent{})
					return err
				}},
				conformance.Taken{Method: "MarkVaultDeleted again", Call: func() error {
					_, err := s.Store.MarkVaultDeleted(ctx, orgA, other.ID, moment(3*time.Hour), vault.AuditEvent{})
					return err
				}},
				conformance.Taken{Method: "MarkDeleted", Takes: true, At: moment(4 * time.Hour), Call: func() error {
					_, err := s.Store.MarkDeleted(ctx, orgA, moment(4*time.Hour), vault.AuditEvent{})
					return err
				}},
			)
		}},
}
