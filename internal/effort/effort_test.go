package effort_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/effort"
)

func TestEffort(t *testing.T) {
	for _, c := range []struct {
		ci, soak string
		want     int
		some     []string
	}{
		{"", "", 1, []string{"a", "d"}},
		{"false", "0", 1, []string{"a", "d"}},
		{"true", "", 2, []string{"a", "b", "c", "d", "e"}},
		{"true", "1", 3, []string{"a", "b", "c", "d", "e"}},
		{"", "1", 3, []string{"a", "b", "c", "d", "e"}},
	} {
		t.Setenv("CI", c.ci)
		t.Setenv("MORTISE_SOAK", c.soak)
		require.Equal(t, c.want, effort.Of(1, 2, 3), "CI=%s MORTISE_SOAK=%s", c.ci, c.soak)
		require.Equal(t, c.some, effort.Some(3, []string{"a", "b", "c", "d", "e"}))
		require.Equal(t, c.some, effort.Names(3, map[string]int{"c": 0, "b": 0, "a": 0, "e": 0, "d": 0}))
		require.Empty(t, effort.Some(3, []string(nil)))
		left := slices.Sorted(maps.Keys(effort.Leave(2, []struct{ ID, Text string }{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}}, "another")))
		fromMemory := slices.Sorted(maps.Keys(effort.LeaveToMemory(2, []struct{ ID, Text string }{
			{ID: "a"}, {ID: "x/durable"}, {ID: "b"}, {ID: "x/failure"}, {ID: "c"}, {ID: "hosttx/x"}, {ID: "d"}}, "another")))
		require.Equal(t, left, fromMemory)
		if c.want == 1 {
			require.Equal(t, []string{"b", "d"}, left)
		} else {
			require.Empty(t, left)
		}
		require.Equal(t, c.want == 1, len(effort.LeaveOut("another", "a", "b")) == 2)
		var skipped bool
		t.Run("a variant", func(t *testing.T) {
			defer func() { skipped = t.Skipped() }()
			effort.InCI(t, "the usual one")
		})
		require.Equal(t, c.want == 1, skipped, "CI=%s MORTISE_SOAK=%s", c.ci, c.soak)
	}
}
