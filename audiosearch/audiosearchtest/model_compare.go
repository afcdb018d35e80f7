package audiosearchtest

import (
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/pages"
)

// compare is a case: it asks random questions about a dataset.
func (r *run) compare() {
	p := r.place()
	filters := r.filters(r.model[p])
	r.compareSearch(p, filters)
	r.compareUnscored(p, filters)
	r.compareScoring(p)
	r.compareParts(p)
	r.compareModels(p)
	r.compareKeys(p)
	r.compareList(p)
}

func (r *run) compareSearch(p place, filters []oracleFilter) {
	q := audiosearch.ScoreQuery{Model: pick(r, modelX, modelX, modelX, modelY), Class: pick(r, modelClasses()...), Filters: domain(filters)}
	if r.IntN(30) == 0 {
		q.Model, q.Class = pick(r, q.Model, "z/1"), pick(r, q.Class, "DOG")
	}
	all := r.model[p].ranking(q.Model, q.Class, filters, 0)
	if len(all) > 0 && r.IntN(2) == 0 {
		q.MinScore = all[r.IntN(len(all))].Score + uint16(r.IntN(2))
	}
	want := r.model[p].ranking(q.Model, q.Class, filters, q.MinScore)

	// One page from anywhere, and then the whole ranking page by page.
	q.Offset, q.Limit = r.IntN(len(want)+3), 1+r.IntN(len(want)+3)
	r.Say("in %v it is searched for %#v", p, q)
	r.Same("a page of the search", want[min(q.Offset, len(want)):min(q.Offset+q.Limit, len(want))], r.search(p, q))
	q.Limit = 1 + len(want)/(1+r.IntN(6))
	got := []audiosearch.Hit{}
	for q.Offset = 0; q.Offset <= len(want); q.Offset += q.Limit {
		got = append(got, r.search(p, q)...)
	}
	r.Same("all pages of the search", want, got)
}

func (r *run) search(p place, q audiosearch.ScoreQuery) []audiosearch.Hit {
	hits, err := r.subject.Scores.Search(r.Context(), p.org, p.dataset, q)
	r.SameError(nil, err)
	return append([]audiosearch.Hit{}, hits...)
}

func (r *run) compareUnscored(p place, filters []oracleFilter) {
	q := audiosearch.UnscoredQuery{Model: pick(r, modelX, modelY), Media: pick(r, "", mediaM, mediaN), Filters: domain(filters), Limit: 1 + r.IntN(40)}
	if r.IntN(2) == 0 {
		q.After = r.video(p)
	}
	ids, matched, without := r.model[p].unscored(q.Model, q.Media, filters)
	r.Say("in %v the unscored ones are asked for, %#v", p, q)
	got, err := r.subject.Scores.Unscored(r.Context(), p.org, p.dataset, q)
	r.SameError(nil, err)
	r.Same("Matched", matched, got.Matched)
	r.Same("Without", without, got.Without)
	r.sameVideos("Unscored", p, page(ids, q.After, q.Limit), got.Videos)
}

// compareScoring compares what came of scoring a video, and a part of its scores.
func (r *run) compareScoring(p place) {
	id, model := r.video(p), pick(r, modelX, modelY)
	from := r.IntN(50) - 5
	to := from + r.IntN(50) - 2
	r.Say("in %v the scores of video %q by %s are read, segments %d to %d", p, id, model, from, to)
	got, err := r.subject.oneScoring(r.Context(), p.org, p.dataset, id, model)
	rows, rowsErr := r.subject.Scores.WindowScores(r.Context(), p.org, p.dataset, id, model, from, to)
	var s *oracleScoring
	if v := r.model[p][id]; v != nil {
		s = v.scorings[model]
	}
	if s == nil {
		r.SameError(audiosearch.ErrNotScored, err)
		r.SameError(audiosearch.ErrNotScored, rowsErr)
		return
	}
	r.SameError(nil, err)
	sameScoring(r.T, s.scoring, got)
	if !s.scoring.Scored() {
		r.SameError(audiosearch.ErrNotScored, rowsErr)
		return
	}
	r.SameError(nil, rowsErr)
	r.Same("WindowScores", s.rows(from, to), append([][]uint16{}, rows...))
}

func (r *run) compareKeys(p place) {
	var keys []string
	for range r.IntN(6) {
		if key := r.key(); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	r.Say("in %v keys are missed: %q", p, keys)
	got, err := r.subject.Catalog.MissingKeys(r.Context(), p.org, p.dataset, keys)
	r.SameError(nil, err)
	r.Same("MissingKeys", r.model[p].missing(keys), got)
}

func (r *run) compareList(p place) {
	limit := 1 + r.IntN(40)
	r.Say("in %v videos are listed in pages of %d", p, limit)
	var got []audiosearch.Video
	for v, err := range pages.Each("", func(after mortise.Cursor) (mortise.Page[audiosearch.Video], error) {
		return r.subject.Catalog.ListVideos(r.Context(), p.org, p.dataset, after, limit)
	}) {
		r.SameError(nil, err)
		got = append(got, v)
	}
	r.sameVideos("ListVideos", p, r.model[p].matching(nil), got)
}

// compareVideos compares every video of a dataset.
func (r *run) compareVideos(p place) {
	r.Say("in %v everything is compared", p)
	ids := r.model[p].matching(nil)
	got, err := r.subject.Catalog.ListVideos(r.Context(), p.org, p.dataset, "", len(ids)+1)
	r.SameError(nil, err)
	r.sameVideos("ListVideos", p, ids, got.Items)
	r.compareBatches(p, ids)
	for _, id := range ids {
		for _, model := range []string{modelX, modelY} {
			rows, err := r.subject.Scores.WindowScores(r.Context(), p.org, p.dataset, id, model, 0, 10_000)
			if s := r.model[p][id].scorings[model]; s != nil && s.scoring.Scored() {
				r.SameError(nil, err)
				r.Same("WindowScores", s.rows(0, 10_000), rows)
				continue
			}
			r.SameError(audiosearch.ErrNotScored, err)
		}
	}
}

// compareBatches compares what is read of some videos at once, backwards.
func (r *run) compareBatches(p place, ids []string) {
	ids = slices.Clone(ids)
	slices.Reverse(ids)
	asked := append([]string{"nobody"}, ids...)
	var got []audiosearch.Video
	for left := asked; len(left) > 0; {
		found, looked, err := r.subject.Catalog.Videos(r.Context(), p.org, p.dataset, left)
		if r.SameError(nil, err); looked < 1 || looked > len(left) {
			r.Fatalf("Videos: it looked for %d of %d", looked, len(left))
		}
		got, left = append(got, found...), left[looked:]
	}
	r.sameVideos("Videos", p, ids, got)
	for _, model := range []string{modelX, modelY} {
		found, err := r.subject.Scores.Scorings(r.Context(), p.org, p.dataset, model, asked)
		r.SameError(nil, err)
		for _, id := range asked {
			sc, ok := found[id]
			var want *oracleScoring
			if v := r.model[p][id]; v != nil {
				want = v.scorings[model]
			}
			if r.Same("whether Scorings has "+id, want != nil, ok); ok {
				sameScoring(r.T, want.scoring, sc)
			}
		}
	}
}

// sameVideos fails unless the videos are those of the IDs, as the model has them.
func (r *run) sameVideos(what string, p place, ids []string, got []audiosearch.Video) {
	r.Helper()
	r.Same(what, ids, videoIDs(got))
	for i, id := range ids {
		want := r.model[p][id].video(id)
		if len(got[i].Metadata) == 0 {
			got[i].Metadata = metadata.Map{}
		}
		r.Same(what+" "+id, want, got[i])
	}
}
