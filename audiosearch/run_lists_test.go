package audiosearch_test

import (
	"cmp"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
)

// list returns the IDs of the runs of all pages.
func (r *rig) list(q audiosearch.RunQuery) (ids []int64) {
	r.t.Helper()
	for {
		page, err := r.ListRuns(r.t.Context(), org, q)
		require.NoError(r.t, err)
		for _, run := range page.Items {
			ids = append(ids, run.ID)
		}
		if page.Next == "" {
			return ids
		}
		require.NotEmpty(r.t, page.Items)
		q.After = page.Next
	}
}

// TestRunPosition: it is in the order of the list, and has the ID as a number.
func TestRunPosition(t *testing.T) {
	at := time.Unix(7, 0)
	runs := []audiosearch.Run{
		{CreatedAt: at, ID: 255}, {CreatedAt: at, ID: 256}, {CreatedAt: at, ID: 1<<53 - 1}, {CreatedAt: at.Add(1), ID: 1},
	}
	for i := range runs {
		id, err := runs[i].Position().Number()
		require.NoError(t, err)
		assert.Equal(t, runs[i].ID, id)
		for j := range runs {
			assert.Equal(t, cmp.Compare(i, j), runs[i].Position().Compare(runs[j].Position()))
		}
	}
}

// TestListRuns: pages, whatever their limit, of those that the query selects.
func TestListRuns(t *testing.T) {
	var now time.Time
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
		o.Now = func() time.Time { return now }
	})
	require.Empty(t, r.list(audiosearch.RunQuery{}))
	now = noon
	var want []int64
	for range 60 {
		now = now.Add(time.Second)
		want = append([]int64{r.start(audiosearch.Query{Class: loud})}, want...)
	}
	page, err := r.ListRuns(t.Context(), org, audiosearch.RunQuery{})
	require.NoError(t, err)
	require.Len(t, page.Items, 50, "the default")
	for _, limit := range []int{0, 1, 7, 59, 60, 61, mortise.MaxPageSize} {
		require.Equal(t, want, r.list(audiosearch.RunQuery{Limit: limit}), limit)
	}
	for _, limit := range []int{60, 61} {
		page, err = r.ListRuns(t.Context(), org, audiosearch.RunQuery{Limit: limit})
		require.NoError(t, err)
		require.Len(t, page.Items, 60)
		require.Zero(t, page.Next, "after the last page, be it full or not")
	}

	// Bounds need not be what a store can keep.
	fiveAgo := now.Add(-5 * time.Second)
	for _, c := range []struct {
		q    audiosearch.RunQuery
		want []int64
	}{
		{audiosearch.RunQuery{From: fiveAgo}, want[:6]},
		{audiosearch.RunQuery{From: fiveAgo.Add(1)}, want[:5]},
		{audiosearch.RunQuery{From: fiveAgo.Add(-1)}, want[:6]},
	} {
		require.Equal(t, c.want, r.list(c.q), c.q)
	}

	// What is running, and whose it is.
	_, err = r.Cancel(t.Context(), org, "ada", "d", want[0])
	require.NoError(t, err)
	require.Equal(t, want[1:], r.list(audiosearch.RunQuery{Open: true}))
	require.Equal(t, want[:1], r.list(audiosearch.RunQuery{State: audiosearch.StateTerminated, Dataset: "d"}))
	require.Equal(t, want, r.list(audiosearch.RunQuery{Actor: "ada"}))
	require.Empty(t, r.list(audiosearch.RunQuery{Actor: "eve"}))
	page, err = r.ListRuns(t.Context(), "another", audiosearch.RunQuery{})
	require.NoError(t, err)
	require.Empty(t, page)
}

// TestListRunsHasNoResults: they are asked for one run at a time.
func TestListRunsHasNoResults(t *testing.T) {
	r := newRig(t, nil)
	r.video("a", 5000, map[int]byte{100: 255}, nil)
	run := r.search(audiosearch.Query{Class: loud})
	require.NotEmpty(t, run.Results)
	page, err := r.ListRuns(t.Context(), org, audiosearch.RunQuery{})
	require.NoError(t, err)
	run.Results = nil
	require.Equal(t, []audiosearch.Run{run}, page.Items)
}

// TestListRunsOfDeletedDataset: the list of a dataset hides what Run does, that of all
// shows what is kept.
func TestListRunsOfDeletedDataset(t *testing.T) {
	now := noon
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
		o.Now = func() time.Time { return now }
	})
	old := r.start(audiosearch.Query{Class: loud})
	require.NoError(t, r.DeleteDataset(t.Context(), org, "", "d"))
	require.Equal(t, []int64{old}, r.list(audiosearch.RunQuery{}))
	_, err := r.ListRuns(t.Context(), org, audiosearch.RunQuery{Dataset: "d"})
	require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)

	now = now.Add(time.Microsecond)
	_, err = r.CreateDataset(t.Context(), org, "", "d")
	require.NoError(t, err)
	require.Empty(t, r.list(audiosearch.RunQuery{Dataset: "d"}))
	young := r.start(audiosearch.Query{Class: loud})
	for _, q := range []audiosearch.RunQuery{{}, {From: noon}, {From: now}} {
		q.Dataset = "d"
		require.Equal(t, []int64{young}, r.list(q))
	}
	require.Empty(t, r.list(audiosearch.RunQuery{Dataset: "d", From: now.Add(1)}))
	require.Equal(t, []int64{young, old}, r.list(audiosearch.RunQuery{}))
	for id, want := range map[int64]error{old: audiosearch.ErrRunNotFound, young: nil} {
		_, err := r.Run(t.Context(), org, "d", id)
		require.ErrorIs(t, err, want)
	}
}

// TestListRunsRefuses: everything that is wrong at once, and failures of the store.
func TestListRunsRefuses(t *testing.T) {
	db := newMemory(t)
	faults := new(audiosearchtest.Faults)
	r := newRigOn(t, db, faults.Store(db.AudioSearch().Store), nil)
	for _, q := range []audiosearch.RunQuery{
		{Limit: -1, State: "pending", Dataset: "none"}, {Limit: mortise.MaxPageSize + 1, State: "ENDED"},
	} {
		_, err := r.ListRuns(t.Context(), org, q)
		var invalid *mortise.ValidationError
		require.ErrorAs(t, err, &invalid)
		require.Len(t, invalid.Problems, 2)
		assert.Equal(t, []string{"limit: must be between 1 and 1000", "state: is no state of a run"},
			[]string{invalid.Problems[0].Error(), invalid.Problems[1].Error()})
	}
	for _, op := range []string{"Store.Dataset", "Store.ListRuns"} {
		fail, _ := audiosearchtest.Outage()
		faults.Before = audiosearchtest.On(fail, op)
		_, err := r.ListRuns(t.Context(), org, audiosearch.RunQuery{Dataset: "d"})
		require.ErrorIs(t, err, mortise.ErrUnavailable)
		require.ErrorIs(t, err, audiosearchtest.ErrInjected)
	}
	faults.Before = nil
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("gone"))
	_, err := r.ListRuns(ctx, org, audiosearch.RunQuery{})
	require.ErrorIs(t, err, mortise.ErrUnavailable)
}
