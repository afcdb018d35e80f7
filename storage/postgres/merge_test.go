package postgres_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/trigger"
)

// TestShared: what many callers do at once comes to the same as if each had done it alone:
// an event is created once, although another has its ID or its key, it is changed as each
// leaves it, and its job ends with it, if the lease holds it.
func TestShared(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]func(testing.TB) *database{"prepared": newDatabase, "exec": execDatabase} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const events = 60
			ctx, d := t.Context(), from(t)
			db := d.open(t, &postgres.Options{Timeout: time.Minute})
			store := triggerStore(db)
			_, err := store.MarkDeleted(ctx, "gone", time.Now())
			require.NoError(t, err)

			var mu sync.Mutex
			created := make(map[int]int)
			var all []trigger.Event
			atOnce(4*events, func(n int) {
				i := n % events
				e := triggerEvent("acme")
				switch i % 4 {
				case 1: // with one ID
					e.ID = uuid.UUID{15: byte(i)}
				case 2:
					e.IdempotencyKey, e.Trace, e.Collection = fmt.Sprint("key ", i), map[string]string{"traceparent": "00"}, uuid.New()
				case 3:
					e.Organization = "gone"
				default:
					if n >= events {
						return
					}
				}
				got, is, err := store.CreateEventAndAdd(ctx, *e, time.Time{}, e.Job())
				if i%4 == 3 {
					assert.ErrorIs(t, err, mortise.ErrDeleted)
					return
				}
				if !assert.NoError(t, err) {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if is {
					assert.Equal(t, *e, got)
					created[i]++
					all = append(all, got)
				}
			})
			require.Len(t, created, events*3/4)
			require.Len(t, all, events*3/4)
			for i := range created {
				require.Equal(t, 1, created[i], i)
			}
			byJob := make(map[string]trigger.Event)
			for _, e := range all {
				byJob[e.Job().ID] = e
			}
			leases, err := db.Jobs().Claim(ctx, mortise.Claim{Token: uuid.New(), Kinds: []string{trigger.JobKind}, Limit: 1000, TTL: time.Hour})
			require.NoError(t, err)
			require.Len(t, leases, len(all), "each event has one job, and no other is there")

			atOnce(len(leases), func(n int) {
				l := leases[n]
				e := byJob[l.Job.ID]
				assert.NoError(t, store.UpdateEvent(ctx, "acme", e.ID, func(e *trigger.Event) error {
					e.Status, e.StartedAt, e.Attempts = trigger.StatusProcessing, e.SubmittedAt.Add(time.Second), n+1
					return nil
				}))
				if n%3 == 0 {
					l.Token = uuid.New() // it has lost the job
				}
				assert.NoError(t, store.UpdateEventAndJobs(ctx, "acme", e.ID, func(e *trigger.Event) ([]mortise.Job, error) {
					e.Status, e.FinishedAt = trigger.StatusCompleted, e.SubmittedAt.Add(time.Minute)
					e.Outcome = &trigger.Outcome{Summary: fmt.Sprint("done ", n), Data: []byte(`{"n":1}`)}
					return nil, nil
				}, l, n%2 == 0))
			})
			dead := 0
			for n, l := range leases {
				e := byJob[l.Job.ID]
				e.Status, e.Attempts = trigger.StatusCompleted, n+1
				e.StartedAt, e.FinishedAt = e.SubmittedAt.Add(time.Second), e.SubmittedAt.Add(time.Minute)
				e.Outcome = &trigger.Outcome{Summary: fmt.Sprint("done ", n), Data: []byte(`{"n":1}`)}
				got, err := store.Event(ctx, "acme", e.ID)
				require.NoError(t, err)
				require.Equal(t, e, got)
				if err := db.Jobs().Remove(ctx, l, false); n%3 == 0 {
					require.NoError(t, err, "a job went whose lease was another's")
				} else {
					require.ErrorIs(t, err, mortise.ErrLeaseLost)
				}
				if n%2 == 0 && n%3 != 0 {
					dead++
				}
			}
			var found int
			require.NoError(t, d.pool(t).QueryRow(ctx, "SELECT count(*) FROM mortise.jobs WHERE dead").Scan(&found))
			require.Equal(t, dead, found)
		})
	}
}
