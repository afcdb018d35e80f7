package audiosearchdb

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCatalogsKept: who has much forgets its own, those that it used longest ago, and never
// the little of others.
func TestCatalogsKept(t *testing.T) {
	t.Parallel()
	cs := audioCatalogs{limit: 100 * emptyCatalog}
	use := func(org string, dataset int64, bytes int) {
		cs.count(dataset, cs.get(org, dataset), (bytes-1)*emptyCatalog)
	}
	kept := func() []int64 { return slices.Sorted(maps.Keys(cs.all)) }
	use("small", 1, 10)
	for dataset := int64(2); dataset < 50; dataset++ {
		use("large", dataset, 20)
	}
	require.Equal(t, []int64{1, 46, 47, 48, 49}, kept())
	cs.get("large", 46)
	use("large", 50, 20)
	require.Equal(t, []int64{1, 46, 48, 49, 50}, kept())
	use("huge", 60, 1000)
	require.Equal(t, []int64{1, 46, 50, 60}, kept(), "half of the room is for others")
	use("another", 61, 1000)
	require.Equal(t, []int64{1, 46, 50, 61}, kept())

	c := cs.get("another", 61)
	delete(cs.all, 61)
	cs.count(61, c, 10)
	require.Equal(t, []int64{1, 46, 50}, kept(), "a catalog that was forgotten")
	for dataset := range int64(1000) {
		cs.get("of nothing", 100+dataset)
	}
	require.Contains(t, kept(), int64(1))
	require.LessOrEqual(t, len(kept()), 100, "those of empty datasets")
}
