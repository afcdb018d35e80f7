package mortise_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
)

func TestPath(t *testing.T) {
	tables := mortise.Path{{Field: "tables"}}
	for want, p := range map[string]mortise.Path{
		"": nil, "tables": tables, "tables[0]": tables.Item(0), "[12]": mortise.Path(nil).Item(12),
		"tables[0].columns[2].format": tables.Item(0).Field("columns").Item(2).Field("format"),
		"[3][4].a.b":                  {{Index: 3}, {Index: 4}, {Field: "a"}, {Field: "b"}},
	} {
		require.Equal(t, want, p.String())
	}
	require.Equal(t, mortise.Path{{Field: "tables"}, {Index: 1}, {Field: "name"}}, tables.Item(1).Field("name"))
}

// TestPathsShareNothing: two paths that go on from one do not change each other.
func TestPathsShareNothing(t *testing.T) {
	from := append(make(mortise.Path, 0, 8), mortise.Step{Field: "tables"})
	first, second := from.Item(0).Field("name"), from.Item(1).Field("columns")
	again, other := from.Field("a"), from.Field("b")
	item, next := from.Item(0), from.Item(1)
	require.Equal(t, "tables[0] tables[1]", item.String()+" "+next.String())
	require.Equal(t, "tables[0].name", first.String())
	require.Equal(t, "tables[1].columns", second.String())
	require.Equal(t, "tables.a", again.String())
	require.Equal(t, "tables.b", other.String())
}

// A host that answers in its own words goes through the steps.
func ExamplePath() {
	path := mortise.Path{{Field: "metadata_filters"}, {Index: 2}, {Field: "key"}}
	var loc []any
	for _, step := range path {
		if step.Field == "" {
			loc = append(loc, step.Index)
		} else {
			loc = append(loc, step.Field)
		}
	}
	fmt.Println(path, len(loc), loc)
	// Output: metadata_filters[2].key 3 [metadata_filters 2 key]
}
