package oip_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/oip"
	"github.com/seed-6363c74e/mortise/internal/oipserver"
)

// A model of one's own on an inference server. The server here is one of the tests;
// others are named in the package's documentation.
func Example() {
	server := httptest.NewServer(modelServer())
	defer server.Close()

	scorer, err := oip.New(server.URL+"/v2/models/loudness", &oip.Options{
		Description: []byte(`{"family": "loudness", "sample_rate": 8000, "samples": 8000, "gives": "scores", "classes": ["Noise"]}`),
		Timeout:     10 * time.Second,
	})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	model, err := scorer.Model(ctx)
	if err != nil {
		panic(err) // the server is away: try again later
	}
	fmt.Println(model.Family, model.Window, model.Hop, model.Classes)
	scores, err := scorer.Score(ctx, [][]float32{{0, 0.25, -0.5}, {0}})
	fmt.Println(scores, err)
	// Output:
	// loudness 1s 500ms [Noise]
	// [[0.5] [0]] <nil>
}

// modelServer serves a model that says how loud a window is.
func modelServer() *oipserver.Server {
	s := &oipserver.Server{Extensions: []string{oipserver.Binary}}
	s.Serve(oipserver.Model{
		Name: "loudness", Versions: []string{"1"},
		Input:   oipserver.Tensor{Name: "waveform", Datatype: "FP32", Shape: []int64{-1, 8000}},
		Outputs: []oipserver.Tensor{{Name: "peak", Datatype: "FP32", Shape: []int64{-1, 1}}},
		Run: func(_ string, shape []int64, input []float32) (map[string][]float32, error) {
			peaks := make([]float32, shape[0])
			for i, x := range input {
				peaks[i/8000] = max(peaks[i/8000], x, -x)
			}
			return map[string][]float32{"peak": peaks}, nil
		},
	})
	return s
}
