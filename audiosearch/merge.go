package audiosearch

import (
	"cmp"
	"slices"
	"time"
)

// Place is a stretch of a video in which a search found something: segments that overlap, or
// follow each other without a gap.
type Place struct {
	Best       Result        // the segment that comes first in the ranking
	Start, End time.Duration // from the start of the video: of all segments
	Segments   int
}

// Merge puts the results of a search together where they overlap or touch, for people, who
// want to hear each place once. Searches do not do that by themselves: their results are
// segments, and so are what a limit and an offset count. The results come in the order in
// which a search returns them. Places come in the order of their best segments. What the
// search left out, because of a limit say, is in no place.
func Merge(results []Result) []Place {
	order := make([]int, len(results))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := &results[a], &results[b]
		return cmp.Or(cmp.Compare(x.VideoID, y.VideoID), cmp.Compare(x.Start, y.Start))
	})
	type ranked struct {
		rank int
		Place
	}
	var found []ranked
	for _, at := range order {
		r := &results[at]
		if n := len(found) - 1; n >= 0 && found[n].Best.VideoID == r.VideoID && r.Start <= found[n].End {
			last := &found[n]
			last.End = max(last.End, r.End)
			last.Segments++
			if at < last.rank {
				last.rank, last.Best = at, *r
			}
			continue
		}
		found = append(found, ranked{at, Place{*r, r.Start, r.End, 1}})
	}
	slices.SortFunc(found, func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) })
	places := make([]Place, len(found))
	for i := range found {
		places[i] = found[i].Place
	}
	return places
}
