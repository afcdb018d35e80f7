package sound_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// unknown is a Scorer whose model cannot be asked.
type unknown struct{ noted }

func (*unknown) Model(context.Context) (sound.Model, error) {
	return sound.Model{}, errBroken
}

// TestBatchingModelFails: without the model nobody knows how many clips a batch has.
func TestBatchingModelFails(t *testing.T) {
	inner := new(unknown)
	_, err := sound.Batching(inner, 0, 0).Score(t.Context(), [][]float32{{1}})
	require.ErrorIs(t, err, errBroken)
	rows, err := sound.Batching(inner, 1, 0).Score(t.Context(), [][]float32{{1}})
	require.NoError(t, err)
	require.Len(t, rows, 1)
}

// bad is the clip that a scorer stumbles over.
const bad = 66

// badIn makes a hook that does what it is told if a bad clip is in the batch.
func badIn(stumble func() error) func(context.Context, [][]float32) error {
	return func(_ context.Context, clips [][]float32) error {
		for _, clip := range clips {
			if clip[0] == bad {
				return stumble()
			}
		}
		return nil
	}
}

// TestBatchingBadClip: it fails its own call only, as if that were alone.
func TestBatchingBadClip(t *testing.T) {
	final := sound.Permanent(errBroken)
	for name, test := range map[string]struct {
		stumble func() error
		is      error // that its call gets; nil: a panic
	}{
		"an error":        {func() error { return errBroken }, errBroken},
		"permanent":       {func() error { return final }, sound.ErrPermanent},
		"rows missing":    {func() error { return errFewRows }, sound.ErrPermanent},
		"a panic":         {func() error { panic(errBroken) }, nil},
		"a broken error":  {func() error { return (*brokenError)(nil) }, nil},
		"no more at work": {func() error { runtime.Goexit(); return nil }, nil},
	} {
		for at := range 4 {
			t.Run(fmt.Sprint(name, " of call ", at), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					inner := &noted{hook: badIn(test.stumble)}
					s := sound.Batching(inner, 100, 0)
					var calls []*scoring
					for i := range 4 {
						values := []float32{float32(10 * i), float32(10*i + 1), float32(10*i + 2)}
						if i == at {
							values[1] = bad
						}
						calls = append(calls, score(t.Context(), s, values...))
					}
					time.Sleep(time.Minute)
					for i, c := range calls {
						if i != at {
							c.scored(t, "call %d", i)
						}
					}
					guilty := calls[at]
					require.True(t, guilty.ended())
					require.Empty(t, guilty.rows)
					switch {
					case name == "a panic":
						require.Equal(t, errBroken, guilty.panicked)
					case name == "a broken error":
						require.IsType(t, (*brokenError)(nil), guilty.err)
					case test.is != nil:
						guilty.failed(t, test.is)
					}
					assert.Len(t, inner.given, 5, "together, and each alone")
				})
			})
		}
	}
}

// brokenError panics when it is asked anything.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

// TestBatchingAway: a scorer that is away is not asked by each who waits.
func TestBatchingAway(t *testing.T) {
	said := errors.New("said")
	later, final := sound.RetryAfter(said, time.Hour), sound.Permanent(said)
	for name, test := range map[string]struct {
		answers []error // the last one for all that follow; nil: scores
		asked   int
		got     []error // by call
	}{
		"away":             {[]error{errBroken}, 3, slices.Repeat([]error{errBroken}, 5)},
		"says when":        {[]error{later}, 1, slices.Repeat([]error{later}, 5)},
		"says when then":   {[]error{errBroken, later}, 2, slices.Repeat([]error{later}, 5)},
		"back again":       {[]error{errBroken, nil}, 6, make([]error, 5)},
		"back a bit later": {[]error{errBroken, errBroken, nil}, 6, []error{errBroken, 4: nil}},
		"set up wrongly":   {[]error{errBroken, final}, 6, slices.Repeat([]error{said}, 5)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := new(noted)
				var mu sync.Mutex
				asked := 0
				inner.hook = func(context.Context, [][]float32) error {
					mu.Lock()
					defer mu.Unlock()
					asked++
					return test.answers[min(asked, len(test.answers))-1]
				}
				s := sound.Batching(inner, 5, 0)
				var calls []*scoring
				for i := range test.got {
					calls = append(calls, score(t.Context(), s, float32(i)))
				}
				for i, c := range calls {
					if test.got[i] == nil {
						c.scored(t, "call %d", i)
						continue
					}
					c.failed(t, test.got[i], "call %d", i)
				}
				assert.Equal(t, test.asked, asked)
			})
		})
	}
}

// TestBatchingLeavesWhileProbed: who leaves while they score again does not hold up others.
func TestBatchingLeavesWhileProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := new(noted)
		inner.hook = func(ctx context.Context, clips [][]float32) error {
			switch {
			case len(clips) > 1:
				return errBroken
			case clips[0][0] == 1:
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		s := sound.Batching(inner, 4, 0)
		one, leaveOne := context.WithCancel(t.Context())
		two, leaveTwo := context.WithCancel(t.Context())
		first, second := score(one, s, 1), score(two, s, 2)
		third, fourth := score(t.Context(), s, 3), score(t.Context(), s, 4)
		require.False(t, second.ended() || third.ended(), "it is not their turn")
		leaveTwo()
		leaveOne()
		synctest.Wait()
		first.failed(t, context.Canceled)
		second.failed(t, context.Canceled)
		third.scored(t)
		fourth.scored(t)
		assert.Equal(t, [][]float32{{1, 2, 3, 4}, {1}, {3}, {4}}, inner.given)
	})
}

// TestBatchingAtOnce: many calls of all sorts, some of which leave; each has its own scores.
func TestBatchingAtOnce(t *testing.T) {
	inner := &noted{hook: badIn(func() error { return errBroken })}
	s := sound.Batching(inner, 7, time.Millisecond)
	const callers = 16
	errs := make([]error, callers)
	one := func(i int) {
		random := rand.New(rand.NewPCG(uint64(i), 1))
		memory := make([]float32, 40)
		for turn := range 60 {
			clips := make([][]float32, 1+random.IntN(9))
			for c := range clips {
				clips[c] = memory[3*c:][:1+random.IntN(8)]
			}
			for j := range memory {
				memory[j] = float32(100 + 1000*i + turn)
			}
			poisoned := random.IntN(20) == 0
			if poisoned {
				clips[0][0] = bad
			}
			ctx, cancel := context.WithCancel(context.Background())
			if random.IntN(4) == 0 {
				go cancel()
			}
			rows, err := s.Score(ctx, clips)
			for c := range rows {
				if rows[c][0] != clips[c][0] {
					errs[i] = fmt.Errorf("turn %d: clip %d has the score %v", turn, c, rows[c][0])
				}
			}
			if err == nil && (poisoned || len(rows) != len(clips)) || err != nil && len(rows) > 0 {
				errs[i] = fmt.Errorf("turn %d: %d rows for %d clips, and %w", turn, len(rows), len(clips), err)
			}
			cancel()
		}
	}
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() { one(i) })
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
}
