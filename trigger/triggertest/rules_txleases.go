package triggertest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/queuetest"
	"github.com/seed-6363c74e/mortise/trigger"
)

// foreignStore is a Store of a kind that no backend has heard of.
type foreignStore struct{ trigger.Store }

// createAndAdd is the creator that adds a job.
func (s *subject) createAndAdd(t *testing.T, e trigger.Event, keySince time.Time) (trigger.Event, bool, error) {
	return s.Leases.(trigger.TxLeases).CreateAndAdd(t.Context(), e, keySince, e.Job(), e.SubmittedAt)
}

// txLeaseCalls calls the method that TxLeases have besides those of Leases, if the backend's are a TxLeases.
func (s *subject) txLeaseCalls() []queuetest.Call {
	tx, ok := s.Leases.(trigger.TxLeases)
	if !ok || s.Store == nil {
		return nil
	}
	return []queuetest.Call{{Name: "CreateAndAdd", Do: func(ctx context.Context) error {
		e := plainEvent(orgA, 1000*time.Hour)
		_, _, err := tx.CreateAndAdd(ctx, e, window(), e.Job(), e.SubmittedAt)
		return err
	}}}
}

const needTx = needStore | needLeases | needTxLeases

// txLeaseRules are the rules of Leases that are a TxLeases.
var txLeaseRules = []rule{
	{Rule{"txleases/shares", "Shares reports whether the Store keeps its events in the same database."}, needTx,
		func(t *testing.T, s *subject) {
			tx := s.Leases.(trigger.TxLeases)
			require.True(t, tx.Shares(s.Store), "with the Store of the same backend")
			require.False(t, tx.Shares(s.h.Open(t).Store), "with the Store of another one")
			require.False(t, tx.Shares(foreignStore{}), "with a Store of a kind that it does not know")
		}},

	{Rule{"txleases/create-and-add", "CreateAndAdd does Store.Create and, if that created the event, Leases.Add with the event's SubmittedAt."}, needTx,
		func(t *testing.T, s *subject) {
			e := filledEvent(orgA)
			want := e.Clone()
			stored, created, err := s.createAndAdd(t, e, window())
			require.NoError(t, err)
			require.True(t, created)
			spoil(&e)
			sameEvent(t, want, stored)
			spoil(&stored)
			sameEvent(t, want, s.get(t, want))
			s.jobs().ClaimNone(t, -time.Microsecond)
			require.Equal(t, want.Job(), s.jobs().ClaimOne(t, 0, time.Minute).Job)
		}},

	{Rule{"txleases/same-key-adds-nothing", "CreateAndAdd finds an event with the same idempotency key as Store.Create does, and adds no job then."}, needTx,
		func(t *testing.T, s *subject) {
			keyFinds(t, s, s.createAndAdd, moment(0))
			l := s.jobs().ClaimOne(t, 2*time.Hour, 3*time.Hour)
			require.Equal(t, moment(0), s.get(t, trigger.Event{Organization: orgA, ID: l.Job.EventID}).SubmittedAt.UTC())
		}},

	{Rule{"txleases/same-id-adds-nothing", "CreateAndAdd of an event whose ID is there returns that one and adds no job."}, needTx,
		func(t *testing.T, s *subject) {
			first := s.create(t, plainEvent(orgA, 0))
			second := first
			second.Instructions = "something else"
			stored, created, err := s.createAndAdd(t, second, window())
			require.NoError(t, err)
			require.False(t, created)
			sameEvent(t, first, stored)
			s.jobs().ClaimNone(t, time.Hour)
		}},

	{Rule{"txleases/key-before-window", "An event with the same key submitted before keySince loses its key by CreateAndAdd too; its job stays."}, needTx,
		func(t *testing.T, s *subject) {
			keyIsTaken(t, s, s.createAndAdd)
			require.Len(t, s.jobs().Claim(t, 3*time.Hour, 4*time.Hour, 10), 2)
		}},

	{Rule{"txleases/job-is-there", "A job that is there is left as it is by CreateAndAdd; the event is created."}, needTx,
		func(t *testing.T, s *subject) {
			e := plainEvent(orgA, 0)
			s.jobs().Add(t, e.Job(), time.Hour)
			_, created, err := s.createAndAdd(t, e, window())
			require.NoError(t, err)
			require.True(t, created)
			sameEvent(t, e, s.get(t, e))
			s.jobs().ClaimNone(t, time.Hour-time.Microsecond)
			require.Equal(t, e.Job(), s.jobs().ClaimOne(t, time.Hour, 2*time.Hour).Job)
		}},

	{Rule{"txleases/concurrent-one-key", "Of many CreateAndAdd at once with one key, one creates its event and adds its job."}, needTx,
		func(t *testing.T, s *subject) {
			winner := keyIsWonOnce(t, s, s.createAndAdd)
			require.Equal(t, winner.Job(), s.jobs().ClaimOne(t, 2*time.Hour, 3*time.Hour).Job)
		}},

	{Rule{"txleases/both-or-neither", "CreateAndAdd is one transaction: whoever sees the job sees the event, also if the call was cut off."}, needTx,
		func(t *testing.T, s *subject) {
			const n = 40
			events := make([]trigger.Event, n)
			for i := range events {
				events[i] = plainEvent(orgA, 0)
			}
			var cutOff sync.WaitGroup
			cutOff.Add(n / 2)
			conformance.Together(n+1, func(i int) {
				// A mutant in Seam waits for this one to end: when all are cancelled.
				if i == n {
					cutOff.Wait()
					return
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if i%2 == 0 {
					go func() {
						defer cutOff.Done()
						cancel()
					}()
				}
				// Whether a call that was cut off took effect is unknown; what counts is that event and job agree.
				_, _, _ = s.Leases.(trigger.TxLeases).CreateAndAdd(ctx, events[i], window(), events[i].Job(), events[i].SubmittedAt)
			})
			// A backend may still be finishing the transaction of a caller that has gone, so what is not there yet may come.
			added := make(map[uuid.UUID]bool)
			conformance.Until(t, "every event to have its job, and every job its event", func() bool {
				for _, l := range s.jobs().Claim(t, time.Hour, 2*time.Hour, 2*n) {
					added[l.Job.EventID] = true
				}
				for i, e := range events {
					_, err := s.Store.Get(t.Context(), orgA, e.ID)
					if err != nil {
						require.ErrorIs(t, err, trigger.ErrNotFound)
					}
					if (err == nil) != added[e.ID] || err != nil && i%2 == 1 {
						return false
					}
				}
				return true
			})
		}},
}
