package failure_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
)

var errOwn = errors.New("own")

func TestUnavailable(t *testing.T) {
	require.NoError(t, failure.Unavailable("read", nil))
	for _, err := range []error{
		mortise.ErrNotFound, mortise.ErrExists, mortise.ErrDeleted, mortise.ErrUnavailable, fmt.Errorf("%w: x", mortise.ErrNotFound), errOwn,
	} {
		require.Equal(t, err, failure.Unavailable("read", err, errOwn))
	}
	err := failure.Unavailable("read the clock", errOwn)
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.ErrorIs(t, err, errOwn)
	require.EqualError(t, err, "mortise: unavailable: read the clock: own")
}

func TestProblems(t *testing.T) {
	var p failure.Problems
	p.Name("id", "a")
	require.Equal(t, 50, p.Limit(0))
	require.Equal(t, mortise.MaxPageSize, p.Limit(mortise.MaxPageSize))
	require.NoError(t, p.Err())
	p.Name("id", "")
	p.Limit(-1)
	p.Limit(mortise.MaxPageSize + 1)
	p.AddAt(mortise.Path{{Field: "list"}, {Index: 2}}, "is %d", 3)
	var invalid *mortise.ValidationError
	require.ErrorAs(t, p.Err(), &invalid)
	require.Len(t, invalid.Problems, 4)
	require.Equal(t, "limit: must be between 1 and 1000", invalid.Problems[1].Error())
	require.Equal(t, "list[2]: is 3", invalid.Problems[3].Error())
}

func TestReason(t *testing.T) {
	own := []failure.Class{{Err: errOwn, Reason: mortise.ReasonLimit}}
	for want, errs := range map[mortise.Reason][]error{
		"":                        {nil},
		mortise.ReasonInvalid:     {&mortise.ValidationError{}},
		mortise.ReasonLimit:       {errOwn, fmt.Errorf("%w: %w", errOwn, mortise.ErrNotFound)},
		mortise.ReasonNotFound:    {mortise.ErrNotFound},
		mortise.ReasonConflict:    {mortise.ErrExists},
		mortise.ReasonDeleted:     {mortise.ErrDeleted},
		mortise.ReasonUnavailable: {mortise.ErrUnavailable, failure.Unavailable("x", context.DeadlineExceeded)},
		mortise.ReasonFailed:      {errors.New("x"), context.DeadlineExceeded},
	} {
		for _, err := range errs {
			require.Equal(t, want, failure.Reason(err, own), "%v", err)
		}
	}
}

// TestFromHook: an error of another service, which a hook returns, is not an error about
// the arguments and the objects of this one.
func TestFromHook(t *testing.T) {
	require.NoError(t, failure.FromHook(nil))
	problem := mortise.Problem{Path: mortise.Path{{Field: "limit"}}, Message: "x"}
	theirs := errors.Join(errOwn, mortise.ErrNotFound, mortise.ErrExists, mortise.ErrDeleted, mortise.ErrUnavailable,
		&mortise.ValidationError{Problems: []mortise.Problem{problem}}, problem)
	err := failure.FromHook(fmt.Errorf("theirs: %w", theirs), mortise.ErrNotFound)
	require.Equal(t, "theirs: "+theirs.Error(), err.Error())
	require.ErrorIs(t, err, errOwn)
	require.ErrorIs(t, err, mortise.ErrNotFound, "the hook can mean it")
	for _, other := range []error{mortise.ErrExists, mortise.ErrDeleted, mortise.ErrUnavailable} {
		require.NotErrorIs(t, err, other)
	}
	require.False(t, errors.As(err, new(*mortise.ValidationError)))
	require.False(t, errors.As(err, new(mortise.Problem)))
	require.ErrorIs(t, failure.Unavailable("ask", failure.FromHook(mortise.ErrDeleted)), mortise.ErrUnavailable)
}
