package main

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// stretch is a part of a video in which a search found something: segments that overlap, or
// follow each other without a gap.
type stretch struct {
	best       audiosearch.Result // the segment that comes first in the ranking
	start, end time.Duration      // from the start of the video: of all segments
	segments   int
}

// merge puts the results of a search together where they overlap or touch, for people, who
// want to hear each place once. The results come in the order in which a search returns
// them, the stretches in the order of their best segments. What the search left out,
// because of a limit say, is in none.
func merge(results []audiosearch.Result) []stretch {
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
		stretch
	}
	var found []ranked
	for _, at := range order {
		r := &results[at]
		if n := len(found) - 1; n >= 0 && found[n].best.VideoID == r.VideoID && r.Start <= found[n].end {
			last := &found[n]
			last.end = max(last.end, r.End)
			last.segments++
			if at < last.rank {
				last.rank, last.best = at, *r
			}
			continue
		}
		found = append(found, ranked{at, stretch{*r, r.Start, r.End, 1}})
	}
	slices.SortFunc(found, func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) })
	stretches := make([]stretch, len(found))
	for i := range found {
		stretches[i] = found[i].stretch
	}
	return stretches
}
