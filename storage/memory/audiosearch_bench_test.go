package memory_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// BenchmarkAudioSearch compares Search, filters included, with a plain scan of the same
// scores for the same videos, which are known to the plain scan beforehand. The two take
// turns, and a ratio is reported. Package columnar has the same benchmark for more
// windows and filters. Run it with
//
//	go test ./storage/memory -run '^$' -bench AudioSearch -benchtime 100x
func BenchmarkAudioSearch(b *testing.B) {
	const windows = 1_000_000
	for _, each := range []int{1, 125} {
		b.Run(fmt.Sprintf("each=%d", each), func(b *testing.B) {
			d := newSoundBench(b, windows, each)
			b.Run("all", func(b *testing.B) { d.compare(b, nil) })
			b.Run("10%", func(b *testing.B) { d.compare(b, []metadata.Filter{{Key: "camera", Value: "camera 3"}}) })
			b.Run("1%", func(b *testing.B) { d.compare(b, []metadata.Filter{{Key: "percent", Value: "42"}}) })
			b.Run("0.1%", func(b *testing.B) { d.compare(b, []metadata.Filter{{Key: "mille", Value: "77"}}) })
		})
	}
}

// soundBench is a dataset whose scores stand in an array as well, in the order of the
// videos.
type soundBench struct {
	tables *memory.AudioSearch
	plain  []uint16
	each   int // windows of a video
	videos []audiosearch.Video
}

func newSoundBench(b *testing.B, windows, each int) *soundBench {
	db, err := memory.Open(b.Context(), nil)
	require.NoError(b, err)
	d := &soundBench{tables: db.AudioSearch().Store.(*memory.AudioSearch), plain: make([]uint16, windows), each: each}
	require.NoError(b, d.tables.CreateDataset(b.Context(), audiosearch.Dataset{Organization: "acme", ID: "bench"}))
	r := rand.New(rand.NewPCG(7, 7))
	for i := range d.plain {
		d.plain[i] = uint16(r.Uint32())
	}
	for i := range windows / each {
		d.videos = append(d.videos, audiosearch.Video{ID: fmt.Sprintf("video%08d", i), Path: "a.wav", Metadata: metadata.Map{
			"camera":  metadata.String(fmt.Sprint("camera ", r.IntN(10))),
			"percent": metadata.Int(r.Int64N(100)),
			"mille":   metadata.Int(r.Int64N(1000)),
		}})
	}
	require.NoError(b, d.tables.PutVideos(b.Context(), "acme", "bench", d.videos))
	scoring := audiosearch.Scoring{Model: "m", Windows: each, Classes: []sound.Class{"0"}}
	for i, v := range d.videos {
		columns := [][]uint16{d.plain[i*each : (i+1)*each]}
		require.NoError(b, d.tables.PutScoring(b.Context(), "acme", "bench", v.ID, v.Path, scoring, columns))
	}
	return d
}

func (d *soundBench) compare(b *testing.B, filters []metadata.Filter) {
	var stretches [][]uint16
	from := -1
	for i, v := range append(d.videos, audiosearch.Video{}) {
		in := i < len(d.videos)
		for _, f := range filters {
			in = in && v.Metadata[f.Key].Text() == f.Value
		}
		switch {
		case in && from < 0:
			from = i
		case !in && from >= 0:
			stretches = append(stretches, d.plain[from*d.each:i*d.each])
			from = -1
		}
	}
	windows := 0
	for _, s := range stretches {
		windows += len(s)
	}
	q := audiosearch.ScoreQuery{Model: "m", Class: "0", Filters: filters, Limit: 40}
	var hits []audiosearch.Hit
	var best []uint16
	var err error
	repeat := max(1, 200_000/windows)
	contenders := []func(){
		func() { hits, err = d.tables.Search(b.Context(), "acme", "bench", q) },
		func() { best = plainTop(stretches, 40) },
	}
	var took [2][]time.Duration
	for round := 0; b.Loop(); round++ {
		for i := range contenders {
			i = (i + round) % len(contenders)
			begun := time.Now()
			for range repeat {
				contenders[i]()
			}
			took[i] = append(took[i], time.Since(begun)/time.Duration(repeat))
		}
		require.NoError(b, err)
		require.Len(b, hits, len(best))
		for i, h := range hits {
			require.Equal(b, best[i], h.Score)
		}
	}
	slices.Sort(took[0])
	slices.Sort(took[1])
	ours, plain := took[0][len(took[0])/2], took[1][len(took[1])/2]
	b.ReportMetric(float64(ours.Nanoseconds())/1e3, "ours-us")
	b.ReportMetric(float64(plain.Nanoseconds())/1e3, "plain-us")
	b.ReportMetric(ours.Seconds()/plain.Seconds(), "of-plain")
	b.ReportMetric(0, "ns/op")
}

// plainTop returns the best scores in order, by way of a heap.
func plainTop(stretches [][]uint16, limit int) []uint16 {
	heap := make([]uint16, 0, limit)
	for _, scores := range stretches {
		for _, score := range scores {
			if len(heap) < limit {
				if heap = append(heap, score); len(heap) == limit {
					slices.Sort(heap) // which is a heap
				}
				continue
			}
			if score <= heap[0] {
				continue
			}
			i := 0
			for least := 1; least < limit; least = 2*i + 1 {
				if least+1 < limit && heap[least+1] < heap[least] {
					least++
				}
				if score <= heap[least] {
					break
				}
				heap[i] = heap[least]
				i = least
			}
			heap[i] = score
		}
	}
	slices.SortFunc(heap, func(a, b uint16) int { return int(b) - int(a) })
	return heap
}
