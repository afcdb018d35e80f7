package columnar

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// library has videos with a long text each, ten cameras, a shelf that goes with the
// camera, and a number.
func library(videos int) *Columns {
	var c Columns
	for row := range uint32(videos) {
		c.Set(row, metadata.Map{
			"camera": metadata.String(fmt.Sprint("camera ", row%10)),
			"shelf":  metadata.String(fmt.Sprint("shelf ", row%10)),
			"number": metadata.Int(int64(row)),
			"notes":  metadata.String(fmt.Sprintf("%s %d", strings.Repeat("a", 60_000), row)),
		})
	}
	return &c
}

func contains(key, value string) metadata.Filter {
	return metadata.Filter{Key: key, Op: metadata.OpContains, Value: value}
}

// TestValuesLookedAt counts the values that texts are searched in.
func TestValuesLookedAt(t *testing.T) {
	const videos = 400
	c := library(videos)
	looks := make(map[string]int)
	c.looked = func(value string) { looks[value]++ }
	equal := func(key, value string) metadata.Filter { return metadata.Filter{Key: key, Value: value} }
	number := func(op metadata.Op, value string) metadata.Filter {
		return metadata.Filter{Key: "number", Op: op, Value: value}
	}
	tests := []struct {
		name    string
		filters []metadata.Filter
		looks   int
		found   int
	}{
		{"alone", nil, videos, videos},
		{"no camera", []metadata.Filter{equal("camera", "camera 11")}, 0, 0},
		{"two cameras", []metadata.Filter{equal("camera", "camera 1"), equal("camera", "camera 2")}, 0, 0},
		{"a camera without that shelf", []metadata.Filter{equal("camera", "camera 1"), equal("shelf", "shelf 2")}, 0, 0},
		{"a camera that is not to be", []metadata.Filter{equal("camera", "camera 1"), {Key: "camera", Op: metadata.OpNotEqual, Value: "camera 1"}}, 0, 0},
		{"no number between", []metadata.Filter{number(">", "5"), number("<", "6")}, 0, 0},
		{"the narrower bounds count", []metadata.Filter{number(">", "-1"), number(">=", "7"), number("<=", "900"), number("<", "9"), number("<=", "9")}, 2, 2},
		{"a value that is a number and contains", []metadata.Filter{equal("number", "17"), contains("number", "7"), number(">", "16.9")}, 2, 1},
		{"a value that does not contain", []metadata.Filter{equal("number", "17"), contains("number", "8")}, 1, 0},
		{"no key", []metadata.Filter{equal("lens", "wide")}, 0, 0},
		{"few", []metadata.Filter{number("<", "3"), equal("camera", "camera 1")}, 1, 1},
		{"a tenth", []metadata.Filter{equal("camera", "camera 1")}, videos / 10, videos / 10},
		{"a small dictionary first", []metadata.Filter{contains("camera", "era 3"), contains("camera", "cam")}, 10 + videos/10, videos / 10},
		{"which leaves nothing", []metadata.Filter{contains("camera", "era 3"), contains("camera", "era 4")}, 10, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			clear(looks)
			c.kept.forget()
			filters := test.filters
			for i := range 90 { // all of which match
				filters = append(filters, contains("notes", strings.Repeat("a", 60-i%50)))
			}
			selected, err := c.Select(t.Context(), filters)
			require.NoError(t, err)
			require.Equal(t, test.found, selected.Len())
			require.Len(t, looks, test.looks)
			for value, n := range looks {
				require.Equal(t, 1, n, "looks at a value for all its filters: %.20s", value)
			}
		})
	}
}

// endsAfter is a context that ends after so many looks at it.
type endsAfter struct {
	context.Context
	looks atomic.Int64
}

func (c *endsAfter) Err() error {
	if c.looks.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

func ending(t *testing.T, looks int64) *endsAfter {
	c := &endsAfter{Context: t.Context()}
	c.looks.Store(looks)
	return c
}

// TestContextThatEnds ends contexts in the middle of the work, and counts what is done after that.
func TestContextThatEnds(t *testing.T) {
	c := library(400)
	looks := 0
	c.looked = func(string) { looks++ }
	for _, filters := range [][]metadata.Filter{
		{contains("notes", "a")},
		{contains("notes", "a"), {Key: "camera", Value: "camera 1"}},
	} {
		looks = 0
		_, err := c.Select(ending(t, 3), filters) // one look before, one for each long value
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 3, looks)
	}

	var wide Columns
	var scores Scores
	const videos = 140_000
	for row := range uint32(videos) {
		wide.Set(row, metadata.Map{"n": metadata.Int(int64(row)), "even": metadata.Bool(row%2 == 0)})
		scores.Put(row, []sound.Class{"0"}, [][]uint16{{uint16(row)}})
	}
	less := []metadata.Filter{{Key: "n", Op: metadata.OpLess, Value: "139999"}}
	many := append(less, metadata.Filter{Key: "even", Op: metadata.OpNotEqual, Value: "x"})
	for name, filters := range map[string][]metadata.Filter{"all": nil, "less": less, "many": many} {
		for _, page := range []Page{{Limit: 10}, {Offset: 100_000, Limit: 10}} {
			rank := func(ctx context.Context) (*Ranking, error) {
				wide.kept.forget()
				var selected *Selection
				if filters != nil {
					var err error
					selected, err = wide.Select(t.Context(), filters)
					require.NoError(t, err)
				}
				r := NewRanking(page, cmp.Compare[uint32])
				_, err := scores.Rank(ctx, "0", selected, r)
				return r, err
			}
			all := ending(t, 1<<40)
			_, err := rank(all)
			require.NoError(t, err)
			needed := 1<<40 - all.looks.Load()
			require.Positive(t, needed, "%s, %+v: looks at the context", name, page)
			for looks := int64(0); looks < needed; looks += 1 + needed/10 {
				_, err := rank(ending(t, looks))
				require.ErrorIs(t, err, context.Canceled, "%s, %+v, %d of %d", name, page, looks, needed)
			}
		}
	}
}
