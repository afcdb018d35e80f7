package columnar

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// bench is a dataset of so many windows, and what its plain scan needs.
type bench struct {
	columns Columns
	scores  Scores
	plain   []uint16 // all scores, in the order of the rows
	windows int      // of each video
}

func newBench(b *testing.B, windows, each int, distinct bool) *bench {
	r := rand.New(rand.NewPCG(7, 7))
	d := &bench{plain: make([]uint16, windows), windows: each}
	for i := range d.plain {
		d.plain[i] = uint16(r.Uint32())
	}
	day := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	for row := range uint32(windows / each) {
		m := audiosearch.Metadata{
			"tenth": audiosearch.String(fmt.Sprint("camera ", r.IntN(10))),
			"mille": audiosearch.Int(int64(r.IntN(1000))),
		}
		if distinct {
			m["time"] = audiosearch.Int(day + int64(r.IntN(1e9)))
		}
		d.columns.Set(row, m)
		d.scores.Put(row, []audiosearch.Class{0}, [][]uint16{d.plain[int(row)*each : int(row+1)*each]})
	}
	return d
}

// stretch is what a plain scan looks at without a gap.
type stretch struct{ from, to int }

func (d *bench) stretches(selected *Selection) []stretch {
	var list []stretch
	for row := range selected.Rows() {
		from, to := int(row)*d.windows, int(row+1)*d.windows
		if n := len(list); n > 0 && list[n-1].to == from {
			list[n-1].to = to
		} else {
			list = append(list, stretch{from, to})
		}
	}
	return list
}

// plainTop is the limit: a scan with a heap of the best.
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

func BenchmarkTop40(b *testing.B) {
	filter := func(key string, op audiosearch.Op, value string) []audiosearch.Filter {
		return []audiosearch.Filter{{Key: key, Op: op, Value: value}}
	}
	queries := []struct {
		name    string
		filters []audiosearch.Filter
	}{
		{"all", nil},
		{"10pc-equal", filter("tenth", "=", "camera 3")},
		{"10pc-range", filter("mille", "<", "100")},
		{"1pc-range", filter("mille", "<", "10")},
		{"1pc-and", append(filter("tenth", "contains", "3"), filter("mille", ">=", "900")...)},
		{"0.1pc-equal", filter("mille", "=", "77")},
		{"10pc-time", filter("time", "<", "1804067200")},
		{"0.1pc-time", filter("time", "<", "1705067200")},
	}
	for _, windows := range []int{1e6, 1e7} {
		for _, each := range []int{1, 125} {
			d := newBench(b, windows, each, windows/each <= 1e6)
			for _, q := range queries {
				if len(q.filters) > 0 && !d.columns.HasKey(q.filters[0].Key) {
					continue
				}
				b.Run(fmt.Sprintf("windows=%.0e/each=%d/%s", float64(windows), each, q.name), func(b *testing.B) {
					selected, err := d.columns.Select(q.filters)
					require.NoError(b, err)
					stretches := d.stretches(selected)
					n := 0
					for _, s := range stretches {
						n += s.to - s.from
					}
					repeat := max(1, 200_000/max(n, 1))
					var ours, plain, filtering []time.Duration
					turn := func(to *[]time.Duration, f func()) {
						begun := time.Now()
						for range repeat {
							f()
						}
						*to = append(*to, time.Since(begun)/time.Duration(repeat))
					}
					for b.Loop() {
						var a, p []Hit
						turn(&ours, func() {
							s, err := d.columns.Select(q.filters)
							if err != nil {
								b.Fatal(err)
							}
							if len(q.filters) == 0 {
								s = nil
							}
							a = d.scores.Rank(0, s, NewRanking(Page{Limit: 40}, cmp.Compare[uint32]))
						})
						turn(&plain, func() { p = plainTop(d.plain, stretches, 40) })
						turn(&filtering, func() { _, _ = d.columns.Select(q.filters) })
						for i := range a {
							if a[i].Score != p[i].Score {
								b.Fatal("not the same")
							}
						}
					}
					slices.Sort(ours)
					slices.Sort(plain)
					slices.Sort(filtering)
					o, p, f := ours[len(ours)/2], plain[len(plain)/2], filtering[len(filtering)/2]
					b.ReportMetric(float64(n), "selected")
					b.ReportMetric(float64(o.Nanoseconds())/1e3, "us")
					b.ReportMetric(float64(p.Nanoseconds())/1e3, "plain-us")
					b.ReportMetric(float64(f.Nanoseconds())/1e3, "filter-us")
					b.ReportMetric(o.Seconds()/p.Seconds(), "of-plain")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}
