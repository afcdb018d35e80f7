package audiosearchtest_test

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// byRank sorts hits by score and then by the given order.
func byRank(hits []audiosearch.Hit, ties func(a, b audiosearch.Hit) int) []audiosearch.Hit {
	slices.SortStableFunc(hits, func(a, b audiosearch.Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), ties(a, b)) })
	return hits
}

var searchMutants = []broken{
	{name: "leaves ties as they come", breaks: "scores/search-order scores/search-pages",
		mutate: everySearch(nil, func(q audiosearch.ScoreQuery, hits []audiosearch.Hit) []audiosearch.Hit {
			if q.Offset%2 == 0 {
				return byRank(hits, func(a, b audiosearch.Hit) int { return cmp.Compare(b.Window, a.Window) })
			}
			return hits
		})},
	{name: "orders videos like a dictionary", breaks: "scores/search-order",
		mutate: everySearch(nil, func(_ audiosearch.ScoreQuery, hits []audiosearch.Hit) []audiosearch.Hit {
			return byRank(hits, func(a, b audiosearch.Hit) int {
				return cmp.Or(strings.Compare(strings.ToLower(a.Video), strings.ToLower(b.Video)), cmp.Compare(a.Window, b.Window))
			})
		})},
	{name: "counts the offset in steps of ten", breaks: "scores/search-pages scores/search-many",
		mutate: everySearch(func(q *audiosearch.ScoreQuery) { q.Offset -= q.Offset % 10 }, nil)},
	{name: "finds one more than asked for", breaks: "scores/search-pages",
		mutate: everySearch(func(q *audiosearch.ScoreQuery) { q.Limit++ }, nil)},
	{name: "begins anew beyond the end", breaks: "scores/search-offset-beyond",
		mutate: replace("Search", func(m *mutant, ctx context.Context, org, dataset string, q audiosearch.ScoreQuery) ([]audiosearch.Hit, error) {
			hits, err := m.db.Search(ctx, org, dataset, q)
			if len(hits) == 0 {
				q.Offset = 0
				hits, err = m.db.Search(ctx, org, dataset, q)
			}
			return hits, err
		})},
	{name: "leaves out what is at the least score", breaks: "scores/search-min-score", mutate: everySearch(func(q *audiosearch.ScoreQuery) {
		if q.MinScore > 0 && q.MinScore < math.MaxUint16 {
			q.MinScore++
		}
	}, nil)},
	{name: "cuts the page and then looks at the least score", breaks: "scores/search-min-score",
		mutate: everySearch(func(q *audiosearch.ScoreQuery) { q.MinScore = 0 }, func(q audiosearch.ScoreQuery, hits []audiosearch.Hit) []audiosearch.Hit {
			if q.Limit < 10 && q.Offset < 10 {
				slices.Reverse(hits)
			}
			return slices.DeleteFunc(hits, func(h audiosearch.Hit) bool { return h.Score < q.MinScore })
		})},
	{name: "keeps no zeros", breaks: "scores/search-zero scores/exact",
		mutate: everySearch(func(q *audiosearch.ScoreQuery) { q.MinScore = max(q.MinScore, 1) }, nil)},
	{name: "takes a class that is not scored for silent", breaks: "scores/search-class scores/replace",
		mutate: replace("Search", func(m *mutant, ctx context.Context, org, dataset string, q audiosearch.ScoreQuery) ([]audiosearch.Hit, error) {
			hits, err := m.db.Search(ctx, org, dataset, q)
			if page, _ := m.videosOf(ctx, org, dataset); len(hits) == 0 && q.MinScore == 0 {
				for _, v := range page {
					s, err := m.db.Scoring(ctx, org, dataset, v.ID, q.Model)
					for i := 0; err == nil && i < s.Windows; i++ {
						hits = append(hits, audiosearch.Hit{Video: v.ID, Window: i})
					}
				}
			}
			return hits, err
		})},
	{name: "reads the next class", breaks: "scores/search-class scores/replace", mutate: everySearch(func(q *audiosearch.ScoreQuery) {
		if q.Class == "7" {
			q.Class = "8"
		}
	}, nil)},
	{name: "misses scores", breaks: "scores/search-empty scores/search-class",
		mutate: replace("Search", func(m *mutant, ctx context.Context, org, dataset string, q audiosearch.ScoreQuery) ([]audiosearch.Hit, error) {
			hits, err := m.db.Search(ctx, org, dataset, q)
			if err == nil && len(hits) == 0 {
				err = audiosearch.ErrNotScored
			}
			return hits, err
		})},
}

// texts makes the mutant compare texts by its own idea, with = != and contains.
func texts(text func(metadata.Scalar) string, contains func(text, part string) bool) func(*mutant) {
	return everyMatch(func(f metadata.Filter, value metadata.Scalar, has bool) (passes, mine bool) {
		if !has || value.Kind() == metadata.KindNull || f.Op.Numeric() {
			return false, false
		}
		switch f.Op {
		case metadata.OpNotEqual:
			return text(value) != f.Value, true
		case metadata.OpContains:
			return contains(text(value), f.Value), true
		}
		return text(value) == f.Value, true
	})
}

// floats makes the mutant compare numbers by its own idea of what they are.
func floats(read func(text string) (float64, bool)) func(*mutant) {
	return everyMatch(func(f metadata.Filter, value metadata.Scalar, has bool) (passes, mine bool) {
		if !has || !f.Op.Numeric() || value.Kind() != metadata.KindNumber && value.Kind() != metadata.KindString {
			return false, false
		}
		a, ok := read(value.Text())
		b, _ := read(f.Value)
		order := cmp.Compare(a, b)
		switch f.Op {
		case metadata.OpGreater:
			return ok && order > 0, true
		case metadata.OpLess:
			return ok && order < 0, true
		case metadata.OpGreaterOrEqual:
			return ok && order >= 0, true
		}
		return ok && order <= 0, true
	})
}

// float reads a number as a float64, and nothing that is out of bounds.
func float(text string) (float64, bool) {
	if (metadata.Filter{Value: text, Op: metadata.OpLess}).Check() != nil {
		return 0, false
	}
	f, _ := strconv.ParseFloat(text, 64)
	return f, true
}

// like is SQL's LIKE for what is between two percent signs.
func like(text, part string) bool {
	if part == "" {
		return true
	}
	before, after, found := strings.Cut(part, "%")
	if found {
		at := strings.Index(text, before)
		return at >= 0 && like(text[at+len(before):], after)
	}
	return strings.Contains(text, part)
}

var filterMutants = []broken{
	{name: "quotes strings", breaks: "filters/text", mutate: texts(func(s metadata.Scalar) string {
		b, _ := s.MarshalJSON()
		return string(b)
	}, strings.Contains)},
	{name: "compares texts in lower case", breaks: "filters/text filters/bytes", mutate: texts(metadata.Scalar.Text,
		func(text, part string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(part)) })},
	{name: "finds by LIKE", breaks: "filters/bytes", mutate: texts(metadata.Scalar.Text, like)},
	{name: "ends texts at U+0000", breaks: "filters/bytes", mutate: texts(func(s metadata.Scalar) string {
		text, _, _ := strings.Cut(s.Text(), "\x00")
		return text
	}, strings.Contains)},
	{name: "knows no operator but those with a name", breaks: "filters/default-op filters/follow-changes",
		mutate: everyMatch(func(f metadata.Filter, _ metadata.Scalar, _ bool) (passes, mine bool) { return false, f.Op == "" })},
	{name: "lets what has no key be unequal", breaks: "filters/missing-and-null filters/unknown-key",
		mutate: everyMatch(func(f metadata.Filter, _ metadata.Scalar, has bool) (passes, mine bool) {
			return true, !has && f.Op == metadata.OpNotEqual
		})},
	{name: "takes null for a text", breaks: "filters/missing-and-null",
		mutate: everyMatch(func(f metadata.Filter, value metadata.Scalar, has bool) (passes, mine bool) {
			return f.Value == "" || f.Value == "null", has && value.Kind() == metadata.KindNull
		})},
	{name: "compares numbers as texts", breaks: "filters/numbers filters/exact-numbers",
		mutate: everyMatch(func(f metadata.Filter, value metadata.Scalar, has bool) (passes, mine bool) {
			order := strings.Compare(value.Text(), f.Value)
			greater := f.Op == metadata.OpGreater || f.Op == metadata.OpGreaterOrEqual
			return order > 0 == greater, has && f.Op.Numeric()
		})},
	{name: "compares floats", breaks: "filters/exact-numbers", mutate: floats(float)},
	{name: "reads whatever looks like a number", breaks: "filters/numbers filters/bounds-of-numbers",
		mutate: floats(func(text string) (float64, bool) {
			f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			return f, err == nil || f != 0
		})},
	{name: "lets any filter pass a video", breaks: "filters/all-must-pass",
		mutate: everyFilter(func(v audiosearch.Video, filters []metadata.Filter) bool {
			return len(filters) == 0 || slices.ContainsFunc(filters, func(f metadata.Filter) bool {
				p, err := f.Predicate()
				value, has := v.Metadata[f.Key]
				return err == nil && has && p(value)
			})
		})},
	{name: "looks at the first filter", breaks: "filters/all-must-pass",
		mutate: everySearch(func(q *audiosearch.ScoreQuery) { q.Filters = q.Filters[:min(1, len(q.Filters))] }, nil)},
	{name: "takes keys for paths", breaks: "filters/unknown-key",
		mutate: everyMatch(func(f metadata.Filter, _ metadata.Scalar, _ bool) (passes, mine bool) {
			return false, strings.Contains(f.Key, ".")
		})},
	{name: "filters by the first metadata", breaks: "filters/follow-changes", mutate: func(m *mutant) {
		first := make(map[string]metadata.Map)
		everyFilter(func(v audiosearch.Video, filters []metadata.Filter) bool {
			if first[v.ID] == nil && len(v.Metadata) > 0 {
				first[v.ID] = v.Metadata
			}
			for _, f := range filters {
				p, err := f.Predicate()
				if value, has := first[v.ID][f.Key]; err != nil || !has || !p(value) {
					return false
				}
			}
			return true
		})(m)
	}},
}

// everyUnscored applies change to what the mutant's Unscored is asked and answers.
func everyUnscored(ask func(*audiosearch.UnscoredQuery), answer func(q audiosearch.UnscoredQuery, u *audiosearch.Unscored)) func(*mutant) {
	return replace("Unscored", func(m *mutant, ctx context.Context, org, dataset string, q audiosearch.UnscoredQuery) (audiosearch.Unscored, error) {
		asked := q
		ask(&asked)
		u, err := m.db.Unscored(ctx, org, dataset, asked)
		answer(q, &u)
		return u, err
	})
}

var unscoredMutants = []broken{
	{name: "takes problems for scores", breaks: "scores/unscored scores/unscored-follows-changes",
		mutate: replace("Unscored", func(m *mutant, ctx context.Context, org, dataset string, q audiosearch.UnscoredQuery) (audiosearch.Unscored, error) {
			u, err := m.db.Unscored(ctx, org, dataset, q)
			u.Videos = slices.DeleteFunc(u.Videos, func(v audiosearch.Video) bool {
				_, err := m.db.Scoring(ctx, org, dataset, v.ID, q.Model)
				return err == nil
			})
			return u, err
		})},
	{name: "does not look at the media of scores", breaks: "scores/unscored-media",
		mutate: everyUnscored(func(q *audiosearch.UnscoredQuery) { q.Media = "" }, func(audiosearch.UnscoredQuery, *audiosearch.Unscored) {})},
	{name: "counts unscored videos", breaks: "scores/unscored scores/unscored-pages",
		mutate: everyUnscored(func(*audiosearch.UnscoredQuery) {}, func(_ audiosearch.UnscoredQuery, u *audiosearch.Unscored) { u.Matched = len(u.Videos) })},
	{name: "counts without filters", breaks: "scores/unscored-filters",
		mutate: everyUnscored(func(q *audiosearch.UnscoredQuery) { q.Filters = q.Filters[:min(1, len(q.Filters))] }, func(audiosearch.UnscoredQuery, *audiosearch.Unscored) {})},
	{name: "returns unscored videos from the given one on", breaks: "scores/unscored-pages",
		mutate: everyUnscored(func(q *audiosearch.UnscoredQuery) {
			if q.After != "" {
				q.After = q.After[:len(q.After)-1]
			}
		}, func(audiosearch.UnscoredQuery, *audiosearch.Unscored) {})},
	{name: "returns unscored videos without metadata", breaks: "scores/unscored-whole",
		mutate: everyUnscored(func(*audiosearch.UnscoredQuery) {}, func(_ audiosearch.UnscoredQuery, u *audiosearch.Unscored) {
			for i := range u.Videos {
				u.Videos[i].Metadata = nil
			}
		})},
}
