package oneline_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/oneline"
)

func TestJoin(t *testing.T) {
	first, second := errors.New("name: must not be empty"), errors.New("limit: must be between 1 and 1000")
	require.Empty(t, oneline.Join(nil))
	require.Equal(t, "name: must not be empty", oneline.Join([]error{first}))
	require.Equal(t, "name: must not be empty; limit: must be between 1 and 1000", oneline.Join([]error{first, second}))
}
