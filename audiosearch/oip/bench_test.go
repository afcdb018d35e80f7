package oip_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/astfeatures"
	"github.com/seed-6363c74e/mortise/audiosearch/audioset"
	"github.com/seed-6363c74e/mortise/audiosearch/oip"
	"github.com/seed-6363c74e/mortise/internal/oipserver"
)

// BenchmarkBatches scores 64 clips on a server that takes 20 ms for an inference, however
// many clips it has: eight to a request, and one to a request. "ratio" is how many times
// as long the latter takes.
func BenchmarkBatches(b *testing.B) {
	server := &oipserver.Server{Extensions: []string{oipserver.Binary}, Latency: 20 * time.Millisecond}
	server.Serve(meanModel(-1, "1"))
	address := listen(b, server)
	clips := clipsOf(64)
	round := func(size int) time.Duration {
		s := newScorer(b, address, func(o *oip.Options) { o.Batch = size })
		_, err := s.Model(b.Context())
		require.NoError(b, err)
		began := time.Now()
		for first := 0; first < len(clips); first += size {
			_, err := s.Score(b.Context(), clips[first:first+size])
			require.NoError(b, err)
		}
		return time.Since(began)
	}
	var eight, one time.Duration
	for b.Loop() {
		eight += round(8)
		one += round(1)
	}
	b.ReportMetric(float64(one)/float64(eight), "ratio")
	b.ReportMetric(float64(eight.Milliseconds())/float64(b.N), "ms/64clips")
}

// astModel has the shapes of the transformer. Its logits are the first features.
func astModel() oipserver.Model {
	return oipserver.Model{
		Name: "ast", Versions: []string{"1"},
		Input:   oipserver.Tensor{Name: "input_values", Datatype: "FP32", Shape: []int64{-1, astfeatures.Frames, astfeatures.Bins}},
		Outputs: []oipserver.Tensor{{Name: "logits", Datatype: "FP32", Shape: []int64{-1, audioset.NumClasses}}},
		Run: func(_ string, shape []int64, input []float32) (map[string][]float32, error) {
			var logits []float32
			for clip := range shape[0] {
				logits = append(logits, input[clip*astfeatures.Frames*astfeatures.Bins:][:audioset.NumClasses]...)
			}
			return map[string][]float32{"logits": logits}, nil
		},
	}
}

// BenchmarkEncodings sends the features of eight windows of the transformer, 4 MB, both
// ways.
func BenchmarkEncodings(b *testing.B) {
	server := &oipserver.Server{Extensions: []string{oipserver.Binary}}
	server.Serve(astModel())
	address := listen(b, server) + "/v2/models/ast"
	clips := make([][]float32, 8)
	for i := range clips {
		clips[i] = make([]float32, astfeatures.WindowSamples)
	}
	for name, encoding := range map[string]oip.Encoding{"json": oip.EncodingJSON, "binary": oip.EncodingBinary} {
		b.Run(name, func(b *testing.B) {
			s, err := oip.New(address, &oip.Options{Encoding: encoding})
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				_, err := s.Score(b.Context(), clips)
				require.NoError(b, err)
			}
		})
	}
}
