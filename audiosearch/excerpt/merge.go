package excerpt

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// Stretch is a part of a video in which a search found something: segments that
// overlap, or follow each other without a gap.
type Stretch struct {
	Best       audiosearch.Result // the segment that comes first in the ranking
	Start, End time.Duration      // from the start of the video: of all segments
	rank       int                // of Best
}

// Merge puts the results of a search together where they overlap or touch, for people,
// who want to hear each place once. The results come in the order in which a search
// returns them, and are not changed. The stretches come in the order of their best
// segments. What the search left out, because of a limit say, is in none.
func Merge(results []audiosearch.Result) []Stretch {
	each := make([]Stretch, len(results))
	for i, r := range results {
		each[i] = Stretch{r, r.Start, r.End, i}
	}
	slices.SortFunc(each, func(a, b Stretch) int {
		return cmp.Or(cmp.Compare(a.Best.VideoID, b.Best.VideoID), cmp.Compare(a.Start, b.Start))
	})
	found := each[:0]
	for _, s := range each {
		n := len(found) - 1
		if n < 0 || found[n].Best.VideoID != s.Best.VideoID || s.Start > found[n].End {
			found = append(found, s)
			continue
		}
		last := &found[n]
		last.End = max(last.End, s.End)
		if s.rank < last.rank {
			last.rank, last.Best = s.rank, s.Best
		}
	}
	slices.SortFunc(found, func(a, b Stretch) int { return cmp.Compare(a.rank, b.rank) })
	return found
}
