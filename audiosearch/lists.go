package audiosearch

import (
	"cmp"
	"context"
	"fmt"
	"iter"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
)

// Paging selects a page of a list that is ordered by ID (as bytes). The zero value is the
// first page.
type Paging struct {
	// After is the ID that the page begins behind, whether or not it is there; "" for the
	// first page.
	After string

	// Limit is how many the page may hold: 0 for 50, at most mortise.MaxPageSize.
	Limit int
}

// Page is a page of a list of datasets or of videos.
type Page[T Dataset | Video] struct {
	Items []T
	Next  string // the next page's Paging.After; "" if this is the last one
}

const (
	defaultPage = 50  // what a query without a limit gets
	pageSize    = 500 // what is read at a time of a whole list
)

// ListDatasets returns a page of the organization's datasets, by ID. Errors are
// [*mortise.ValidationError], for a Limit outside 0 to [mortise.MaxPageSize], and
// [mortise.ErrUnavailable].
func (s *Service) ListDatasets(ctx context.Context, org string, p Paging) (page Page[Dataset], err error) {
	page.Items, page.Next, err = pageByID("list datasets", p,
		func(after string, limit int) ([]Dataset, error) { return s.store.ListDatasets(ctx, org, after, limit) },
		func(d *Dataset) string { return d.ID })
	return page, err
}

// ListVideos returns a page of a dataset's videos, by ID. Errors are
// [*mortise.ValidationError], for a Limit outside 0 to [mortise.MaxPageSize],
// [ErrDatasetNotFound] and [mortise.ErrUnavailable].
func (s *Service) ListVideos(ctx context.Context, org, dataset string, p Paging) (page Page[Video], err error) {
	page.Items, page.Next, err = pageByID("list videos", p,
		func(after string, limit int) ([]Video, error) {
			return s.store.ListVideos(ctx, org, dataset, after, limit)
		},
		func(v *Video) string { return v.ID })
	return page, ofDataset(dataset, err)
}

// pageByID returns a page of what is listed by ID, and the place of the next one.
func pageByID[T any](
	doing string, p Paging, list func(after string, limit int) ([]T, error), id func(*T) string,
) (items []T, next string, err error) {
	var wrong problems
	wrong.Limit(p.Limit)
	if err := wrong.Err(); err != nil {
		return nil, "", err
	}
	limit := cmp.Or(p.Limit, defaultPage)
	items, err = list(p.After, limit+1)
	switch {
	case err != nil:
		return nil, "", unavailable(doing, err)
	case len(items) <= limit:
		return items, "", nil
	}
	return items[:limit], id(&items[limit-1]), nil
}

// Datasets iterates over the organization's datasets by ID, page by page. It ends after
// the first error; see [Service.ListDatasets].
func (s *Service) Datasets(ctx context.Context, org string) iter.Seq2[Dataset, error] {
	return pages.Each("", errStands, func(after pages.ID) ([]Dataset, pages.ID, bool, error) {
		page, err := s.ListDatasets(ctx, org, Paging{After: string(after), Limit: pageSize})
		return page.Items, pages.ID(page.Next), page.Next > string(after), err
	})
}

// Videos iterates over the videos of a dataset by ID, page by page. It ends after the
// first error; see [Service.ListVideos].
func (s *Service) Videos(ctx context.Context, org, dataset string) iter.Seq2[Video, error] {
	return pages.Each("", errStands, func(after pages.ID) ([]Video, pages.ID, bool, error) {
		page, err := s.ListVideos(ctx, org, dataset, Paging{After: string(after), Limit: pageSize})
		return page.Items, pages.ID(page.Next), page.Next > string(after), err
	})
}

// Runs iterates over the runs that q selects, newest first, page by page; q.Limit is how
// many a page may hold. Each run that is kept all the time comes once, whatever comes and
// goes meanwhile. It ends after the first error; see [Service.ListRuns].
func (s *Service) Runs(ctx context.Context, org string, q RunQuery) iter.Seq2[Run, error] {
	return pages.Each(q.After, errStands, func(before mortise.Position) ([]Run, mortise.Position, bool, error) {
		q := q
		q.After = before
		page, err := s.ListRuns(ctx, org, q)
		return page.Items, page.Next, before.IsZero() || page.Next.Compare(before) < 0, err
	})
}

var errStands = fmt.Errorf("%w: the store returned a page that goes on where it began", mortise.ErrUnavailable)
