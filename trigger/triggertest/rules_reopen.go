package triggertest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// reopenRules say what outlives a process.
var reopenRules = []rule{
	{Rule{"store/durable", "A call that returned without error is durable: events outlive the process, as they were."}, needStore | needReopen,
		func(t *testing.T, s *subject) {
			filled := s.create(t, filledEvent(orgA))
			changed := s.create(t, plainEvent(orgA, time.Hour))
			s.update(t, changed, func(e *trigger.Event) { e.Attempts, e.WakeAt = 4, moment(time.Hour) })
			changed.Attempts, changed.WakeAt = 4, moment(time.Hour)
			freed := s.create(t, keyedEvent(orgA, "freed", 2*time.Hour))
			s.update(t, freed, func(e *trigger.Event) { e.IdempotencyKey = "" })
			other := s.create(t, plainEvent(orgB, 0))

			s.reopen(t)
			sameEvent(t, filled, s.get(t, filled))
			sameEvent(t, changed, s.get(t, changed))
			sameEvent(t, other, s.get(t, other))
			require.Len(t, s.list(t, orgA, trigger.EventQuery{}), 3, "events after reopening")
			waiting := s.overdue(t, moment(2*time.Hour), 10)
			require.Len(t, waiting, 2, "overdue events after reopening")
			sameEvent(t, changed, waiting[1])
			_, created, err := s.Store.CreateEvent(t.Context(), keyedEvent(orgA, filled.IdempotencyKey, time.Hour), window())
			require.NoError(t, err)
			require.False(t, created, "the idempotency key was forgotten")
			s.create(t, keyedEvent(orgA, "freed", 3*time.Hour))
		}},

	{Rule{"pruner/durable", "What Prune removed stays removed."}, needStore | needPruner | needReopen,
		func(t *testing.T, s *subject) {
			e := s.create(t, finishedEvent(orgA, 0))
			require.Equal(t, 1, s.prune(t, time.Hour), "events removed")
			s.reopen(t)
			_, err := s.Store.Event(t.Context(), orgA, e.ID)
			require.ErrorIs(t, err, mortise.ErrNotFound)
		}},

	{Rule{"organizations/durable", "Organizations outlive the process."}, needOrganizations | needReopen,
		func(t *testing.T, s *subject) {
			a, b := s.setup(t, orgA, 3), s.setup(t, orgB, 0)
			s.reopen(t)
			s.hasOrganization(t, a, "after reopening")
			s.hasOrganization(t, b, "after reopening")
		}},

	{Rule{"keys/durable", "API keys outlive the process, revoked ones as such."}, needKeys | needReopen,
		func(t *testing.T, s *subject) {
			valid, revoked := s.addKey(t, newKey(orgA, 0)), s.addKey(t, newKey(orgA, time.Second))
			require.NoError(t, s.Keys.UpdateKey(t.Context(), orgA, revoked.ID, func(k *trigger.APIKey) error {
				k.RevokedAt = moment(time.Hour)
				return nil
			}))
			revoked.RevokedAt = moment(time.Hour)
			s.reopen(t)
			s.hasKey(t, valid)
			s.hasKey(t, revoked)
		}},

	{Rule{"txstore/durable", "The writes of CreateEventAndAdd and UpdateEventAndJobs are durable, event and job."}, needTx | needReopen,
		func(t *testing.T, s *subject) {
			ended := s.held(t, orgA)
			e := plainEvent(orgA, 0)
			_, created, err := s.createAndAdd(t, e, window())
			require.NoError(t, err)
			require.True(t, created)
			require.NoError(t, s.endBy(t.Context(), ended, fail, false))
			s.reopen(t)
			sameEvent(t, e, s.get(t, e))
			require.Equal(t, trigger.StatusFailed, s.get(t, ended.event).Status)
			s.hasJobs(t, e)
		}},
}
