package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Joined are pairs of names. Some read the same when one name is put after the other, or
// with a sign between them.
func Joined() [][2]string {
	pairs := [][2]string{{"a", "bc"}, {"ab", "c"}}
	for _, sign := range []string{"/", ":", "|", ".", "-", "_", " ", "\x01", "\x1f"} {
		pairs = append(pairs, [2]string{"a" + sign + "b", "c"}, [2]string{"a", "b" + sign + "c"})
	}
	return pairs
}

// Apart requires that things which are named by a pair, such as an organization and an ID,
// are told apart: each of them is made, all are found, and the removal of one, if there is
// one, leaves the others.
func Apart(t *testing.T, create func(pair [2]string), find func(pair [2]string) bool, remove func(pair [2]string)) {
	t.Helper()
	pairs := Joined()
	for _, pair := range pairs {
		require.False(t, find(pair), "%q is found before it is made", pair)
		create(pair)
	}
	gone := make(map[[2]string]bool)
	for _, pair := range pairs {
		for _, other := range pairs {
			require.Equal(t, !gone[other], find(other), "whether %q is found", other)
		}
		if remove != nil {
			remove(pair)
			gone[pair] = true
		}
	}
}
