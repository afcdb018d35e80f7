package audiosearchtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
)

// wholeStore is what a mutant is, as a store.
type wholeStore interface {
	audiosearch.Store
	audiosearch.Compactor
	audiosearch.RunPruner
}

// everyOp makes each call that a wrapper can make, and returns their ops with the errors.
func everyOp(ctx context.Context, t *testing.T, f *audiosearchtest.Faults) (ops []string, errs []error) {
	t.Helper()
	db := newMutant(t)
	v := audiosearch.Video{ID: "v", Path: "v"}
	sc := audiosearch.Scoring{Model: "m", Windows: 1, Window: time.Second, Hop: time.Second, Classes: []audiosearch.Class{1}}
	require.NoError(t, db.CreateDataset(ctx, audiosearch.Dataset{Organization: "o", ID: "kept"}))
	require.NoError(t, db.PutVideos(ctx, "o", "kept", []audiosearch.Video{v, {ID: "w", Path: "w"}}))
	require.NoError(t, db.PutScoring(ctx, "o", "kept", "v", "v", sc, [][]uint16{{1}}))
	require.NoError(t, db.CreateDataset(ctx, audiosearch.Dataset{Organization: "o", ID: "gone"}))
	require.NoError(t, db.CreateRun(ctx, audiosearch.Run{Organization: "o", ID: 1}, 9))
	job := int64(100)
	claim := func() audiosearch.Lease {
		job++
		require.NoError(t, db.AddJob(ctx, audiosearch.Job{Organization: "o", RunID: job}, time.Time{}))
		held, err := db.Claim(ctx, uuid.New(), time.Now(), time.Now().Add(time.Hour), 1)
		require.NoError(t, err)
		return held[0]
	}
	s, l, m := f.Store(db).(wholeStore), f.Leases(db), f.Scorer(new(audiosearchtest.Sounds))
	try := func(op string, do func() error) { ops, errs = append(ops, op), append(errs, do()) }
	try("Store.CreateDataset", func() error { return s.CreateDataset(ctx, audiosearch.Dataset{Organization: "o", ID: "new"}) })
	try("Store.Dataset", func() error { _, err := s.Dataset(ctx, "o", "kept"); return err })
	try("Store.ListDatasets", func() error { _, err := s.ListDatasets(ctx, "o", "", 1); return err })
	try("Store.DeleteDataset", func() error { return s.DeleteDataset(ctx, "o", "gone") })
	try("Store.PutVideos", func() error { return s.PutVideos(ctx, "o", "kept", []audiosearch.Video{v}) })
	try("Store.Video", func() error { _, err := s.Video(ctx, "o", "kept", "v"); return err })
	try("Store.ListVideos", func() error { _, err := s.ListVideos(ctx, "o", "kept", "", 1); return err })
	try("Store.DeleteVideo", func() error { return s.DeleteVideo(ctx, "o", "kept", "w") })
	try("Store.MissingKeys", func() error { _, err := s.MissingKeys(ctx, "o", "kept", []string{"k"}); return err })
	try("Store.PutScoring", func() error { return s.PutScoring(ctx, "o", "kept", "v", "v", sc, [][]uint16{{1}}) })
	try("Store.Scoring", func() error { _, err := s.Scoring(ctx, "o", "kept", "v", "m"); return err })
	try("Store.Search", func() error { _, err := s.Search(ctx, "o", "kept", audiosearch.ScoreQuery{Limit: 1}); return err })
	try("Store.Unscored", func() error { _, err := s.Unscored(ctx, "o", "kept", audiosearch.UnscoredQuery{Limit: 1}); return err })
	try("Store.WindowScores", func() error { _, err := s.WindowScores(ctx, "o", "kept", "v", "m", 0, 1); return err })
	try("Store.Compact", func() error { _, err := s.Compact(ctx); return err })
	try("Store.CreateRun", func() error { return s.CreateRun(ctx, audiosearch.Run{Organization: "o", ID: 2}, 9) })
	try("Store.Run", func() error { _, err := s.Run(ctx, "o", 1); return err })
	try("Store.UpdateRun", func() error { return s.UpdateRun(ctx, "o", 1, func(*audiosearch.Run) error { return nil }) })
	set := uuid.New()
	try("Store.PutResultVideos", func() error { return s.PutResultVideos(ctx, "o", 1, set, []audiosearch.Video{v}) })
	try("Store.PutResults", func() error { return s.PutResults(ctx, "o", 1, set, nil) })
	try("Store.RunResults", func() error { _, err := s.RunResults(ctx, "o", 1, 0); return err })
	try("Store.StaleRuns", func() error { _, err := s.StaleRuns(ctx, time.Now(), 1); return err })
	try("Store.PruneRuns", func() error { _, err := s.PruneRuns(ctx, time.Now(), 1); return err })
	try("Store.TrimRuns", func() error { _, err := s.TrimRuns(ctx, 9, 1); return err })
	try("Leases.AddJob", func() error { return l.AddJob(ctx, audiosearch.Job{RunID: 1}, time.Now().Add(time.Hour)) })
	try("Leases.Claim", func() error { _, err := l.Claim(ctx, uuid.New(), time.Time{}, time.Now(), 1); return err })
	try("Leases.Extend", func() error { return l.Extend(ctx, claim(), time.Now()) })
	try("Leases.Release", func() error { return l.Release(ctx, claim(), time.Now().Add(time.Hour)) })
	try("Leases.Remove", func() error { return l.Remove(ctx, claim()) })
	try("Scorer.Model", func() error { _, err := m.Model(ctx); return err })
	try("Scorer.Score", func() error { _, err := m.Score(ctx, [][]float32{{0}}); return err })
	return ops, errs
}

func TestEveryCallPassesBothHooks(t *testing.T) {
	var before, after []string
	ops, errs := everyOp(t.Context(), t, &audiosearchtest.Faults{
		Before: func(op string) error { before = append(before, op); return nil },
		After:  func(op string) error { after = append(after, op); return nil },
	})
	for i, err := range errs {
		require.NoError(t, err, ops[i])
	}
	assert.Equal(t, ops, before)
	assert.Equal(t, ops, after)

	outage, heal := audiosearchtest.Outage()
	for name, f := range map[string]*audiosearchtest.Faults{"before": {Before: outage}, "after": {After: outage}} {
		ops, errs := everyOp(t.Context(), t, f)
		for i, err := range errs {
			require.ErrorIs(t, err, audiosearchtest.ErrInjected, "%s %s", name, ops[i])
		}
	}
	heal()
	for _, f := range []*audiosearchtest.Faults{{Before: outage}, {}} {
		ops, errs = everyOp(t.Context(), t, f)
		for i, err := range errs {
			require.NoError(t, err, ops[i])
		}
	}
}

func TestBeforeAndAfterTheEffect(t *testing.T) {
	db := newMutant(t)
	outage, _ := audiosearchtest.Outage()
	d := audiosearch.Dataset{Organization: "o", ID: "d"}
	require.ErrorIs(t, (&audiosearchtest.Faults{Before: outage}).Store(db).CreateDataset(t.Context(), d), audiosearchtest.ErrInjected)
	_, err := db.Dataset(t.Context(), "o", "d")
	require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound, "without effect")
	after := (&audiosearchtest.Faults{After: outage}).Store(db)
	require.ErrorIs(t, after.CreateDataset(t.Context(), d), audiosearchtest.ErrInjected)
	_, err = db.Dataset(t.Context(), "o", "d")
	require.NoError(t, err, "it took effect")
	got, err := after.Dataset(t.Context(), "o", "d")
	require.ErrorIs(t, err, audiosearchtest.ErrInjected)
	assert.Zero(t, got, "an error brings nothing else")
	_, err = after.Dataset(t.Context(), "o", "nothing")
	require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound, "the backend's own error comes first")
}

func TestWrappersKeepOptionalInterfaces(t *testing.T) {
	db, f := newMutant(t), new(audiosearchtest.Faults)
	for name, test := range map[string]struct {
		store            audiosearch.Store
		compacts, prunes bool
	}{
		"both": {db, true, true},
		"compacts": {struct {
			audiosearch.Store
			audiosearch.Compactor
		}{db, db}, true, false},
		"prunes": {struct {
			audiosearch.Store
			audiosearch.RunPruner
		}{db, db}, false, true},
		"neither": {struct{ audiosearch.Store }{db}, false, false},
	} {
		s := f.Store(test.store)
		_, compacts := s.(audiosearch.Compactor)
		_, prunes := s.(audiosearch.RunPruner)
		assert.Equal(t, test.compacts, compacts, name)
		assert.Equal(t, test.prunes, prunes, name)
	}
	_, ok := f.Leases(struct{ audiosearch.Leases }{db}).(audiosearch.JobNotifier)
	assert.False(t, ok)
	notifier, ok := f.Leases(db).(audiosearch.JobNotifier)
	require.True(t, ok)
	woken := 0
	stop := notifier.NotifyJobs(func() { woken++ })
	require.NoError(t, db.AddJob(t.Context(), audiosearch.Job{RunID: 1}, time.Now()))
	stop()
	assert.Equal(t, 1, woken)
}

func TestHooks(t *testing.T) {
	nth := audiosearchtest.On(audiosearchtest.Nth(2), "Store.Search", "Scorer")
	var failed []int
	for i, op := range []string{"Store.Search", "Store.Run", "Scorer.Model", "Store.Search", "StoreX.Search"} {
		if nth(op) != nil {
			failed = append(failed, i)
		}
	}
	assert.Equal(t, []int{2}, failed, "Nth counts what On lets through")
}
