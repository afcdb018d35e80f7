package turns

import (
	"container/list"
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTurns: who gets a place, and in which order.
func TestTurns(t *testing.T) {
	for name, c := range map[string]struct {
		places int
		script string // "a": a caller of organization a comes; "-a": one gives a place back
		want   string // who gets a place, after each step
	}{
		"the last place is not for who has all others": {3, "a a a a b", "a|a|||b"},
		"unless there is only one":                     {1, "a b -a", "a||b"},
		"its own are next, if no other one waits":      {3, "a a a -a a -a", "a|a||a||a"},
		"in turn, not in the order of arrival":         {1, "x a a a b b c -x -a -b -c -a -b", "x|||||||a|b|c|a|b|a"},
		"in turn, however many each has":               {3, "a x a x b -a -x -b", "a|x|a|||x|b|"},
		"an organization that had a turn is last":      {2, "x y a a b -x -a -b -a", "x|y||||a|b|a|"},
		"a new organization is last":                   {1, "a b a -a c -b -a -c", "a|||b||a|c|"},
		"nor when it becomes free again":               {3, "a a a x -x", "a|a||x|"},
		"maintenance has its turn":                     {2, "a a a . . -a -. b -a -a", "a|||.||a|.||a|b"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turns := New(c.places, c.places-1)
				var mu sync.Mutex
				var got strings.Builder
				org := func(name string) string { return strings.Trim(name, "-.") }
				for i, step := range strings.Fields(c.script) {
					if i > 0 {
						got.WriteByte('|')
					}
					if strings.HasPrefix(step, "-") {
						turns.Give(org(step))
					} else {
						go func() {
							assert.NoError(t, turns.Take(context.Background(), nil, org(step)))
							mu.Lock()
							defer mu.Unlock()
							got.WriteString(step)
						}()
					}
					synctest.Wait()
				}
				require.Equal(t, c.want, got.String())
				for turns.free < turns.places { // or those who still wait would be left
					for name := range turns.shares {
						if turns.shares[name].has > 0 {
							turns.Give(name)
							synctest.Wait()
							break
						}
					}
				}
				require.Empty(t, turns.shares)
				require.Empty(t, turns.queue)
			})
		})
	}
}

// TestTurnsLeave: a caller who stops waiting leaves nothing behind and keeps no place.
func TestTurnsLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(1, 1)
		require.NoError(t, turns.Take(t.Context(), nil, "a"))
		ended := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error)
		go func() { errs <- turns.Take(ctx, ended, "b") }()
		synctest.Wait()
		require.Len(t, turns.queue, 1)
		cancel()
		require.ErrorIs(t, <-errs, context.Canceled)
		require.Empty(t, turns.queue)
		require.Len(t, turns.shares, 1)

		go func() { errs <- turns.Take(t.Context(), ended, "b") }()
		synctest.Wait()
		close(ended)
		require.ErrorIs(t, <-errs, ErrEnded)

		// One who got the place while their context ended, as another one waits.
		go func() { errs <- turns.Take(t.Context(), nil, "c") }()
		synctest.Wait()
		granted := make(chan struct{})
		close(granted)
		turns.leave(turns.shares["a"], &list.Element{Value: granted})
		require.NoError(t, <-errs)
		turns.Give("c")
		require.Equal(t, 1, turns.free)
		require.Empty(t, turns.shares)
	})
}

// TestTurnsPause: a pause waits for those who have places. Others wait for its end. If it
// is broken off, it is over.
func TestTurnsPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(3, 2)
		require.True(t, turns.Pause(nil, nil))
		turns.Resume()

		require.NoError(t, turns.Take(t.Context(), nil, "a"))
		paused := make(chan bool)
		go func() { paused <- turns.Pause(nil, nil) }()
		synctest.Wait()
		taken := make(chan error)
		go func() { taken <- turns.Take(t.Context(), nil, "b") }()
		synctest.Wait()
		require.Equal(t, 2, turns.free, "b waits")
		turns.Give("a")
		require.True(t, <-paused)
		turns.Resume()
		require.NoError(t, <-taken)

		require.False(t, turns.Pause(time.After(time.Second), nil))
		stop := make(chan struct{})
		close(stop)
		require.False(t, turns.Pause(nil, stop))
		require.NoError(t, turns.Take(t.Context(), nil, "a"))
	})
}

// TestTurnsTogether: whatever happens at once, no organization has too many places, and
// each caller who does not leave gets one.
func TestTurnsTogether(t *testing.T) {
	const places = 3
	turns := New(places, places-1)
	var mu sync.Mutex
	has, all := make(map[string]int), 0
	note := func(org string, n int) {
		mu.Lock()
		defer mu.Unlock()
		has[org] += n
		all += n
		assert.LessOrEqual(t, has[org], places-1)
		assert.LessOrEqual(t, all, places)
	}
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Go(func() {
			org := string(rune('a' + i%5))
			for range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				leaves := rand.N(3) == 0
				if leaves {
					go cancel()
				}
				if err := turns.Take(ctx, nil, org); err == nil {
					note(org, 1)
					note(org, -1)
					turns.Give(org)
				} else {
					assert.True(t, leaves)
				}
				cancel()
			}
		})
	}
	wg.Go(func() {
		for range 50 {
			assert.True(t, turns.Pause(nil, nil))
			mu.Lock()
			assert.Zero(t, all)
			mu.Unlock()
			turns.Resume()
		}
	})
	wg.Wait()
	require.Equal(t, places, turns.free)
	require.Empty(t, turns.shares)
	require.Empty(t, turns.queue)
}
