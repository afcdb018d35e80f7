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

// TestStats: an event waits, is running, waits for another attempt, and then it has
// ended, for its organization and among those of all.
func TestStats(t *testing.T) {
	var during func()
	var result error
	f := triggertest.New(t, &triggertest.Options{
		Processor: func(context.Context, trigger.Event) (trigger.Outcome, error) {
			during()
			return trigger.Outcome{}, result
		},
	})
	has := func(when string, want trigger.Stats, next time.Time) {
		t.Helper()
		stats, err := f.Stats(t.Context(), "acme")
		require.NoError(t, err, when)
		require.Equal(t, want, stats, when)
		open, err := f.StatsAll(t.Context())
		require.NoError(t, err, when)
		all := trigger.AllStats{
			Waiting: want.Waiting, Running: want.Running, Failed: want.Failed, NextDue: next,
		}
		require.Equal(t, all, open, when)
	}
	one, two := mortise.Count{N: 1}, mortise.Count{N: 2}
	step := func(running trigger.Stats, next time.Time, err error) {
		t.Helper()
		asked := false
		during, result = func() { asked = true; has("meanwhile", running, next) }, err
		found, err := f.Worker.RunOnce(t.Context())
		require.NoError(t, err)
		require.True(t, found && asked)
	}

	has("at first", trigger.Stats{}, time.Time{})
	begun := f.Now()
	_, err := f.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "first"})
	require.NoError(t, err)
	f.Advance(time.Second)
	now := f.Now()
	second, err := f.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "second"})
	require.NoError(t, err)
	has("submitted", trigger.Stats{Waiting: two, OldestWaiting: begun}, begun)

	again := trigger.RetryAfter(errors.New("not yet"), time.Minute)
	step(trigger.Stats{Waiting: one, Running: one, OldestWaiting: now}, now, again)
	has("put off", trigger.Stats{Waiting: two, OldestWaiting: begun}, now)

	later := now.Add(time.Minute)
	step(trigger.Stats{Waiting: one, Running: one, OldestWaiting: begun}, later,
		trigger.Permanent(errors.New("never")))
	has("failed", trigger.Stats{Waiting: one, Failed: one, OldestWaiting: begun}, later)

	f.Advance(time.Minute)
	step(trigger.Stats{Running: one, Failed: one}, time.Time{}, nil)
	has("done", trigger.Stats{Completed: one, Failed: one}, time.Time{})

	_, err = f.Retry(t.Context(), "acme", "", second.ID)
	require.NoError(t, err)
	has("by hand", trigger.Stats{Waiting: one, Completed: one, OldestWaiting: now}, later)

	stats, err := f.Stats(t.Context(), "another")
	require.NoError(t, err)
	require.Zero(t, stats)
}

// countless is a store that cannot count, and answers something all the same.
type countless struct{ *memory.Trigger }

func (countless) Stats(_ context.Context, _ string, most int) (trigger.Stats, error) {
	return trigger.Stats{Completed: mortise.Count{N: most}}, triggertest.ErrInjected
}

func (countless) StatsAll(_ context.Context, most int) (trigger.AllStats, error) {
	return trigger.AllStats{Running: mortise.Count{N: most}}, triggertest.ErrInjected
}

// TestStatsUnavailable: without an answer of the store there is none.
func TestStatsUnavailable(t *testing.T) {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	service, err := trigger.New(trigger.Backend{Store: countless{db.Trigger().Store.(*memory.Trigger)}, Queue: db.Queue(nil)}, nil)
	require.NoError(t, err)
	stats, err := service.Stats(t.Context(), "acme")
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.ErrorIs(t, err, triggertest.ErrInjected)
	require.Zero(t, stats)
	open, err := service.StatsAll(t.Context())
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.Zero(t, open)
}
