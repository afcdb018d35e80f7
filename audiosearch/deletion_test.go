package audiosearch_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/leases"
)

func ExampleService_DeleteOrganization() {
	service, done := newService(audiosearch.Options{}, "440")
	defer done()
	ctx := context.Background()
	for more := true; more; {
		var err error
		more, err = service.DeleteOrganization(ctx, "acme", "ada")
		check(err)
	}
	_, err := service.Search(ctx, "acme", "ada", audiosearch.Query{Dataset: "d", Class: "Dial tone"})
	fmt.Println(err)
	_, err = service.EnsureDataset(ctx, "acme", "ada", "d")
	fmt.Println(err)
	// Output:
	// audiosearch: no such dataset: "d"
	// mortise: deleted, and its ID is never reused; use another ID
}

// deleteAll deletes the organization of the rig.
func (r *rig) deleteAll(by mortise.Actor) {
	r.t.Helper()
	for more := true; more; {
		var err error
		more, err = r.DeleteOrganization(r.t.Context(), org, by)
		require.NoError(r.t, err)
	}
}

// warningsTo returns a change of options that logs to a buffer, from WARN on.
func warningsTo(log *bytes.Buffer) func(*audiosearch.Options, *audiosearch.WorkerOptions) {
	var mu sync.Mutex
	return func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
		o.Logger = slog.New(slog.NewTextHandler(lockedWriter{&mu, log}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	b  *bytes.Buffer
}

func (w lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func TestDeleteOrganization(t *testing.T) {
	r := newRig(t, nil)
	r.video("a", 5000, map[int]byte{100: 255}, nil)
	run := r.search(audiosearch.Query{Class: loud})
	_, err := r.CreateDataset(t.Context(), "rival", "", "d")
	require.NoError(t, err)
	waiting := r.start(audiosearch.Query{Class: loud})
	r.events = nil
	r.deleteAll("ada")
	r.deleteAll("bob")
	assert.Equal(t, []mortise.Observation{
		{Service: "audiosearch", Kind: mortise.KindOrganizationDeleted, Organization: org, Actor: "ada"},
	}, r.events, "once, of who made the mark")

	ctx := t.Context()
	for _, id := range []int64{run.ID, waiting} {
		_, err = r.Run(ctx, org, "d", id)
		require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
	}
	_, err = r.Start(ctx, org, "", audiosearch.Query{Dataset: "d", Class: loud})
	require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
	_, err = r.Search(ctx, org, "", audiosearch.Query{Dataset: "d", Class: loud})
	require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
	_, err = r.Ingest(ctx, org, "", "d")
	require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
	_, err = r.CreateDataset(ctx, org, "", "d")
	require.ErrorIs(t, err, mortise.ErrDeleted)
	_, err = r.EnsureDataset(ctx, org, "", "other")
	require.ErrorIs(t, err, mortise.ErrDeleted)
	page, err := r.ListRuns(ctx, org, audiosearch.RunQuery{})
	require.NoError(t, err)
	require.Empty(t, page.Items)
	counts, err := r.Counts(ctx, org)
	require.NoError(t, err)
	require.Zero(t, counts)
	_, err = r.Dataset(ctx, "rival", "d")
	require.NoError(t, err)
	done, err := r.worker.RunOnce(ctx)
	require.NoError(t, err)
	require.False(t, done, "its jobs are gone")
}

// TestDeletedWhileARunWorks: the attempt ends, without a word, and nothing is stored; the
// service that deletes ends those of its own workers at once, and others see it soon.
func TestDeletedWhileARunWorks(t *testing.T) {
	for _, elsewhere := range []bool{false, true} {
		t.Run(fmt.Sprint("elsewhere=", elsewhere), func(t *testing.T) {
			var log bytes.Buffer
			r := newRig(t, warningsTo(&log))
			r.video("a", 5000, nil, nil)
			r.start(audiosearch.Query{Class: loud})
			deletes := r.Service
			if elsewhere {
				var err error
				deletes, err = audiosearch.New(r.db.AudioSearch(), &audiosearch.Options{Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
				require.NoError(t, err)
			}
			var once sync.Once
			var ended error
			hook := func(ctx context.Context) (err error) {
				once.Do(func() {
					_, err = deletes.DeleteOrganization(ctx, org, "ada")
					<-ctx.Done() // of the attempt
					ended = context.Cause(ctx)
				})
				return err
			}
			r.media.hook.Store(&hook)
			r.drain(10)
			require.Error(t, ended, "the decoder was stopped")
			assert.Empty(t, log.String())
			kinds := r.kinds()
			assert.Zero(t, kinds[mortise.KindIngested]+kinds[mortise.KindTerminated]+kinds[mortise.KindRetrying], kinds)
			queued, err := r.sweeper.RunOnce(t.Context())
			require.NoError(t, err)
			require.Zero(t, queued)
			assert.Empty(t, log.String())
		})
	}
}

// TestDeletedWhileIngesting: what is at work on a dataset when its organization is
// deleted ends with ErrDatasetNotFound, and nothing is stored.
func TestDeletedWhileIngesting(t *testing.T) {
	var log bytes.Buffer
	r := newRig(t, func(o *audiosearch.Options, w *audiosearch.WorkerOptions) {
		warningsTo(&log)(o, w)
		o.Part = 2 * time.Second
		o.Ingesting = 1
	})
	r.video("a", 30_000, nil, nil)
	r.video("b", 30_000, nil, nil)
	var once sync.Once
	hook := func(ctx context.Context) (err error) {
		once.Do(func() { _, err = r.DeleteOrganization(ctx, org, "ada") })
		return err
	}
	r.scorer.hook.Store(&hook)
	in, err := r.Ingest(t.Context(), org, "", "d")
	require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
	assert.Zero(t, in.Scored)
	assert.Empty(t, in.Problems)
	assert.Empty(t, log.String())
	more, err := r.DeleteOrganization(t.Context(), org, "")
	require.NoError(t, err)
	require.False(t, more, "nothing came back")
}

// storeThatFails fails to mark, or to remove.
type storeThatFails struct {
	audiosearch.Store
	mark, remove error
}

func (s *storeThatFails) MarkDeleted(ctx context.Context, org string, at time.Time) (time.Time, error) {
	if s.mark != nil {
		return time.Time{}, s.mark
	}
	return s.Store.MarkDeleted(ctx, org, at)
}

func (s *storeThatFails) RemoveDeleted(ctx context.Context, org string, limit int) (int, bool, error) {
	if s.remove != nil {
		return 0, false, s.remove
	}
	return s.Store.RemoveDeleted(ctx, org, limit)
}

// TestDeletionFails: it can be called again.
func TestDeletionFails(t *testing.T) {
	db := newMemory(t)
	store := &storeThatFails{Store: db.AudioSearch().Store, mark: errBroken}
	r := newRigOn(t, db, store, nil)
	r.events = nil
	_, err := r.DeleteOrganization(t.Context(), org, "ada")
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	_, err = r.Dataset(t.Context(), org, "d")
	require.NoError(t, err, "it is not marked")
	require.Empty(t, r.events)
	store.mark, store.remove = nil, errBroken
	_, err = r.DeleteOrganization(t.Context(), org, "ada")
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	store.remove = nil
	r.deleteAll("bob")
	require.Len(t, r.events, 1)
	require.Equal(t, mortise.Actor("bob"), r.events[0].Actor)
}

// TestDeletedWhileARunIsStarted: the store says so then, and the caller learns it.
func TestDeletedWhileARunIsStarted(t *testing.T) {
	db := newMemory(t)
	store := &markedAtStart{Store: db.AudioSearch().Store}
	r := newRigOn(t, db, store, nil)
	r.video("a", 1000, nil, nil)
	_, err := r.Start(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud})
	require.ErrorIs(t, err, mortise.ErrDeleted)
	require.NotErrorIs(t, err, mortise.ErrUnavailable)
}

// markedAtStart marks the organization before a run is stored.
type markedAtStart struct{ audiosearch.Store }

func (s *markedAtStart) CreateRun(ctx context.Context, r audiosearch.Run, most int) error {
	if _, err := s.MarkDeleted(ctx, r.Organization, time.UnixMicro(1)); err != nil {
		return err
	}
	return s.Store.CreateRun(ctx, r, most)
}

// TestNoJobOfADeletedOrganization: the last step of a deletion comes between a run that is
// stored and its job. No job stays in the table.
func TestNoJobOfADeletedOrganization(t *testing.T) {
	db := newMemory(t)
	store := db.AudioSearch().Store
	// It does not share the store's transactions: the run is stored first.
	queue := &deletedBeforeJob{Queue: leases.New(struct{ mortise.Leases }{db.Jobs()}, nil), store: store}
	r := newRigOver(t, db, store, queue, nil)
	r.video("a", 1000, nil, nil)
	_, err := r.Start(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud})
	require.NoError(t, err)
	require.Equal(t, 1, queue.added)
	left, err := db.Jobs().Claim(t.Context(), mortise.Claim{Token: [16]byte{1}, Kinds: []string{audiosearch.JobKind}, Limit: 1, TTL: time.Second})
	require.NoError(t, err)
	require.Empty(t, left)
}

// deletedBeforeJob deletes the organization of a job, in all steps, before it adds the job.
type deletedBeforeJob struct {
	mortise.Queue
	store audiosearch.Store
	added int
}

func (q *deletedBeforeJob) Enqueue(ctx context.Context, j mortise.Job) error {
	if _, err := q.store.MarkDeleted(ctx, j.Organization, time.UnixMicro(1)); err != nil {
		return err
	}
	for more := true; more; {
		var err error
		if _, more, err = q.store.RemoveDeleted(ctx, j.Organization, 100); err != nil {
			return err
		}
	}
	q.added++
	return q.Queue.Enqueue(ctx, j)
}
