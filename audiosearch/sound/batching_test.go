package sound_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/audiosearch/signal"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// peaks is a Scorer that keeps the whole contract: how loud a clip is at most, and how short.
type peaks struct{ twoClasses }

func (*peaks) Score(ctx context.Context, clips [][]float32) ([]sound.Scores, error) {
	rows := make([]sound.Scores, len(clips))
	for i, clip := range clips {
		var most float32
		for _, x := range clip {
			if x > most { // and so no NaN
				most = min(x, 1)
			}
		}
		rows[i] = sound.Scores{most, 1 / float32(len(clip))}
	}
	return rows, ctx.Err()
}

// TestBatchingIsAScorer: what a scorer keeps, it keeps with others beside it.
func TestBatchingIsAScorer(t *testing.T) {
	for _, most := range []int{0, 1, 2, 5, 100} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			scorer := sound.Batching(new(peaks), most, time.Millisecond)
			audiosearchtest.RunScorer(t, func(*testing.T) sound.Scorer { return scorer })
		})
	}
}

// noted is a Scorer that notes what it is given. The score of a clip is its first sample.
type noted struct {
	twoClasses
	batch int
	hook  func(ctx context.Context, clips [][]float32) error // called before each answer; nil: nothing

	mu    sync.Mutex
	given [][]float32 // the first samples of the clips, by call
	at    []time.Duration
	since time.Time
}

func (n *noted) Model(ctx context.Context) (sound.Model, error) {
	m, err := n.twoClasses.Model(ctx)
	m.Batch = n.batch
	return m, err
}

func (n *noted) Score(ctx context.Context, clips [][]float32) ([]sound.Scores, error) {
	var firsts []float32
	for _, clip := range clips {
		firsts = append(firsts, clip[0])
	}
	n.mu.Lock()
	n.given, n.at = append(n.given, firsts), append(n.at, time.Since(n.since))
	n.mu.Unlock()
	var rows []sound.Scores
	for _, clip := range clips {
		rows = append(rows, sound.Scores{clip[0], 1})
	}
	if n.hook == nil {
		return rows, nil
	}
	err := n.hook(ctx, clips)
	if err == errFewRows {
		return rows[1:], nil
	}
	return rows, err
}

// errFewRows makes a scorer forget rows.
var errFewRows = errors.New("few rows")

// scoring is a call of Score on a goroutine of its own.
type scoring struct {
	clips    [][]float32
	rows     []sound.Scores
	err      error
	panicked any
	done     chan struct{}
}

// ended reports whether the call has returned.
func (c *scoring) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// score begins a call with one clip for each value, and waits until it goes no further.
func score(ctx context.Context, s sound.Scorer, values ...float32) *scoring {
	c := &scoring{done: make(chan struct{})}
	for _, v := range values {
		c.clips = append(c.clips, []float32{v, 0})
	}
	go func() {
		defer close(c.done)
		defer func() { c.panicked = recover() }()
		c.rows, c.err = s.Score(ctx, c.clips)
	}()
	synctest.Wait()
	return c
}

// scored requires that a call got the scores of its own clips.
func (c *scoring) scored(t *testing.T, what ...any) {
	t.Helper()
	require.True(t, c.ended(), what...)
	require.NoError(t, c.err, what...)
	var want []sound.Scores
	for _, clip := range c.clips {
		want = append(want, sound.Scores{clip[0], 1})
	}
	require.Equal(t, want, c.rows, what...)
}

// failed requires that a call got an error.
func (c *scoring) failed(t *testing.T, err error, what ...any) {
	t.Helper()
	require.True(t, c.ended(), what...)
	require.ErrorIs(t, c.err, err, what...)
	require.Empty(t, c.rows, what...)
}

// TestBatchingGathers: who shares a batch, and when it is scored.
func TestBatchingGathers(t *testing.T) {
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		model, max int
		wait       time.Duration
		calls      []int // how many clips each has
		batches    []int
		at         []time.Duration
	}{
		"two join":               {0, 4, 0, []int{1, 2}, []int{3}, []time.Duration{20 * ms}},
		"a full one goes":        {0, 3, 0, []int{1, 2}, []int{3}, []time.Duration{0}},
		"a full one of one call": {0, 3, 0, []int{3}, []int{3}, []time.Duration{0}},
		"a full one beside":      {0, 3, 0, []int{1, 3, 1}, []int{3, 2}, []time.Duration{0, 20 * ms}},
		"one alone":              {0, 4, 0, []int{1}, []int{1}, []time.Duration{20 * ms}},
		"no room":                {0, 4, 0, []int{3, 2}, []int{3, 2}, []time.Duration{0, 20 * ms}},
		"no room for a third":    {0, 4, 0, []int{2, 1, 2}, []int{3, 2}, []time.Duration{0, 20 * ms}},
		"pieces":                 {0, 2, 0, []int{5}, []int{2, 2, 1}, []time.Duration{0, 0, 20 * ms}},
		"the rest joins":         {0, 2, 0, []int{5, 1}, []int{2, 2, 2}, []time.Duration{0, 0, 0}},
		"one at a time":          {0, 1, 0, []int{2, 1}, []int{1, 1, 1}, []time.Duration{0, 0, 0}},
		"as the model":           {3, 0, 0, []int{2, 1, 1}, []int{3, 1}, []time.Duration{0, 20 * ms}},
		"as a model that is mum": {0, 0, 0, []int{9}, []int{8, 1}, []time.Duration{0, 20 * ms}},
		"a model of many":        {5000, 0, 0, []int{1025}, []int{1024, 1}, []time.Duration{0, 20 * ms}},
		"less than none":         {-1, -1, -1, []int{9}, []int{8, 1}, []time.Duration{0, 20 * ms}},
		"too many":               {0, 5000, 0, []int{1025}, []int{1024, 1}, []time.Duration{0, 20 * ms}},
		"short":                  {0, 4, ms, []int{1}, []int{1}, []time.Duration{ms}},
		"too long":               {0, 4, time.Hour, []int{1}, []int{1}, []time.Duration{10_000 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := &noted{batch: test.model, since: time.Now()}
				s := sound.Batching(inner, test.max, test.wait)
				var calls []*scoring
				value := float32(0)
				for _, n := range test.calls {
					values := make([]float32, n)
					for i := range values {
						value++
						values[i] = value
					}
					calls = append(calls, score(t.Context(), s, values...))
				}
				time.Sleep(time.Minute)
				for _, c := range calls {
					c.scored(t)
				}
				var sizes []int
				for _, given := range inner.given {
					sizes = append(sizes, len(given))
				}
				assert.Equal(t, test.batches, sizes)
				assert.Equal(t, test.at, inner.at)
				m, err := s.Model(t.Context())
				require.NoError(t, err)
				assert.Equal(t, test.model, m.Batch, "the model stays what it is")
			})
		})
	}
}

// TestBatchingBig: a batch ends before it holds too many samples.
func TestBatchingBig(t *testing.T) {
	inner := new(noted)
	s := sound.Batching(inner, 100, time.Millisecond)
	clip := make([]float32, 40<<20)
	_, err := s.Score(t.Context(), [][]float32{clip, clip[:24<<20], clip[:1]})
	require.NoError(t, err)
	assert.Equal(t, [][]float32{{0, 0}, {0}}, inner.given)
}

// TestBatchingOfNothing: neither no scorer nor no clips are a reason to panic or to wait.
func TestBatchingOfNothing(t *testing.T) {
	assert.Nil(t, sound.Batching(nil, 1, 0))
	rows, err := sound.Batching(new(noted), 4, 0).Score(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, rows)
}

// TestBatchingContexts: each call keeps its own, and the batch has one of its own.
func TestBatchingContexts(t *testing.T) {
	type key struct{}
	synctest.Test(t, func(t *testing.T) {
		inner := new(noted)
		release := make(chan struct{})
		var sees context.Context
		var read float32
		inner.hook = func(ctx context.Context, clips [][]float32) error {
			sees = ctx
			<-release // deaf
			read = clips[0][0]
			return nil
		}
		s := sound.Batching(inner, 3, 0)
		ctx := context.WithValue(t.Context(), key{}, 1)
		hasty, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		gone, leave := context.WithCancel(ctx)
		left := score(gone, s, 9)
		leave()
		synctest.Wait()
		left.failed(t, context.Canceled, "while the batch is gathered")
		require.Empty(t, inner.given)
		first, second, third := score(hasty, s, 1), score(ctx, s, 2), score(ctx, s, 3)
		require.Equal(t, [][]float32{{1, 2, 3}}, inner.given)
		require.Nil(t, sees.Value(key{}))
		_, limited := sees.Deadline()
		require.False(t, limited)

		time.Sleep(2 * time.Second)
		synctest.Wait()
		first.failed(t, context.DeadlineExceeded, "at once")
		require.False(t, second.ended())
		require.NoError(t, sees.Err(), "others wait")
		first.clips[0][0] = 99 // it is the caller's again
		close(release)
		synctest.Wait()
		second.scored(t)
		third.scored(t)
		require.EqualValues(t, 1, read)
	})
}

// TestBatchingAbandoned: a batch ends when nobody waits for it any more, and not before.
func TestBatchingAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := new(noted)
		ended := false
		inner.hook = func(ctx context.Context, _ [][]float32) error {
			<-ctx.Done()
			ended = true
			return ctx.Err()
		}
		s := sound.Batching(inner, 2, 0)
		one, leaveOne := context.WithCancel(t.Context())
		two, leaveTwo := context.WithCancel(t.Context())
		first, second := score(one, s, 1), score(two, s, 2)
		leaveOne()
		synctest.Wait()
		require.True(t, first.ended())
		require.False(t, ended)
		leaveTwo()
		synctest.Wait()
		require.True(t, ended)
		second.failed(t, context.Canceled)
		assert.Len(t, inner.given, 1, "nobody wants it again")

		inner.hook = nil
		leaving, leave := context.WithCancel(t.Context())
		score(leaving, s, 3)
		leave()
		synctest.Wait()
		later := score(t.Context(), s, 4) // of the same batch it is not
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		later.scored(t)
		assert.Equal(t, [][]float32{{1, 2}, {4}}, inner.given)
	})
}

// TestBatchingServesAll: one who comes while many others do waits for no batch of theirs.
func TestBatchingServesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := new(noted)
		inner.hook = func(ctx context.Context, clips [][]float32) error {
			if clips[0][0] == 1 {
				time.Sleep(time.Hour)
			}
			return nil
		}
		s := sound.Batching(inner, 4, 0)
		var many []*scoring
		for range 100 {
			many = append(many, score(t.Context(), s, 1))
		}
		single := score(t.Context(), s, 2)
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		single.scored(t)
		for _, c := range many {
			require.False(t, c.ended())
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		for _, c := range many {
			c.scored(t)
		}
	})
}

// device is a Scorer that does one call at a time, which takes as long whatever it is given.
type device struct {
	noted
	busy sync.Mutex
}

func (d *device) Score(_ context.Context, clips [][]float32) ([]sound.Scores, error) {
	d.busy.Lock()
	defer d.busy.Unlock()
	time.Sleep(time.Millisecond)
	return make([]sound.Scores, len(clips)), nil
}

// BenchmarkBatching has eight callers side by side, with two clips of 10 s each: over a
// device that gains by large batches, and over signal, which does not.
func BenchmarkBatching(b *testing.B) {
	heard, err := signal.New(nil)
	require.NoError(b, err)
	m, err := heard.Model(b.Context())
	require.NoError(b, err)
	window := int(m.Window.Seconds()) * m.SampleRate
	clips := [][]float32{make([]float32, window), make([]float32, window)}
	random := rand.New(rand.NewPCG(1, 2))
	for _, clip := range clips {
		for i := range clip {
			clip[i] = random.Float32() - 0.5
		}
	}
	for name, bare := range map[string]sound.Scorer{"device": new(device), "signal": heard} {
		for _, run := range []struct {
			name   string
			scorer sound.Scorer
		}{
			{"bare", bare},
			{"full", sound.Batching(bare, 2, 0)},
			{"joined", sound.Batching(bare, 8, 0)},
		} {
			b.Run(name+"/"+run.name, func(b *testing.B) {
				b.SetParallelism((8 + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if _, err := run.scorer.Score(b.Context(), clips); err != nil {
							b.Error(err)
						}
					}
				})
			})
		}
	}
}
