package audiosearch_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// remote is a model server that takes as long for two clips as for one.
type remote struct{ loudness }

func (r remote) Score(ctx context.Context, clips [][]float32) ([]audiosearch.Scores, error) {
	fmt.Println("a request of", len(clips), "clips")
	return r.loudness.Score(ctx, clips)
}

// Two videos are scored side by side, and share the requests to the model server.
func ExampleBatching() {
	scorer := audiosearch.Batching(remote{}, 2, 5*time.Second)
	ctx := context.Background()
	var scores [2][]audiosearch.Scores
	var videos sync.WaitGroup
	for i, sound := range []float32{0.25, 0.5} {
		videos.Go(func() {
			var err error
			scores[i], err = scorer.Score(ctx, [][]float32{{0, sound}})
			check(err)
		})
	}
	videos.Wait()
	fmt.Println(scores)
	// Output:
	// a request of 2 clips
	// [[[0.25]] [[0.5]]]
}
