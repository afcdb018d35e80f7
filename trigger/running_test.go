package trigger_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// afterStore calls a function when an update of an event is committed, before the caller hears
// of it.
type afterStore struct {
	trigger.Store
	then func()
}

func (a *afterStore) UpdateEvent(ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) error) error {
	err := a.Store.UpdateEvent(ctx, org, id, update)
	if then := a.then; then != nil {
		a.then = nil
		then()
	}
	return err
}

// TestCancelEndsNoLaterGeneration: a Cancel that is followed by a Retry ends no attempt of the
// generation that the Retry has begun.
func TestCancelEndsNoLaterGeneration(t *testing.T) {
	db := openMemory(t)
	store := &afterStore{Store: db.Trigger().Store}
	s, err := trigger.New(trigger.Backend{Store: store, Queue: struct{ mortise.Queue }{db.Queue(nil)}},
		&trigger.Options{Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
	require.NoError(t, err)
	begun, end := make(chan struct{}), make(chan struct{})
	w, err := trigger.NewWorker(s, func(ctx context.Context, _ trigger.Event) (trigger.Outcome, error) {
		close(begun)
		select {
		case <-ctx.Done():
			return trigger.Outcome{}, context.Cause(ctx)
		case <-end:
			return trigger.Outcome{}, nil
		}
	}, &trigger.WorkerOptions{MaxAttempts: 1})
	require.NoError(t, err)
	e := submit(t, s, "a")
	handled := make(chan mortise.Verdict, 1)
	store.then = func() { // Cancel is committed, and another request retries the event
		again, err := s.Retry(t.Context(), "acme", "", e.ID)
		require.NoError(t, err)
		go func() { handled <- w.Handle(context.Background(), mortise.Delivery{Job: again.Job(), Deliveries: 1}) }()
		<-begun
	}
	_, err = s.Cancel(t.Context(), "acme", "", e.ID)
	require.NoError(t, err)
	time.Sleep(50 * time.Millisecond)
	close(end)
	<-handled
	got := get(t, s, e.ID)
	assert.Equal(t, trigger.StatusCompleted, got.Status, "of generation %d: %q", got.Generation, got.LastError)
}

// TestCancelBeforeTheProcessor: a Cancel that is answered before the Processor is called ends its
// context at once, as of each attempt in this process.
func TestCancelBeforeTheProcessor(t *testing.T) {
	db := openMemory(t)
	var s *trigger.Service
	s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: struct{ mortise.Queue }{db.Queue(nil)}},
		&trigger.Options{Env: mortise.Env{Logger: slog.New(slog.DiscardHandler), Observer: func(ctx context.Context, o mortise.Observation) {
			if o.Kind == mortise.KindStarted { // an attempt is running, as the host has just been told
				_, err := s.Cancel(ctx, o.Organization, "", uuid.MustParse(o.Object))
				assert.NoError(t, err)
			}
		}}})
	require.NoError(t, err)
	var cause error
	w, err := trigger.NewWorker(s, func(ctx context.Context, _ trigger.Event) (trigger.Outcome, error) {
		cause = context.Cause(ctx)
		return trigger.Outcome{}, nil
	}, nil)
	require.NoError(t, err)
	e := submit(t, s, "a")
	w.Handle(t.Context(), mortise.Delivery{Job: e.Job(), Deliveries: 1})
	assert.ErrorIs(t, cause, trigger.ErrCancelled, "the Processor begins after the cancellation was answered")
}

// staleProgress answers with the generation before.
type staleProgress struct{ trigger.Store }

func (s staleProgress) Progress(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]trigger.Progress, error) {
	found, err := s.Store.Progress(ctx, ids)
	for id, p := range found {
		found[id] = trigger.Progress{Status: trigger.StatusCancelled, Generation: p.Generation - 1}
	}
	return found, err
}

// TestStaleProgress: an answer of the store that was read before a Retry ends no attempt of the
// generation that the Retry has begun.
func TestStaleProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openMemory(t)
		s, err := trigger.New(trigger.Backend{Store: staleProgress{db.Trigger().Store}, Queue: db.Queue(nil)}, nil)
		require.NoError(t, err)
		w, err := trigger.NewWorker(s, func(ctx context.Context, _ trigger.Event) (trigger.Outcome, error) {
			time.Sleep(time.Minute)
			return trigger.Outcome{}, context.Cause(ctx)
		}, nil)
		require.NoError(t, err)
		e := submit(t, s, "a")
		assert.Equal(t, mortise.VerdictDone, w.Handle(t.Context(), mortise.Delivery{Job: e.Job(), Deliveries: 1}).Kind)
		assert.Equal(t, trigger.StatusCompleted, get(t, s, e.ID).Status)
	})
}
