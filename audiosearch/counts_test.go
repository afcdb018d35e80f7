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

// TestCounts: a run is waiting, then running, and then it has ended, in the Counts of its
// organization and in the Backlog.
func TestCounts(t *testing.T) {
	now := noon
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
		o.Now = func() time.Time { return now }
	})
	one := mortise.Count{N: 1}
	var want audiosearch.Counts
	has := func(backlog mortise.Backlog) {
		t.Helper()
		counts, err := r.Counts(t.Context(), org)
		require.NoError(t, err)
		require.Equal(t, want, counts)
		all, err := r.Backlog(t.Context())
		require.NoError(t, err)
		require.Equal(t, backlog, all)
	}
	has(mortise.Backlog{})
	r.video("a", 5000, map[int]byte{100: 255}, nil)
	first := r.start(audiosearch.Query{Class: loud})
	now = now.Add(time.Second)
	second := r.start(audiosearch.Query{Class: quiet})
	want.Waiting = mortise.Count{N: 2}
	has(mortise.Backlog{Waiting: want.Waiting, NextDue: noon})

	_, err := r.Cancel(t.Context(), org, "ada", "d", first)
	require.NoError(t, err)
	want.Waiting, want.ClientErrors = one, one
	has(mortise.Backlog{Waiting: one, NextDue: now})

	asked := false
	hook := func(context.Context) error {
		if !asked {
			want.Waiting, want.Running = mortise.Count{}, one
			has(mortise.Backlog{Running: one})
			asked = true
		}
		return nil
	}
	r.scorer.hook.Store(&hook)
	r.drain(2)
	require.True(t, asked)
	require.Equal(t, audiosearch.Success, r.results(second).Termination)
	want.Running, want.Succeeded = mortise.Count{}, one
	has(mortise.Backlog{})

	counts, err := r.Counts(t.Context(), "another")
	require.NoError(t, err)
	require.Zero(t, counts)
}

// countless is a store that cannot count, and returns half of an answer.
type countless struct{ audiosearch.Store }

func (countless) Counts(_ context.Context, _ string, most int) (audiosearch.Counts, error) {
	return audiosearch.Counts{Succeeded: mortise.Count{N: most}}, audiosearchtest.ErrInjected
}

func (countless) Backlog(_ context.Context, most int) (mortise.Backlog, error) {
	return mortise.Backlog{Running: mortise.Count{N: most}}, audiosearchtest.ErrInjected
}

// TestCountsUnavailable: a failure of the store is ErrUnavailable.
func TestCountsUnavailable(t *testing.T) {
	db := newMemory(t)
	r := newRigOn(t, db, countless{db.AudioSearch().Store}, nil)
	counts, err := r.Counts(t.Context(), org)
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.True(t, errors.Is(err, audiosearchtest.ErrInjected))
	require.Zero(t, counts)
	backlog, err := r.Backlog(t.Context())
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.Zero(t, backlog)
}
