package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
)

// RevocationsText is the rule of mortise.Revocations, which each suite has for its own methods.
const RevocationsText = "Each call that takes something away makes Revocations larger, and tells its time; other calls leave it as it is, and so do calls that fail."

// Taken is a call of a store.
type Taken struct {
	Method string
	At     time.Time // of the revocation; zero: none
	Takes  bool
	Call   func() error
}

// TakesAway requires that calls make the number larger if they take something away, and that
// RaiseRevocations never makes it smaller.
func TakesAway(t *testing.T, store any, calls ...Taken) {
	t.Helper()
	r := store.(mortise.RevocationCounter)
	database := ""
	number := func() (int64, time.Time) {
		now, err := r.Revocations(t.Context())
		require.NoError(t, err)
		require.NotEmpty(t, now.Database)
		require.Contains(t, []string{"", now.Database}, database, "it stays")
		database = now.Database
		return now.N, now.Last
	}
	for _, c := range calls {
		before, was := number()
		err := c.Call()
		after, last := number()
		if !c.Takes {
			require.Equal(t, before, after, "after %s", c.Method)
			continue
		}
		require.NoError(t, err, c.Method)
		require.Greater(t, after, before, "after %s", c.Method)
		if c.At.After(was) {
			require.True(t, c.At.Equal(last), "the time after %s: %v", c.Method, last)
		}
	}
	n, last := number()
	for _, to := range []int64{n + 1000, n, 0, n + 1001} {
		before, _ := number()
		require.NoError(t, r.RaiseRevocations(t.Context(), to))
		after, same := number()
		require.Equal(t, max(before, to), after)
		require.Equal(t, last, same)
	}
}
