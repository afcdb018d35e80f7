package overdue

import (
	"context"
	"errors"
	"slices"
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

var (
	errBroken = errors.New("broken")
	now       = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

// work is a store of work: the WakeAt of each item.
type work struct {
	mortise.Queue
	mu      sync.Mutex
	wake    map[int]time.Time
	found   []int // how many a call of find returned
	queued  int   // calls of queue
	refused func(n int) bool
	lost    time.Time
	lostErr error
}

// works returns n items that were due one after the other, the first one at a time.
func works(n int, first time.Time) *work {
	w := &work{wake: make(map[int]time.Time), refused: func(int) bool { return false }}
	for i := range n {
		w.wake[i] = first.Add(time.Duration(i) * time.Microsecond)
	}
	return w
}

func (w *work) find(_ context.Context, before time.Time, limit int) ([]int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []int
	for n, at := range w.wake {
		if at.Before(before) {
			all = append(all, n)
		}
	}
	slices.SortFunc(all, func(a, b int) int { return w.wake[a].Compare(w.wake[b]) })
	all = all[:min(limit, len(all))]
	w.found = append(w.found, len(all))
	return all, nil
}

func (w *work) queue(_ context.Context, n int, before time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queued++
	if w.refused(n) {
		w.wake[n] = before
		return errBroken
	}
	w.wake[n] = now.Add(time.Hour)
	return nil
}

func (w *work) LostJobs(context.Context) (time.Time, error) { return w.lost, w.lostErr }

func (w *work) sweep(t *testing.T, atOnce int, left time.Duration) (int, error) {
	s := Sweep[int]{Find: w.find, Queue: w.queue, Jobs: w, LostAfter: time.Hour, Now: now,
		Until: time.Now().Add(left), AtOnce: atOnce}
	return s.Run(t.Context())
}

func TestSweep(t *testing.T) {
	for _, atOnce := range []int{0, 1, Many} {
		w := works(3*batch-1, now.Add(-time.Second))
		n, err := w.sweep(t, atOnce, time.Hour)
		require.NoError(t, err)
		require.Equal(t, 3*batch-1, n)
		require.Equal(t, []int{batch, batch, batch - 1}, w.found)

		// The time is over: one batch.
		w = works(3*batch, now.Add(-time.Second))
		n, err = w.sweep(t, atOnce, -time.Second)
		require.NoError(t, err)
		require.Equal(t, batch, n)

		// A failure costs no other item of the sweep.
		w = works(600, now.Add(-time.Second))
		w.refused = func(n int) bool { return n%20 == 0 }
		n, err = w.sweep(t, atOnce, time.Hour)
		require.ErrorIs(t, err, errBroken)
		require.Equal(t, 570, n)

		// After ten failures in a row the queue is taken for broken.
		w = works(500, now.Add(-time.Second))
		w.refused = func(int) bool { return true }
		n, err = w.sweep(t, atOnce, time.Hour)
		require.ErrorIs(t, err, errBroken)
		require.Zero(t, n)
		require.GreaterOrEqual(t, w.queued, maxFailures)
		require.LessOrEqual(t, w.queued, maxFailures+max(atOnce, 1))

		// Items that are refused for ever keep no other one waiting.
		w = works(100, now.Add(-time.Second))
		w.refused = func(n int) bool { return n < 30 }
		for range 4 {
			_, _ = w.sweep(t, atOnce, time.Hour)
		}
		require.Equal(t, 100, w.queued)
	}
}

// A reported loss is of all work that was queued before it, as far as that has not been
// queued since.
func TestReportedLoss(t *testing.T) {
	for _, since := range []time.Duration{-time.Minute, 0, time.Minute} { // the last one by another clock
		w := works(10, now.Add(-time.Minute+time.Hour)) // queued a minute ago
		w.lost = now.Add(since)
		n, err := w.sweep(t, 1, time.Hour)
		require.NoError(t, err)
		if since < 0 {
			require.Zero(t, n, "queued after the loss")
		} else {
			require.Equal(t, 10, n)
		}
		n, err = w.sweep(t, 1, time.Hour)
		require.NoError(t, err)
		require.Zero(t, n)
	}
	w := works(1, now.Add(-time.Second))
	w.lostErr = errBroken
	n, err := w.sweep(t, 1, time.Hour)
	require.ErrorIs(t, err, errBroken)
	require.Equal(t, 1, n)
}
