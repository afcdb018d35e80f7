package audiosearch_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
)

// TestStats: a run is waiting, then running, and then it has ended, for its organization
// and among those of all.
func TestStats(t *testing.T) {
	now := noon
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
		o.Now = func() time.Time { return now }
	})
	one := mortise.Count{N: 1}
	want := audiosearch.Stats{Datasets: one}
	has := func(open audiosearch.AllStats) {
		t.Helper()
		stats, err := r.Stats(t.Context(), org)
		require.NoError(t, err)
		require.Equal(t, want, stats)
		all, err := r.StatsAll(t.Context())
		require.NoError(t, err)
		require.Equal(t, open, all)
	}
	has(audiosearch.AllStats{})
	r.video("a", 5000, map[int]byte{100: 255}, nil)
	want.Videos = one
	first := r.start(audiosearch.Query{Class: loud})
	now = now.Add(time.Second)
	second := r.start(audiosearch.Query{Class: quiet})
	want.Waiting, want.OldestWaiting = mortise.Count{N: 2}, noon
	has(audiosearch.AllStats{Waiting: want.Waiting, NextDue: noon})

	_, err := r.Cancel(t.Context(), org, "ada", "d", first)
	require.NoError(t, err)
	want.Waiting, want.ClientErrors, want.OldestWaiting = one, one, now
	has(audiosearch.AllStats{Waiting: one, NextDue: now})

	asked := false
	hook := func(context.Context) error {
		if !asked {
			want.Waiting, want.Running, want.OldestWaiting = mortise.Count{}, one, time.Time{}
			has(audiosearch.AllStats{Running: one})
			asked = true
		}
		return nil
	}
	r.scorer.hook.Store(&hook)
	r.drain(2)
	require.True(t, asked)
	require.Equal(t, audiosearch.Success, r.results(second).Termination)
	want.Running, want.Succeeded = mortise.Count{}, one
	has(audiosearch.AllStats{})

	stats, err := r.Stats(t.Context(), "another")
	require.NoError(t, err)
	require.Zero(t, stats)
}

// countless is a store that cannot count, and returns half of an answer.
type countless struct{ audiosearch.Store }

func (countless) Stats(_ context.Context, _ string, most int) (audiosearch.Stats, error) {
	return audiosearch.Stats{Videos: mortise.Count{N: most}}, audiosearchtest.ErrInjected
}

func (countless) StatsAll(_ context.Context, most int) (audiosearch.AllStats, error) {
	return audiosearch.AllStats{Running: mortise.Count{N: most}}, audiosearchtest.ErrInjected
}

// TestStatsUnavailable: without an answer of the store there is none.
func TestStatsUnavailable(t *testing.T) {
	db := newMemory(t)
	r := newRigOn(t, db, countless{db.AudioSearch().Store}, nil)
	stats, err := r.Stats(t.Context(), org)
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.True(t, errors.Is(err, audiosearchtest.ErrInjected))
	require.Zero(t, stats)
	open, err := r.StatsAll(t.Context())
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.Zero(t, open)
}
