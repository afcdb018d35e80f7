package trigger_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// returning makes a Processor of what it returns at each call; the last one again when
// there are no more.
func returning(results ...error) trigger.Processor {
	n := 0
	return func(context.Context, trigger.Event) (trigger.Outcome, error) {
		err := results[min(n, len(results)-1)]
		n++
		return trigger.Outcome{Summary: "done"}, err
	}
}

// submit submits a request without a key and returns the event.
func submit(t *testing.T, s *trigger.Service, instructions string) trigger.Event {
	t.Helper()
	e, err := s.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: instructions})
	require.NoError(t, err)
	return e
}

// get returns the event as it is now.
func get(t *testing.T, s *trigger.Service, id uuid.UUID) trigger.Event {
	t.Helper()
	e, err := s.Event(t.Context(), "acme", id)
	require.NoError(t, err)
	return e
}

func openMemory(t *testing.T) *memory.DB { return openMemoryAt(t, time.Now) }

// openMemoryAt opens a database whose jobs go by a clock.
func openMemoryAt(t *testing.T, now func() time.Time) *memory.DB {
	t.Helper()
	db, err := memory.Open(t.Context(), &memory.Options{Now: now})
	require.NoError(t, err)
	return db
}

func TestNewNeedsItsParts(t *testing.T) {
	db := openMemory(t)
	_, err := trigger.New(trigger.Backend{Store: nil, Queue: db.Queue(nil)}, nil)
	require.Error(t, err)
	_, err = trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: nil}, nil)
	require.Error(t, err)
	s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil)}, nil)
	require.NoError(t, err)
	_, err = trigger.NewWorker(s, nil, nil)
	require.Error(t, err)
	_, err = trigger.NewWorker(nil, returning(nil), nil)
	require.Error(t, err)
	_, err = trigger.NewSweeper(nil, nil)
	require.Error(t, err)
}

func TestEventIDsAndTimes(t *testing.T) {
	f := triggertest.New(t, nil)
	f.Advance(1234567 * time.Nanosecond)
	first := submit(t, f.Service, "a")
	f.Advance(time.Second)
	second := submit(t, f.Service, "b")
	assert.EqualValues(t, 7, first.ID.Version())
	assert.Equal(t, uuid.RFC4122, first.ID.Variant())
	assert.Less(t, first.ID.String(), second.ID.String(), "IDs follow time")
	assert.Equal(t, f.Now().Add(-time.Second).Truncate(time.Microsecond), first.SubmittedAt)
	assert.Equal(t, time.UTC, first.SubmittedAt.Location())
}

func TestGet(t *testing.T) {
	f := triggertest.New(t, nil)
	e := submit(t, f.Service, "a")
	assert.Equal(t, e, get(t, f.Service, e.ID))
	_, err := f.Event(t.Context(), "other", e.ID)
	require.ErrorIs(t, err, mortise.ErrNotFound, "another organization's event")
	_, err = f.Event(t.Context(), "acme", uuid.New())
	require.ErrorIs(t, err, mortise.ErrNotFound)
	require.NotErrorIs(t, err, mortise.ErrUnavailable)

	f.Break(triggertest.StorePart)
	_, err = f.Event(t.Context(), "acme", e.ID)
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.ErrorIs(t, err, triggertest.ErrInjected, "the cause is kept")
}

func TestList(t *testing.T) {
	f := triggertest.New(t, nil)
	for i := range 120 {
		submit(t, f.Service, fmt.Sprint(i))
		f.Advance(time.Millisecond)
	}
	page, err := f.ListEvents(t.Context(), "acme", trigger.EventQuery{})
	require.NoError(t, err)
	require.Len(t, page.Items, 50, "the default")
	assert.Equal(t, "119", page.Items[0].Instructions)

	n := 119
	for e, err := range f.Events(t.Context(), "acme", trigger.EventQuery{Limit: 7}) {
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(n), e.Instructions)
		n--
	}
	assert.Equal(t, -1, n)
	for range f.Events(t.Context(), "acme", trigger.EventQuery{Limit: 1}) {
		break
	}

	for name, q := range map[string]trigger.EventQuery{
		"limit": {Limit: mortise.MaxPageSize + 1}, "negative": {Limit: -1}, "status": {Status: "lost"},
		"both": {Limit: -1, Status: "lost"},
	} {
		_, err := f.ListEvents(t.Context(), "acme", q)
		var invalid *mortise.ValidationError
		require.ErrorAs(t, err, &invalid, name)
		require.NotContains(t, err.Error(), "\n", "a message is one line")
	}

	f.Break(triggertest.StorePart)
	_, err = f.ListEvents(t.Context(), "acme", trigger.EventQuery{})
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	failures := 0
	for _, err := range f.Events(t.Context(), "acme", trigger.EventQuery{}) {
		require.ErrorIs(t, err, mortise.ErrUnavailable)
		failures++
	}
	assert.Equal(t, 1, failures)
}

func TestRetry(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{Processor: returning(trigger.Permanent(errors.New("no")), nil)})
	e := submit(t, f.Service, "a")
	_, err := f.Retry(t.Context(), "acme", "", e.ID)
	require.ErrorIs(t, err, trigger.ErrNotRetryable)

	require.Equal(t, 1, f.Drain(t.Context()))
	require.Equal(t, trigger.StatusFailed, get(t, f.Service, e.ID).Status)
	_, err = f.Retry(t.Context(), "other", "", e.ID)
	require.ErrorIs(t, err, mortise.ErrNotFound)

	again, err := f.Retry(t.Context(), "acme", "", e.ID)
	require.NoError(t, err)
	assert.Equal(t, trigger.StatusReceived, again.Status)
	assert.Equal(t, 1, again.Generation)
	assert.Zero(t, again.Attempts)
	assert.True(t, again.FinishedAt.IsZero() && again.StartedAt.IsZero())
	require.Equal(t, 1, f.Drain(t.Context()))
	assert.Equal(t, trigger.StatusCompleted, get(t, f.Service, e.ID).Status)
	_, err = f.Retry(t.Context(), "acme", "", e.ID)
	require.ErrorIs(t, err, trigger.ErrNotRetryable)
}

func TestRetryWhileTheQueueFails(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{SeparateQueue: true, Processor: returning(trigger.Permanent(errors.New("no")), nil)})
	e := submit(t, f.Service, "a")
	f.Drain(t.Context())
	heal := f.Break(triggertest.QueuePart)
	_, err := f.Retry(t.Context(), "acme", "", e.ID)
	require.NoError(t, err, "it is stored, and the sweeper will queue it")
	heal()
	assert.Zero(t, f.Drain(t.Context()), "too soon for the sweeper")
	f.Advance(31 * time.Second)
	assert.Equal(t, 1, f.Drain(t.Context()))
	assert.Equal(t, trigger.StatusCompleted, get(t, f.Service, e.ID).Status)
}

func TestPrune(t *testing.T) {
	f := triggertest.New(t, nil)
	submit(t, f.Service, "old")
	f.Drain(t.Context())
	f.Advance(time.Hour)
	limit := f.Now()
	waiting := submit(t, f.Service, "new")
	n, err := f.Prune(t.Context(), trigger.StatusCompleted, limit)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	require.Len(t, f.History(), 1)
	assert.Equal(t, waiting.ID, f.History()[0].ID)
	for _, status := range []trigger.Status{trigger.StatusReceived, trigger.StatusProcessing, "lost"} {
		var invalid *mortise.ValidationError
		_, err = f.Prune(t.Context(), status, f.Now().Add(time.Hour))
		require.ErrorAs(t, err, &invalid, status)
	}

	f.Break(triggertest.StorePart)
	_, err = f.Prune(t.Context(), trigger.StatusCompleted, limit)
	require.ErrorIs(t, err, mortise.ErrUnavailable)

	db := openMemory(t)
	s, err := trigger.New(trigger.Backend{Store: struct{ trigger.Store }{db.Trigger().Store}, Queue: db.Queue(nil)}, nil)
	require.NoError(t, err)
	_, err = s.Prune(t.Context(), trigger.StatusCompleted, limit)
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

// TestPruneKeepsIdempotencyKeys: a request that comes again within the window finds its
// event, however short the retention is.
func TestPruneKeepsIdempotencyKeys(t *testing.T) {
	f := triggertest.New(t, nil)
	sweeper, err := trigger.NewSweeper(f.Service, &trigger.SweeperOptions{Retention: trigger.Retention{Completed: time.Hour}})
	require.NoError(t, err)
	sub := trigger.Submission{Instructions: "a", IdempotencyKey: "k"}
	first, err := f.Submit(t.Context(), "acme", "", sub)
	require.NoError(t, err)
	submit(t, f.Service, "without a key")
	f.Drain(t.Context())

	f.Advance(24 * time.Hour)
	_, err = sweeper.RunOnce(t.Context())
	require.NoError(t, err)
	require.Len(t, f.History(), 1, "the event without a key is pruned")
	n, err := f.Prune(t.Context(), trigger.StatusCompleted, f.Now().Add(time.Hour))
	require.NoError(t, err)
	require.Zero(t, n, "events pruned by hand")
	again, err := f.Submit(t.Context(), "acme", "", sub)
	require.NoError(t, err)
	assert.Equal(t, first.ID, again.ID)

	f.Advance(time.Microsecond)
	_, err = sweeper.RunOnce(t.Context())
	require.NoError(t, err)
	assert.Empty(t, f.History(), "the window is over")
}

func TestPing(t *testing.T) {
	f := triggertest.New(t, nil)
	require.NoError(t, f.Ping(t.Context()))
	heal := f.Break(triggertest.StorePart)
	require.ErrorIs(t, f.Ping(t.Context()), mortise.ErrUnavailable)
	heal()
	require.NoError(t, f.Ping(t.Context()))
}
