package columnar

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// BenchmarkTop40 compares a search, filters included, with a plain scan of the same
// scores for the same videos, which are known to the plain scan beforehand. The two take
// turns, and a ratio is reported: what slows the machine for a moment slows both. Run it
// with
//
//	go test ./audiosearch/columnar -run '^$' -bench Top40 -benchtime 100x
//
// The first four filters are what the limit of 1.3 stands for. The others are harder: the
// plain scan does not have to find the videos. What passes filters that came before is
// kept until something changes; first-of-plain is the ratio of a search whose filters did
// not come before.
func BenchmarkTop40(b *testing.B) {
	filter := func(key string, op metadata.Op, value string) metadata.Filter {
		return metadata.Filter{Key: key, Op: op, Value: value}
	}
	searches := []struct {
		name    string
		filters []metadata.Filter
	}{
		{"all", nil},
		{"10%", []metadata.Filter{filter("camera", "=", "camera 3")}},
		{"1%", []metadata.Filter{filter("percent", "=", "42")}},
		{"0.1%", []metadata.Filter{filter("mille", "=", "77")}},
		{"10%-range", []metadata.Filter{filter("mille", "<", "100")}},
		{"1%-range", []metadata.Filter{filter("mille", "<", "10")}},
		{"1%-and", []metadata.Filter{filter("camera", "contains", "3"), filter("mille", ">=", "900")}},
		{"10%-time", []metadata.Filter{filter("time", "<", "100000000")}},
		{"0.1%-time", []metadata.Filter{filter("time", "<", "1000000")}},
		{"10%-first", []metadata.Filter{filter("share", "<", "0.1")}},
		{"1%-first", []metadata.Filter{filter("share", "<", "0.01")}},
		{"0.1%-first", []metadata.Filter{filter("share", "<", "0.001")}},
	}
	for _, windows := range []int{1e6, 1e7} {
		for _, each := range []int{1, 10, 125} {
			b.Run(fmt.Sprintf("windows=%.0e/each=%d", float64(windows), each), func(b *testing.B) {
				d := newBench(windows, each)
				for _, search := range searches {
					b.Run(search.name, func(b *testing.B) { d.compare(b, search.filters) })
				}
			})
		}
	}
}

// bench is a dataset, and what its plain scan needs.
type bench struct {
	columns Columns
	scores  Scores
	plain   []uint16 // all scores, in the order of the rows
	each    int      // windows of a video
}

func newBench(windows, each int) *bench {
	r := rand.New(rand.NewPCG(7, 7))
	d := &bench{plain: make([]uint16, windows), each: each}
	for i := range d.plain {
		d.plain[i] = uint16(r.Uint32())
	}
	for row := range uint32(windows / each) {
		m := metadata.Map{
			"camera":  metadata.String(fmt.Sprint("camera ", r.IntN(10))),
			"percent": metadata.Int(r.Int64N(100)),
			"mille":   metadata.Int(r.Int64N(1000)),
		}
		if windows/each <= 1e6 { // more would take gigabytes
			m["time"] = metadata.Int(r.Int64N(1e9))
			m["share"] = metadata.String(fmt.Sprintf("%.8f", float64(row)*float64(each)/float64(windows)))
		}
		d.columns.Set(row, m)
		d.scores.Put(row, []sound.Class{"0"}, [][]uint16{d.plain[int(row)*each : int(row+1)*each]})
	}
	return d
}

func (d *bench) compare(b *testing.B, filters []metadata.Filter) {
	for _, f := range filters {
		if !d.columns.HasKey(f.Key) {
			b.Skip("too many videos for this key")
		}
	}
	selected, err := d.columns.Select(context.Background(), filters)
	require.NoError(b, err)
	stretches, windows := d.stretches(selected)
	repeat := max(1, 200_000/max(windows, 1))
	ours := func() []Hit {
		var selected *Selection
		if len(filters) > 0 {
			selected, err = d.columns.Select(context.Background(), filters)
		}
		return ranked(d.scores.Rank(context.Background(), "0", selected, NewRanking(Page{Limit: 40}, cmp.Compare[uint32])))
	}
	contenders := []struct {
		name string
		do   func() []Hit
		took []time.Duration
	}{
		{name: "ours", do: ours},
		{name: "first", do: func() []Hit {
			d.columns.kept.forget()
			return ours()
		}},
		{name: "plain", do: func() []Hit { return plainTop(d.plain, stretches, 40) }},
	}
	for round := 0; b.Loop(); round++ {
		var found [3][]Hit
		for i := range contenders {
			i = (i + round) % len(contenders)
			c := &contenders[i]
			if c.name == "ours" { // after two, what passes is kept
				ours()
				ours()
			}
			begun := time.Now()
			for range repeat {
				found[i] = c.do()
			}
			c.took = append(c.took, time.Since(begun)/time.Duration(repeat))
		}
		same := func(a, b Hit) bool { return a.Score == b.Score }
		if err != nil || !slices.EqualFunc(found[0], found[2], same) || !slices.Equal(found[0], found[1]) {
			b.Fatal("not the same: ", err)
		}
	}
	var medians [3]time.Duration
	for i, c := range contenders {
		slices.Sort(c.took)
		medians[i] = c.took[len(c.took)/2]
		b.ReportMetric(float64(medians[i].Nanoseconds())/1e3, c.name+"-us")
	}
	b.ReportMetric(float64(windows), "selected")
	b.ReportMetric(medians[0].Seconds()/medians[2].Seconds(), "of-plain")
	b.ReportMetric(medians[1].Seconds()/medians[2].Seconds(), "first-of-plain")
	b.ReportMetric(0, "ns/op")
}

// stretch is what a plain scan looks at without a gap.
type stretch struct{ from, to int }

func (d *bench) stretches(selected *Selection) (list []stretch, windows int) {
	for row := range selected.Rows() {
		from, to := int(row)*d.each, int(row+1)*d.each
		if n := len(list); n > 0 && list[n-1].to == from {
			list[n-1].to = to
		} else {
			list = append(list, stretch{from, to})
		}
		windows += to - from
	}
	return list, windows
}

// plainTop is a scan with a heap of the best.
func plainTop(scores []uint16, selected []stretch, limit int) []Hit {
	heap := make([]Hit, 0, limit)
	for _, s := range selected {
		for i, score := range scores[s.from:s.to] {
			if len(heap) == limit && score <= heap[0].Score {
				continue
			}
			h := Hit{Window: uint32(s.from + i), Score: score}
			if len(heap) < limit {
				heap = append(heap, h)
				for i := len(heap) - 1; i > 0 && heap[i].Score < heap[(i-1)/2].Score; i = (i - 1) / 2 {
					heap[i], heap[(i-1)/2] = heap[(i-1)/2], heap[i]
				}
				continue
			}
			heap[0] = h
			for i := 0; ; {
				least := i
				for c := 2*i + 1; c <= 2*i+2 && c < len(heap); c++ {
					if heap[c].Score < heap[least].Score {
						least = c
					}
				}
				if least == i {
					break
				}
				heap[i], heap[least] = heap[least], heap[i]
				i = least
			}
		}
	}
	slices.SortFunc(heap, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	return heap
}
