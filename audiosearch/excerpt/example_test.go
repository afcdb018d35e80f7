package excerpt_test

import (
	"fmt"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/excerpt"
)

// Three segments that overlap or touch, and one of another video.
func ExampleMerge() {
	at := func(video string, start time.Duration, score float64) audiosearch.Result {
		return audiosearch.Result{VideoID: video, Start: start, End: start + 10*time.Second, Score: score}
	}
	for _, place := range excerpt.Merge([]audiosearch.Result{
		at("a", 8*time.Second, 0.9), at("b", 0, 0.8), at("a", 0, 0.7), at("a", 18*time.Second, 0.6),
	}) {
		fmt.Println(place.Best.VideoID, place.Start, place.End, place.Best.Score)
	}
	// Output:
	// a 0s 28s 0.9
	// b 0s 10s 0.8
}
