package httpadapter

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPaceOfCallers: as many as a second may have come at once, one at least, and then one
// after the other. Many callers are forgotten, but none who would come too soon.
func TestPaceOfCallers(t *testing.T) {
	for _, wrong := range []float64{0, -1, 1e6 + 1, math.NaN(), math.Inf(1)} {
		_, err := NewCallerLimit(wrong)
		require.Error(t, err, wrong)
	}
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ada := Principal{Organization: "acme", Subject: "ada"}
	for rate, atOnce := range map[float64]int{2.5: 3, 1: 1, 0.1: 1, 100: 100, 1e-12: 1, 1e6: 1e6} {
		l, err := NewCallerLimit(rate)
		require.NoError(t, err)
		for range atOnce {
			if l.take(ada, begin) != 0 { // a million times
				require.Fail(t, "too soon", "%v", rate)
			}
		}
		wait := l.take(ada, begin)
		pace := min(1/rate, math.MaxInt64/4/1e9)
		require.InDelta(t, pace, wait.Seconds(), 1e-6+pace/1e6, rate)
		require.Equal(t, wait, l.take(ada, begin), "what is refused does not count")
		require.Zero(t, l.take(Principal{Organization: "rival", Subject: "ada"}, begin))
		require.Zero(t, l.take(ada, begin.Add(wait)))
		require.NotZero(t, l.take(ada, begin.Add(wait)))
	}
	l, err := NewCallerLimit(1)
	require.NoError(t, err)
	for i := range 5000 {
		at := begin.Add(time.Duration(i) * 10 * time.Millisecond)
		require.Zero(t, l.take(Principal{Organization: "acme", Subject: fmt.Sprint(i)}, at))
		require.NotZero(t, l.take(Principal{Organization: "acme", Subject: fmt.Sprint(i)}, at))
		require.Less(t, len(l.next), 1300)
	}
}
