package audiosearch

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

func TestFilterCheck(t *testing.T) {
	m := metadata.Map{"title": metadata.String("night in the north"), "year": metadata.Int(2024), "gone": {}}
	part := func(key, value string) metadata.Filter {
		return metadata.Filter{Key: key, Value: value, Op: metadata.OpContains}
	}
	for want, lists := range map[bool][][]metadata.Filter{
		true: {
			nil,
			{part("title", "night"), part("title", "north"), part("title", "t"), part("title", ""), part("title", "in")},
			{part("year", "02"), {Key: "year", Value: "2024.0", Op: metadata.OpGreaterOrEqual}, {Key: "title", Value: "x", Op: metadata.OpNotEqual}},
		},
		false: {
			{part("title", "night"), part("title", "south")},
			{part("title", "night"), part("year", "5")},
			{part("gone", "")}, {part("none", "")}, {{Key: "gone", Value: "x", Op: metadata.OpNotEqual}},
			{part("title", "night"), {Key: "year", Value: "2024", Op: metadata.OpLess}},
			{part("title", strings.Repeat("n", 64))},
		},
	} {
		for _, filters := range lists {
			check, err := newFilterCheck(filters)
			require.NoError(t, err)
			passes, err := check.passes(t.Context(), m)
			require.NoError(t, err)
			require.Equal(t, want, passes, "%v", filters)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	check, err := newFilterCheck(nil)
	require.NoError(t, err)
	_, err = check.passes(ended, m)
	require.ErrorIs(t, err, context.Canceled)
	_, err = newFilterCheck([]metadata.Filter{{Key: "year", Value: "x", Op: metadata.OpLess}})
	require.ErrorContains(t, err, "must be a number")
}
