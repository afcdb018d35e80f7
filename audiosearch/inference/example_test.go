package inference_test

import (
	"context"
	"fmt"

	"github.com/seed-6363c74e/mortise/audiosearch/inference"
)

// loudness is a network of one output: how loud a window is.
type loudness struct{ network *inference.Network }

func (l loudness) Run(_ context.Context, clips int, input, output []float32) error {
	size := l.network.InputSize()
	for i := range clips {
		for _, x := range input[i*size:][:size] {
			output[i] = max(output[i], x, -x)
		}
	}
	return nil
}

// A network that runs in a way of your own: what it takes and gives, its description, and
// what runs it make a scorer.
func Example() {
	description, err := inference.ParseDescription([]byte(
		`{"family": "loudness", "sample_rate": 8000, "samples": 8000, "gives": "scores", "classes": ["Noise"]}`))
	if err != nil {
		panic(err)
	}
	network, err := inference.Recognize(inference.Signature{
		Inputs:  []inference.Tensor{{Name: "waveform", Type: inference.Float32, Shape: []int64{-1, 8000}}},
		Outputs: []inference.Tensor{{Name: "peak", Type: inference.Float32, Shape: []int64{-1, 1}}},
	}, description)
	if err != nil {
		panic(err)
	}
	scorer, err := inference.New(network, "v7", loudness{network}, nil)
	if err != nil {
		panic(err)
	}
	model, _ := scorer.Model(context.Background())
	fmt.Println(model.Family, model.Window, model.Hop, model.Classes)
	scores, err := scorer.Score(context.Background(), [][]float32{{0, 0.25, -0.5}, {0}})
	fmt.Println(scores, err)
	// Output:
	// loudness 1s 500ms [Noise]
	// [[0.5] [0]] <nil>
}
