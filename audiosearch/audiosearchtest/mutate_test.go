package audiosearchtest_test

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// everyDataset applies change to all datasets that the mutant returns.
func (m *mutant) everyDataset(change func(*audiosearch.Dataset)) {
	m.dataset = func(ctx context.Context, org, id string) (audiosearch.Dataset, error) {
		d, err := m.db.Dataset(ctx, org, id)
		change(&d)
		return d, err
	}
	m.everyDatasetPage(func(page []audiosearch.Dataset, _ int) []audiosearch.Dataset {
		for i := range page {
			change(&page[i])
		}
		return page
	})
}

// everyDatasetPage applies change to all pages of datasets that the mutant returns. It gets the limit.
func (m *mutant) everyDatasetPage(change func(page []audiosearch.Dataset, limit int) []audiosearch.Dataset) {
	m.listDatasets = func(ctx context.Context, org, after string, limit int) ([]audiosearch.Dataset, error) {
		page, err := m.db.ListDatasets(ctx, org, after, limit+1)
		return change(page, limit), err
	}
}

// everyVideo applies change to all videos that the mutant returns.
func (m *mutant) everyVideo(change func(*audiosearch.Video)) {
	m.video = func(ctx context.Context, org, dataset, id string) (audiosearch.Video, error) {
		v, err := m.db.Video(ctx, org, dataset, id)
		change(&v)
		return v, err
	}
	m.listVideos = func(ctx context.Context, org, dataset, after string, limit int) ([]audiosearch.Video, error) {
		page, err := m.db.ListVideos(ctx, org, dataset, after, limit)
		for i := range page {
			change(&page[i])
		}
		return page, err
	}
	m.unscored = func(ctx context.Context, org, dataset string, q audiosearch.UnscoredQuery) (audiosearch.Unscored, error) {
		page, err := m.db.Unscored(ctx, org, dataset, q)
		for i := range page.Videos {
			change(&page.Videos[i])
		}
		return page, err
	}
}

// everyPut applies change to all videos that the mutant is given.
func (m *mutant) everyPut(change func(*audiosearch.Video)) {
	m.putVideos = func(ctx context.Context, org, dataset string, videos []audiosearch.Video) error {
		own := append([]audiosearch.Video(nil), videos...)
		for i := range own {
			change(&own[i])
		}
		return m.db.PutVideos(ctx, org, dataset, own)
	}
}

// everyMetadata applies change to all metadata values that the mutant is given.
func (m *mutant) everyMetadata(change func(key string, value metadata.Scalar) (string, metadata.Scalar)) {
	m.everyPut(func(v *audiosearch.Video) {
		own := metadata.Map{}
		for key, value := range v.Metadata {
			key, value = change(key, value)
			own[key] = value
		}
		v.Metadata = own
	})
}

// everyScoring applies change to all scorings that the mutant returns.
func (m *mutant) everyScoring(change func(*audiosearch.Scoring)) {
	m.scoring = func(ctx context.Context, org, dataset, video, model string) (audiosearch.Scoring, error) {
		s, err := m.db.Scoring(ctx, org, dataset, video, model)
		change(&s)
		return s, err
	}
}

// everySearch applies ask to all queries that the mutant is asked, and answer to what it finds. Either may be nil.
func (m *mutant) everySearch(ask func(q *audiosearch.ScoreQuery), answer func(q audiosearch.ScoreQuery, hits []audiosearch.Hit) []audiosearch.Hit) {
	m.search = func(ctx context.Context, org, dataset string, q audiosearch.ScoreQuery) ([]audiosearch.Hit, error) {
		asked := q
		if ask != nil {
			ask(&asked)
		}
		hits, err := m.db.Search(ctx, org, dataset, asked)
		if answer != nil {
			hits = answer(q, hits)
		}
		return hits, err
	}
}

// everyFilter makes the mutant go by its own idea of filters: it asks for all, and keeps what passes.
func (m *mutant) everyFilter(passes func(v audiosearch.Video, filters []metadata.Filter) bool) {
	m.search = func(ctx context.Context, org, dataset string, q audiosearch.ScoreQuery) ([]audiosearch.Hit, error) {
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
	}
}

// everyMatch makes the mutant go by its own idea of one filter and the value that it looks at, if the domain's is not meant.
func (m *mutant) everyMatch(match func(f metadata.Filter, value metadata.Scalar, has bool) (passes, mine bool)) {
	m.everyFilter(func(v audiosearch.Video, filters []metadata.Filter) bool {
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

// everyRun applies change to all runs that the mutant returns.
func (m *mutant) everyRun(change func(*audiosearch.Run)) {
	m.getRun = func(ctx context.Context, org string, id int64) (audiosearch.Run, error) {
		r, err := m.db.Run(ctx, org, id)
		change(&r)
		return r, err
	}
	m.everyStale(func(runs []audiosearch.Run) []audiosearch.Run {
		for i := range runs {
			change(&runs[i])
		}
		return runs
	})
	m.everyList(change)
}

// everyList applies change to all runs that ListRuns returns.
func (m *mutant) everyList(change func(*audiosearch.Run)) {
	m.listRuns = func(ctx context.Context, org string, q audiosearch.RunQuery) ([]audiosearch.Run, error) {
		runs, err := m.db.ListRuns(ctx, org, q)
		for i := range runs {
			change(&runs[i])
		}
		return runs, err
	}
}

// asked changes what StaleRuns is asked for.
func (m *mutant) asked(change func(checked, due *time.Time, limit *int)) {
	m.staleRuns = func(
		ctx context.Context, checked, due time.Time, limit int,
	) ([]audiosearch.Run, error) {
		change(&checked, &due, &limit)
		return m.db.StaleRuns(ctx, checked, due, limit)
	}
}

// everyStale applies change to what StaleRuns returns.
func (m *mutant) everyStale(change func([]audiosearch.Run) []audiosearch.Run) {
	m.staleRuns = func(
		ctx context.Context, checked, due time.Time, limit int,
	) ([]audiosearch.Run, error) {
		runs, err := m.db.StaleRuns(ctx, checked, due, limit)
		return change(runs), err
	}
}

// everyResult applies change to all results that the mutant returns.
func (m *mutant) everyResult(change func(i int, r *audiosearch.Result)) {
	m.runResults = func(ctx context.Context, org string, run int64, from int) ([]audiosearch.Result, error) {
		results, err := m.db.RunResults(ctx, org, run, from)
		for i := range results {
			change(from+i, &results[i])
		}
		return results, err
	}
}

// everyUpdate stands between the mutant and update functions.
func (m *mutant) everyUpdate(between func(r *audiosearch.Run, update func(*audiosearch.Run) error) error) {
	m.updateRun = func(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
		return m.db.UpdateRun(ctx, org, id, func(r *audiosearch.Run) error { return between(r, update) })
	}
}

// renamed applies change to names of datasets, videos, models and organizations that the mutant is given, as a collation does.
func (m *mutant) renamed(change func(string) string) {
	m.createDataset = func(ctx context.Context, d audiosearch.Dataset) error {
		d.Organization, d.ID = change(d.Organization), change(d.ID)
		return m.db.CreateDataset(ctx, d)
	}
	m.dataset = func(ctx context.Context, org, id string) (audiosearch.Dataset, error) {
		return m.db.Dataset(ctx, change(org), change(id))
	}
	m.everyPut(func(v *audiosearch.Video) { v.ID = change(v.ID) })
	m.video = func(ctx context.Context, org, dataset, id string) (audiosearch.Video, error) {
		return m.db.Video(ctx, org, dataset, change(id))
	}
	m.putScoring = func(ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
		s.Model = change(s.Model)
		return m.db.PutScoring(ctx, org, dataset, video, path, s, columns)
	}
	m.everySearch(func(q *audiosearch.ScoreQuery) { q.Model = change(q.Model) }, nil)
	m.missingKeys = func(ctx context.Context, org, dataset string, keys []string) ([]string, error) {
		own := make([]string, len(keys))
		for i := range keys {
			own[i] = change(keys[i])
		}
		return m.db.MissingKeys(ctx, org, dataset, own)
	}
	m.createRun = func(ctx context.Context, r audiosearch.Run, most int) error {
		r.Organization = change(r.Organization)
		return m.db.CreateRun(ctx, r, most)
	}
	m.getRun = func(ctx context.Context, org string, id int64) (audiosearch.Run, error) {
		return m.db.Run(ctx, change(org), id)
	}
}
