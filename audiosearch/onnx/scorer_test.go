//go:build cgo

package onnx

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/audiosearch/inference"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/nightly"
)

func TestScorers(t *testing.T) { scorers(t, "transformer", "waveform") }

func TestScorersOfOtherModels(t *testing.T) {
	nightly.Only(t)
	scorers(t, "YAMNet", "waveform, four", "features", "described in file")
}

func scorers(t *testing.T, names ...string) {
	needLibrary(t)
	features := `{"family":"test","features":"ast","gives":"logits","classes":["Owl","Crow","Wren","Rook","Kite"]}`
	models := map[string]struct {
		model func(*testing.T) []byte
		opts  Options
	}{
		"transformer": {func(t *testing.T) []byte { return tinyAST(t) }, Options{}},
		"YAMNet": {func(t *testing.T) []byte {
			model, err := os.ReadFile(reference(t, "yamnet/yamnet_official_int8w.onnx"))
			require.NoError(t, err)
			return model
		}, Options{}},
		"waveform":          {func(*testing.T) []byte { return waveform(anyLength).model() }, Options{Description: []byte(described), Batch: 3}},
		"waveform, four":    {func(*testing.T) []byte { return waveform(4).model() }, Options{Description: []byte(described)}},
		"features":          {func(*testing.T) []byte { return featuresModel().model() }, Options{Description: []byte(features), Parallel: 2}},
		"described in file": {func(*testing.T) []byte { return waveform(1).model(inference.MetadataKey, described) }, Options{}},
	}
	for _, name := range names {
		m := models[name]
		t.Run(name, func(t *testing.T) {
			s := open(t, m.model(t), &m.opts)
			audiosearchtest.RunScorer(t, func(*testing.T) sound.Scorer { return s })
		})
	}
}

// The scores of a random model are those that are computed here, in whatever batch.
func TestScoresAreTheModels(t *testing.T) {
	for _, batch := range []int64{anyLength, 1, 4} {
		model := waveform(batch).model()
		s := open(t, model, &Options{Description: []byte(described), Batch: 3})
		m, err := s.Model(t.Context())
		require.NoError(t, err)
		require.Contains(t, m.ID, fmt.Sprintf("sha256:%x", sha256.Sum256(model)))
		require.Equal(t, "test", m.Family)
		clips := [][]float32{tone(100), tone(440), make([]float32, 10), tone(50)[:99], tone(900), tone(3000), tone(7)}
		for i, row := range score(t, s, clips...) {
			for c, got := range row {
				require.InDelta(t, waveformScore(clips[i], c), float64(got), 1e-5, "clip %d, class %d", i, c)
			}
		}
	}
}

// Weights of other types, with inputs and outputs of 32-bit floats.
func TestWeightsOfOtherTypes(t *testing.T) {
	weights := randomWeights(waveSamples * waveClasses)
	half := waveform(anyLength)
	half.weights = []message{halves("small", weights, waveSamples, waveClasses)}
	half.nodes = append([]message{node("Cast", []string{"small"}, []string{"weights"}, integer("to", float32s))}, half.nodes...)
	byteWeights := make([]byte, len(weights))
	for i, w := range weights {
		byteWeights[i] = byte(int8(w * 16 * 127))
	}
	eight := waveform(anyLength)
	eight.weights = []message{
		tensor("small", int8s, byteWeights, waveSamples, waveClasses), floats("scale", []float32{1.0 / 16 / 127}), tensor("zero", int8s, []byte{0}),
	}
	eight.nodes = append([]message{node("DequantizeLinear", []string{"small", "scale", "zero"}, []string{"weights"})}, eight.nodes...)
	for name, m := range map[string]struct {
		model graph
		off   float64
	}{"float16": {half, 1e-3}, "int8": {eight, 2e-2}} {
		t.Run(name, func(t *testing.T) {
			s := open(t, m.model.model(), &Options{Description: []byte(described)})
			clips := [][]float32{tone(100), tone(440), tone(3000)}
			for i, row := range score(t, s, clips...) {
				for c, got := range row {
					require.InDelta(t, waveformScore(clips[i], c), float64(got), m.off, "clip %d, class %d", i, c)
				}
			}
		})
	}
}

// Of several outputs a description names one. The order of the file does not count.
func TestSeveralOutputs(t *testing.T) {
	g := waveform(anyLength)
	g.outputs = append([]message{tensorInfo("sums", float32s, anyLength, waveClasses)}, g.outputs...)
	for output, gives := range map[string]string{"scores": "scores", "sums": "logits"} {
		text := strings.NewReplacer(`"output":"scores"`, `"output":"`+output+`"`, `"gives":"scores"`, `"gives":"`+gives+`"`).Replace(described)
		s := open(t, g.model(), &Options{Description: []byte(text)})
		require.InDelta(t, waveformScore(tone(100), 2), float64(score(t, s, tone(100))[0][2]), 1e-5)
	}
}

// A shape that only ONNX Runtime knows, by what the nodes do.
func TestShapeThatTheModelDoesNotSay(t *testing.T) {
	g := waveform(4)
	g.outputs = []message{message(nil).text(1, "scores").bytes(2, message(nil).bytes(1, message(nil).number(1, float32s)))}
	s := open(t, g.model(), &Options{Description: []byte(described)})
	require.InDelta(t, waveformScore(tone(100), 0), float64(score(t, s, tone(100))[0][0]), 1e-5)
}

// Old exporters list the weights among the inputs.
func TestWeightsAmongTheInputs(t *testing.T) {
	g := waveform(anyLength)
	g.inputs = append([]message{tensorInfo("weights", float32s, waveSamples, waveClasses)}, g.inputs...)
	s := open(t, g.model(), &Options{Description: []byte(described)})
	require.InDelta(t, waveformScore(tone(100), 0), float64(score(t, s, tone(100))[0][0]), 1e-5)
}

// What a model hears decides here whether it gives what it says.
func TestModelThatFailsLater(t *testing.T) {
	t.Run("no numbers", func(t *testing.T) {
		g := waveform(anyLength) // 0 / (1-loud)
		g.weights = append(g.weights, floats("half", []float32{0.5}), floats("one", []float32{1}))
		g.nodes = append(loud(),
			node("MatMul", []string{"waveform", "weights"}, []string{"sums"}),
			node("Cast", []string{"loud"}, []string{"loudness"}, integer("to", float32s)),
			node("Sub", []string{"one", "loudness"}, []string{"quiet"}),
			node("Sigmoid", []string{"sums"}, []string{"s"}),
			node("Div", []string{"quiet", "quiet"}, []string{"nan"}),
			node("Mul", []string{"s", "nan"}, []string{"scores"}))
		s := open(t, g.model(), &Options{Description: []byte(described), Batch: 2})
		failsOnLoud(t, s, func(err error) {
			require.ErrorIs(t, err, inference.ErrAnswer)
			require.ErrorIs(t, err, sound.ErrPermanent)
		})
	})
	t.Run("another shape", func(t *testing.T) {
		g := waveform(anyLength) // twice as many columns
		g.weights = append(g.weights, floats("half", []float32{0.5}), longs("one", []int64{1}, 1), longs("zero", []int64{0}, 1))
		g.nodes = append(loud(),
			node("MatMul", []string{"waveform", "weights"}, []string{"sums"}),
			node("Sigmoid", []string{"sums"}, []string{"s"}),
			node("Unsqueeze", []string{"loud", "zero"}, []string{"l"}),
			node("Add", []string{"l", "one"}, []string{"times"}),
			node("Concat", []string{"one", "times"}, []string{"repeats"}, integer("axis", 0)),
			node("Tile", []string{"s", "repeats"}, []string{"scores"}))
		s := open(t, g.model(), &Options{Description: []byte(described), Batch: 2})
		failsOnLoud(t, s, func(err error) {
			require.ErrorContains(t, err, "gave the shape {1,10}; by its inputs and outputs it gives [1 5]")
			require.ErrorIs(t, err, sound.ErrPermanent)
			sentence(t, err)
		})
	})
}

// failsOnLoud requires that a scorer fails on a loud clip, and only on that.
func failsOnLoud(t *testing.T, s *Scorer, check func(error)) {
	want := score(t, s, tone(100))
	clip := tone(200)
	clip[17] = 0.9
	for range 3 {
		scores, err := s.Score(t.Context(), [][]float32{tone(100), tone(300), clip})
		require.Error(t, err)
		require.Nil(t, scores)
		check(err)
		require.Equal(t, want, score(t, s, tone(100)))
	}
}

// What is read is kept: another file in its place changes nothing until the next Open.
func TestExchangedFile(t *testing.T) {
	needLibrary(t)
	path := filepath.Join(t.TempDir(), "model.onnx")
	require.NoError(t, os.WriteFile(path, waveform(anyLength).model(), 0o600))
	require.NoError(t, os.WriteFile(path+".json", []byte(described), 0o600))
	first, err := Open(path, nil)
	require.NoError(t, err)
	defer first.Close()
	before := score(t, first, tone(100))

	other := waveform(anyLength)
	other.nodes[1] = node("HardSigmoid", []string{"sums"}, []string{"scores"})
	require.NoError(t, os.WriteFile(path, other.model(), 0o600)) // the same file, other bytes
	require.Equal(t, before, score(t, first, tone(100)))
	require.NoError(t, os.Truncate(path, 0))
	require.Equal(t, before, score(t, first, tone(100)))
	require.NoError(t, os.WriteFile(path, other.model(), 0o600))

	second, err := Open(path, nil)
	require.NoError(t, err)
	defer second.Close()
	require.NotEqual(t, before, score(t, second, tone(100)))
	require.Equal(t, before, score(t, first, tone(100)), "both at a time")
	a, _ := first.Model(t.Context())
	b, _ := second.Model(t.Context())
	require.NotEqual(t, a.ID, b.ID)

	_, err = Open(path, &Options{Description: []byte("{}")})
	require.ErrorContains(t, err, "family", "the description of the options comes before that of the file")
	require.NoError(t, os.WriteFile(path+".json", []byte("nonsense"), 0o600))
	_, err = Open(path, nil)
	require.Error(t, err)
	sentence(t, err)
}

func TestOptions(t *testing.T) {
	needLibrary(t)
	for _, o := range []Options{
		{Threads: -1}, {Threads: 5000}, {Parallel: -1}, {Parallel: 5000}, {Batch: -1}, {Batch: 5000}, {Hop: -1}, {Hop: time.Hour},
		{Description: []byte{}},
	} {
		if o.Description == nil {
			o.Description = []byte(described)
		}
		refused(t, waveform(anyLength).model(), &o)
	}
	// What runs alone is brought in eights all the same.
	for batch, want := range map[int64]int{anyLength: 1, 1: 8, 4: 8} {
		s := open(t, waveform(batch).model(), &Options{Description: []byte(described)})
		m, err := s.Model(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, m.Batch)
	}
	s := open(t, waveform(anyLength).model(), &Options{Description: []byte(described), Threads: 1, Hop: 20 * time.Millisecond, Batch: 5})
	m, err := s.Model(t.Context())
	require.NoError(t, err)
	require.Equal(t, 20*time.Millisecond, m.Hop)
	require.Equal(t, 5, m.Batch)
}

// Many at once, on two models, and no answer is another's.
func TestConcurrent(t *testing.T) {
	model := waveform(anyLength)
	scorers := []*Scorer{
		open(t, model.model(), &Options{Description: []byte(described), Parallel: 3, Batch: 2}),
		open(t, model.model(), &Options{Description: []byte(described)}),
	}
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			for j := range 30 {
				clips := [][]float32{tone(float64(20*i + j + 1)), tone(float64(30*j + i + 1)), tone(1000)}
				scores, err := scorers[i%2].Score(t.Context(), clips)
				if !errors.Is(err, nil) || len(scores) != len(clips) {
					t.Errorf("%d scores, %v", len(scores), err)
					return
				}
				for k, row := range scores {
					if want := waveformScore(clips[k], j%waveClasses); max(want-float64(row[j%waveClasses]), float64(row[j%waveClasses])-want) > 1e-5 {
						t.Errorf("clip %d of call %d of %d: %v, not %v", k, j, i, row[j%waveClasses], want)
					}
				}
			}
		})
	}
	all.Wait()
}

// Close waits for what runs. From then on there are no scores, whoever waits or comes.
func TestCloseWhileScoring(t *testing.T) {
	for range 20 {
		s := open(t, waveform(anyLength).model(), &Options{Description: []byte(described)})
		want := score(t, s, tone(100))
		var all sync.WaitGroup
		begun := make(chan struct{}, 8)
		for range 8 {
			all.Go(func() {
				for {
					scores, err := s.Score(context.Background(), slices.Repeat([][]float32{tone(100)}, 5))
					select {
					case begun <- struct{}{}:
					default:
					}
					if err != nil {
						if !errors.Is(err, errClosed) {
							t.Errorf("%v", err)
						}
						return
					}
					if !slices.Equal(scores[4], want[0]) {
						t.Errorf("%v, not %v", scores[4], want[0])
						return
					}
				}
			})
		}
		for range 8 {
			<-begun
		}
		require.NoError(t, s.Close())
		all.Wait()
		require.NoError(t, s.Close())
		_, err := s.Score(t.Context(), [][]float32{tone(100)})
		require.ErrorIs(t, err, errClosed)
		_, err = s.Model(t.Context())
		require.NoError(t, err)
	}
}
