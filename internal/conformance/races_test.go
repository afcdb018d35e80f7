package conformance

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// mutantProcess makes the test's process one of a mutant's.
func mutantProcess(t *testing.T) { t.Setenv(envImpatient, "1") }

// TestSeamInTogether: if all read first and write later, all updates but one are lost,
// every time.
func TestSeamInTogether(t *testing.T) {
	mutantProcess(t)
	for range 50 {
		var n atomic.Int64
		Together(8, func(i int) {
			if i == 7 {
				return // is waited for, and does not come
			}
			read := n.Load()
			Seam()
			n.Store(read + 1)
		})
		require.EqualValues(t, 1, n.Load())
	}
}

// TestSeamTwice: one that waits once more goes on after those that do not.
func TestSeamTwice(t *testing.T) {
	mutantProcess(t)
	for range 50 {
		var mu sync.Mutex
		var order []int
		Together(4, func(i int) {
			Seam()
			if i == 0 {
				Seam()
			}
			mu.Lock()
			defer mu.Unlock()
			order = append(order, i)
		})
		require.Equal(t, 0, order[3])
	}
}

// TestSeamInWatch: every watcher sees each half of a write.
func TestSeamInWatch(t *testing.T) {
	mutantProcess(t)
	const steps = 30
	var state atomic.Int64 // odd: half written
	var seen [3][2*steps + 1]bool
	Watch(t, len(seen), func(i int) error {
		seen[i][state.Load()] = true
		return nil
	}, steps, func(int) {
		state.Add(1)
		Seam()
		state.Add(1)
	})
	for i := range seen {
		for n := 1; n <= 2*steps; n++ {
			require.True(t, seen[i][n], "watcher %d has missed %d", i, n)
		}
	}
}

// TestSeamOfWatchers: a whole step comes between the two reads of a watcher, and two
// watchers that read so do not hold each other up.
func TestSeamOfWatchers(t *testing.T) {
	mutantProcess(t)
	const steps = 30
	var state, same atomic.Int64
	Watch(t, 3, func(i int) error {
		before := state.Load()
		if i == 2 {
			return nil
		}
		Seam()
		if before < steps && state.Load() == before {
			same.Add(1)
		}
		return nil
	}, steps, func(int) { state.Add(1) })
	require.Zero(t, same.Load(), "looks that no step came between")
}

// TestWatch: outside of a mutant's process, too, every watcher sees what each step leaves,
// and Seam returns at once.
func TestWatch(t *testing.T) {
	const steps = 30
	var state int64
	var mu sync.Mutex
	var seen [4][steps + 1]bool
	Watch(t, len(seen), func(i int) error {
		Seam()
		mu.Lock()
		defer mu.Unlock()
		seen[i][state] = true
		return nil
	}, steps, func(int) {
		mu.Lock()
		defer mu.Unlock()
		state++
	})
	for i := range seen {
		for n := 1; n <= steps; n++ {
			require.True(t, seen[i][n], "watcher %d has missed %d", i, n)
		}
	}
	Seam()
}
