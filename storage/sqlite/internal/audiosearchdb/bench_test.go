package audiosearchdb

import (
	"container/heap"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

// soundBench is a dataset that has scores of one class, packed. The metadata of each
// video has a number from 0 to 999.
type soundBench struct {
	db      *DB
	numbers []int         // by video
	windows int           // of each video
	chunks  []benchChunk  // in the order of the table
	reads   [2]*file.Conn // of whom nobody knows: one for each bare scan, so that what SQLite has in memory of the file is its own
}

type benchChunk struct {
	seq    int64
	pieces []part // video is an index
}

func benchVideo(i int) string { return fmt.Sprintf("video%07d", i) }

// newSoundBench makes videos of so many windows. Unless their scores are to be even,
// every 4000th is the greatest that there is, so that no chunk can be left out for its
// maximum.
func newSoundBench(b *testing.B, videos, windows int, evenly bool) *soundBench {
	db, err := Open(b.Context(), filepath.Join(b.TempDir(), "sounds.db"), nil)
	require.NoError(b, err)
	b.Cleanup(func() { _ = db.Close() })
	tables := db.audiosearch
	require.NoError(b, tables.CreateDataset(b.Context(), audiosearch.Dataset{Organization: "acme", ID: "d"}))
	s := &soundBench{db: db, windows: windows}
	random := rand.New(rand.NewPCG(1, 2))
	for range videos {
		s.numbers = append(s.numbers, random.IntN(1000))
	}
	const batch = 10_000
	column := make([]uint16, windows)
	count := 0
	for from := 0; from < videos; from += batch {
		var put []audiosearch.Video
		for i := from; i < min(videos, from+batch); i++ {
			m := metadata.Map{"n": metadata.Int(int64(s.numbers[i]))}
			put = append(put, audiosearch.Video{ID: benchVideo(i), Path: benchVideo(i) + ".wav", Metadata: m})
		}
		require.NoError(b, tables.PutVideos(b.Context(), "acme", "d", put))
		require.NoError(b, db.Write(b.Context(), func(tx *file.Tx) error { // as many PutScorings
			c, err := changeDataset(tx, "acme", "d")
			if err != nil {
				return err
			}
			for i := range put {
				for w := range column {
					column[w] = uint16(random.IntN(1 << 16))
					if count++; !evenly && count%4000 == 0 {
						column[w] = math.MaxUint16
					}
				}
				args, err := newScoringArgs(&audiosearch.Scoring{Model: "m", Classes: []sound.Class{"74"}, Windows: windows}, [][]uint16{column})
				if err != nil {
					return err
				}
				seq, _, err := c.video(put[i].ID)
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
			_, more, err = tables.Compact(b.Context(), audiosearch.CompactOptions{}, 100_000)
			require.NoError(b, err)
		}
	}
	for i := range s.reads {
		s.reads[i], err = db.Probe().Connect(nil)
		require.NoError(b, err)
		b.Cleanup(func() { _ = s.reads[i].Close() })
	}
	const layouts = "SELECT seq, windows, layout FROM audiosearch_blocks WHERE packed = 1 ORDER BY seq"
	require.NoError(b, s.reads[0].Query(b.Context(), layouts, nil, func(r *file.Row) error {
		parts, err := readLayout(file.Cell[[]byte](r, 2), r.Number(1))
		for i := range parts {
			parts[i].video-- // seqs begin at 1
		}
		s.chunks = append(s.chunks, benchChunk{file.Cell[int64](r, 0) * blockRoom, parts})
		return err
	}))
	return s
}

// medianOf returns the median of what rounds took.
func medianOf(rounds []time.Duration) time.Duration {
	slices.Sort(rounds)
	return rounds[len(rounds)/2]
}

// benchHit and benchHeap are a plain heap of the best.
type benchHit struct {
	score  uint16
	video  int64
	window int
}

type benchHeap []benchHit

func (h benchHeap) Len() int           { return len(h) }
func (h benchHeap) Less(i, j int) bool { return h[i].score < h[j].score }
func (h benchHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *benchHeap) Push(x any)        { *h = append(*h, x.(benchHit)) }
func (h *benchHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// bare reads chunks by a statement, and keeps the best 40 of the selected videos.
func (s *soundBench) bare(read *file.Conn, statement string, args []any, chunks []benchChunk, selected []bool) (benchHeap, error) {
	best := make(benchHeap, 0, 41)
	floor := -1
	next := 0
	err := read.Query(context.Background(), statement, args, func(r *file.Row) error {
		scores := file.Cell[[]byte](r, 0)
		for _, p := range chunks[next].pieces {
			if !selected[p.video] {
				continue
			}
			of := scores[2*p.start : 2*(p.start+p.rows)]
			for i := 0; i < len(of); i += 2 {
				if score := binary.LittleEndian.Uint16(of[i:]); int(score) > floor {
					heap.Push(&best, benchHit{score, p.video, p.first + i/2})
					if len(best) > 40 {
						heap.Pop(&best)
						floor = int(best[0].score)
					}
				}
			}
		}
		next++
		return nil
	})
	return best, err
}

// BenchmarkAudioSearch compares Search, with its filters, to a bare scan of the chunks
// from the same file, on a connection of its own, with the selected videos known: of all
// chunks, and of those that have something of a selected video. After that it measures
// the searches that come first after the file was opened, or after a change.
func BenchmarkAudioSearch(b *testing.B) {
	for _, c := range []struct {
		name            string
		videos, windows int
		evenly          bool
	}{
		{"videos=10000/windows=100", 10_000, 100, false},
		{"videos=1000000/windows=1", 1_000_000, 1, false},
		{"videos=10000/windows=100/uniform", 10_000, 100, true},
		{"videos=100000/windows=100", 100_000, 100, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := newSoundBench(b, c.videos, c.windows, c.evenly)
			for _, below := range []int{1000, 100, 10, 1} {
				b.Run(fmt.Sprintf("selected=%g%%", float64(below)/10), func(b *testing.B) { s.run(b, below) })
			}
			b.Run("first", s.first)
			b.Run("changed", s.changed)
		})
	}
}

func benchQuery(below int) audiosearch.ScoreQuery {
	q := audiosearch.ScoreQuery{Model: "m", Class: "74", Limit: 40}
	if below < 1000 {
		q.Filters = []metadata.Filter{{Key: "n", Op: metadata.OpLess, Value: strconv.Itoa(below)}}
	}
	return q
}

func (s *soundBench) run(b *testing.B, below int) {
	q := benchQuery(below)
	selected := make([]bool, len(s.numbers))
	for i, n := range s.numbers {
		selected[i] = n < below
	}
	var some []benchChunk
	list := []byte{'['}
	for _, c := range s.chunks {
		for _, p := range c.pieces {
			if selected[p.video] {
				some = append(some, c)
				list = append(strconv.AppendInt(list, c.seq, 10), ',')
				break
			}
		}
	}
	list[len(list)-1] = ']'
	const listed = "SELECT scores FROM json_each(?) CROSS JOIN audiosearch_chunks ON seq = value"
	var least [3]uint16
	contenders := []struct {
		name string
		do   func() error
		took []time.Duration
	}{
		{name: "search", do: func() error {
			hits, err := s.db.audiosearch.Search(b.Context(), "acme", "d", q)
			least[0] = hits[len(hits)-1].Score
			return err
		}},
		{name: "scan", do: func() error {
			best, err := s.bare(s.reads[0], "SELECT scores FROM audiosearch_chunks", nil, s.chunks, selected)
			least[1] = best[0].score
			return err
		}},
		{name: "some", do: func() error {
			best, err := s.bare(s.reads[1], listed, []any{string(list)}, some, selected)
			least[2] = best[0].score
			return err
		}},
	}
	round := func(n int) {
		for i := range contenders {
			c := &contenders[(n+i)%len(contenders)]
			begun := time.Now()
			if err := c.do(); err != nil {
				b.Fatal(c.name, err)
			}
			c.took = append(c.took, time.Since(begun))
		}
	}
	for n := range 5 {
		round(n)
	}
	require.Equal(b, least[0], least[1])
	require.Equal(b, least[0], least[2])
	for i := range contenders {
		contenders[i].took = nil
	}
	for n := 0; b.Loop(); n++ {
		round(n)
	}
	search, scan, of := medianOf(contenders[0].took), medianOf(contenders[1].took), medianOf(contenders[2].took)
	b.ReportMetric(float64(search.Microseconds()), "search-µs")
	b.ReportMetric(search.Seconds()/scan.Seconds(), "of-scan-of-all")
	b.ReportMetric(search.Seconds()/of.Seconds(), "of-scan-of-selected")
	b.ReportMetric(0, "ns/op")
}

// first measures the first search after Open, which reads the metadata and where the
// scores are.
func (s *soundBench) first(b *testing.B) {
	var took []time.Duration
	for range 3 { // it may take seconds
		db, err := Open(b.Context(), s.db.Probe().Path(), &file.Options{SkipCheck: true})
		require.NoError(b, err)
		begun := time.Now()
		_, err = db.audiosearch.Search(b.Context(), "acme", "d", benchQuery(1))
		took = append(took, time.Since(begun))
		require.NoError(b, err)
		require.NoError(b, db.Close())
	}
	b.ReportMetric(float64(medianOf(took).Milliseconds()), "search-ms")
	b.ReportMetric(0, "ns/op")
}

// changed measures the first search after a video got other metadata, and after it got
// other scores.
func (s *soundBench) changed(b *testing.B) {
	tables := s.db.audiosearch
	column := make([]uint16, s.windows)
	changes := []struct {
		name string
		do   func(i int) error
		took []time.Duration
	}{
		{name: "unchanged-µs", do: func(int) error { return nil }},
		{name: "metadata-µs", do: func(i int) error {
			v := audiosearch.Video{ID: benchVideo(i), Path: benchVideo(i) + ".wav", Metadata: metadata.Map{"n": metadata.Int(500)}}
			return tables.PutVideos(b.Context(), "acme", "d", []audiosearch.Video{v})
		}},
		{name: "scores-µs", do: func(i int) error {
			scoring := audiosearch.Scoring{Model: "m", Classes: []sound.Class{"74"}, Windows: s.windows}
			return tables.PutScoring(b.Context(), "acme", "d", benchVideo(i), benchVideo(i)+".wav", scoring, [][]uint16{column})
		}},
	}
	for n := 0; b.Loop(); n++ {
		for i := range changes {
			c := &changes[i]
			require.NoError(b, c.do(n*7919%len(s.numbers)))
			begun := time.Now()
			_, err := tables.Search(b.Context(), "acme", "d", benchQuery(1))
			c.took = append(c.took, time.Since(begun))
			require.NoError(b, err)
		}
	}
	for _, c := range changes {
		b.ReportMetric(float64(medianOf(c.took).Microseconds()), c.name)
	}
	b.ReportMetric(0, "ns/op")
}
