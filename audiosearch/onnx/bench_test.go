//go:build cgo && unix

package onnx

import (
	"math"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	ort "github.com/yalue/onnxruntime_go"
	"golang.org/x/sync/errgroup"

	"github.com/seed-6363c74e/mortise/audiosearch/astfeatures"
)

// BenchmarkOverRun measures what a scorer adds to ONNX Runtime's own Run, on the same
// session, in turn: from ready input, or from sound, to the scores of eight windows. It
// compares the fastest times of each, since what else the machine does only adds, and the
// least processor time, which hardly depends on it.
func BenchmarkOverRun(b *testing.B) {
	b.Run("YAMNet", func(b *testing.B) {
		overRun(b, reference(b, "yamnet/yamnet_official_int8w.onnx"), 1)
	})
	b.Run("tiny", func(b *testing.B) { overRun(b, "testdata/ast_tiny_random.onnx", 8) })
	base := func(batch int) func(*testing.B) {
		return func(b *testing.B) {
			path := os.Getenv("MORTISE_AST_BASE")
			if path == "" {
				b.Skip("MORTISE_AST_BASE is not set: the large transformer is not there")
			}
			overRun(b, path, batch)
		}
	}
	b.Run("base, eight at a time", base(8))
	b.Run("base, one at a time", base(1))
}

// overRun measures one model.
func overRun(b *testing.B, path string, batch int) {
	needLibrary(b)
	s, err := Open(path, &Options{Batch: batch})
	require.NoError(b, err)
	defer s.Close()
	m, err := s.Model(b.Context())
	require.NoError(b, err)
	network := s.runner.network
	const windows = 8
	clips := make([][]float32, windows)
	inputs := make([]float32, windows*network.InputSize())
	for i := range clips {
		clips[i] = make([]float32, int(m.Window.Seconds()*float64(m.SampleRate)+0.5))
		for j := range clips[i] {
			clips[i][j] = float32(0.3 * math.Sin(float64(j)*0.01*float64(i+3)) * math.Sin(float64(j)*0.0001))
		}
		if input := inputs[i*network.InputSize():][:network.InputSize()]; network.InputSize() == len(clips[i]) {
			copy(input, clips[i])
		} else {
			astfeatures.Extract(input, clips[i])
		}
	}
	outputs := make([]float32, windows*network.OutputSize())
	var in, out []ort.Value
	for i := 0; i < windows; i += batch {
		t, err := ort.NewTensor(network.InputShape(batch), inputs[i*network.InputSize():])
		require.NoError(b, err)
		defer t.Destroy()
		u, err := ort.NewTensor(network.OutputShape(batch), outputs[i*network.OutputSize():])
		require.NoError(b, err)
		defer u.Destroy()
		in, out = append(in, t), append(out, u)
	}
	own := func() {
		for i := range in {
			require.NoError(b, s.runner.session.session.Run(in[i:i+1], out[i:i+1]))
		}
	}
	answers := make([]float32, batch*network.OutputSize())
	ready := func() {
		for i := 0; i < windows; i += batch {
			require.NoError(b, s.runner.Run(b.Context(), batch, inputs[i*network.InputSize():][:batch*network.InputSize()], answers))
			for j, x := range answers {
				answers[j] = float32(1 / (1 + math.Exp(-float64(x))))
			}
		}
	}
	sound := func() { score(b, s, clips...) }
	own() // takes the memory that the others use again
	var wall, processor [3]float64
	for first := true; b.Loop(); first = false {
		for i, f := range []func(){own, ready, sound} {
			start, used := time.Now(), processorTime(b)
			f()
			w, p := time.Since(start).Seconds(), processorTime(b)-used
			if first || w < wall[i] {
				wall[i] = w
			}
			if first || p < processor[i] {
				processor[i] = p
			}
		}
	}
	b.ReportMetric(wall[1]/wall[0], "ready/run")
	b.ReportMetric(wall[2]/wall[0], "sound/run")
	b.ReportMetric(processor[1]/processor[0], "ready/run-cpu")
	b.ReportMetric(processor[2]/processor[0], "sound/run-cpu")
	b.ReportMetric(windows*m.Window.Seconds()/wall[2], "s-of-sound/s")
	b.ReportMetric(windows*m.Window.Seconds()/processor[2], "s-of-sound/cpu-s")
}

// processorTime is how many seconds of processors this process has used.
func processorTime(b *testing.B) float64 {
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

// BenchmarkFiles measures how long YAMNet takes to score four files, as many at a time as
// there are processors: with one thread a run, as a small model has by default, over a run
// at a time on all processors, in turn. It compares the fastest times of each.
func BenchmarkFiles(b *testing.B) {
	needLibrary(b)
	path, all := reference(b, "yamnet/yamnet_official_int8w.onnx"), runtime.GOMAXPROCS(0)
	var scorers [2]*Scorer
	for i, o := range []*Options{nil, {Threads: all, Parallel: 1}} {
		s, err := Open(path, o)
		require.NoError(b, err)
		defer s.Close()
		scorers[i] = s
	}
	clip := make([]float32, 15_600)
	for i := range clip {
		clip[i] = float32(0.3 * math.Sin(float64(i)*0.05))
	}
	files := func(s *Scorer) {
		var g errgroup.Group
		g.SetLimit(all)
		for range 4 {
			g.Go(func() error {
				for range 100 { // windows: half a minute of sound
					if _, err := s.Score(b.Context(), [][]float32{clip}); err != nil {
						return err
					}
				}
				return nil
			})
		}
		require.NoError(b, g.Wait())
	}
	var wall [2]float64
	for first := true; b.Loop(); first = false {
		for i, s := range scorers {
			start := time.Now()
			files(s)
			if w := time.Since(start).Seconds(); first || w < wall[i] {
				wall[i] = w
			}
		}
	}
	b.ReportMetric(wall[0]/wall[1], "thread-a-run/all-threads")
}
