package audiosearchtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/storage/leases"
)

// wholeStore is what a mutant is, as a store.
type wholeStore interface {
	audiosearch.Store
	audiosearch.Pruner
	audiosearch.TxStore
}

// everyOp makes each call that a wrapper can make, and returns their ops with the errors.
func everyOp(ctx context.Context, t *testing.T, f *audiosearchtest.Faults) (ops []string, errs []error) {
	t.Helper()
	db := newMutant(t)
	v := audiosearch.Video{ID: "v", Path: "v"}
	sc := audiosearch.Scoring{Model: "m", Windows: 1, Window: time.Second, Hop: time.Second, Classes: []sound.Class{"1"}}
	require.NoError(t, db.CreateDataset(ctx, audiosearch.Dataset{Organization: "o", ID: "kept"}))
	require.NoError(t, db.PutVideos(ctx, "o", "kept", []audiosearch.Video{v, {ID: "w", Path: "w"}}))
	require.NoError(t, db.PutScoring(ctx, "o", "kept", "v", "v", sc, [][]uint16{{1}}))
	require.NoError(t, db.CreateDataset(ctx, audiosearch.Dataset{Organization: "o", ID: "gone"}))
	require.NoError(t, db.CreateRun(ctx, audiosearch.Run{Organization: "o", ID: 1}, 9))
	n := int64(100)
	job := func() mortise.Job {
		n++
		r := audiosearch.Run{Organization: "o", ID: n}
		return r.Job()
	}
	claim := func() mortise.Lease {
		require.NoError(t, db.jobs.Add(ctx, job()))
		held, err := db.jobs.Claim(ctx, mortise.Claim{Token: uuid.New(),
			Kinds: []string{audiosearch.JobKind}, Limit: 1, TTL: time.Hour})
		require.NoError(t, err)
		return held[0]
	}
	s, l, m := f.Store(db).(wholeStore), f.Leases(mutantLeases{db.jobs, db}),
		f.Scorer(new(audiosearchtest.Sounds))
	try := func(op string, do func() error) { ops, errs = append(ops, op), append(errs, do()) }
	try("Store.CreateDataset", func() error { return s.CreateDataset(ctx, audiosearch.Dataset{Organization: "o", ID: "new"}) })
	try("Store.Dataset", func() error { _, err := s.Dataset(ctx, "o", "kept"); return err })
	try("Store.ListDatasets", func() error { _, err := s.ListDatasets(ctx, "o", "", 1); return err })
	try("Store.DeleteDataset", func() error { return s.DeleteDataset(ctx, "o", "gone") })
	try("Store.PutVideos", func() error { return s.PutVideos(ctx, "o", "kept", []audiosearch.Video{v}) })
	try("Store.Videos", func() error { _, _, err := s.Videos(ctx, "o", "kept", []string{"v"}); return err })
	try("Store.ListVideos", func() error { _, err := s.ListVideos(ctx, "o", "kept", "", 1); return err })
	try("Store.DeleteVideo", func() error { return s.DeleteVideo(ctx, "o", "kept", "w") })
	try("Store.MissingKeys", func() error { _, err := s.MissingKeys(ctx, "o", "kept", []string{"k"}); return err })
	try("Store.PutScoring", func() error { return s.PutScoring(ctx, "o", "kept", "v", "v", sc, [][]uint16{{1}}) })
	try("Store.Scorings", func() error { _, err := s.Scorings(ctx, "o", "kept", "m", []string{"v"}); return err })
	part := audiosearch.Part{Video: "v", Path: "v", Model: "m", Window: time.Second, Hop: time.Second, Classes: sc.Classes}
	try("Store.PutPart", func() error { _, err := s.PutPart(ctx, "o", "kept", part, [][]uint16{{1}}); return err })
	try("Store.Parts", func() error { _, err := s.Parts(ctx, "o", "kept", part); return err })
	try("Store.Models", func() error { _, err := s.Models(ctx, "o", "kept"); return err })
	try("Store.ModelOrder", func() error { _, err := s.ModelOrder(ctx, "f", "m"); return err })
	try("Store.SetModel", func() error {
		return s.SetModel(ctx, "o", "kept", audiosearch.ModelChange{Family: "f", To: "m"})
	})
	try("Store.Search", func() error { _, err := s.Search(ctx, "o", "kept", audiosearch.ScoreQuery{Limit: 1}); return err })
	try("Store.Unscored", func() error { _, err := s.Unscored(ctx, "o", "kept", audiosearch.UnscoredQuery{Limit: 1}); return err })
	try("Store.WindowScores", func() error { _, err := s.WindowScores(ctx, "o", "kept", "v", "m", 0, 1); return err })
	try("Store.Compact", func() error { _, _, err := s.Compact(ctx, audiosearch.CompactOptions{}, 1000); return err })
	try("Store.CreateRun", func() error { return s.CreateRun(ctx, audiosearch.Run{Organization: "o", ID: 2}, 9) })
	try("Store.Run", func() error { _, err := s.Run(ctx, "o", 1); return err })
	try("Store.UpdateRun", func() error { return s.UpdateRun(ctx, "o", 1, func(*audiosearch.Run) error { return nil }) })
	set := uuid.New()
	try("Store.PutResultVideos", func() error { return s.PutResultVideos(ctx, "o", 1, set, []audiosearch.Video{v}) })
	try("Store.PutResults", func() error { return s.PutResults(ctx, "o", 1, set, nil) })
	try("Store.RunResults", func() error { _, err := s.RunResults(ctx, "o", 1, 0); return err })
	try("Store.ListRuns", func() error {
		_, err := s.ListRuns(ctx, "o", audiosearch.RunQuery{Limit: 1})
		return err
	})
	try("Store.Counts", func() error { _, err := s.Counts(ctx, "o", 1); return err })
	try("Store.Backlog", func() error { _, err := s.Backlog(ctx, 1); return err })
	try("Store.Overdue", func() error { _, err := s.Overdue(ctx, time.Now(), 1); return err })
	try("Store.PruneRuns", func() error { _, _, err := s.PruneRuns(ctx, time.Now(), 1); return err })
	try("Store.TrimRuns", func() error { _, _, err := s.TrimRuns(ctx, 9, 1); return err })
	try("Store.CreateRunAndAdd", func() error {
		return s.CreateRunAndAdd(ctx, audiosearch.Run{Organization: "o", ID: 3}, 9, later(job()))
	})
	try("Store.UpdateRunAndJobs", func() error {
		return s.UpdateRunAndJobs(ctx, "o", 1, func(*audiosearch.Run) ([]mortise.Job, error) { return nil, nil }, claim())
	})
	try("Leases.Add", func() error { return l.Add(ctx, later(job())) })
	try("Leases.Cancel", func() error { return l.Cancel(ctx, job()) })
	try("Leases.Claim", func() error {
		_, err := l.Claim(ctx, mortise.Claim{Token: uuid.New(), Kinds: []string{audiosearch.JobKind},
			Limit: 1, TTL: time.Hour})
		return err
	})
	try("Leases.Extend", func() error { return l.Extend(ctx, claim(), time.Hour) })
	try("Leases.Release", func() error { return l.Release(ctx, claim(), time.Hour) })
	try("Leases.Remove", func() error { return l.Remove(ctx, claim(), false) })
	try("Scorer.Model", func() error { _, err := m.Model(ctx); return err })
	try("Scorer.Score", func() error { _, err := m.Score(ctx, [][]float32{{0}}); return err })
	return ops, errs
}

// later returns a job that is due later.
func later(j mortise.Job) mortise.Job {
	j.At = time.Now().Add(time.Hour)
	return j
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
	for _, has := range []struct{ prunes, adds bool }{{true, true}, {true, false}, {false, true}, {false, false}} {
		s := f.Store(storeWith(db, has.prunes, has.adds))
		_, prunes := s.(audiosearch.Pruner)
		_, adds := s.(audiosearch.TxStore)
		assert.Equal(t, has, struct{ prunes, adds bool }{prunes, adds})
	}
	jobs := mutantLeases{db.jobs, db}
	_, ok := f.Leases(struct{ mortise.Leases }{jobs}).(leases.JobNotifier)
	assert.False(t, ok)
	notifier, ok := f.Leases(jobs).(leases.JobNotifier)
	require.True(t, ok)
	woken := 0
	stop := notifier.NotifyJobs(func(string) { woken++ })
	r := audiosearch.Run{Organization: "o", ID: 1}
	require.NoError(t, jobs.Add(t.Context(), r.Job()))
	stop()
	assert.Equal(t, 1, woken)
}

// storeWith returns a store with some of the optional interfaces.
func storeWith(db *mutant, prunes, adds bool) audiosearch.Store {
	type (
		bare = struct{ audiosearch.Store }
		p    = audiosearch.Pruner
		x    = audiosearch.TxStore
	)
	s := bare{db}
	switch {
	case prunes && adds:
		return db
	case prunes:
		return struct {
			bare
			p
		}{s, db}
	case adds:
		return struct {
			bare
			x
		}{s, db}
	}
	return s
}

// Wrapped leases share a wrapped store if they share what it wraps, and nothing else.
func TestWrappersShare(t *testing.T) {
	f, db, other := new(audiosearchtest.Faults), newMutant(t), newMutant(t)
	sharer := f.Leases(mutantLeases{db.jobs, db}).(mortise.Sharer)
	assert.True(t, sharer.Shares(f.Store(db)))
	assert.True(t, sharer.Shares(db))
	assert.False(t, sharer.Shares(f.Store(other)))
	plain := struct{ mortise.Leases }{mutantLeases{db.jobs, db}}
	assert.False(t, f.Leases(plain).(mortise.Sharer).Shares(f.Store(db)))

	at := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	lossy := f.Leases(lossyLeases{mutantLeases{db.jobs, db}, at}).(mortise.LossReporter)
	lost, err := lossy.LostJobs(t.Context())
	require.NoError(t, err)
	assert.Equal(t, at, lost)
	lost, err = f.Leases(mutantLeases{db.jobs, db}).(mortise.LossReporter).LostJobs(t.Context())
	require.NoError(t, err)
	assert.Zero(t, lost)
}

// lossyLeases have lost jobs.
type lossyLeases struct {
	mutantLeases
	at time.Time
}

func (l lossyLeases) LostJobs(context.Context) (time.Time, error) { return l.at, nil }

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
