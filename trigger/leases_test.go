package trigger_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// slowTable takes a second to say that a job was added, and counts the claims.
type slowTable struct {
	*memory.Trigger
	claims int // by one consumer
}

func (s *slowTable) Add(ctx context.Context, j trigger.Job, at time.Time) error {
	defer time.Sleep(time.Second)
	return s.Trigger.Add(ctx, j, at)
}

func (s *slowTable) CreateAndAdd(ctx context.Context, e trigger.Event, keySince time.Time, j trigger.Job, at time.Time) (trigger.Event, bool, error) {
	defer time.Sleep(time.Second)
	return s.Trigger.CreateAndAdd(ctx, e, keySince, j, at)
}

func (s *slowTable) Claim(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]trigger.Lease, error) {
	s.claims++
	return s.Trigger.Claim(ctx, token, now, until, limit, except...)
}

// TestJobsWakeConsumers: once, and not at the next poll. Either the table wakes them, or the queue that the job was added through.
func TestJobsWakeConsumers(t *testing.T) {
	all := func(s *slowTable) trigger.Leases { return s }
	for name, test := range map[string]struct {
		leases func(*slowTable) trigger.Leases
		other  bool // the job is added through another queue than the one that is consumed
		tx     bool // it is added with its event
		after  time.Duration
	}{
		"table":                      {leases: all},
		"table, with event":          {leases: all, tx: true},
		"table, another queue":       {leases: all, other: true},
		"table, another, with event": {leases: all, other: true, tx: true},
		"queue":                      {leases: func(s *slowTable) trigger.Leases { return struct{ trigger.Leases }{s} }, after: time.Second},
		"queue, with event":          {leases: func(s *slowTable) trigger.Leases { return struct{ trigger.TxLeases }{s} }, tx: true, after: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, err := memory.Open(t.Context(), nil)
				require.NoError(t, err)
				table := &slowTable{Trigger: db.Trigger()}
				opts := &trigger.LeaseOptions{Poll: time.Hour}
				queue := trigger.LeaseQueue(test.leases(table), opts)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				start := time.Now()
				var handled trigger.Job
				var after time.Duration
				go func() {
					ended <- queue.Consume(ctx, 2, func(_ context.Context, d trigger.Delivery) trigger.Verdict {
						handled, after = d.Job, time.Since(start)
						return trigger.Verdict{Kind: trigger.VerdictDone}
					})
				}()
				synctest.Wait()

				if test.other {
					queue = trigger.LeaseQueue(test.leases(table), opts)
				}
				e := event("Document the release.")
				if test.tx {
					_, _, err = queue.(trigger.TxQueue).CreateAndEnqueue(ctx, e, time.Time{}, e.Job())
				} else {
					err = queue.Enqueue(ctx, e.Job())
				}
				require.NoError(t, err)
				synctest.Wait()
				assert.Equal(t, e.Job(), handled)
				assert.Equal(t, test.after, after)
				assert.Equal(t, 3, table.claims, "one before the job, one that found it, and one that found no more")
				cancel()
				require.NoError(t, <-ended)
			})
		})
	}
}

// Several queues over one table hear of each other's jobs where the table tells them.
func ExampleJobNotifier() {
	db, err := memory.Open(context.Background(), nil)
	check(err)
	ctx := context.Background()
	var leases trigger.JobNotifier = db.Trigger()
	stop := leases.NotifyJobs(func() { fmt.Println("a job was added") })
	j := trigger.Job{Organization: "acme", EventID: uuid.Max}
	check(trigger.LeaseQueue(leases, nil).Enqueue(ctx, j))
	stop()
	j.Generation++
	check(trigger.LeaseQueue(leases, nil).Enqueue(ctx, j))
	// Output:
	// a job was added
}
