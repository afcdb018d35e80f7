package leases_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/leases"
)

// TestPerOrganization: an organization with many jobs has no more workers than it may have,
// all of them while it has jobs, and costs no other organization anything: a job of another
// one begins at the next poll, and no job is claimed in vain.
func TestPerOrganization(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(t)
		const jobs = 200
		for i := range jobs {
			tb.put(t, ofOrg(fmt.Sprintf("a-%03d", i)))
		}
		q := leases.New(tb, quiet())
		running := map[string]*most{"a": {}, "b": {}}
		var began list[time.Time]
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		var deliveries atomic.Int64
		go func() {
			ended <- q.Consume(ctx, mortise.ConsumeOptions{Kinds: []string{"docs"}, Workers: 16, PerOrganization: 3},
				func(_ context.Context, d mortise.Delivery) mortise.Verdict {
					defer running[d.Job.Organization].enter()()
					if deliveries.Add(int64(d.Deliveries)); d.Job.Organization == "b" {
						began.add(time.Now())
					}
					time.Sleep(time.Minute)
					return done
				})
		}()
		pass(10 * time.Minute)
		start := time.Now()
		for i := range 4 {
			tb.put(t, ofOrg(fmt.Sprintf("b-%d", i))) // by another process
		}
		pass(time.Second)
		require.Len(t, began.get(), 3)
		for _, at := range began.get() {
			assert.LessOrEqual(t, at.Sub(start), 500*time.Millisecond, "a poll")
		}
		pass(jobs / 3 * time.Minute)
		assert.Equal(t, 3, running["a"].get())
		assert.Equal(t, 3, running["b"].get())
		assert.Zero(t, tb.jobs(), "jobs that are left, with three at a time")
		assert.EqualValues(t, jobs+4, deliveries.Load(), "each job was claimed once")
		cancel()
		require.NoError(t, <-ended)
	})
}
