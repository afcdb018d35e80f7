package sqlite

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// TestSearchOfSelections: whether few videos are selected or many, in some blocks or all, a search finds what is in them. Each way to find the
// blocks out is taken.
func TestSearchOfSelections(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	tables := db.AudioSearch()
	require.NoError(t, tables.CreateDataset(t.Context(), audiosearch.Dataset{Organization: "acme", ID: "d"}))
	random := rand.New(rand.NewPCG(3, 4))
	const first, second = 1000, 300 // videos that are packed together
	scores := make([]uint16, first+second)
	metadata := func(i int) audiosearch.Metadata {
		return audiosearch.Metadata{
			"all": audiosearch.Bool(true), "mod": audiosearch.Int(int64(i % 50)), "number": audiosearch.Int(int64(i)),
			"most": audiosearch.Bool(i < first || i == first+second-1), // the last one shows whether somebody has stopped looking
		}
	}
	video := func(i int) string { return fmt.Sprintf("v%05d", i) }
	for _, part := range [][2]int{{0, first}, {first, first + second}} {
		var videos []audiosearch.Video
		for i := part[0]; i < part[1]; i++ {
			videos = append(videos, audiosearch.Video{ID: video(i), Path: "p", Metadata: metadata(i)})
		}
		require.NoError(t, tables.PutVideos(t.Context(), "acme", "d", videos))
		require.NoError(t, db.writer.write(t.Context(), func(tx *tx) error {
			c, err := tx.changeDataset("acme", "d")
			if err != nil {
				return err
			}
			for _, i := range random.Perm(len(videos)) {
				scores[part[0]+i] = uint16(random.IntN(500))
				s := audiosearch.Scoring{Model: "m", Windows: 1, Classes: []audiosearch.Class{3}}
				args, err := newScoringArgs(&s, [][]uint16{{scores[part[0]+i]}})
				if err != nil {
					return err
				}
				seq, _, err := c.video(videos[i].ID)
				if err != nil {
					return err
				}
				if err := c.putScoring(seq, &args); err != nil {
					return err
				}
			}
			return c.note()
		}))
		for more := true; more; {
			more, err = tables.Compact(t.Context())
			require.NoError(t, err)
		}
	}
	require.Equal(t, []int{first, second}, numbers(t, db, "SELECT windows FROM audiosearch_blocks WHERE packed = 1 ORDER BY seq"))
	for _, f := range []audiosearch.Filter{
		{Key: "all", Value: "true"}, {Key: "most", Value: "true"}, {Key: "most", Value: "false"}, {Key: "mod", Value: "7"},
		{Key: "mod", Op: audiosearch.OpLess, Value: "25"}, {Key: "number", Value: "17"}, {Key: "number", Op: audiosearch.OpLess, Value: "90"},
		{Key: "number", Op: audiosearch.OpGreaterOrEqual, Value: "1000"}, {Key: "number", Value: "none"},
	} {
		for _, limit := range []int{1, 40, first + second} {
			q := audiosearch.ScoreQuery{Model: "m", Class: 3, Filters: []audiosearch.Filter{f}, Limit: limit}
			p, err := f.Predicate()
			require.NoError(t, err)
			want := []audiosearch.Hit{}
			for i, score := range scores {
				if p.Match(metadata(i)[f.Key]) {
					want = append(want, audiosearch.Hit{Video: video(i), Score: score})
				}
			}
			slices.SortStableFunc(want, func(a, b audiosearch.Hit) int { return cmp.Compare(b.Score, a.Score) })
			got, err := tables.Search(t.Context(), "acme", "d", q)
			require.NoError(t, err)
			require.Equal(t, want[:min(limit, len(want))], append([]audiosearch.Hit{}, got...), "%+v", q)
		}
	}
}
