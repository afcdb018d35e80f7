package flights

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFlights: one work for all who wait, until nobody does.
func TestFlights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f Group[string, string]
		var works atomic.Int64
		work := func(ctx context.Context) (string, error) {
			works.Add(1)
			select {
			case <-ctx.Done():
				return "", context.Cause(ctx)
			case <-time.After(time.Minute):
				return "", nil
			}
		}
		left := errors.New("left")
		impatient, leave := context.WithCancelCause(t.Context())
		errs := make(chan error, 3)
		do := func(ctx context.Context) {
			_, err := f.Do(ctx, "a", new(Gauge), alone, work)
			errs <- err
		}
		go do(impatient)
		synctest.Wait()
		go do(t.Context())
		time.Sleep(30 * time.Second)
		leave(left)
		require.ErrorIs(t, <-errs, left, "who leaves does not wait")
		require.NoError(t, <-errs, "who stays is not cut off")
		assert.EqualValues(t, 1, works.Load())

		alone, leave := context.WithCancelCause(t.Context())
		go do(alone)
		time.Sleep(time.Second)
		leave(left)
		require.ErrorIs(t, <-errs, left)
		assert.Empty(t, f.all, "nothing goes on that nobody waits for")
		assert.EqualValues(t, 2, works.Load())
	})
}

// TestFlightIsLeft: the last who leaves waits until the work has ended, and who comes
// meanwhile begins anew.
func TestFlightIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f Group[string, string]
		key := "a"
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan time.Time, 1)
		go func() {
			_, err := f.Do(ctx, key, new(Gauge), alone, func(ctx context.Context) (string, error) {
				<-ctx.Done()
				time.Sleep(time.Second) // until it has let go
				return "", ctx.Err()
			})
			assert.ErrorIs(t, err, context.Canceled)
			left <- time.Now()
		}()
		synctest.Wait()
		start := time.Now()
		leave()
		synctest.Wait()
		_, err := f.Do(t.Context(), key, new(Gauge), alone, nothingDone)
		require.NoError(t, err, "not the one that is being cut off")
		assert.Equal(t, start, time.Now())
		assert.Equal(t, start.Add(time.Second), <-left)
		assert.Empty(t, f.all)
	})
}

// TestFlightEndsItsGoroutine: nobody waits for ever, and the next one begins anew.
func TestFlightEndsItsGoroutine(t *testing.T) {
	var f Group[string, string]
	ended := make(chan error, 1)
	go func() {
		_, err := f.Do(t.Context(), "", new(Gauge), alone, func(context.Context) (string, error) { runtime.Goexit(); return "", nil })
		ended <- err
	}()
	select {
	case err := <-ended:
		require.Error(t, err)
	case <-time.After(10 * time.Second):
		t.Fatal("do hangs")
	}
	_, err := f.Do(t.Context(), "", new(Gauge), alone, nothingDone)
	require.NoError(t, err)
}

func nothingDone(context.Context) (string, error) { return "", nil }

// alone follows nothing.
func alone(*Gauge) func(string, error) { return func(string, error) {} }
