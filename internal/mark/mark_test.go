package mark_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/mark"
)

func TestAs(t *testing.T) {
	broken, permanent := errors.New("broken"), errors.New("permanent")
	err := fmt.Errorf("outside: %w", mark.As(broken, permanent))
	require.ErrorIs(t, err, broken)
	require.ErrorIs(t, err, permanent)
	require.EqualError(t, err, "outside: broken")
}

func TestAfter(t *testing.T) {
	broken := errors.New("broken")
	inner := mark.After(broken, time.Hour)
	require.ErrorIs(t, inner, broken)
	require.EqualError(t, inner, "broken")
	for _, test := range []struct {
		err  error
		wait time.Duration
		said bool
	}{
		{nil, 0, false},
		{broken, 0, false},
		{inner, time.Hour, true},
		{fmt.Errorf("outside: %w", inner), time.Hour, true},
		{mark.As(broken, inner), time.Hour, true},
		{mark.After(inner, 0), 0, true},
	} {
		wait, said := mark.Wait(test.err)
		assert.Equal(t, test.wait, wait, "%v", test.err)
		assert.Equal(t, test.said, said, "%v", test.err)
	}
}
