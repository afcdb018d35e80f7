package audiosearchdb

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
)

// TestSearchOfSelections: whether few videos are selected or many, in some blocks or all,
// a search finds what is in them. Each way to find the blocks out is taken.
func TestSearchOfSelections(t *testing.T) {
	db, err := Open(t.Context(), filetest.EmptyFile(t), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	tables := db.audiosearch
	require.NoError(t, tables.CreateDataset(t.Context(), audiosearch.Dataset{Organization: "acme", ID: "d"}))
	random := rand.New(rand.NewPCG(3, 4))
	ends := []int{300, 600, 900, 1900} // of the videos that are packed together
	scores := make([]uint16, ends[3])
	meta := func(i int) metadata.Map {
		return metadata.Map{
			"all": metadata.Bool(true), "mod": metadata.Int(int64(i % 50)), "number": metadata.Int(int64(i)),
			// One or two videos of a block are found only by who looks at all of them.
			"late": metadata.Bool(i >= ends[2]-1), "ends": metadata.Bool(i == ends[0]-2 || i == ends[0]-1 || i >= 1500),
			"early": metadata.Bool(i < 700 || i == ends[3]-1),
		}
	}
	video := func(i int) string { return fmt.Sprintf("v%05d", i) }
	first := 0
	for _, end := range ends {
		var videos []audiosearch.Video
		for i := first; i < end; i++ {
			videos = append(videos, audiosearch.Video{ID: video(i), Path: "p", Metadata: meta(i)})
		}
		require.NoError(t, tables.PutVideos(t.Context(), "acme", "d", videos))
		require.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error {
			c, err := changeDataset(tx, "acme", "d")
			if err != nil {
				return err
			}
			for _, i := range random.Perm(len(videos)) {
				scores[first+i] = uint16(random.IntN(500))
				s := audiosearch.Scoring{Model: "m", Windows: 1, Classes: []sound.Class{"3"}}
				args, err := newScoringArgs(&s, [][]uint16{{scores[first+i]}})
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
			_, more, err = tables.Compact(t.Context(), audiosearch.CompactOptions{}, 100_000)
			require.NoError(t, err)
		}
		first = end
	}
	require.Equal(t, []int{300, 300, 300, 1000}, filetest.Numbers(t, db.File, "SELECT windows FROM audiosearch_blocks WHERE packed = 1 ORDER BY seq"))
	for _, f := range []metadata.Filter{
		{Key: "all", Value: "true"}, {Key: "late", Value: "true"}, {Key: "late", Value: "false"}, {Key: "ends", Value: "true"},
		{Key: "ends", Value: "false"}, {Key: "early", Value: "true"}, {Key: "early", Value: "false"}, {Key: "mod", Value: "7"},
		{Key: "mod", Op: metadata.OpLess, Value: "25"}, {Key: "number", Value: "17"}, {Key: "number", Op: metadata.OpLess, Value: "90"},
		{Key: "number", Op: metadata.OpGreaterOrEqual, Value: "1000"}, {Key: "number", Value: "none"},
	} {
		for _, limit := range []int{1, 40, len(scores)} {
			q := audiosearch.ScoreQuery{Model: "m", Class: "3", Filters: []metadata.Filter{f}, Limit: limit}
			p, err := f.Predicate()
			require.NoError(t, err)
			want := []audiosearch.Hit{}
			for i, score := range scores {
				if p(meta(i)[f.Key]) {
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

// TestSearchOfPieces: a search finds the scores of few videos and of many, in segments
// and in chunks, whole or cut in two, also when the scores around them were replaced. It
// makes one call at a time and takes eight times as long with the race detector, so the
// gate runs it without.
func TestSearchOfPieces(t *testing.T) {
	nightly.Only(t)
	if raceDetector {
		t.Skip("the gate runs it without the race detector, which has nothing to see in it")
	}
	t.Parallel()
	db, err := Open(t.Context(), filetest.EmptyFile(t), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	tables := db.audiosearch
	require.NoError(t, tables.CreateDataset(t.Context(), audiosearch.Dataset{Organization: "acme", ID: "d"}))
	const videos = 70
	classes := []sound.Class{"3", "9"}
	video := func(i int) string { return fmt.Sprintf("v%02d", i) }
	meta := func(i int) metadata.Map {
		return metadata.Map{"number": metadata.Int(int64(i)), "mod": metadata.Int(int64(i % 10))}
	}
	var put []audiosearch.Video
	for i := range videos {
		put = append(put, audiosearch.Video{ID: video(i), Path: "p", Metadata: meta(i)})
	}
	require.NoError(t, tables.PutVideos(t.Context(), "acme", "d", put))
	random := rand.New(rand.NewPCG(5, 6))
	scores := make([][][]uint16, videos)
	score := func(i int) {
		columns := make([][]uint16, len(classes))
		windows := []int{0, 1, 2, 90, 700, segmentWindows + 1, 3000, 6000}[random.IntN(8)]
		for class := range columns {
			for range windows {
				columns[class] = append(columns[class], uint16(random.IntN(20_000)))
			}
		}
		scores[i] = columns
		s := audiosearch.Scoring{Model: "m", Windows: windows, Classes: classes}
		require.NoError(t, tables.PutScoring(t.Context(), "acme", "d", video(i), "p", s, columns))
	}
	compare := func() {
		t.Helper()
		filters := []metadata.Filter{{Key: "number", Op: metadata.OpGreaterOrEqual, Value: "0"}}
		for _, i := range random.Perm(videos)[:videos/3] {
			filters = append(filters, metadata.Filter{Key: "number", Value: strconv.Itoa(i)})
		}
		for i := range 10 {
			filters = append(filters, metadata.Filter{Key: "mod", Value: strconv.Itoa(i)})
			filters = append(filters, metadata.Filter{Key: "mod", Op: metadata.OpLess, Value: strconv.Itoa(i)})
		}
		for _, f := range filters {
			p, err := f.Predicate()
			require.NoError(t, err)
			for class := range classes {
				q := audiosearch.ScoreQuery{Model: "m", Class: classes[class], Filters: []metadata.Filter{f},
					Limit: []int{1, 40, 3000}[random.IntN(3)], MinScore: []uint16{0, 19_000}[random.IntN(2)]}
				want := []audiosearch.Hit{}
				for i, columns := range scores {
					if columns == nil || !p(meta(i)[f.Key]) {
						continue
					}
					for window, score := range columns[class] {
						if score >= q.MinScore {
							want = append(want, audiosearch.Hit{Video: video(i), Window: window, Score: score})
						}
					}
				}
				slices.SortStableFunc(want, func(a, b audiosearch.Hit) int { return cmp.Compare(b.Score, a.Score) })
				got, err := tables.Search(t.Context(), "acme", "d", q)
				require.NoError(t, err)
				if want = want[:min(q.Limit, len(want))]; !slices.Equal(want, got) {
					require.Equal(t, want, got, "%+v", q)
				}
			}
		}
	}
	for range 3 {
		for _, i := range random.Perm(videos)[:videos/2] { // some of them again
			score(i)
		}
		compare()
		for more := true; more; {
			_, more, err = tables.Compact(t.Context(), audiosearch.CompactOptions{}, 100_000)
			require.NoError(t, err)
		}
		compare()
	}
	for i := range 3 {
		score(i)
	}
	compare()
	v := db.audiosearch.views.get(1)
	require.NotZero(t, filetest.Numbers(t, db.File, "SELECT count(*) FROM audiosearch_blocks WHERE packed = 0")[0])
	require.NotZero(t, filetest.Numbers(t, db.File, "SELECT count(*) FROM audiosearch_dead")[0])
	for _, m := range v.models {
		require.NotEmpty(t, m.more)
		for row, spots := range m.more {
			require.EqualValues(t, inMore, m.spots[row].block)
			require.Greater(t, len(spots), 1)
		}
	}
}

// TestSearchOfNothing: a block of videos that are scored and too short for a window has
// nothing to be read.
func TestSearchOfNothing(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), filetest.EmptyFile(t), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	tables := db.audiosearch
	require.NoError(t, tables.CreateDataset(t.Context(), audiosearch.Dataset{Organization: "acme", ID: "d"}))
	var videos []audiosearch.Video
	for i := range manySegments {
		m := metadata.Map{"number": metadata.Int(int64(i))}
		videos = append(videos, audiosearch.Video{ID: fmt.Sprint("v", i), Path: "p", Metadata: m})
	}
	require.NoError(t, tables.PutVideos(t.Context(), "acme", "d", videos))
	for i := range videos {
		s := audiosearch.Scoring{Model: "m", Classes: []sound.Class{"3"}}
		require.NoError(t, tables.PutScoring(t.Context(), "acme", "d", videos[i].ID, "p", s, [][]uint16{nil}))
	}
	for more := true; more; {
		_, more, err = tables.Compact(t.Context(), audiosearch.CompactOptions{}, 100_000)
		require.NoError(t, err)
	}
	require.Equal(t, []int{0}, filetest.Numbers(t, db.File, "SELECT windows FROM audiosearch_blocks"))
	for _, filters := range [][]metadata.Filter{
		nil, {{Key: "number", Value: "7"}}, {{Key: "number", Op: metadata.OpLess, Value: "99"}},
	} {
		hits, err := tables.Search(t.Context(), "acme", "d", audiosearch.ScoreQuery{Model: "m", Class: "3", Filters: filters, Limit: 5})
		require.NoError(t, err)
		require.Empty(t, hits)
	}
}

// TestSearchOfDamagedRows: a search fails if scores are missing, or are not as many as
// they should be.
func TestSearchOfDamagedRows(t *testing.T) {
	t.Parallel()
	for _, damage := range []string{
		"DELETE FROM audiosearch_chunks",
		"DELETE FROM audiosearch_chunks WHERE seq = (SELECT max(seq) FROM audiosearch_chunks)",
		"DELETE FROM audiosearch_chunks WHERE seq = (SELECT min(seq) FROM audiosearch_chunks)",
		"UPDATE audiosearch_chunks SET scores = substr(scores, 1, 100)",
	} {
		db := openHeard(t, filetest.EmptyFile(t), nil)
		for i := range heardVideos {
			require.NoError(t, hear(t.Context(), db, i, uint16(i)))
		}
		others := make([]audiosearch.Video, 8*heardVideos) // beside which few videos are selected
		for i := range others {
			others[i] = audiosearch.Video{ID: fmt.Sprint("other", i), Path: "p"}
		}
		require.NoError(t, db.audiosearch.PutVideos(t.Context(), "acme", "d", others))
		for more := true; more; {
			var err error
			_, more, err = db.audiosearch.Compact(t.Context(), audiosearch.CompactOptions{}, 100_000)
			require.NoError(t, err)
		}
		require.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error {
			for _, statement := range []string{"DELETE FROM audiosearch_chunks WHERE seq % 1024 <> 1", damage} {
				if _, err := tx.Exec(statement); err != nil {
					return err
				}
			}
			return nil
		}))
		q := audiosearch.ScoreQuery{Model: "m", Class: "5", Limit: heardVideos * heardWindows}
		for _, filters := range [][]metadata.Filter{nil, {{Key: "n", Op: metadata.OpLess, Value: "4"}}} {
			q.Filters = filters
			_, err := db.audiosearch.Search(t.Context(), "acme", "d", q)
			require.ErrorIs(t, err, errLayout, "%s, %v", damage, filters)
		}
	}
}

// changing is a context that calls change whenever somebody is about to wait for its end.
type changing struct {
	context.Context
	change func()
}

func (c changing) Done() <-chan struct{} {
	c.change()
	return c.Context.Done()
}

// TestSearchOfWhatChanges: a search ends although the dataset changes whenever it waits.
func TestSearchOfWhatChanges(t *testing.T) {
	db, err := Open(t.Context(), filetest.EmptyFile(t), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	tables := db.audiosearch
	require.NoError(t, tables.CreateDataset(t.Context(), audiosearch.Dataset{Organization: "acme", ID: "d"}))
	for _, filters := range [][]metadata.Filter{
		nil,
		{{Key: "title", Op: metadata.OpContains, Value: "title"}, {Key: "title", Op: metadata.OpNotEqual, Value: "x"}},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var changes atomic.Int64
		change := func() {
			n := changes.Load()
			if n > 200 { // it would go on for ever
				cancel()
			}
			err := tables.PutVideos(t.Context(), "acme", "d", []audiosearch.Video{{
				ID: "v", Path: "p", Metadata: metadata.Map{"title": metadata.String(fmt.Sprint("title ", n))},
			}})
			if err == nil { // a goroutine of the driver's may come when the test is over
				changes.Add(1)
			}
		}
		change()
		u, err := tables.Unscored(changing{ctx, change}, "acme", "d", audiosearch.UnscoredQuery{Model: "m", Filters: filters, Limit: 1})
		require.NoError(t, err)
		require.Equal(t, 1, u.Matched)
		require.Greater(t, changes.Load(), int64(4))
		cancel()
	}
}
