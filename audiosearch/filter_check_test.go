package audiosearch_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// unfiltered is a Store that finds segments whatever the filters, as if all metadata were
// changed while a search looks at them.
type unfiltered struct{ audiosearch.Store }

func (u unfiltered) Search(
	ctx context.Context, org, dataset string, q audiosearch.ScoreQuery,
) ([]audiosearch.Hit, error) {
	q.Filters = nil
	return u.Store.Search(ctx, org, dataset, q)
}

// TestFilterCheck: a video that is found must still pass the filters when it is
// described.
func TestFilterCheck(t *testing.T) {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	r := newRigOn(t, db, unfiltered{db.AudioSearch().Store}, nil)
	m := metadata.Map{"title": metadata.String("night in the north"), "year": metadata.Int(2024), "gone": {}}
	r.video("v", 1000, nil, m)
	r.video("other", 1000, nil, metadata.Map{"none": metadata.Int(0)}) // or the key were refused
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
			var found []string
			for _, result := range r.search(audiosearch.Query{Class: loud, Filters: filters}).Results {
				found = append(found, result.VideoID)
			}
			require.Equal(t, want, slices.Contains(found, "v"), "%v", filters)
		}
	}
}
