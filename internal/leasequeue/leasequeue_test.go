package leasequeue_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/leasequeue"
)

func engine(tb *table) *leasequeue.Engine[lease] {
	return leasequeue.New[lease](tb, leasequeue.Options{Lost: errLost, Logger: slog.New(slog.DiscardHandler)})
}

// consume runs an engine in a bubble; stop ends it, and waits.
func consume(t *testing.T, tb *table, workers int, handle func(context.Context, lease) leasequeue.Verdict) (e *leasequeue.Engine[lease], stop func()) {
	t.Helper()
	e = engine(tb)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Consume(ctx, workers, handle) }()
	return e, func() {
		cancel()
		require.NoError(t, <-ended)
	}
}

// pass lets time pass, and everything that is due then be done.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

var done = leasequeue.Verdict{Done: true}

func TestConsumeOne(t *testing.T) {
	tb := newTable("a", "b")
	e := engine(tb)
	handle := func(v leasequeue.Verdict) func(context.Context, lease) leasequeue.Verdict {
		return func(context.Context, lease) leasequeue.Verdict { return v }
	}
	for range 2 {
		found, err := e.ConsumeOne(t.Context(), handle(leasequeue.Verdict{Done: true, Dead: true}))
		require.NoError(t, err)
		require.True(t, found)
	}
	assert.Equal(t, []string{"a", "b"}, tb.dead)
	found, err := e.ConsumeOne(t.Context(), handle(done))
	require.NoError(t, err)
	assert.False(t, found)

	tb.set("Claim", errTable)
	_, err = e.ConsumeOne(t.Context(), handle(done))
	require.ErrorIs(t, err, errTable)
	tb.set("Claim", nil)
	tb.add("c")
	tb.set("Remove", errTable)
	found, err = e.ConsumeOne(t.Context(), handle(done))
	assert.True(t, found)
	require.ErrorIs(t, err, errTable)
	tb.set("Remove", nil)
	tb.add("d")
	_, err = e.ConsumeOne(t.Context(), func(_ context.Context, l lease) leasequeue.Verdict {
		tb.steal(l.job)
		return done
	})
	require.NoError(t, err, "a lost lease is no failure of the consumer")
}

func TestConcurrencyAndOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable()
		for i := range 10 {
			tb.add(fmt.Sprint(i))
		}
		var mu sync.Mutex
		running, most := 0, 0
		_, stop := consume(t, tb, 3, func(context.Context, lease) leasequeue.Verdict {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Minute)
			mu.Lock()
			running--
			mu.Unlock()
			return done
		})
		pass(4*time.Minute - time.Second)
		assert.Equal(t, 1, tb.left())
		pass(2 * time.Second)
		assert.Zero(t, tb.left(), "a free place takes the next job at once")
		assert.Equal(t, 3, most)
		stop()
	})
}

func TestIdleConsumerIsWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable()
		handled := make(chan time.Time, 1)
		e, stop := consume(t, tb, 1, func(context.Context, lease) leasequeue.Verdict {
			handled <- time.Now()
			return done
		})
		pass(10*time.Second + time.Millisecond)
		assert.Equal(t, 21, tb.count("Claim"), "it polls twice a second")
		added := time.Now()
		tb.add("a")
		e.Wake()
		assert.Zero(t, (<-handled).Sub(added))
		tb.add("by another process")
		assert.LessOrEqual(t, (<-handled).Sub(added), 500*time.Millisecond)
		stop()
	})
}

func TestRetryIsDueOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable("a", "poison")
		var times []time.Duration
		start := time.Now()
		_, stop := consume(t, tb, 1, func(_ context.Context, l lease) leasequeue.Verdict {
			if l.job == "poison" {
				return leasequeue.Verdict{After: 100 * time.Millisecond}
			}
			times = append(times, time.Since(start))
			if len(times) == 3 {
				return done
			}
			return leasequeue.Verdict{After: 130 * time.Millisecond}
		})
		pass(10 * time.Second)
		require.Len(t, times, 3)
		for i, at := range times {
			assert.GreaterOrEqual(t, at, time.Duration(i)*130*time.Millisecond)
			assert.Less(t, at, time.Duration(i)*630*time.Millisecond+time.Millisecond)
		}
		stop()
	})
}

func TestConsumerWakesForARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable("a")
		var times []time.Duration
		start := time.Now()
		_, stop := consume(t, tb, 1, func(context.Context, lease) leasequeue.Verdict {
			times = append(times, time.Since(start))
			return leasequeue.Verdict{Done: len(times) == 3, After: 130 * time.Millisecond}
		})
		pass(time.Minute)
		assert.Equal(t, []time.Duration{0, 130 * time.Millisecond, 260 * time.Millisecond}, times, "not at the next poll")
		stop()
	})
}

// interrupted is a table whose consumer is told to end while it claims.
type interrupted struct {
	*table
	end func()
}

func (i interrupted) Claim(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]lease, error) {
	i.end()
	return i.table.Claim(ctx, token, now, until, limit, except...)
}

func TestClaimIsNotCutOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tb := newTable("a")
	e := leasequeue.New[lease](interrupted{tb, cancel}, leasequeue.Options{Lost: errLost})
	found, err := e.ConsumeOne(ctx, func(context.Context, lease) leasequeue.Verdict { return leasequeue.Verdict{} })
	require.NoError(t, err, "a claim that is cut off holds its jobs until the lease ends")
	assert.True(t, found)
	assert.Equal(t, 1, tb.count("Release"))

	found, err = e.ConsumeOne(ctx, nil)
	require.ErrorIs(t, err, context.Canceled, "nothing is claimed once the context has ended")
	assert.False(t, found)
}

func TestHeartbeatKeepsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable("a")
		calls := 0
		_, stop := consume(t, tb, 2, func(ctx context.Context, _ lease) leasequeue.Verdict {
			calls++
			time.Sleep(time.Hour)
			assert.NoError(t, ctx.Err())
			return done
		})
		pass(30 * time.Minute)
		tb.set("Extend", errTable)
		pass(9 * time.Second) // one heartbeat may fail
		tb.set("Extend", nil)
		pass(time.Hour)
		assert.Equal(t, 1, calls)
		assert.Zero(t, tb.left())
		assert.InDelta(t, 720, tb.count("Extend"), 2, "every five seconds")
		stop()
	})
}

func TestLostLease(t *testing.T) {
	for name, lose := range map[string]func(*table){
		"taken by another":   func(tb *table) { tb.steal("a") },
		"cannot be extended": func(tb *table) { tb.set("Extend", errTable) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tb := newTable("a")
				start := time.Now()
				var ended time.Duration
				_, stop := consume(t, tb, 1, func(ctx context.Context, _ lease) leasequeue.Verdict {
					lose(tb)
					<-ctx.Done()
					assert.Equal(t, errLost, context.Cause(ctx))
					ended = time.Since(start)
					return done
				})
				pass(16 * time.Second)
				assert.LessOrEqual(t, ended, 15*time.Second, "not after the lease")
				assert.NotZero(t, ended)
				assert.Zero(t, tb.count("Remove"), "the verdict is ignored")
				stop()
			})
		})
	}
}

func TestConsumeOutlivesAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable("a")
		tb.set("Claim", errTable)
		handled := 0
		_, stop := consume(t, tb, 1, func(context.Context, lease) leasequeue.Verdict {
			handled++
			return done
		})
		pass(time.Minute)
		assert.LessOrEqual(t, tb.count("Claim"), 121, "it does not spin")
		tb.set("Claim", nil)
		tb.set("Remove", errTable)
		pass(10 * time.Second)
		assert.Equal(t, 1, handled)
		tb.set("Remove", nil)
		pass(10 * time.Second)
		assert.Equal(t, 2, handled, "a verdict that could not be written: the job comes again when its lease ends")
		assert.Zero(t, tb.left())
		stop()
	})
}

func TestShutdownWaitsAndAppliesVerdicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable("a", "b", "c")
		type key struct{}
		e := engine(tb)
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
		ended := make(chan error, 1)
		go func() {
			ended <- e.Consume(ctx, 2, func(held context.Context, l lease) leasequeue.Verdict {
				time.Sleep(time.Minute)
				assert.NoError(t, held.Err(), "it ends with the delivery, not with Consume's context")
				assert.Equal(t, "value", held.Value(key{}))
				return leasequeue.Verdict{Done: l.job == "a"}
			})
		}()
		synctest.Wait()
		cancel()
		start := time.Now()
		require.NoError(t, <-ended)
		assert.Equal(t, time.Minute, time.Since(start))
		assert.Equal(t, 2, tb.left(), "one removed, one given back, one never begun")
		assert.Equal(t, 1, tb.count("Release"))
		found, err := tb.Claim(t.Context(), uuid.New(), time.Now(), time.Now(), 5)
		require.NoError(t, err)
		assert.Len(t, found, 2, "both are claimable at once")
	})
}

func TestConsumeOfAnEndedContext(t *testing.T) {
	tb := newTable("a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, engine(tb).Consume(ctx, 1, func(context.Context, lease) leasequeue.Verdict {
		t.Error("handled")
		return done
	}))
	assert.Zero(t, tb.count("Claim"))
}
