//go:build cgo

package onnx_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/seed-6363c74e/mortise/audiosearch/onnx"
)

// Three seconds of a telephone that is free, heard by the audio spectrogram transformer,
// here a tiny one with random weights.
func Example() {
	scorer, err := onnx.Open("testdata/ast_tiny_random.onnx", &onnx.Options{Threads: 1})
	if err != nil {
		fmt.Println(err) // says what to install, if ONNX Runtime is missing
		return
	}
	defer scorer.Close()
	ctx := context.Background()
	model, err := scorer.Model(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(model.Family, model.Window, model.SampleRate, len(model.Classes))

	clip := make([]float32, 3*model.SampleRate)
	for i := range clip {
		t := float64(i) / float64(model.SampleRate)
		clip[i] = float32(0.25 * (math.Sin(2*math.Pi*350*t) + math.Sin(2*math.Pi*440*t)))
	}
	scores, err := scorer.Score(ctx, [][]float32{clip})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %.3f\n", model.Classes[0], scores[0][0])
}

// The example has no output of its own, since not every machine has the library. This runs it.
func TestExample(t *testing.T) {
	if _, err := onnx.Find(""); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = write
	Example()
	os.Stdout = stdout
	write.Close()
	var text [200]byte
	n, _ := read.Read(text[:])
	const want = "ast 10.24s 16000 527\nSpeech: 0.200\n"
	if string(text[:n]) != want {
		t.Errorf("%q, not %q", text[:n], want)
	}
}
