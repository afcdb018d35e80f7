package leases_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/slot"
	"github.com/seed-6363c74e/mortise/storage/leases"
)

func TestConcurrencyAndOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(t)
		for i := range 10 {
			tb.put(t, docs(fmt.Sprint(i)))
		}
		var running most
		q := leases.New(tb, quiet())
		c := consume(t, q, 3, func(context.Context, mortise.Delivery) mortise.Verdict {
			defer running.enter()()
			time.Sleep(time.Minute)
			return done
		})
		pass(4*time.Minute - time.Second)
		assert.Equal(t, 1, tb.jobs())
		pass(2 * time.Second)
		assert.Zero(t, tb.jobs(), "a free place takes the next job at once")
		assert.Equal(t, 3, running.get())
		c.stop()
	})
}

// TestPlaceIsGivenWithTheWork: while a handler writes its end, the next job is worked on;
// no more of them at a time than there are places, and no more ends.
func TestPlaceIsGivenWithTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(t, "a", "b", "c", "d", "e", "f")
		var working, handling most
		q := leases.New(tb, quiet())
		c := consume(t, q, 2, func(ctx context.Context, _ mortise.Delivery) mortise.Verdict {
			defer handling.enter()()
			leave := working.enter()
			time.Sleep(time.Second)
			leave()
			slot.Give(ctx)
			time.Sleep(time.Minute)
			return done
		})
		pass(3 * time.Second)
		assert.Equal(t, 2, working.get())
		assert.Equal(t, 4, handling.get(), "two work, two write; the others wait")
		pass(5 * time.Minute)
		assert.Equal(t, 2, working.get())
		assert.Equal(t, 4, handling.get())
		assert.Zero(t, tb.jobs())
		c.stop()
	})
}

func TestIdleConsumerPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(t)
		handled := make(chan time.Time, 1)
		q := leases.New(tb, quiet())
		c := consume(t, q, 1, func(context.Context, mortise.Delivery) mortise.Verdict {
			handled <- time.Now()
			return done
		})
		pass(10*time.Second + time.Millisecond)
		assert.Equal(t, 21, tb.count("Claim"), "it polls twice a second")
		added := time.Now()
		require.NoError(t, q.Enqueue(t.Context(), docs("a")))
		assert.Zero(t, (<-handled).Sub(added))
		tb.put(t, docs("by-another-process"))
		assert.LessOrEqual(t, (<-handled).Sub(added), 500*time.Millisecond)
		c.stop()
	})
}

// TestRetriesAreDueOnTime: each one, whatever else is due before it, and not at a poll.
func TestRetriesAreDueOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(t, "a", "poison")
		var times list[time.Duration]
		start := time.Now()
		q := leases.New(tb, rarely())
		c := consume(t, q, 1, func(_ context.Context, d mortise.Delivery) mortise.Verdict {
			if d.Job.ID == "poison" {
				return mortise.Verdict{After: 100 * time.Millisecond}
			}
			if times.add(time.Since(start)) == 3 {
				return done
			}
			return mortise.Verdict{After: 130 * time.Millisecond}
		})
		pass(10 * time.Second)
		const ms = time.Millisecond
		assert.Equal(t, []time.Duration{0, 130 * ms, 260 * ms}, times.get())
		c.stop()
	})
}

func TestConsumeOutlivesAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(t, "a")
		tb.set("Claim", errTable)
		var handled list[int]
		q := leases.New(tb, quiet())
		c := consume(t, q, 1, func(_ context.Context, d mortise.Delivery) mortise.Verdict {
			handled.add(d.Deliveries)
			return done
		})
		pass(time.Minute)
		assert.LessOrEqual(t, tb.count("Claim"), 121, "it does not spin")
		tb.set("Claim", nil)
		tb.set("Remove", errTable)
		pass(10 * time.Second)
		assert.Equal(t, []int{1}, handled.get())
		tb.set("Remove", nil)
		pass(10 * time.Second)
		assert.Equal(t, []int{1, 2}, handled.get(),
			"a verdict that could not be written: the job comes again when its lease ends")
		assert.Zero(t, tb.jobs())
		c.stop()
	})
}

func TestShutdownWaitsAndAppliesVerdicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(t, "a", "b", "c")
		type key struct{}
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
		ended := make(chan error, 1)
		handle := func(held context.Context, d mortise.Delivery) mortise.Verdict {
			time.Sleep(time.Minute)
			assert.NoError(t, held.Err(), "it ends with the delivery, not with Consume's context")
			assert.Equal(t, "value", held.Value(key{}))
			if d.Job.ID == "a" {
				return done
			}
			return mortise.Verdict{}
		}
		go func() {
			opts := mortise.ConsumeOptions{Kinds: docsOnly, Workers: 2}
			ended <- leases.New(tb, quiet()).Consume(ctx, opts, handle)
		}()
		synctest.Wait()
		cancel()
		start := time.Now()
		require.NoError(t, <-ended)
		assert.Equal(t, time.Minute, time.Since(start))
		assert.Equal(t, 2, tb.jobs(), "one removed, one given back, one never begun")
		assert.Equal(t, 1, tb.count("Release"))
		all := mortise.Claim{Token: uuid.New(), Kinds: docsOnly, Limit: 5, TTL: time.Hour}
		found, err := tb.Claim(t.Context(), all)
		require.NoError(t, err)
		assert.Len(t, found, 2, "both are claimable at once")
	})
}

// TestKindsSideBySide: consumers of different kinds do not wait for each other.
func TestKindsSideBySide(t *testing.T) {
	queues(t, func(t *testing.T, tb *table, q *leases.Queue) {
		begun := time.Now()
		var ended list[string]
		slow := func(_ context.Context, d mortise.Delivery) mortise.Verdict {
			time.Sleep(time.Hour)
			ended.add(fmt.Sprint(d.Job.Kind, " after ", time.Since(begun)))
			return done
		}
		first := consume(t, q, 1, slow, "docs", "mail")
		second := consume(t, q, 1, slow, "thumbnails")
		synctest.Wait()
		for i, kind := range []string{"docs", "thumbnails", "mail"} {
			j := mortise.Job{Kind: kind, Organization: "acme", ID: fmt.Sprint(i)}
			assert.NoError(t, q.Enqueue(t.Context(), j))
			synctest.Wait()
		}
		pass(3 * time.Hour)
		want := []string{"docs after 1h0m0s", "thumbnails after 1h0m0s", "mail after 2h0m0s"}
		assert.ElementsMatch(t, want, ended.get())
		first.stop()
		second.stop()
		assert.Zero(t, tb.jobs())
	})
}

// TestHandlerThatExits: a handler that ends its goroutine (FailNow of a test does) gives its
// slot back, and the job comes again.
func TestHandlerThatExits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(t, "a", "b")
		var handled list[string]
		q := leases.New(tb, quiet())
		c := consume(t, q, 1, func(_ context.Context, d mortise.Delivery) mortise.Verdict {
			if handled.add(d.Job.ID) == 1 {
				runtime.Goexit()
			}
			return done
		})
		pass(time.Minute)
		c.stop()
		assert.Equal(t, []string{"a", "b", "a"}, handled.get())
		assert.Zero(t, tb.jobs())
	})
}

// slowVerdicts needs a second for each Remove.
type slowVerdicts struct{ *table }

func (s slowVerdicts) Remove(ctx context.Context, l mortise.Lease, dead bool) error {
	time.Sleep(time.Second)
	return s.table.Remove(ctx, l, dead)
}

// TestVerdictsHoldUpNoJob: while the verdict on a job is written, the next one runs; but
// only one verdict more than there are workers can be under way for each.
func TestVerdictsHoldUpNoJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := leases.New(slowVerdicts{newTable(t, "a", "b", "c", "d")}, quiet())
		var begun list[time.Duration]
		start := time.Now()
		c := consume(t, q, 1, func(context.Context, mortise.Delivery) mortise.Verdict {
			begun.add(time.Since(start))
			return done
		})
		pass(time.Minute)
		c.stop()
		assert.Equal(t, []time.Duration{0, 0, time.Second, 2 * time.Second}, begun.get())
	})
}
