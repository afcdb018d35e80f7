package mortise_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
)

func TestValidationError(t *testing.T) {
	limit := mortise.Problem{Path: mortise.Path{{Field: "limit"}}, Message: "is too large"}
	key := mortise.Problem{Path: mortise.Path{{Field: "filters"}, {Index: 1}, {Field: "key"}}, Kind: "unknown", Message: "is unknown"}
	var err error = &mortise.ValidationError{Problems: []mortise.Problem{limit, key}}
	require.EqualError(t, err, "mortise: invalid request: limit: is too large; filters[1].key: is unknown")
	var first mortise.Problem
	require.ErrorAs(t, err, &first)
	require.Equal(t, limit, first)
	require.ErrorIs(t, err, key)
	key.Kind = "another"
	require.NotErrorIs(t, err, key)
	require.EqualError(t, new(mortise.ValidationError), "mortise: invalid request")
	require.False(t, errors.Is(new(mortise.ValidationError), limit))
}
