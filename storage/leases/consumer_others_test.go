package leases_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/leases"
)

// ofOrg returns a job of the organization that its ID begins with.
func ofOrg(id string) mortise.Job {
	return mortise.Job{Kind: "docs", Organization: id[:1], ID: id}
}

// TestOneOrganizationHasAllWorkers: jobs of other organizations are handed out besides,
// one at a time, and no more of the same one.
func TestOneOrganizationHasAllWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(t)
		for _, id := range []string{"a-1", "a-2", "a-3", "a-4", "a-5"} {
			tb.put(t, ofOrg(id))
		}
		q := leases.New(tb, quiet())
		var mu sync.Mutex
		end := make(map[string]chan struct{}) // of those that run
		now := func() (running []string) {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			for id := range end {
				running = append(running, id)
			}
			slices.Sort(running)
			return running
		}
		finish := func(ids ...string) {
			mu.Lock()
			defer mu.Unlock()
			for _, id := range ids {
				close(end[id])
				delete(end, id)
			}
		}
		c := consume(t, q, 3, func(_ context.Context, d mortise.Delivery) mortise.Verdict {
			wait := make(chan struct{})
			mu.Lock()
			end[d.Job.ID] = wait
			mu.Unlock()
			<-wait
			return done
		})
		assert.Equal(t, []string{"a-1", "a-2", "a-3"}, now())
		require.NoError(t, q.Enqueue(t.Context(), ofOrg("b-1")))
		require.NoError(t, q.Enqueue(t.Context(), ofOrg("b-2")))
		assert.Equal(t, []string{"a-1", "a-2", "a-3", "b-1"}, now())
		finish("b-1")
		assert.Equal(t, []string{"a-1", "a-2", "a-3", "b-2"}, now())
		finish("b-2")
		assert.Equal(t, []string{"a-1", "a-2", "a-3"}, now())

		finish("a-1")
		assert.Equal(t, []string{"a-2", "a-3", "a-4"}, now())
		tb.put(t, ofOrg("c-1")) // by another process
		pass(time.Second)
		assert.Equal(t, []string{"a-2", "a-3", "a-4", "c-1"}, now())

		c.cancel()
		finish("a-2", "a-3", "a-4", "c-1")
		c.stop()
		assert.Equal(t, 1, tb.jobs(), "a-5")
	})
}

// TestOneWorker: beside a single worker no job is handed out.
func TestOneWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(t)
		tb.put(t, ofOrg("a-1"))
		tb.put(t, ofOrg("b-1"))
		var running most
		q := leases.New(tb, quiet())
		c := consume(t, q, 1, func(context.Context, mortise.Delivery) mortise.Verdict {
			defer running.enter()()
			time.Sleep(time.Second)
			return done
		})
		pass(time.Minute)
		c.stop()
		assert.Equal(t, 1, running.get())
		assert.Zero(t, tb.jobs())
	})
}

// TestOthersAreDueOnTime: while one organization has all workers, a job of another one
// that was enqueued for later, or is to be retried, is handed out when it is due, and not
// at a poll.
func TestOthersAreDueOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(t)
		q := leases.New(tb, rarely())
		start := time.Now()
		var came list[time.Duration]
		c := consume(t, q, 2, func(_ context.Context, d mortise.Delivery) mortise.Verdict {
			if d.Job.Organization == "a" {
				time.Sleep(time.Hour)
				return done
			}
			came.add(time.Since(start))
			if d.Deliveries == 1 {
				return mortise.Verdict{After: time.Minute}
			}
			return done
		})
		for _, id := range []string{"a-1", "a-2"} {
			require.NoError(t, q.Enqueue(t.Context(), ofOrg(id)))
		}
		synctest.Wait()
		later := ofOrg("b-1")
		later.At = start.Add(time.Second)
		require.NoError(t, q.Enqueue(t.Context(), later))
		pass(10 * time.Minute)
		assert.Equal(t, []time.Duration{time.Second, time.Second + time.Minute}, came.get())
		c.cancel()
		pass(time.Hour)
		c.stop()
	})
}
