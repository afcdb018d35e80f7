package steps_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/steps"
)

// said has the results of a step.
type said struct {
	n    int
	more bool
	err  error
}

// scripted returns a step that returns one after the other, and counts the calls.
func scripted(calls *int, all ...said) steps.Step {
	return func(context.Context, int) (int, bool, error) {
		s := all[*calls]
		*calls++
		return s.n, s.more, s.err
	}
}

func TestRunGoesByMoreAlone(t *testing.T) {
	for name, c := range map[string]struct {
		said  []said
		total int
	}{
		"fewer than the limit": {[]said{{n: 1, more: true}, {n: 3, more: true}, {n: 2}}, 6},
		"the limit, and all":   {[]said{{n: 10}}, 10},
		"nothing":              {[]said{{}}, 0},
	} {
		calls := 0
		n, err := steps.Run(t.Context(), "Prune", 10, scripted(&calls, c.said...))
		require.NoError(t, err, name)
		require.Equal(t, c.total, n, name)
		require.Equal(t, len(c.said), calls, name)
	}
}

func TestRunPassesItsLimit(t *testing.T) {
	_, err := steps.Run(t.Context(), "Prune", 42, func(_ context.Context, limit int) (int, bool, error) {
		require.Equal(t, 42, limit)
		return 0, false, nil
	})
	require.NoError(t, err)
}

func TestRunEndsAStepThatDoesNothing(t *testing.T) {
	calls := 0
	n, err := steps.Run(t.Context(), "Prune", 10, scripted(&calls, said{n: 4, more: true}, said{more: true}))
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.ErrorContains(t, err, "Prune")
	require.Equal(t, 4, n)

	calls = 0
	_, more, err := steps.Once(t.Context(), "Compact", 10, scripted(&calls, said{more: true}))
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.ErrorContains(t, err, "Compact")
	require.False(t, more)
}

func TestRunReturnsWhatWasDoneBeforeAnError(t *testing.T) {
	calls, broken := 0, errors.New("disk on fire")
	n, err := steps.Run(t.Context(), "Prune", 10, scripted(&calls, said{n: 4, more: true}, said{n: 2, more: true, err: broken}))
	require.ErrorIs(t, err, broken)
	require.Equal(t, 6, n)
}

func TestRunLooksAtTheContextBetweenSteps(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	n, err := steps.Run(ctx, "Prune", 10, func(context.Context, int) (int, bool, error) {
		calls++
		cancel()
		return 10, true, nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 10, n)
	require.Equal(t, 1, calls)
}
