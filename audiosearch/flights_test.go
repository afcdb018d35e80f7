package audiosearch

import (
	"context"
	"errors"
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
