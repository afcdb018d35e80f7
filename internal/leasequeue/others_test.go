package leasequeue_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/leasequeue"
)

// ofOrgs is a table whose jobs are named "organization/number".
type ofOrgs struct{ *table }

func orgOf(l lease) string { return l.job[:1] }

func (o ofOrgs) Claim(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]lease, error) {
	o.mu.Lock()
	var hidden []string
	for job := range o.at {
		if slices.Contains(except, job[:1]) {
			hidden = append(hidden, job)
		}
	}
	kept := make(map[string]time.Time)
	for _, job := range hidden {
		kept[job] = o.at[job]
		o.at[job] = now.Add(time.Hour)
	}
	o.mu.Unlock()
	leases, err := o.table.Claim(ctx, token, now, until, limit)
	o.mu.Lock()
	defer o.mu.Unlock()
	for job, at := range kept {
		if _, there := o.at[job]; there {
			o.at[job] = at
		}
	}
	return leases, err
}

// TestOneOrganizationHasAllWorkers: jobs of other organizations are handed out besides,
// one at a time, and no more of the same one.
func TestOneOrganizationHasAllWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := ofOrgs{newTable("a/1", "a/2", "a/3", "a/4", "a/5")}
		e := leasequeue.New[lease](tb, leasequeue.Options{Lost: errLost}).Share(orgOf)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		var mu sync.Mutex
		var running []string
		end := make(map[string]chan struct{})
		now := func() []string {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			slices.Sort(running)
			return slices.Clone(running)
		}
		finish := func(job string) {
			mu.Lock()
			defer mu.Unlock()
			close(end[job])
		}
		go func() {
			ended <- e.Consume(ctx, 3, func(_ context.Context, l lease) leasequeue.Verdict {
				mu.Lock()
				running = append(running, l.job)
				wait := make(chan struct{})
				end[l.job] = wait
				mu.Unlock()
				<-wait
				mu.Lock()
				defer mu.Unlock()
				running = slices.DeleteFunc(running, func(job string) bool { return job == l.job })
				return done
			})
		}()
		assert.Equal(t, []string{"a/1", "a/2", "a/3"}, now())
		tb.add("b/1")
		tb.add("b/2")
		e.Wake()
		assert.Equal(t, []string{"a/1", "a/2", "a/3", "b/1"}, now())
		finish("b/1")
		assert.Equal(t, []string{"a/1", "a/2", "a/3", "b/2"}, now())
		finish("b/2")
		assert.Equal(t, []string{"a/1", "a/2", "a/3"}, now())

		finish("a/1") // the table is a plain one: a/4 comes
		assert.Equal(t, []string{"a/2", "a/3", "a/4"}, now())
		tb.add("c/1") // by another process
		pass(time.Second)
		assert.Equal(t, []string{"a/2", "a/3", "a/4", "c/1"}, now())

		cancel()
		for _, job := range []string{"a/2", "a/3", "a/4", "c/1"} {
			finish(job)
		}
		require.NoError(t, <-ended)
		assert.Equal(t, 1, tb.left(), "a/5")
	})
}

// TestOneWorker: beside a single worker no job is handed out.
func TestOneWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := ofOrgs{newTable("a/1", "b/1")}
		e := leasequeue.New[lease](tb, leasequeue.Options{Lost: errLost}).Share(orgOf)
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		var most, busy int
		ended := make(chan error, 1)
		go func() {
			ended <- e.Consume(ctx, 1, func(context.Context, lease) leasequeue.Verdict {
				mu.Lock()
				busy++
				most = max(most, busy)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				busy--
				mu.Unlock()
				return done
			})
		}()
		pass(time.Minute)
		cancel()
		require.NoError(t, <-ended)
		assert.Equal(t, 1, most)
		assert.Zero(t, tb.left())
	})
}
