//go:build cgo

package onnx

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/inference"
)

// Each of these is refused in New, and says why.
func TestRefused(t *testing.T) {
	with := func(change func(*graph)) graph {
		g := waveform(anyLength)
		change(&g)
		return g
	}
	external := func() message {
		m := message(nil).number(1, waveSamples).number(1, waveClasses).number(2, float32s).text(8, "weights").number(14, 1)
		return m.bytes(13, message(nil).text(1, "location").text(2, "weights.bin"))
	}
	deep := func(levels int) graph {
		g := with(func(g *graph) { g.weights = nil })
		for range levels {
			outer := waveform(anyLength)
			outer.nodes = append(outer.nodes, node("If", []string{"c"}, []string{"x"}, graphAttribute("then_branch", g.encode())))
			g = outer
		}
		return g
	}
	for name, m := range map[string]struct {
		model graph
		say   []string
	}{
		"no input": {with(func(g *graph) { g.inputs = nil }), []string{"one input is wanted"}},
		"two inputs": {with(func(g *graph) { g.inputs = append(g.inputs, tensorInfo("second", float32s, 1)) }),
			[]string{"second FP32 [1]", "one input is wanted"}},
		"rank": {with(func(g *graph) { g.inputs = []message{tensorInfo("waveform", float32s, 2, 3, waveSamples)} }),
			[]string{"[2,3,800]", "a waveform is [samples] or [batch,samples]"}},
		"integers": {with(func(g *graph) { g.inputs = []message{tensorInfo("waveform", int64s, anyLength, waveSamples)} }),
			[]string{"waveform INT64", "32-bit floats"}},
		"halves": {with(func(g *graph) { g.outputs = []message{tensorInfo("scores", float16s, anyLength, waveClasses)} }),
			[]string{"scores FP16", "32-bit floats"}},
		"sequence": {with(func(g *graph) {
			g.nodes[1] = node("SequenceConstruct", []string{"sums"}, []string{"scores"})
			g.outputs = []message{sequenceInfo("scores")}
		}), []string{"scores SEQUENCE"}},
		"other classes":  {with(func(g *graph) { g.outputs = []message{tensorInfo("scores", float32s, anyLength, 6)} }), []string{"5 classes", "[any,6]"}},
		"batches differ": {with(func(g *graph) { g.inputs = waveform(2).inputs; g.outputs = waveform(3).outputs }), []string{"do not go together"}},
		"no such node": {with(func(g *graph) { g.nodes[1] = node("Sigmund", []string{"sums"}, []string{"scores"}) }),
			[]string{"ONNX Runtime refuses the model", "Sigmund"}},
		"NaN": {with(func(g *graph) {
			weights := randomWeights(waveSamples * waveClasses)
			weights[4] = float32(math.NaN())
			g.weights = []message{floats("weights", weights, waveSamples, waveClasses)}
		}), []string{"fails in its first run", "NaN", `"Kite"`}},
		"beyond 1": {with(func(g *graph) {
			g.weights = append(g.weights, floats("three", []float32{3}))
			g.nodes[1] = node("Add", []string{"sums", "three"}, []string{"scores"})
		}), []string{"fails in its first run", `"gives": "logits"`}},
		"another shape": {with(func(g *graph) {
			g.weights = append(g.weights, floats("half", []float32{0.5}), longs("zero", []int64{0}, 1), longs("two", []int64{2}, 1))
			g.nodes = append(loud(), g.nodes[0], node("Sigmoid", []string{"sums"}, []string{"s"}),
				node("Unsqueeze", []string{"loud", "zero"}, []string{"l"}), node("Add", []string{"l", "two"}, []string{"times"}),
				node("Concat", []string{"times", "two"}, []string{"repeats"}, integer("axis", 0)),
				node("Tile", []string{"s", "repeats"}, []string{"scores"}))
		}), []string{"fails in its first run", "gave the shape {2,10}"}},
		"external": {with(func(g *graph) { g.weights = []message{external()} }), []string{`another file ("weights.bin")`, "save it as one file"}},
		"external, nowhere": {with(func(g *graph) {
			g.weights = append(g.weights, message(nil).number(1, 1).number(2, float32s).text(8, "w").number(14, 1))
		}), []string{`another file ("")`}},
		"external, below": {with(func(g *graph) {
			inner := graph{weights: []message{external()}}
			g.nodes = append(g.nodes, node("If", []string{"c"}, []string{"x"}, graphAttribute("then_branch", inner.encode())))
		}), []string{`another file ("weights.bin")`}},
		"promises": {with(func(g *graph) {
			g.weights = append(g.weights, tensor("huge", float32s, []byte{1, 2, 3, 4}, 1<<40, 1<<40))
		}), []string{`"huge" lacks the numbers`}},
		"promises, and more": {with(func(g *graph) { // 2^64 and a little
			g.weights = append(g.weights, tensor("huge", float32s, []byte{1, 2, 3, 4}, 1<<32, 1<<32, 1))
		}), []string{`"huge" lacks the numbers`}},
		"many nodes": {with(func(g *graph) {
			g.nodes = append(g.nodes, slices.Repeat([]message{node("Neg", []string{"a"}, []string{"b"})}, maxNodes)...)
		}), []string{"more than 100000 nodes"}},
		"many graphs": {deep(40), []string{"nests graphs"}},
	} {
		t.Run(name, func(t *testing.T) {
			text := refused(t, m.model.model(), &Options{Description: []byte(described)})
			for _, say := range m.say {
				require.Contains(t, text, say)
			}
		})
	}
	t.Run("not described", func(t *testing.T) {
		needLibrary(t)
		_, err := New(waveform(4).model(), nil)
		require.ErrorIs(t, err, inference.ErrUnrecognized)
		sentence(t, err)
		require.Contains(t, err.Error(), "waveform FP32 [4,800] to scores FP32 [4,5]")
	})
	t.Run("describes itself badly", func(t *testing.T) {
		require.Contains(t, refused(t, waveform(4).model(inference.MetadataKey, "{"), nil), "JSON")
	})
}

// What is no model at all, and models that were cut or changed, are refused, or score.
func TestBrokenFiles(t *testing.T) {
	good := waveform(anyLength).model(inference.MetadataKey, described)
	for name, model := range map[string][]byte{
		"nil": nil, "empty": {}, "text": []byte("<!DOCTYPE html><html>not found</html>"), "zeros": make([]byte, 1000),
		"pointer":         []byte("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 346\n"),
		"other message":   message(nil).text(1, "hello").number(2, 7),
		"no graph":        message(nil).number(1, 8),
		"empty graph":     message(nil).number(1, 8).bytes(7, nil),
		"number as graph": message(nil).number(1, 8).number(7, 12),
		"ORT format":      append([]byte{0x20, 0, 0, 0, 'O', 'R', 'T', 'M'}, good...),
	} {
		t.Run(name, func(t *testing.T) { refused(t, model, nil) })
	}
	needLibrary(t)
	try := func(model []byte) {
		s, err := New(model, nil)
		if err != nil {
			sentence(t, err)
			return
		}
		score(t, s, tone(100))
		require.NoError(t, s.Close())
	}
	for cut := 0; cut < len(good); cut += 1 + len(good)/200 {
		try(good[:cut])
	}
	small := good[:0:0]
	small = append(small, good...)
	// The weights come first; nodes, names and shapes are at the end, and at the
	// beginning.
	head := len(good) - 800
	for i := range len(small) {
		if i > 60 && i < head {
			continue
		}
		for _, flip := range []byte{0x01, 0x80} {
			small[i] ^= flip
			try(small)
			small[i] ^= flip
		}
	}
}

func TestFilesThatAreNone(t *testing.T) {
	needLibrary(t)
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "nothing.onnx"), os.DevNull, ""} {
		_, err := Open(path, nil)
		require.Error(t, err)
		sentence(t, err)
	}
	huge := filepath.Join(dir, "huge.onnx")
	f, err := os.Create(huge)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(MaxModel+1))
	require.NoError(t, f.Close())
	_, err = Open(huge, nil)
	require.ErrorContains(t, err, "at most 2147483647 are read")

	path := filepath.Join(dir, "model.onnx")
	require.NoError(t, os.WriteFile(path, waveform(4).model(), 0o600))
	require.NoError(t, os.WriteFile(path+".json", []byte(strings.Repeat(" ", maxDescription+1)), 0o600))
	_, err = Open(path, nil)
	require.ErrorContains(t, err, "description")
}
