package audiosearch

import (
	"context"
	"iter"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/pages"
)

// pageSize is how much is read at a time of a whole list.
const pageSize = 500

// Position returns the dataset's place in ListDatasets.
func (d *Dataset) Position() mortise.Position { return mortise.Position{ID: d.ID} }

// Position returns the video's place in ListVideos.
func (v *Video) Position() mortise.Position { return mortise.Position{ID: v.ID} }

// ListDatasets returns a page of the organization's datasets, by ID (as bytes). Limit 0
// means 50. Errors are [*mortise.ValidationError], for a limit outside 0 to
// [mortise.MaxPageSize] or a text that is no cursor, and [mortise.ErrUnavailable].
func (s *Service) ListDatasets(
	ctx context.Context, org string, after mortise.Cursor, limit int,
) (mortise.Page[Dataset], error) {
	var p problems
	limit = failure.Page(&p.Problems, after, limit, pages.ByNameAlone)
	if err := p.Err(); err != nil {
		return mortise.Page[Dataset]{}, err
	}
	page, err := s.store.ListDatasets(ctx, org, after, limit)
	if err == nil {
		err = pages.Check(page, after, limit)
	}
	return page, unavailable("list datasets", err)
}

// ListVideos returns a page of a dataset's videos, by ID (as bytes). Limit and errors are
// as of [Service.ListDatasets], and [ErrDatasetNotFound].
func (s *Service) ListVideos(
	ctx context.Context, org, dataset string, after mortise.Cursor, limit int,
) (mortise.Page[Video], error) {
	var p problems
	limit = failure.Page(&p.Problems, after, limit, pages.ByNameAlone)
	if err := p.Err(); err != nil {
		return mortise.Page[Video]{}, err
	}
	page, err := s.store.ListVideos(ctx, org, dataset, after, limit)
	if err == nil {
		err = pages.Check(page, after, limit)
	}
	return page, ofDataset(dataset, unavailable("list videos", err))
}

// Datasets iterates over the organization's datasets by ID, page by page. It ends after
// the first error; see [Service.ListDatasets].
func (s *Service) Datasets(ctx context.Context, org string) iter.Seq2[Dataset, error] {
	return pages.Each("", func(after mortise.Cursor) (mortise.Page[Dataset], error) {
		return s.ListDatasets(ctx, org, after, pageSize)
	})
}

// Videos iterates over the videos of a dataset by ID, page by page. It ends after the
// first error; see [Service.ListVideos].
func (s *Service) Videos(ctx context.Context, org, dataset string) iter.Seq2[Video, error] {
	return pages.Each("", func(after mortise.Cursor) (mortise.Page[Video], error) {
		return s.ListVideos(ctx, org, dataset, after, pageSize)
	})
}

// Runs iterates over the runs that q selects, newest first, page by page; q.Limit is how
// many a page may hold. Each run that is kept all the time comes once, whatever comes and
// goes meanwhile. It ends after the first error; see [Service.ListRuns].
func (s *Service) Runs(ctx context.Context, org string, q RunQuery) iter.Seq2[Run, error] {
	return pages.Each(q.After, func(after mortise.Cursor) (mortise.Page[Run], error) {
		q.After = after
		return s.ListRuns(ctx, org, q)
	})
}
