package signal_test

import (
	"context"
	"fmt"
	"math"

	"github.com/seed-6363c74e/mortise/audiosearch/signal"
)

// Three seconds of a North American dial tone, at the end of a video.
func ExampleScorer() {
	scorer, err := signal.New(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	model, err := scorer.Model(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}

	clip := make([]float32, 3*model.SampleRate)
	for i := range clip {
		t := 2 * math.Pi * float64(i) / float64(model.SampleRate)
		clip[i] = float32(0.1*math.Sin(350*t) + 0.1*math.Sin(440*t))
	}
	scores, err := scorer.Score(context.Background(), [][]float32{clip})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, class := range model.Classes {
		if scores[0][i] > 0.8 {
			fmt.Println(class)
		}
	}
	// Output: Dial tone
}
