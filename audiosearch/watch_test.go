package audiosearch

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWatched(t *testing.T) {
	const stall, grace = time.Minute, 5 * time.Second
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		work  func(ctx context.Context, beat func(time.Duration)) error
		want  error
		after time.Duration
	}{
		"done":   {func(context.Context, func(time.Duration)) error { return nil }, nil, 0},
		"failed": {func(context.Context, func(time.Duration)) error { return broken }, broken, 0},
		"slow, but getting on": {func(ctx context.Context, beat func(time.Duration)) error {
			for range 10 {
				time.Sleep(50 * time.Second)
				beat(stall)
			}
			return ctx.Err()
		}, nil, 500 * time.Second},
		"stalled": {func(ctx context.Context, _ func(time.Duration)) error {
			<-ctx.Done()
			return ctx.Err()
		}, errStalled, stall},
		"deaf": {func(context.Context, func(time.Duration)) error {
			time.Sleep(time.Hour)
			return nil
		}, errStalled, stall + grace},
		"late beats do not help": {func(_ context.Context, beat func(time.Duration)) error {
			for range 100 {
				time.Sleep(61 * time.Second)
				beat(stall)
			}
			return nil
		}, errStalled, stall + grace},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				err := watched(t.Context(), stall, grace, asError, test.work)
				assert.Equal(t, test.after, time.Since(start))
				if test.want == nil {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, test.want)
				}
				time.Sleep(3 * time.Hour) // what was left behind ends
			})
		})
	}
	err := watched(t.Context(), stall, grace, asError, func(context.Context, func(time.Duration)) error { panic("oh") })
	require.ErrorContains(t, err, "oh")
	err = watched(t.Context(), stall, grace, asError, func(context.Context, func(time.Duration)) error { runtime.Goexit(); return nil })
	require.ErrorContains(t, err, "goroutine was ended")
}

// asError is what a panic becomes here.
func asError(p any) error { return fmt.Errorf("panic: %v", p) }

// TestFlights: one work for all who wait, until nobody does.
func TestFlights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f flights
		var works atomic.Int64
		work := func(ctx context.Context) (*outcome, error) {
			works.Add(1)
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(time.Minute):
				return nil, nil
			}
		}
		left := errors.New("left")
		impatient, leave := context.WithCancelCause(t.Context())
		errs := make(chan error, 3)
		do := func(ctx context.Context) {
			_, err := f.do(ctx, flightKey{video: "a"}, nil, new(gauge), work)
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
