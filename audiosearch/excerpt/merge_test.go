package excerpt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// TestMerge: segments of one video that overlap or touch are one place, in the order of
// the best of each.
func TestMerge(t *testing.T) {
	at := func(video string, start, end time.Duration) audiosearch.Result {
		return audiosearch.Result{VideoID: video, Start: start, End: end}
	}
	type place struct {
		best       int
		start, end time.Duration
	}
	for name, test := range map[string]struct {
		results []audiosearch.Result
		want    []place
	}{
		"nothing":          {nil, nil},
		"one":              {[]audiosearch.Result{at("a", 3, 13)}, []place{{0, 3, 13}}},
		"overlap":          {[]audiosearch.Result{at("b", 8, 18), at("a", 8, 18), at("b", 10, 20), at("b", 6, 16)}, []place{{0, 6, 20}, {1, 8, 18}}},
		"touch":            {[]audiosearch.Result{at("a", 20, 30), at("a", 0, 10), at("a", 10, 20)}, []place{{0, 0, 30}}},
		"a gap":            {[]audiosearch.Result{at("a", 21, 31), at("a", 0, 10), at("a", 10, 20)}, []place{{0, 21, 31}, {1, 0, 20}}},
		"joined at last":   {[]audiosearch.Result{at("a", 0, 10), at("a", 16, 26), at("a", 8, 18)}, []place{{0, 0, 26}}},
		"contained":        {[]audiosearch.Result{at("a", 30, 40), at("a", 0, 20), at("a", 2, 5), at("a", 19, 29)}, []place{{0, 30, 40}, {1, 0, 29}}},
		"contained, touch": {[]audiosearch.Result{at("a", 2, 5), at("a", 0, 20), at("a", 20, 29)}, []place{{0, 0, 29}}},
		"the same twice":   {[]audiosearch.Result{at("a", 0, 10), at("a", 0, 10)}, []place{{0, 0, 10}}},
		"other videos":     {[]audiosearch.Result{at("b", 0, 10), at("a", 10, 20), at("c", 5, 15)}, []place{{0, 0, 10}, {1, 10, 20}, {2, 5, 15}}},
		"of no length":     {[]audiosearch.Result{at("a", 10, 10), at("a", 0, 10)}, []place{{0, 0, 10}}},
	} {
		want := []Stretch{}
		for _, p := range test.want {
			want = append(want, Stretch{test.results[p.best], p.start, p.end, p.best})
		}
		given := slices.Clone(test.results)
		assert.Equal(t, want, Merge(test.results), name)
		assert.Equal(t, given, test.results, "%s: they were changed", name)
	}
}

// TestMergeCoversAll: whatever is merged, every segment lies in just one place of its
// video, no two places touch, and none comes before a better one.
func TestMergeCoversAll(t *testing.T) {
	for seed := range uint64(300) {
		rand := rand.New(rand.NewPCG(seed, 1))
		results := make([]audiosearch.Result, rand.IntN(40))
		for i := range results {
			start := time.Duration(rand.IntN(60))
			results[i] = audiosearch.Result{VideoID: fmt.Sprint(rand.IntN(3)), Start: start, End: start + time.Duration(rand.IntN(6)), Score: 1 - float64(i)/100}
		}
		places := Merge(results)
		best := 2.0
		for i, p := range places {
			assert.Less(t, p.Best.Score, best, seed)
			best = p.Best.Score
			for _, o := range places[:i] {
				assert.False(t, o.Best.VideoID == p.Best.VideoID && o.Start <= p.End && p.Start <= o.End, "%d: %v touches %v", seed, o, p)
			}
		}
		for _, r := range results {
			in := 0
			for _, p := range places {
				if p.Best.VideoID == r.VideoID && p.Start <= r.Start && r.End <= p.End {
					in++
					assert.LessOrEqual(t, r.Score, p.Best.Score, seed)
				}
			}
			assert.Equal(t, 1, in, seed)
		}
	}
}
