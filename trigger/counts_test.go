package trigger_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// TestCounts: an event waits, is running, waits for another attempt, and then it has
// ended, in the Counts of its organization and in the Backlog.
func TestCounts(t *testing.T) {
	var during func()
	var result error
	f := triggertest.New(t, &triggertest.Options{
		Processor: func(context.Context, trigger.Event) (trigger.Outcome, error) {
			during()
			return trigger.Outcome{}, result
		},
	})
	has := func(when string, want trigger.Counts, next time.Time) {
		t.Helper()
		counts, err := f.Counts(t.Context(), "acme")
		require.NoError(t, err, when)
		require.Equal(t, want, counts, when)
		backlog, err := f.Backlog(t.Context())
		require.NoError(t, err, when)
		all := mortise.Backlog{Waiting: want.Waiting, Running: want.Running, Failed: want.Failed, NextDue: next}
		require.Equal(t, all, backlog, when)
	}
	one, two := mortise.Count{N: 1}, mortise.Count{N: 2}
	step := func(running trigger.Counts, next time.Time, err error) {
		t.Helper()
		asked := false
		during, result = func() { asked = true; has("meanwhile", running, next) }, err
		found, err := f.Worker.RunOnce(t.Context())
		require.NoError(t, err)
		require.True(t, found && asked)
	}

	has("at first", trigger.Counts{}, time.Time{})
	begun := f.Now()
	_, err := f.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "first"})
	require.NoError(t, err)
	f.Advance(time.Second)
	now := f.Now()
	second, err := f.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "second"})
	require.NoError(t, err)
	has("submitted", trigger.Counts{Waiting: two}, begun)

	again := trigger.RetryAfter(errors.New("not yet"), time.Minute)
	step(trigger.Counts{Waiting: one, Running: one}, now, again)
	has("put off", trigger.Counts{Waiting: two}, now)

	later := now.Add(time.Minute)
	step(trigger.Counts{Waiting: one, Running: one}, later,
		trigger.Permanent(errors.New("never")))
	has("failed", trigger.Counts{Waiting: one, Failed: one}, later)

	f.Advance(time.Minute)
	step(trigger.Counts{Running: one, Failed: one}, time.Time{}, nil)
	has("done", trigger.Counts{Completed: one, Failed: one}, time.Time{})

	_, err = f.Retry(t.Context(), "acme", "", second.ID)
	require.NoError(t, err)
	has("by hand", trigger.Counts{Waiting: one, Completed: one}, later)

	counts, err := f.Counts(t.Context(), "another")
	require.NoError(t, err)
	require.Zero(t, counts)
}

// countless is a store that cannot count, and answers something all the same.
type countless struct{ *memory.Trigger }

func (countless) Counts(_ context.Context, _ string, most int) (trigger.Counts, error) {
	return trigger.Counts{Completed: mortise.Count{N: most}}, triggertest.ErrInjected
}

func (countless) Backlog(_ context.Context, most int) (mortise.Backlog, error) {
	return mortise.Backlog{Running: mortise.Count{N: most}}, triggertest.ErrInjected
}

// TestCountsUnavailable: a failure of the store is ErrUnavailable.
func TestCountsUnavailable(t *testing.T) {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	service, err := trigger.New(trigger.Backend{Store: countless{db.Trigger().Store.(*memory.Trigger)}, Queue: db.Queue(nil)}, nil)
	require.NoError(t, err)
	counts, err := service.Counts(t.Context(), "acme")
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.ErrorIs(t, err, triggertest.ErrInjected)
	require.Zero(t, counts)
	backlog, err := service.Backlog(t.Context())
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.Zero(t, backlog)
}
