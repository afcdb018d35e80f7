package audiosearchtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/conformance/listtest"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// out, in, arg, errs and around are those of package mutate, as a whole mutation.
func out[T any](change func(*T), methods ...string) func(*mutant) {
	return func(m *mutant) { mutate.Out(&m.On, change, methods...) }
}

func in[T any](change func(*T), methods ...string) func(*mutant) {
	return func(m *mutant) { mutate.In(&m.On, change, methods...) }
}

func arg[T any](change func(*T), methods ...string) func(*mutant) {
	return func(m *mutant) { mutate.Arg(&m.On, change, methods...) }
}

func errs(change func(error) error, methods ...string) func(*mutant) {
	return func(m *mutant) { mutate.Errors(&m.On, change, methods...) }
}

func around(do func(m *mutant, c *mutate.Call), methods ...string) func(*mutant) {
	return func(m *mutant) { mutate.Around(&m.On, func(c *mutate.Call) { do(m, c) }, methods...) }
}

// replace puts a function in the place of a method. It takes the mutant before the rest.
func replace(method string, f any) func(*mutant) {
	return func(m *mutant) { mutate.Replace(&m.On, method, m, f) }
}

// both makes several mistakes.
func both(mutations ...func(*mutant)) func(*mutant) {
	return func(m *mutant) {
		for _, mutation := range mutations {
			mutation(m)
		}
	}
}

// accepting makes methods return no error where they refuse something with one.
func accepting(refusal error, methods ...string) func(*mutant) {
	return errs(func(err error) error {
		if errors.Is(err, refusal) {
			return nil
		}
		return err
	}, methods...)
}

// bg is the context of what a mutant asks the backend behind it.
var bg = context.Background()

// keptMutants make each mistake with each field of what the store keeps.
func keptMutants() (all []broken) {
	for _, x := range slices.Concat(
		mutate.Kept[audiosearch.Dataset]{
			Name: "dataset", Stored: "datasets/create-and-get", Times: "datasets/create-and-get", Longest: "datasets/longest",
		}.Mutants(),
		mutate.Kept[audiosearch.Video]{
			Name: "video", Key: func(v *audiosearch.Video) string { return v.ID },
			Stored: "catalog/put-and-get", Longest: "catalog/longest", Given: "catalog/copies", Got: "catalog/copies",
		}.Mutants(),
		mutate.Kept[audiosearch.Scoring]{
			Name: "scoring", Key: func(s *audiosearch.Scoring) string { return s.Model },
			Stored: "scores/put-and-get", Times: "scores/put-and-get", Exact: "scores/put-and-get", Longest: "scores/longest",
			Given: "scores/copies", Got: "scores/copies",
			Except: map[string]string{
				"cuts to milliseconds Duration": "it is in whole milliseconds",
				"cuts to milliseconds Start":    "it is in whole milliseconds",
				"shares with readers Classes":   "they are for reading only",
			},
		}.Mutants(),
		mutate.Kept[audiosearch.Run]{
			Name: "run", Key: func(r *audiosearch.Run) string { return fmt.Sprint(r.Organization, r.ID) },
			Stored: "runs/create-and-get runs/list-whole", Times: "runs/create-and-get", Longest: "runs/longest", LongestLeft: "Message",
			Given: "runs/copies", Left: "runs/update-copies", Got: "runs/copies",
			Except: map[string]string{
				"Results*":                    "stores neither take nor return them",
				"cuts to milliseconds Sound*": "it is in whole milliseconds",
			},
		}.Mutants(),
		mutate.Kept[audiosearch.Result]{
			Name: "result", Key: func(r *audiosearch.Result) string { return fmt.Sprint(r.VideoID, r.Start) },
			Stored: "results/read", Unset: "results/read", Got: "results/copies", Given: "results/copies",
		}.Mutants(),
		stepMutants(),
		mutate.Uncounted("revocations/grow", "DeleteDataset", "MarkDeleted"),
		listtest.Mutants(&new(mutant).On, map[string]string{
			"ListDatasets": "datasets", "ListVideos": "videos", "ListRuns": "runs open-runs runs-of-dataset runs-of-actor",
		}),
	) {
		all = append(all, broken{name: x.Name, breaks: strings.Join(x.Breaks, " "), mutate: func(m *mutant) { x.Make(&m.On) }})
	}
	return all
}

// everyMetadata applies change to all metadata values that the mutant is given.
func everyMetadata(change func(key string, value metadata.Scalar) (string, metadata.Scalar)) func(*mutant) {
	return in(func(v *audiosearch.Video) {
		own := metadata.Map{}
		for key, value := range v.Metadata {
			key, value = change(key, value)
			own[key] = value
		}
		v.Metadata = own
	}, "PutVideos")
}

// everyScoring applies change to all scorings that the mutant returns.
func (m *mutant) everyScoring(change func(*audiosearch.Scoring)) { out(change)(m) }

// everySearch applies ask to all queries that the mutant is asked, and answer to what it
// finds. Either may be nil.
func everySearch(ask func(q *audiosearch.ScoreQuery), answer func(q audiosearch.ScoreQuery, hits []audiosearch.Hit) []audiosearch.Hit) func(*mutant) {
	return replace("Search", func(m *mutant, ctx context.Context, org, dataset string, q audiosearch.ScoreQuery) ([]audiosearch.Hit, error) {
		asked := q
		if ask != nil {
			ask(&asked)
		}
		hits, err := m.db.Search(ctx, org, dataset, asked)
		if answer != nil {
			hits = answer(q, hits)
		}
		return hits, err
	})
}

// everyFilter makes the mutant go by its own idea of filters: it asks for all, and keeps
// what passes.
func everyFilter(passes func(v audiosearch.Video, filters []metadata.Filter) bool) func(*mutant) {
	return replace("Search", func(m *mutant, ctx context.Context, org, dataset string, q audiosearch.ScoreQuery) ([]audiosearch.Hit, error) {
		filters, offset, limit := q.Filters, q.Offset, q.Limit
		q.Filters, q.Offset, q.Limit = nil, 0, 1_000_000
		hits, err := m.db.Search(ctx, org, dataset, q)
		var found []audiosearch.Hit
		for _, h := range hits {
			v, err := m.db.Video(ctx, org, dataset, h.Video)
			if err == nil && passes(v, filters) {
				found = append(found, h)
			}
		}
		return found[min(offset, len(found)):min(offset+limit, len(found))], err
	})
}

// everyMatch makes the mutant go by its own idea of one filter and the value that it
// looks at, if the domain's is not meant.
func everyMatch(match func(f metadata.Filter, value metadata.Scalar, has bool) (passes, mine bool)) func(*mutant) {
	return everyFilter(func(v audiosearch.Video, filters []metadata.Filter) bool {
		for _, f := range filters {
			value, has := v.Metadata[f.Key]
			passes, mine := match(f, value, has)
			if !mine {
				p, err := f.Predicate()
				passes = err == nil && has && p(value)
			}
			if !passes {
				return false
			}
		}
		return true
	})
}

// open returns how many runs of all organizations have not ended.
func (m *mutant) open(ctx context.Context) (int, error) {
	b, err := m.db.Backlog(ctx, 1000)
	return b.Waiting.N + b.Running.N, err
}

// everyResult applies change to all results that the mutant returns.
func (m *mutant) everyResult(change func(*audiosearch.Result)) { out(change, "RunResults")(m) }

// everyUpdate stands between the mutant and update functions.
func everyUpdate(between func(r *audiosearch.Run, update func(*audiosearch.Run) error) error) func(*mutant) {
	return func(m *mutant) {
		mutate.Updates(&m.On, func(c *mutate.Call) {
			*c.Err() = between(*mutate.Get[*audiosearch.Run](c.In), func(r *audiosearch.Run) error {
				*mutate.Get[*audiosearch.Run](c.In) = r
				c.Go()
				return *c.Err()
			})
		}, "UpdateRun")
	}
}

// renamed applies change to names of datasets, videos, models and organizations that the
// mutant is given, as a collation does.
func renamed(change func(string) string) func(*mutant) {
	changed := func(s *string) { *s = change(*s) }
	return both(
		in(func(d *audiosearch.Dataset) { d.Organization, d.ID = change(d.Organization), change(d.ID) }, "CreateDataset"),
		in(changed, "Dataset"),
		in(func(v *audiosearch.Video) { v.ID = change(v.ID) }, "PutVideos"),
		in(func(ids *[]string) {
			*ids = slices.Clone(*ids)
			for i := range *ids {
				changed(&(*ids)[i])
			}
		}, "Videos", "MissingKeys"),
		in(func(s *audiosearch.Scoring) { changed(&s.Model) }, "PutScoring"),
		in(func(q *audiosearch.ScoreQuery) { changed(&q.Model) }, "Search"),
		in(func(r *audiosearch.Run) { changed(&r.Organization) }, "CreateRun"),
		arg(changed, "Run"),
	)
}
