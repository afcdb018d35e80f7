package inference_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/astfeatures"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/audiosearch/audioset"
	"github.com/seed-6363c74e/mortise/audiosearch/inference"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// runner is a network: output c of a clip is the mean of its input, plus c. It notes how many
// clips came at a time, and can be made to fail.
type runner struct {
	network *inference.Network
	change  func(output []float32) error // nil: none

	mu    sync.Mutex
	calls []int
}

func (r *runner) Run(ctx context.Context, clips int, input, output []float32) error {
	r.mu.Lock()
	r.calls = append(r.calls, clips)
	r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	in, out := r.network.InputSize(), r.network.OutputSize()
	if len(input) != clips*in || len(output) != clips*out {
		return errors.New("the input or the output has another size than the network")
	}
	for i := range clips {
		var sum float64
		for _, x := range input[i*in:][:in] {
			sum += float64(x)
		}
		for c := range out {
			output[i*out+c] = float32(sum/float64(in)) + float32(c)
		}
	}
	if r.change != nil {
		return r.change(output)
	}
	return nil
}

func recognized(t testing.TB, in, out []int64, d *inference.Description) *inference.Network {
	t.Helper()
	name := [2]string{"waveform", "scores"}
	if len(in) == 3 {
		name = [2]string{"input_values", "logits"}
	}
	n, err := inference.Recognize(inference.Signature{
		Inputs:  []inference.Tensor{{Name: name[0], Type: inference.Float32, Shape: in}},
		Outputs: []inference.Tensor{{Name: name[1], Type: inference.Float32, Shape: out}},
	}, d)
	require.NoError(t, err)
	return n
}

// birds takes 4000 samples at 8 kHz.
func birds() *inference.Description {
	return &inference.Description{Family: "birds", SampleRate: 8000, Samples: 4000, Gives: "logits", Classes: []sound.Class{"Owl", "Crow"}}
}

func newScorer(t testing.TB, n *inference.Network, opts *inference.Options) (*inference.Scorer, *runner) {
	t.Helper()
	r := &runner{network: n}
	s, err := inference.New(n, "sha256:00", r, opts)
	require.NoError(t, err)
	return s, r
}

func TestScorerSuite(t *testing.T) {
	for name, n := range map[string]*inference.Network{
		"the transformer":   recognized(t, []int64{-1, 1024, 128}, []int64{-1, 527}, nil),
		"four at a time":    recognized(t, []int64{4, 1024, 128}, []int64{4, 527}, nil),
		"waveforms":         recognized(t, []int64{-1, 4000}, []int64{-1, 2}, birds()),
		"a waveform":        recognized(t, []int64{4000}, []int64{2}, birds()),
		"a waveform, 1 row": recognized(t, []int64{-1}, []int64{1, 2}, birds()),
		"three at a time":   recognized(t, []int64{3, 4000}, []int64{-1, 2}, birds()),
		"waveforms, 3 each": recognized(t, []int64{-1, 4000}, []int64{3, 2}, birds()),
	} {
		t.Run(name, func(t *testing.T) {
			audiosearchtest.RunScorer(t, func(t *testing.T) sound.Scorer {
				s, _ := newScorer(t, n, nil)
				return s
			})
		})
	}
}

func TestModel(t *testing.T) {
	ast := recognized(t, []int64{-1, 1024, 128}, []int64{-1, 527}, nil)
	model := func(n *inference.Network, opts *inference.Options) sound.Model {
		s, _ := newScorer(t, n, opts)
		m, err := s.Model(t.Context())
		require.NoError(t, err)
		return m
	}
	m := model(ast, nil)
	require.Equal(t, sound.Model{
		ID: "ast/1/sha256:00", Family: "ast", SampleRate: 16000, Window: 10240 * time.Millisecond, Hop: 5120 * time.Millisecond,
		Classes: audioset.Classes(), Batch: 8,
	}, m)
	m.Classes[0] = "changed"
	require.Equal(t, audioset.Classes(), model(ast, nil).Classes, "what comes out is the caller's")

	// Whatever changes a score or a segment changes the ID, and nothing else does.
	ids := make(map[string]string)
	for what, id := range map[string]string{
		"as it is":      model(ast, nil).ID,
		"another hop":   model(ast, &inference.Options{Hop: 2 * time.Second}).ID,
		"described":     model(recognized(t, []int64{-1, 4000}, []int64{-1, 2}, birds()), nil).ID,
		"scores":        model(recognized(t, []int64{-1, 4000}, []int64{-1, 2}, with(func(d *inference.Description) { d.Gives = "scores" })), nil).ID,
		"other classes": model(recognized(t, []int64{-1, 4000}, []int64{-1, 2}, with(func(d *inference.Description) { d.Classes[0] = "Hawk" })), nil).ID,
		"another rate":  model(recognized(t, []int64{-1, 4000}, []int64{-1, 2}, with(func(d *inference.Description) { d.SampleRate = 16000 })), nil).ID,
		"its own hop":   model(recognized(t, []int64{-1, 4000}, []int64{-1, 2}, with(func(d *inference.Description) { d.Hop = 100 * time.Millisecond })), nil).ID,
		"a longer name": model(recognized(t, []int64{-1, 4000}, []int64{-1, 2}, with(func(d *inference.Description) { d.Family = strings.Repeat("b", 64) })), nil).ID,
	} {
		require.Empty(t, ids[id], "%s has the ID of %s", what, ids[id])
		require.True(t, sound.Class(id).Valid(), "%q is no name", id)
		ids[id] = what
	}
	require.Equal(t, m.ID, model(ast, &inference.Options{Batch: 3, Hop: 5120 * time.Millisecond}).ID)
}

func with(change func(*inference.Description)) *inference.Description {
	d := birds()
	change(d)
	return d
}

func TestOptionsOutOfRange(t *testing.T) {
	n := recognized(t, []int64{-1, 4000}, []int64{-1, 2}, birds())
	for _, o := range []inference.Options{{Hop: -1}, {Hop: time.Microsecond}, {Hop: time.Second}, {Batch: -1}, {Batch: 1025}} {
		_, err := inference.New(n, "sha256:00", &runner{}, &o)
		require.ErrorContains(t, err, "inference: ")
	}
}

// Mistakes of a program are errors. Two weights without a name would have one ID.
func TestNewWithoutItsParts(t *testing.T) {
	n := recognized(t, []int64{-1, 4000}, []int64{-1, 2}, birds())
	for _, c := range []struct {
		n       *inference.Network
		weights string
		runner  inference.Runner
		says    string
	}{
		{nil, "sha256:00", &runner{}, "Recognize makes"},
		{new(inference.Network), "sha256:00", &runner{}, "Recognize makes"},
		{n, "sha256:00", nil, "needs a Runner"},
		{n, "", &runner{}, "the weights need a name"},
		{n, "\xff", &runner{}, "the weights need a name"},
		{n, strings.Repeat("w", 129), &runner{}, "1 to 128 bytes"},
	} {
		_, err := inference.New(c.n, c.weights, c.runner, nil)
		require.ErrorContains(t, err, c.says)
	}
	require.Zero(t, new(inference.Network).Window())

	long := with(func(d *inference.Description) { d.Family = strings.Repeat("b", 64) })
	s, err := inference.New(recognized(t, []int64{-1, 4000}, []int64{-1, 2}, long), strings.Repeat("w", 128),
		&runner{}, &inference.Options{Hop: 123456789 * time.Nanosecond})
	require.NoError(t, err)
	m, err := s.Model(t.Context())
	require.NoError(t, err)
	require.True(t, sound.Class(m.ID).Valid(), "an ID of %d bytes", len(m.ID))
}

// Eleven clips, in runs of as many as the options and the shapes allow.
func TestBatches(t *testing.T) {
	for _, c := range []struct {
		in, out []int64
		batch   int
		calls   []int
		model   int
	}{
		{[]int64{-1, 4000}, []int64{-1, 2}, 0, []int{8, 3}, 8},
		{[]int64{-1, 4000}, []int64{-1, 2}, 5, []int{5, 5, 1}, 5},
		{[]int64{4000}, []int64{1, 2}, 0, []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 8},
		{[]int64{4, 4000}, []int64{4, 2}, 0, []int{4, 4, 4}, 8},
		{[]int64{6, 4000}, []int64{-1, 2}, 8, []int{6, 6}, 6},
		{[]int64{20, 4000}, []int64{-1, 2}, 0, []int{20}, 20},
	} {
		s, r := newScorer(t, recognized(t, c.in, c.out, birds()), &inference.Options{Batch: c.batch})
		m, err := s.Model(t.Context())
		require.NoError(t, err)
		require.Equal(t, c.model, m.Batch)
		clips := make([][]float32, 11)
		for i := range clips {
			clips[i] = make([]float32, 4000)
			for j := range clips[i] {
				clips[i][j] = float32(i)
			}
		}
		rows, err := s.Score(t.Context(), clips)
		require.NoError(t, err)
		require.Equal(t, c.calls, r.calls)
		for i, row := range rows {
			for class, score := range row {
				require.InDelta(t, 1/(1+math.Exp(-float64(i+class))), score, 1e-6, "the sigmoid of clip %d", i)
			}
		}
	}
}

// What a network hears of clips that are short, loud or no numbers.
func TestHears(t *testing.T) {
	var heard []float32
	n := recognized(t, []int64{-1, 4000}, []int64{-1, 2}, birds())
	s, err := inference.New(n, "sha256:00", runs(func(input []float32) { heard = append([]float32(nil), input...) }), nil)
	require.NoError(t, err)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	clip := []float32{0.5, nan, inf, -inf, 1e30, -1e30, 999}
	_, err = s.Score(t.Context(), [][]float32{clip})
	require.NoError(t, err)
	require.Equal(t, []float32{0.5, 0, 1000, -1000, 1000, -1000, 999}, heard[:7])
	require.Equal(t, make([]float32, 3993), heard[7:], "silence")
	require.Equal(t, inf, clip[2], "clips are for reading")

	ast := recognized(t, []int64{-1, 1024, 128}, []int64{-1, 527}, nil)
	s, err = inference.New(ast, "sha256:00", runs(func(input []float32) { heard = append([]float32(nil), input...) }), nil)
	require.NoError(t, err)
	tone := make([]float32, 16000)
	for i := range tone {
		tone[i] = float32(math.Sin(float64(i) / 5))
	}
	_, err = s.Score(t.Context(), [][]float32{tone})
	require.NoError(t, err)
	want := make([]float32, astfeatures.Frames*astfeatures.Bins)
	astfeatures.Extract(want, tone)
	require.Equal(t, want, heard)
	tone[100] = inf
	_, err = s.Score(t.Context(), [][]float32{tone})
	require.NoError(t, err)
	tone[100] = 1000
	astfeatures.Extract(want, tone)
	require.Equal(t, want, heard)
}

// runs is a Runner that only listens.
type runs func(input []float32)

func (f runs) Run(_ context.Context, _ int, input, output []float32) error {
	f(input)
	clear(output)
	return nil
}

func TestAnswersThatAreNoScores(t *testing.T) {
	n := recognized(t, []int64{-1, 4000}, []int64{-1, 2}, with(func(d *inference.Description) { d.Gives = "scores" }))
	clip := [][]float32{make([]float32, 4000)}
	for _, c := range []struct {
		answer float32
		want   float32 // -1: an error
	}{
		{0, 0}, {1, 1}, {0.25, 0.25}, {-0.0005, 0}, {1.0005, 1}, {-0.01, -1}, {1.01, -1}, {7.3, -1},
		{float32(math.NaN()), -1}, {float32(math.Inf(1)), -1}, {float32(math.Inf(-1)), -1},
	} {
		r := &runner{network: n, change: func(output []float32) error {
			output[0], output[1] = 0, c.answer
			return nil
		}}
		s, err := inference.New(n, "sha256:00", r, nil)
		require.NoError(t, err)
		rows, err := s.Score(t.Context(), clip)
		if c.want >= 0 {
			require.NoError(t, err)
			require.Equal(t, c.want, rows[0][1])
			continue
		}
		require.Nil(t, rows)
		require.ErrorIs(t, err, inference.ErrAnswer)
		require.ErrorIs(t, err, sound.ErrPermanent)
		require.ErrorContains(t, err, `"Crow"`)
	}
	// The sigmoid takes any number, but none that is not one.
	logits := recognized(t, []int64{-1, 4000}, []int64{-1, 2}, birds())
	for _, answer := range []float32{-1e30, 1e30, float32(math.NaN())} {
		s, err := inference.New(logits, "sha256:00", &runner{network: logits, change: func(output []float32) error {
			output[0] = answer
			return nil
		}}, nil)
		require.NoError(t, err)
		rows, err := s.Score(t.Context(), clip)
		if answer != answer {
			require.ErrorIs(t, err, inference.ErrAnswer)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, max(0, min(1, answer)), rows[0][0])
	}
}

func TestErrorsOfTheRunner(t *testing.T) {
	away := errors.New("away")
	n := recognized(t, []int64{-1, 4000}, []int64{-1, 2}, birds())
	s, err := inference.New(n, "sha256:00", &runner{network: n, change: func([]float32) error { return away }}, nil)
	require.NoError(t, err)
	rows, err := s.Score(t.Context(), [][]float32{make([]float32, 4000)})
	require.Nil(t, rows)
	require.ErrorIs(t, err, away)
	require.NotErrorIs(t, err, sound.ErrPermanent)

	_, err = s.Score(t.Context(), [][]float32{make([]float32, 4001)})
	require.ErrorIs(t, err, sound.ErrPermanent)
	require.ErrorContains(t, err, "clip 0 has 4001 samples")
}

// A context that ends stops between batches: the second one is not run.
func TestEndsBetweenBatches(t *testing.T) {
	n := recognized(t, []int64{4000}, []int64{2}, birds())
	ctx, cancel := context.WithCancel(t.Context())
	r := &runner{network: n, change: func([]float32) error { cancel(); return nil }}
	s, err := inference.New(n, "sha256:00", r, nil)
	require.NoError(t, err)
	clips := [][]float32{make([]float32, 4000), make([]float32, 4000), make([]float32, 4000)}
	_, err = s.Score(ctx, clips)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, r.calls, 1)
}

// What a run hears of a clip is that clip, whatever the buffer had before: a short one has
// silence behind it, and so has a fixed batch that is not full.
func TestNothingIsHeardTwice(t *testing.T) {
	loud := slices.Repeat([]float32{1}, 4000)
	for name, c := range map[string]struct {
		in, out []int64
		clips   [][]float32
		want    [][]float32 // that the network hears, the batches one after the other
	}{
		"a short clip": {[]int64{4000}, []int64{2}, [][]float32{loud, loud[:1]}, [][]float32{loud, loud[:1]}},
		"a last batch": {[]int64{2, 4000}, []int64{2, 2}, [][]float32{loud, loud, loud}, [][]float32{loud, loud, loud, nil}},
	} {
		n := recognized(t, c.in, c.out, birds())
		var heard [][]float32
		s, err := inference.New(n, "sha256:00", listens(func(input []float32) {
			for clip := range slices.Chunk(input, 4000) {
				heard = append(heard, slices.Clone(clip))
			}
		}), &inference.Options{Batch: len(c.in)})
		require.NoError(t, err)
		_, err = s.Score(t.Context(), c.clips)
		require.NoError(t, err)
		require.Len(t, heard, len(c.want), name)
		for i, clip := range c.want {
			require.Equal(t, append(slices.Clone(clip), make([]float32, 4000-len(clip))...), heard[i], "%s: clip %d", name, i)
		}
	}
}

// listens is a network that notes what it hears.
type listens func(input []float32)

func (l listens) Run(_ context.Context, _ int, input, output []float32) error {
	l(input)
	clear(output)
	return nil
}

// The memory of a batch is bounded, whatever the options say: a batch of 1024 clips of a
// window of ten minutes would take 60 GB.
func TestBatchesFitTheMemory(t *testing.T) {
	d := birds()
	d.SampleRate, d.Samples, d.Hop = 16000, 16000*600, time.Second
	n := recognized(t, []int64{-1, -1}, []int64{-1, 2}, d)
	for _, batch := range []int{0, 1024} {
		s, _ := newScorer(t, n, &inference.Options{Batch: batch})
		m, err := s.Model(t.Context())
		require.NoError(t, err)
		require.Equal(t, 64<<20/d.Samples, m.Batch)
	}
	d.SampleRate, d.Samples = 384_000, 64<<20
	s, _ := newScorer(t, recognized(t, []int64{-1, -1}, []int64{-1, 2}, d), nil)
	m, err := s.Model(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, m.Batch)
}

func BenchmarkScore(b *testing.B) {
	n := recognized(b, []int64{-1, 1024, 128}, []int64{-1, 527}, nil)
	s, err := inference.New(n, "sha256:00", runs(func([]float32) {}), nil)
	require.NoError(b, err)
	clips := make([][]float32, 8)
	for i := range clips {
		clips[i] = make([]float32, astfeatures.WindowSamples)
	}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = s.Score(b.Context(), clips)
	}
}
