package columnar

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// BenchmarkNewFilters compares a search whose filters never came before, among a million
// videos, with a plain scan of the same scores for the same videos, which the plain scan
// is told. The two take turns, each with the same few lists of filters, and the ratio of
// the medians of their processor time is reported. Run it with
//
//	go test ./audiosearch/columnar -run '^$' -bench NewFilters -benchtime 40x
func BenchmarkNewFilters(b *testing.B) {
	for _, each := range []int{1, 10} {
		b.Run(fmt.Sprintf("each=%d", each), func(b *testing.B) {
			d := newFiltersBench(1e6, each)
			for _, search := range newFilters {
				b.Run(search.name, func(b *testing.B) { d.compareNew(b, search.filters) })
			}
		})
	}
}

// newFilters are lists of filters, by how many of the videos they select. Numbers are
// camera and shelf, of 10 values, percent, mille and lakh, of 100, 1000 and 100,000, and
// time, which differs for every video; texts are street, of 1000 values, and title, which
// differs for every video.
var newFilters = []struct {
	name    string
	filters func(r *rand.Rand) []metadata.Filter
}{
	{"=/10%", filtersOf("camera", "=", 10, 1)},
	{"=/1%", filtersOf("percent", "=", 100, 1)},
	{"=/0.1%", filtersOf("mille", "=", 1000, 1)},
	{"!=/90%", filtersOf("camera", "!=", 10, 1)},
	{"two=/1%", both(filtersOf("camera", "=", 10, 1), filtersOf("shelf", "=", 10, 1))},
	{"=,1000/1%", both(filtersOf("camera", "=", 10, 1), filtersOf("mille", "<", 1000, 100))},
	{"=,own/1%", both(filtersOf("camera", "=", 10, 1), filtersOf("time", "<", 1e9, 1e8))},
	{"=,contains/1%", both(filtersOf("camera", "=", 10, 1), words("street", "ten"))},
	{"100,1000/1%", both(filtersOf("percent", "<", 100, 10), filtersOf("mille", "<", 1000, 100))},
	{"1000,own/1%", both(filtersOf("mille", "<", 1000, 100), filtersOf("time", "<", 1e9, 1e8))},
	{"1000,own/10%", both(filtersOf("mille", "<", 1000, 320), filtersOf("time", "<", 1e9, 320e6))},
	{"1000/all", filtersOf("mille", "<", 1000, 1000)},
	{"1000/90%", filtersOf("mille", "<", 1000, 900)},
	{"1000/10%", filtersOf("mille", "<", 1000, 100)},
	{"1000/1%", filtersOf("mille", "<", 1000, 10)},
	{"1000/0.1%", filtersOf("mille", "<", 1000, 1)},
	{"100000/all", filtersOf("lakh", "<", 1e5, 1e5)},
	{"100000/10%", filtersOf("lakh", "<", 1e5, 1e4)},
	{"100000/1%", filtersOf("lakh", "<", 1e5, 1e3)},
	{"100000/0.1%", filtersOf("lakh", "<", 1e5, 100)},
	{"own/all", filtersOf("time", "<", 1e9, 1e9)},
	{"own/90%", filtersOf("time", "<", 1e9, 9e8)},
	{"own/10%", filtersOf("time", "<", 1e9, 1e8)},
	{"own/1%", filtersOf("time", "<", 1e9, 1e7)},
	{"own/0.1%", filtersOf("time", "<", 1e9, 1e6)},
	{"contains,10/10%", words("shelf", "")},
	{"contains,1000/10%", words("street", "ten")},
	{"contains,1000/1%", words("street", "hundred")},
	{"contains,own/10%", words("title", "ten")},
}

// filtersOf returns filters that select so many of the values of a number.
func filtersOf(key string, op metadata.Op, values, selected int64) func(r *rand.Rand) []metadata.Filter {
	return func(r *rand.Rand) []metadata.Filter {
		from := r.Int64N(values - selected + 1)
		if !op.Numeric() {
			return []metadata.Filter{{Key: key, Op: op, Value: fmt.Sprint(from)}}
		}
		return []metadata.Filter{
			{Key: key, Op: metadata.OpGreaterOrEqual, Value: fmt.Sprint(from)},
			{Key: key, Op: metadata.OpLess, Value: fmt.Sprint(from + selected)},
		}
	}
}

// words returns filters for a word of a text.
func words(key, word string) func(r *rand.Rand) []metadata.Filter {
	most := map[string]int{"": 10, "ten": 10, "hundred": 100, "thousand": 1000, "all": 1}[word]
	return func(r *rand.Rand) []metadata.Filter {
		value := fmt.Sprint(r.IntN(most))
		if word != "" {
			value = word + value + " "
		}
		return []metadata.Filter{{Key: key, Op: metadata.OpContains, Value: value}}
	}
}

func both(one, other func(r *rand.Rand) []metadata.Filter) func(r *rand.Rand) []metadata.Filter {
	return func(r *rand.Rand) []metadata.Filter { return append(one(r), other(r)...) }
}

// filtersBench is a bench that knows the metadata of its videos in the plainest way.
type filtersBench struct {
	bench
	numbers map[string][]int64
	texts   map[string][]string
}

func newFiltersBench(videos, each int) *filtersBench {
	r := rand.New(rand.NewPCG(7, 7))
	d := &filtersBench{numbers: map[string][]int64{}, texts: map[string][]string{}}
	d.plain, d.each = make([]uint16, videos*each), each
	for i := range d.plain {
		d.plain[i] = uint16(r.Uint32())
	}
	for row := range videos {
		m := metadata.Map{}
		for key, values := range map[string]int64{"camera": 10, "shelf": 10, "percent": 100, "mille": 1000, "lakh": 1e5, "time": 1e9} {
			n := r.Int64N(values)
			d.numbers[key] = append(d.numbers[key], n)
			m[key] = metadata.Int(n)
		}
		street, title := r.IntN(1000), r.IntN(1000)
		for key, text := range map[string]string{
			"shelf":  m["shelf"].Text(),
			"street": fmt.Sprintf("Street ten%d hundred%d thousand%d ", street/100, street/10, street),
			"title":  fmt.Sprintf("take %d all0 ten%d hundred%d thousand%d ", row, title/100, title/10, title),
		} {
			d.texts[key] = append(d.texts[key], text)
			m[key] = metadata.String(text)
		}
		d.columns.Set(uint32(row), m)
		d.scores.Put(uint32(row), []sound.Class{"0"}, [][]uint16{d.plain[row*each : (row+1)*each]})
	}
	return d
}

// selected returns where the windows of the videos are that pass.
func (d *filtersBench) selected(filters []metadata.Filter) (list []stretch, windows int) {
	passing := make([]bool, len(d.plain)/d.each)
	for i := range passing {
		passing[i] = true
	}
	for _, f := range filters {
		number, _ := strconv.ParseInt(f.Value, 10, 64)
		numbers, texts := d.numbers[f.Key], d.texts[f.Key]
		passes := map[metadata.Op]func(row int) bool{
			metadata.OpEqual:          func(row int) bool { return numbers[row] == number },
			metadata.OpNotEqual:       func(row int) bool { return numbers[row] != number },
			metadata.OpLess:           func(row int) bool { return numbers[row] < number },
			metadata.OpGreaterOrEqual: func(row int) bool { return numbers[row] >= number },
			metadata.OpContains:       func(row int) bool { return strings.Contains(texts[row], f.Value) },
		}[f.Op]
		for row := range passing {
			passing[row] = passing[row] && passes(row)
		}
	}
	for row, passes := range passing {
		if !passes {
			continue
		}
		windows += d.each
		if n := len(list); n > 0 && list[n-1].to == row*d.each {
			list[n-1].to += d.each
		} else {
			list = append(list, stretch{row * d.each, (row + 1) * d.each})
		}
	}
	return list, windows
}

func (d *filtersBench) compareNew(b *testing.B, filters func(r *rand.Rand) []metadata.Filter) {
	const lists = 8
	r := rand.New(rand.NewPCG(1, 2))
	var asked [lists][]metadata.Filter
	var stretches [lists][]stretch
	windows := 0
	for i := range asked {
		asked[i] = filters(r)
		list, n := d.selected(asked[i])
		stretches[i] = list
		windows += n
	}
	repeat := max(1, 20_000/max(windows/lists, 1))
	var found [2][lists][]Hit
	contenders := [2]func(i int){
		func(i int) {
			d.columns.kept.forget()
			selected, err := d.columns.SelectToRank(b.Context(), asked[i])
			if err == nil {
				found[0][i], err = d.scores.Rank(b.Context(), "0", selected, NewRanking(Page{Limit: 40}, cmp.Compare[uint32]))
			}
			if err != nil {
				b.Fatal(err)
			}
		},
		func(i int) { found[1][i] = plainTop(d.plain, stretches[i], 40) },
	}
	var took [2][]time.Duration
	defer lockThread()()
	for round := 0; b.Loop(); round++ {
		for i := range contenders {
			i = (i + round) % len(contenders)
			begun := processorTime()
			for range repeat {
				for j := range lists {
					contenders[i](j)
				}
			}
			took[i] = append(took[i], (processorTime()-begun)/time.Duration(repeat*lists))
		}
		for j := range lists {
			require.True(b, slices.EqualFunc(found[0][j], found[1][j], func(a, b Hit) bool { return a.Score == b.Score }), "not the same: %v", asked[j])
		}
	}
	slices.Sort(took[0])
	slices.Sort(took[1])
	ours, plain := took[0][len(took[0])/2], took[1][len(took[1])/2]
	b.ReportMetric(float64(ours.Nanoseconds())/1e3, "ours-us")
	b.ReportMetric(float64(plain.Nanoseconds())/1e3, "plain-us")
	b.ReportMetric(ours.Seconds()/plain.Seconds(), "of-plain")
	b.ReportMetric(float64(windows/lists), "selected")
	b.ReportMetric(0, "ns/op")
}
