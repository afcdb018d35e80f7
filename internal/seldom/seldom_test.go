package seldom

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLines: each key has one line a second, and the next one counts what had none.
func TestLines(t *testing.T) {
	var l Lines
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(after time.Duration) time.Time { return begin.Add(after) }
	require.Equal(t, 1, l.Add("acme", at(0)))
	require.Zero(t, l.Add("acme", at(0)))
	require.Zero(t, l.Add("acme", at(time.Second-1)))
	require.Equal(t, 1, l.Add("rival", at(time.Second-1)), "another key")
	require.Equal(t, 3, l.Add("acme", at(time.Second)))
	require.Zero(t, l.Add("acme", at(time.Second)))
	require.Equal(t, 2, l.Add("acme", at(-time.Hour)), "a clock that was set back")
	require.Equal(t, 1, l.Add("acme", at(time.Hour)))
}

// TestLinesAreBounded: a million keys leave a few thousand, the latest ones.
func TestLinesAreBounded(t *testing.T) {
	var l Lines
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range 1_000_000 {
		if l.Add(fmt.Sprint(i), now) != 1 || len(l.new)+len(l.old) > 2*most { // a million times
			require.Fail(t, "a new key has no line, or too many are kept", i)
		}
	}
	for i := 1_000_000 - most; i < 1_000_000; i++ {
		require.Zero(t, l.Add(fmt.Sprint(i), now))
	}
}
