package lostjobs

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
)

func TestUnknown(t *testing.T) {
	var total time.Duration
	d := mortise.Delivery{Deliveries: 1}
	for ; d.Deliveries < 100; d.Deliveries++ {
		v := Unknown(d)
		if v.Kind == mortise.VerdictDone {
			break
		}
		require.Equal(t, mortise.VerdictRetry, v.Kind)
		total += v.After
	}
	require.Equal(t, 63*time.Second, total)
	require.Equal(t, 7, d.Deliveries)
	require.Equal(t, time.Second, Unknown(mortise.Delivery{}).After, "of a queue that does not count")
}

// rest is what is left to do: next returns the least of it.
type rest struct {
	mu    sync.Mutex
	left  []int
	asked int
}

func (r *rest) next(_ context.Context, limit int) ([]int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	return slices.Clone(r.left[:min(limit, len(r.left))]), nil
}

func (r *rest) do(_ context.Context, n int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = slices.DeleteFunc(r.left, func(m int) bool { return m == n })
	return nil
}

func TestEach(t *testing.T) {
	for _, atOnce := range []int{0, 1, Many} {
		five := func() *rest { return &rest{left: []int{1, 2, 3, 4, 5}} }
		each := func(r *rest, until time.Duration, do func(context.Context, int) error) (int, error) {
			return Each(t.Context(), Work[int]{ID: strconv.Itoa, Failures: new(Failures), Next: r.next, Do: do, Batch: 2, Until: time.Now().Add(until), AtOnce: atOnce})
		}
		r := five()
		n, err := each(r, time.Hour, r.do)
		require.NoError(t, err)
		require.Equal(t, 5, n)
		require.Empty(t, r.left)
		require.Equal(t, 3, r.asked)

		r = five()
		n, err = each(r, -time.Hour, r.do)
		require.NoError(t, err)
		require.Equal(t, 2, n, "one batch when the time is over")

		r = five()
		broken := errors.New("broken")
		n, err = each(r, time.Hour, func(ctx context.Context, n int) error {
			if n == 1 {
				return broken
			}
			return r.do(ctx, n)
		})
		require.ErrorIs(t, err, broken)
		require.Equal(t, 1, n)
		require.Equal(t, 1, r.asked, "asked again after a failure")

		r = &rest{left: make([]int, 500)}
		calls := 0
		_, err = Each(t.Context(), Work[int]{ID: strconv.Itoa, Failures: new(Failures), Next: r.next, Batch: 500, Until: time.Now().Add(time.Hour), AtOnce: atOnce,
			Do: func(context.Context, int) error {
				r.mu.Lock()
				defer r.mu.Unlock()
				calls++
				return broken
			}})
		require.ErrorIs(t, err, broken)
		require.Less(t, calls, maxFailures+Many+1, "calls of what is broken")
	}
}

// TestFailuresHideNothing: what fails for ever, more of it than make a queue pass for
// broken, does not keep the rest from its try; nor does it keep from its next one what has
// failed once.
func TestFailuresHideNothing(t *testing.T) {
	for _, atOnce := range []int{1, Many} {
		for _, batch := range []int{1, 20, 500} {
			r := &rest{}
			for n := range 60 {
				r.left = append(r.left, n)
			}
			var mu sync.Mutex
			tried := make(map[int]int)
			w := Work[int]{ID: strconv.Itoa, Failures: new(Failures), Next: r.next, Batch: batch, Until: time.Now().Add(time.Hour), AtOnce: atOnce}
			w.Do = func(ctx context.Context, n int) error {
				mu.Lock()
				tried[n]++
				first := tried[n] == 1
				mu.Unlock()
				if n < 30 || n%2 == 0 && first {
					return errors.New("refused")
				}
				return r.do(ctx, n)
			}
			for range 100 {
				_, err := Each(t.Context(), w)
				require.Error(t, err)
			}
			require.Len(t, r.left, 30)
			require.LessOrEqual(t, w.Failures.count(), 30)
		}
	}
}
