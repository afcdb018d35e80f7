package audiosearch_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// listed reads an iterator until it ends, or until an error, after which nothing may
// come.
func listed[T any](t *testing.T, all iter.Seq2[T, error]) (items []T, err error) {
	t.Helper()
	for item, failure := range all {
		require.NoError(t, err, "it goes on after its first error")
		if err = failure; err == nil {
			items = append(items, item)
		}
	}
	return items, err
}

// TestListsByID: pages of datasets and of videos, whatever their limit, and iterators
// over more pages than one.
func TestListsByID(t *testing.T) {
	r := newRig(t, nil)
	ctx := t.Context()
	const n = 1001
	var videos []audiosearch.Video
	datasets := []string{"d"} // which the rig has made
	for i := range n {
		videos = append(videos, audiosearch.Video{ID: fmt.Sprintf("v%04d", i), Path: "a", Metadata: metadata.Map{}})
		if i > 0 {
			id := fmt.Sprintf("d%04d", i)
			_, err := r.CreateDataset(ctx, org, "", id)
			require.NoError(t, err)
			datasets = append(datasets, id)
		}
	}
	for part := range slices.Chunk(videos, mortise.MaxPageSize) {
		require.NoError(t, r.PutVideos(ctx, org, "", "d", part...))
	}
	var ids []string
	for _, v := range videos {
		ids = append(ids, v.ID)
	}
	lists := map[string]struct {
		want []string
		page func(after mortise.Cursor, limit int) (ids []string, next mortise.Cursor, err error)
	}{
		"datasets": {datasets, func(after mortise.Cursor, limit int) (ids []string, next mortise.Cursor, err error) {
			page, err := r.ListDatasets(ctx, org, after, limit)
			for _, d := range page.Items {
				ids = append(ids, d.ID)
			}
			return ids, page.Next, err
		}},
		"videos": {ids, func(after mortise.Cursor, limit int) (ids []string, next mortise.Cursor, err error) {
			page, err := r.ListVideos(ctx, org, "d", after, limit)
			for _, v := range page.Items {
				ids = append(ids, v.ID)
			}
			return ids, page.Next, err
		}},
	}
	for name, l := range lists {
		for _, limit := range []int{7, 500, 1000} {
			var got []string
			for after := mortise.Cursor(""); ; {
				page, next, err := l.page(after, limit)
				require.NoError(t, err)
				require.LessOrEqual(t, len(page), limit)
				if got = append(got, page...); next == "" {
					break
				}
				after = next
			}
			require.Equal(t, l.want, got, "%s by %d", name, limit)
		}
		first, _, err := l.page("", 0)
		require.NoError(t, err)
		require.Equal(t, l.want[:50], first, "the default")
		for _, limit := range []int{-1, mortise.MaxPageSize + 1} {
			_, _, err = l.page("", limit)
			var invalid *mortise.ValidationError
			require.ErrorAs(t, err, &invalid)
			require.Equal(t, "limit", invalid.Problems[0].Path.String())
		}
		for _, after := range []mortise.Cursor{"a b", "x"} {
			_, _, err = l.page(after, 1)
			var invalid *mortise.ValidationError
			require.ErrorAs(t, err, &invalid)
			require.Equal(t, "after", invalid.Problems[0].Path.String())
		}
	}
	gotVideos, err := listed(t, r.Videos(ctx, org, "d"))
	require.NoError(t, err)
	require.Equal(t, videos, gotVideos)
	gotDatasets, err := listed(t, r.Datasets(ctx, org))
	require.NoError(t, err)
	require.Len(t, gotDatasets, n)

	page, err := r.ListDatasets(ctx, "nobody", "", 0)
	require.NoError(t, err)
	assert.Empty(t, page)
	_, err = r.ListVideos(ctx, org, "none", "", 0)
	require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
	_, err = listed(t, r.Videos(ctx, org, "none"))
	require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
}

// TestRunsIterator: it gives what the pages give, and those that come meanwhile not
// twice.
func TestRunsIterator(t *testing.T) {
	r := newRig(t, nil)
	var want, got []int64
	for range 60 {
		want = append(want, r.start(audiosearch.Query{Class: loud}))
	}
	slices.Reverse(want)
	page, err := r.ListRuns(t.Context(), org, audiosearch.RunQuery{Limit: mortise.MaxPageSize})
	require.NoError(t, err)
	want = want[:0]
	for _, run := range page.Items {
		want = append(want, run.ID)
	}
	require.Len(t, want, 60)
	for _, limit := range []int{0, 7, 60} {
		got = nil
		runs := r.Runs(t.Context(), org, audiosearch.RunQuery{Dataset: "d", Limit: limit})
		for range 2 { // an iterator can be used again
			got = got[:0]
			all, err := listed(t, runs)
			require.NoError(t, err)
			for _, run := range all {
				got = append(got, run.ID)
			}
			require.Equal(t, want, got, limit)
		}
	}
	first, err := r.ListRuns(t.Context(), org, audiosearch.RunQuery{Limit: 50})
	require.NoError(t, err)
	behind, err := listed(t, r.Runs(t.Context(), org, audiosearch.RunQuery{After: first.Next, Limit: 3}))
	require.NoError(t, err)
	require.Len(t, behind, 10)
	_, err = listed(t, r.Runs(t.Context(), org, audiosearch.RunQuery{Limit: -1}))
	var invalid *mortise.ValidationError
	require.ErrorAs(t, err, &invalid)
	for range r.Runs(t.Context(), org, audiosearch.RunQuery{}) {
		break
	}
}

// standingStore begins each page at the start.
type standingStore struct{ audiosearch.Store }

func (s standingStore) ListDatasets(ctx context.Context, org string, _ mortise.Cursor, limit int) (mortise.Page[audiosearch.Dataset], error) {
	page, err := s.Store.ListDatasets(ctx, org, "", limit)
	page.Next = page.Items[0].Position().Cursor()
	return page, err
}

func (s standingStore) ListVideos(
	ctx context.Context, org, dataset string, _ mortise.Cursor, limit int,
) (mortise.Page[audiosearch.Video], error) {
	page, err := s.Store.ListVideos(ctx, org, dataset, "", limit)
	page.Next = page.Items[0].Position().Cursor()
	return page, err
}

func (s standingStore) ListRuns(ctx context.Context, org string, q audiosearch.RunQuery) (mortise.Page[audiosearch.Run], error) {
	q.After = ""
	page, err := s.Store.ListRuns(ctx, org, q)
	page.Next = page.Items[0].Position().Cursor()
	return page, err
}

func TestIteratorsOfAStoreThatStandsStill(t *testing.T) {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	s := newRigOn(t, db, standingStore{db.AudioSearch().Store}, nil)
	require.NoError(t, s.PutVideos(t.Context(), org, "", "d", audiosearch.Video{ID: "a", Path: "a"}))
	s.start(audiosearch.Query{Class: loud})
	datasets, err := listed(t, s.Datasets(t.Context(), org))
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.Len(t, datasets, 1, "a page")
	videos, err := listed(t, s.Videos(t.Context(), org, "d"))
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.Len(t, videos, 1)
	_, err = s.Ingest(t.Context(), org, "", "d")
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	runs, err := listed(t, s.Runs(t.Context(), org, audiosearch.RunQuery{Limit: 3}))
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.Len(t, runs, 1)
	require.False(t, errors.Is(err, mortise.ErrNotFound))
}
