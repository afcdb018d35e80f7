package leases_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/leases"
)

// rarely returns options whose consumers find nothing by polling.
func rarely() *leases.Options {
	opts := quiet()
	opts.Poll = 24 * time.Hour
	return opts
}

func TestTableWakesEveryQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &notifier{table: newTable(t)}
		handled := make(chan int, 10)
		var running []*consumption
		for i := range 2 {
			q := leases.New(n, rarely())
			c := consume(t, q, 1, func(context.Context, mortise.Delivery) mortise.Verdict {
				handled <- i
				time.Sleep(time.Minute)
				return done
			})
			running = append(running, c)
		}
		synctest.Wait()
		assert.Equal(t, 2, n.open)
		start := time.Now()
		n.put(t, docs("a"))
		n.put(t, docs("b"))
		first, second := <-handled, <-handled
		assert.NotEqual(t, first, second, "both queues were woken")
		assert.Zero(t, time.Since(start))
		pass(2 * time.Minute)
		for _, c := range running {
			c.stop()
		}
		assert.Zero(t, n.open, "subscriptions when every Consume has returned")
	})
}

// afterClaim is a table to which something happens after each claim.
type afterClaim struct {
	*notifier
	happens func()
}

func (a afterClaim) Claim(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
	leases, err := a.notifier.Claim(ctx, c)
	a.happens()
	return leases, err
}

// TestSubscriptionComesFirst: a job that is added while the first claim runs is not left to
// the next poll.
func TestSubscriptionComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &notifier{table: newTable(t)}
		added := sync.OnceFunc(func() { n.put(t, docs("a")) })
		handled := make(chan struct{}, 1)
		q := leases.New(afterClaim{n, added}, rarely())
		c := consume(t, q, 1, func(context.Context, mortise.Delivery) mortise.Verdict {
			handled <- struct{}{}
			return done
		})
		start := time.Now()
		<-handled
		assert.Zero(t, time.Since(start))
		c.stop()
	})
}

// queues calls try with a queue over a table that wakes consumers, and with one over a table
// that does not.
func queues(t *testing.T, try func(t *testing.T, tb *table, q *leases.Queue)) {
	t.Run("notifier", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			n := &notifier{table: newTable(t)}
			try(t, n.table, leases.New(n, rarely()))
		})
	})
	t.Run("plain", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tb := newTable(t)
			try(t, tb, leases.New(tb, rarely()))
		})
	})
}

// TestWakeByKind: a job wakes the consumers of its kind, and no others.
func TestWakeByKind(t *testing.T) {
	queues(t, func(t *testing.T, tb *table, q *leases.Queue) {
		var ofDocs, ofMail list[string]
		note := func(l *list[string]) mortise.Handler {
			return func(_ context.Context, d mortise.Delivery) mortise.Verdict {
				l.add(d.Job.ID)
				return done
			}
		}
		first := consume(t, q, 1, note(&ofDocs), "docs", "thumbnails")
		second := consume(t, q, 1, note(&ofMail), "mail")
		synctest.Wait()
		assert.Equal(t, 1, tb.claimsOf("docs"))
		assert.Equal(t, 1, tb.claimsOf("mail"))

		enqueue := func(kind, id string) {
			j := mortise.Job{Kind: kind, Organization: "acme", ID: id}
			assert.NoError(t, q.Enqueue(t.Context(), j))
			synctest.Wait()
		}
		enqueue("mail", "1")
		assert.Equal(t, []string{"1"}, ofMail.get())
		assert.Equal(t, 1, tb.claimsOf("docs"), "claims of those who need not wake")
		claims := tb.claimsOf("mail")
		enqueue("docs", "2")
		enqueue("thumbnails", "3")
		enqueue("nobody", "4")
		assert.Equal(t, []string{"2", "3"}, ofDocs.get())
		assert.Equal(t, []string{"1"}, ofMail.get())
		assert.Equal(t, claims, tb.claimsOf("mail"), "claims of those who need not wake")
		first.stop()
		second.stop()
	})
}

// TestJobsForLater: an idle consumer wakes when a job that was enqueued becomes due, and
// does not leave it to a poll; nor the ones that are due after it.
func TestJobsForLater(t *testing.T) {
	queues(t, func(t *testing.T, tb *table, q *leases.Queue) {
		start := time.Now()
		var came list[string]
		c := consume(t, q, 1, func(_ context.Context, d mortise.Delivery) mortise.Verdict {
			came.add(d.Job.ID + " after " + time.Since(start).String())
			return done
		})
		synctest.Wait()
		for id, after := range map[string]time.Duration{
			"a": 20 * time.Minute, "b": 10 * time.Minute, "c": 30 * time.Minute, "d": -time.Minute,
		} {
			j := docs(id)
			j.At = start.Add(after)
			assert.NoError(t, q.Enqueue(t.Context(), j))
		}
		pass(time.Hour)
		want := []string{"d after 0s", "b after 10m0s", "a after 20m0s", "c after 30m0s"}
		assert.Equal(t, want, came.get())
		assert.Less(t, tb.count("Claim"), 15, "it does not spin")
		c.stop()
	})
}

// TestManyJobsForLater: what a consumer notes is bounded, and nothing is lost by that.
func TestManyJobsForLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1200
		tb := newTable(t)
		opts := quiet()
		opts.Poll = time.Minute
		q := leases.New(tb, opts)
		c := consume(t, q, 1, always(done))
		synctest.Wait()
		start := time.Now()
		for i := range n {
			j := docs(fmt.Sprint("job-", i))
			j.At = start.Add(time.Hour + time.Duration(n-i)*time.Second)
			assert.NoError(t, q.Enqueue(t.Context(), j))
		}
		pass(time.Hour + 1000*time.Second)
		assert.Equal(t, 200, tb.jobs(), "jobs that are not due")
		pass(200*time.Second + time.Minute)
		assert.Zero(t, tb.jobs())
		c.stop()
	})
}
