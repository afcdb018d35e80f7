package columnar

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/audioset"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// scored is what the oracle knows of a video.
type scored struct {
	classes []sound.Class
	columns [][]uint16
}

// ranked returns hits that cannot fail.
func ranked(hits []Hit, err error) []Hit {
	if err != nil {
		panic(err)
	}
	return hits
}

// rank is the oracle.
func rank(videos map[uint32]scored, class sound.Class, selected *Selection, page Page, compare func(a, b uint32) int) []Hit {
	var hits []Hit
	for row, v := range videos {
		column, found := slices.BinarySearch(v.classes, class)
		if !found || !selected.Contains(row) {
			continue
		}
		for window, score := range v.columns[column] {
			if score >= page.MinScore {
				hits = append(hits, Hit{row, uint32(window), score})
			}
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), compare(a.Row, b.Row), cmp.Compare(a.Window, b.Window))
	})
	hits = hits[min(page.Offset, len(hits)):]
	return hits[:min(page.Limit, len(hits))]
}

func randomScored(r *rand.Rand, spread, windows int) scored {
	classes := [][]sound.Class{{"0"}, {"0", "1", "5"}, {"1", "5"}, {"526"}}[r.IntN(4)]
	columns := make([][]uint16, len(classes))
	n := r.IntN(windows)
	for i := range columns {
		columns[i] = make([]uint16, n)
		for w := range columns[i] {
			columns[i][w] = uint16(r.IntN(spread))
			if r.IntN(50) == 0 {
				columns[i][w] = 65535 - uint16(r.IntN(2))
			}
		}
	}
	return scored{classes, columns}
}

func TestScoresEqualTheOracle(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 2))
		var s Scores
		videos := map[uint32]scored{}
		size := 1 + r.IntN(120)
		longest := []int{2, 10, 300, 6000}[r.IntN(4)]
		spread := []int{1, 2, 100, 65536}[r.IntN(4)]
		names := make([]string, size)
		for i, n := range r.Perm(size) {
			names[i] = fmt.Sprint(n)
		}
		compare := func(a, b uint32) int { return strings.Compare(names[a], names[b]) }
		for range 4 {
			for range size {
				row := uint32(r.IntN(size))
				switch r.IntN(8) {
				case 0, 1:
					s.Remove(row)
					delete(videos, row)
				case 2:
					s.Compact()
				default:
					v := randomScored(r, spread, longest)
					s.Put(row, v.classes, v.columns)
					if videos[row] = v; len(v.columns[0]) == 0 {
						delete(videos, row)
					}
				}
			}
			total := 0
			for row, v := range videos {
				require.True(t, s.Has(row))
				n := len(v.columns[0])
				total += n
				from := r.IntN(n)
				for w, got := range s.Windows(row, from, from+3) {
					for i := range v.classes {
						require.Equal(t, v.columns[i][from+w], got[i])
					}
				}
				require.Len(t, s.Windows(row, -1, n+1), n)
			}
			for range 10 {
				page := Page{Offset: r.IntN(10), Limit: r.IntN(50), MinScore: uint16(r.IntN(3) * r.IntN(spread) / 2)}
				if r.IntN(3) == 0 {
					page.Offset = r.IntN(total + 10)
				}
				var selected *Selection
				if r.IntN(2) == 0 {
					share := r.Float64()
					var all Columns
					for row := range uint32(size) {
						all.Set(row, metadata.Map{"in": metadata.Bool(r.Float64() < share*share)})
					}
					var err error
					selected, err = all.Select(context.Background(), []metadata.Filter{{Key: "in", Value: "true"}})
					require.NoError(t, err)
				}
				class := []sound.Class{"0", "1", "5", "526", "17"}[r.IntN(5)]
				want := rank(videos, class, selected, page, compare)
				got := ranked(s.Rank(context.Background(), class, selected, NewRanking(page, compare)))
				require.Equal(t, len(want), len(got), "seed %d, %+v", seed, page)
				for i := range want {
					require.Equal(t, want[i], got[i], "seed %d, %+v, hit %d", seed, page, i)
				}
			}
		}
	}
}

// TestScoresOfAllClassesAreSmall counts what the heap holds, too.
func TestScoresOfAllClassesAreSmall(t *testing.T) {
	columns := func(windows int) [][]uint16 {
		all := make([][]uint16, audioset.NumClasses)
		for i := range all {
			all[i] = make([]uint16, windows)
		}
		return all
	}
	for _, c := range []struct{ windows, each, most int }{
		{5000, 1, 1300}, {5000, 125, 1300}, {60, 1, 1300}, {5000, 5000, 1300}, {1, 1, 4000},
	} {
		t.Run(fmt.Sprintf("%d by %d", c.windows, c.each), func(t *testing.T) {
			long, classes := columns(c.each), audioset.Classes()
			heap := func() int {
				var m runtime.MemStats
				runtime.GC()
				runtime.GC() // the first one leaves what has been swept only now
				runtime.ReadMemStats(&m)
				return int(m.HeapAlloc)
			}
			before := heap()
			s := &Scores{}
			for row := range c.windows / c.each {
				s.Put(uint32(row), classes, long)
			}
			for row := 0; row < c.windows/c.each; row += 7 { // replaced in any order
				s.Put(uint32(row), classes, long)
			}
			s.Compact()
			held := heap() - before
			require.LessOrEqual(t, s.Bytes()/c.windows, c.most)
			if c.windows > 1000 { // else it is lost in what the test itself needs
				require.LessOrEqual(t, held/c.windows, c.most)
				require.InDelta(t, held, s.Bytes(), 0.01*float64(held), "Bytes says what is held")
			}
			runtime.KeepAlive(s)
			runtime.KeepAlive(long)
		})
	}
}

func TestScoresTidyUp(t *testing.T) {
	nightly.Only(t)
	var s Scores
	one := [][]uint16{make([]uint16, 100)}
	for row := range uint32(1000) {
		s.Put(row, []sound.Class{"0"}, one)
	}
	most := s.Bytes()
	for i := range uint32(100_000) {
		s.Put(i%1000, []sound.Class{"0"}, one)
		require.LessOrEqual(t, s.Bytes(), 3*most)
	}
	for row := range uint32(999) {
		s.Remove(row)
	}
	require.True(t, s.Bytes() < most/10, "%d of %d", s.Bytes(), most)
	s.Compact()
	s.Put(1, []sound.Class{"0"}, one)
	require.False(t, s.Wasted())
	s.Remove(1)
	require.True(t, s.Wasted())
	s.Compact()
	require.False(t, s.Wasted())
	require.Equal(t, 1, s.Len())
	s.Remove(999)
	s.Remove(999)
	require.Zero(t, s.Len())
	require.Less(t, s.Bytes(), 1000)
}

func TestScoresTakeAnything(t *testing.T) {
	var s *Scores
	ranking := NewRanking(Page{Limit: 5}, cmp.Compare[uint32])
	require.Empty(t, ranked(s.Rank(context.Background(), "0", nil, ranking)))
	require.False(t, s.Has(1))
	require.Nil(t, s.Classes(1))
	require.Nil(t, s.Windows(1, 0, 5))
	s = &Scores{}
	s.Remove(7)
	s.Put(1, nil, [][]uint16{{1}})
	s.Put(1, []sound.Class{"1", "2"}, nil)
	s.Put(1, []sound.Class{"1", "2"}, [][]uint16{{}, {1}})
	require.False(t, s.Has(1))
	// Too short, and one too many.
	s.Put(1, []sound.Class{"1", "2"}, [][]uint16{{1, 2, 3}, {4}, {5}})
	require.Equal(t, [][]uint16{{1, 4}, {2, 0}, {3, 0}}, s.Windows(1, -5, 100))
	require.Empty(t, s.Windows(1, 3, 2))
	for _, page := range []Page{{Offset: -5, Limit: -5}, {}, {Offset: 10, Limit: 5}, {Offset: math.MaxInt, Limit: math.MaxInt}} {
		require.Empty(t, ranked(s.Rank(context.Background(), "1", nil, NewRanking(page, cmp.Compare[uint32]))))
	}
	require.Len(t, ranked(s.Rank(context.Background(), "1", nil, NewRanking(Page{Offset: 1, Limit: math.MaxInt}, cmp.Compare[uint32]))), 2)
}

// TestRankUnderFiltersEqualsTheOracle has enough videos for each way to go through a selection.
func TestRankUnderFiltersEqualsTheOracle(t *testing.T) {
	for _, d := range []struct {
		name              string
		videos, most      int  // windows of a video
		equal, replaced   bool // all have the most; some are put in the end again
		skipped, unscored int  // first rows that are not used, and one of so many without scores
	}{
		{name: "one window each, in order", videos: 70_000, most: 1, equal: true},
		{name: "one window each, not from the start", videos: 20_000, most: 1, equal: true, skipped: 1000},
		{name: "one window each, some replaced", videos: 20_000, most: 1, equal: true, replaced: true, unscored: 50},
		{name: "two each", videos: 20_000, most: 2, equal: true},
		{name: "any number", videos: 1000, most: 100, unscored: 20},
		{name: "long ones", videos: 10, most: 6000, replaced: true},
	} {
		t.Run(d.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(d.videos), 9))
			var c Columns
			var s Scores
			videos := map[uint32]scored{}
			meta := map[uint32]metadata.Map{}
			put := func(row uint32) {
				column := make([]uint16, d.most)
				if !d.equal {
					column = column[:1+r.IntN(d.most)]
				}
				for i := range column {
					column[i] = uint16(r.Uint32())
				}
				videos[row] = scored{[]sound.Class{"3"}, [][]uint16{column}}
				s.Put(row, videos[row].classes, videos[row].columns)
			}
			for row := uint32(d.skipped); row < uint32(d.skipped+d.videos); row++ {
				meta[row] = metadata.Map{
					"tenth": metadata.String(fmt.Sprint("camera ", r.IntN(10))),
					"mille": metadata.Int(int64(r.IntN(1000))),
					"time":  metadata.Int(r.Int64N(1e9)),
					"rare":  metadata.Bool(r.IntN(5000) == 0),
				}
				c.Set(row, meta[row])
				if d.unscored == 0 || r.IntN(d.unscored) > 0 {
					put(row)
				}
			}
			if d.replaced {
				for range d.videos / 10 {
					if row := uint32(d.skipped + r.IntN(d.videos)); s.Has(row) && r.IntN(3) == 0 {
						s.Remove(row)
						delete(videos, row)
					} else {
						put(row)
					}
				}
			}
			// It has no scores.
			c.Set(uint32(d.skipped+d.videos+200_000), metadata.Map{"rare": metadata.Bool(true), "time": metadata.Int(1)})
			compare := func(a, b uint32) int { return cmp.Compare(a^0x5555, b^0x5555) }
			for _, filters := range [][]metadata.Filter{
				{{Key: "tenth", Value: "camera 3"}},
				{{Key: "tenth", Value: "none"}},
				{{Key: "mille", Value: "77"}},
				{{Key: "mille", Op: "<", Value: "10"}},
				{{Key: "mille", Op: ">", Value: "100"}},
				{{Key: "mille", Op: "<", Value: "30"}, {Key: "tenth", Value: "camera 4"}},
				{{Key: "mille", Op: ">=", Value: "800"}, {Key: "tenth", Op: "contains", Value: "4"}},
				{{Key: "time", Op: "<", Value: "1e6"}},
				{{Key: "time", Op: "<", Value: "4e8"}},
				{{Key: "time", Op: ">=", Value: "9e8"}, {Key: "rare", Op: "!=", Value: "true"}},
				{{Key: "rare", Op: "!=", Value: "false"}},
				{{Key: "rare", Value: "true"}},
				{{Key: "tenth", Value: "camera 1"}, {Key: "rare", Value: "false"}},
			} {
				passing, passes := map[uint32]scored{}, oracle(t, filters)
				for row, v := range videos {
					if passes(meta[row]) {
						passing[row] = v
					}
				}
				for _, page := range []Page{{Offset: 3, Limit: 200, MinScore: 30_000}, {Offset: 9000, Limit: 10}} {
					want := rank(passing, "3", nil, page, compare)
					selected, err := c.Select(context.Background(), filters)
					require.NoError(t, err)
					require.Equal(t, append([]Hit{}, want...), append([]Hit{}, ranked(s.Rank(context.Background(), "3", selected, NewRanking(page, compare)))...), "%v, %+v", filters, page)
					if page.Offset == 3 { // put together first
						selected.Len()
						require.Equal(t, append([]Hit{}, want...), append([]Hit{}, ranked(s.Rank(context.Background(), "3", selected, NewRanking(page, compare)))...), "%v, %+v", filters, page)
					}
				}
			}
		})
	}
}
