package triggertest

import (
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/trigger"
)

// revocationRules are the rules of mortise.RevocationCounter.
var revocationRules = []rule{
	{Rule{"revocations/grow", conformance.RevocationsText}, needStore | needKeys | needRevocations,
		func(t *testing.T, s *subject) {
			ctx, k := t.Context(), s.addKey(t, newKey(orgA, 0))
			mark := func(at time.Duration) func() error {
				return func() error {
					_, err := s.Store.MarkDeleted(ctx, orgB, moment(at))
					return err
				}
			}
			conformance.TakesAway(t, s.Store,
				conformance.Taken{Method: "CreateEvent", Call: func() error { s.create(t, plainEvent(orgA, 0)); return nil }},
				conformance.Taken{Method: "UpdateKey of its use", Call: func() error {
					return s.Keys.UpdateKey(ctx, orgA, k.ID, func(k *trigger.APIKey) error { k.LastUsedAt = moment(time.Minute); return nil })
				}},
				conformance.Taken{Method: "UpdateKey", Takes: true, At: moment(time.Hour), Call: func() error {
					return s.Keys.UpdateKey(ctx, orgA, k.ID, func(k *trigger.APIKey) error { k.RevokedAt = moment(time.Hour); return nil })
				}},
				conformance.Taken{Method: "MarkDeleted", Takes: true, At: moment(2 * time.Hour), Call: mark(2 * time.Hour)},
				conformance.Taken{Method: "MarkDeleted again", Call: mark(3 * time.Hour)},
			)
		}},
}
