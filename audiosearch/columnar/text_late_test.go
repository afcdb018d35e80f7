package columnar

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// lateBench has videos with texts that all differ. The poor ones have poor scores.
type lateBench struct {
	columns Columns
	scores  Scores
	all     []metadata.Map
	best    []Hit
	looks   int
}

// theLateBench is for tests that do not run side by side. It takes a second to make.
var theLateBench = sync.OnceValue(newLateBench)

func newLateBench() *lateBench {
	const videos = 1<<17 + 70_000
	r := rand.New(rand.NewPCG(1, 23))
	d := &lateBench{all: make([]metadata.Map, videos), best: make([]Hit, videos)}
	for row := range d.all {
		shelf, score := r.IntN(10), r.IntN(1<<16)
		quality := "good"
		if shelf == 3 {
			quality, score = "poor", score/4
		}
		m := metadata.Map{
			"shelf": metadata.Int(int64(shelf)),
			"time":  metadata.Int(r.Int64N(1e6)),
			"title": metadata.String(fmt.Sprintf("take %d of shelf%d %s", row, shelf, quality)),
			"note":  metadata.String(fmt.Sprintf("%d%%%d", row, r.IntN(100))),
		}
		if row%7 == 0 {
			m["title"] = metadata.Scalar{}
		}
		d.all[row], d.best[row] = m, Hit{Row: uint32(row), Score: uint16(score)}
		d.columns.Set(uint32(row), m)
		d.scores.Put(uint32(row), []sound.Class{"0"}, [][]uint16{{uint16(score)}})
	}
	slices.SortFunc(d.best, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Row, b.Row)) })
	d.columns.looked = func(string) { d.looks++ }
	return d
}

// want does it in the plainest way.
func (d *lateBench) want(t *testing.T, filters []metadata.Filter) (list []Hit) {
	passes := oracle(t, filters)
	for _, h := range d.best {
		if passes(d.all[h.Row]) {
			list = append(list, h)
		}
	}
	return list
}

func (d *lateBench) rank(ctx context.Context, selected *Selection, page Page) ([]Hit, error) {
	return d.scores.Rank(ctx, "0", selected, NewRanking(page, cmp.Compare[uint32]))
}

// TestTextsAreSearchedLate counts the texts that are looked at.
func TestTextsAreSearchedLate(t *testing.T) {
	nightly.Only(t)
	d := theLateBench()
	d.columns.kept.forget()
	videos, titles := len(d.all), len(d.all)-(len(d.all)+6)/7
	below := func(key string, most int) metadata.Filter {
		return metadata.Filter{Key: key, Op: metadata.OpLess, Value: fmt.Sprint(most)}
	}
	tests := []struct {
		name    string
		filters []metadata.Filter
		page    Page
		least   int // of the looks
		most    int
		late    bool
	}{
		{"a tenth", []metadata.Filter{contains("title", "shelf4 ")}, Page{Limit: 40}, 200, 3000, true},
		{"all", []metadata.Filter{contains("title", "")}, Page{Limit: 40}, 128, 1000, true},
		{"a tenth, of which few are good", []metadata.Filter{contains("title", "poor")}, Page{Limit: 40}, titles, titles * 8 / 5, true},
		{"a few", []metadata.Filter{contains("title", "777 ")}, Page{Limit: 40}, titles, titles + titles/8, true},
		{"none", []metadata.Filter{contains("title", "Take")}, Page{Limit: 40}, titles, titles + titles/8, true},
		{"a page far down", []metadata.Filter{contains("title", "shelf4 ")}, Page{Offset: maxSkip + 1, Limit: 10}, titles, titles + 128, true},
		{"of a half, far down", []metadata.Filter{contains("title", "shelf"), below("time", 600_000)}, Page{Offset: maxSkip + 1, Limit: 10}, titles / 2, titles + 128, true},
		{"with =", []metadata.Filter{contains("title", "1"), {Key: "shelf", Value: "5"}}, Page{Limit: 40}, 100, 1000, true},
		{"with = that leaves none", []metadata.Filter{contains("title", "poor"), {Key: "shelf", Value: "5"}}, Page{Limit: 40}, videos / 20, videos / 4, true},
		{"with a range", []metadata.Filter{contains("title", "1"), below("time", 100_000)}, Page{Limit: 40}, 100, 1000, true},
		{"two texts", []metadata.Filter{contains("title", "1"), contains("note", "%7")}, Page{Limit: 40}, 200, 3000, true},
		{"after a text of few", []metadata.Filter{below("time", 20_000), contains("note", "1"), contains("title", "shelf")}, Page{Limit: 40}, videos / 60, videos / 40, true},
		{"of few", []metadata.Filter{below("time", 2000), contains("title", "shelf")}, Page{Limit: 40}, videos / 700, videos / 400, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := d.want(t, test.filters)
			first := want[min(len(want), test.page.Offset):]
			first = first[:min(len(first), test.page.Limit)]
			d.columns.kept.forget()
			d.looks = 0
			selected, err := d.columns.SelectToRank(t.Context(), test.filters)
			require.NoError(t, err)
			require.Equal(t, test.late, selected.late() != nil)
			got, err := d.rank(t.Context(), selected, test.page)
			require.NoError(t, err)
			require.True(t, slices.Equal(first, got), "%v, not %v", got, first)
			require.GreaterOrEqual(t, d.looks, test.least)
			require.LessOrEqual(t, d.looks, test.most)

			// What else a selection is asked is exact, too.
			d.columns.kept.forget()
			selected, err = d.columns.SelectToRank(t.Context(), test.filters)
			require.NoError(t, err)
			for _, h := range want { // more than may be looked at late
				if !selected.Contains(h.Row) {
					require.Fail(t, "not what Contains says", "%d", h.Row)
				}
			}
			require.Equal(t, len(want), selected.Len())
		})
	}
}

// TestLateTextsThatComeAgain: they are kept when that pays, and not before.
func TestLateTextsThatComeAgain(t *testing.T) {
	nightly.Only(t)
	d := theLateBench()
	d.columns.kept.forget()
	filters := []metadata.Filter{contains("title", "shelf4 ")}
	want := d.want(t, filters)[:40]
	titles := d.columns.columns[d.columns.byKey["title"]]
	pays := titles.effort() / costOfRanking
	require.Greater(t, pays, 10)
	for times := range pays + 3 {
		d.looks = 0
		selected, err := d.columns.SelectToRank(t.Context(), filters)
		require.NoError(t, err)
		got, err := d.rank(t.Context(), selected, Page{Limit: 40})
		require.NoError(t, err)
		require.True(t, slices.Equal(want, got), "%v, not %v", got, want)
		switch {
		case times <= pays:
			require.Less(t, d.looks, 3000)
		case times == pays+1:
			require.Greater(t, d.looks, len(titles.codes)-1)
		default:
			require.Zero(t, d.looks)
		}
	}
}

// TestLateTextsGiveWay: who searches long texts late looks whether it is time after each.
func TestLateTextsGiveWay(t *testing.T) {
	c := library(400)
	looks := 0
	c.looked = func(string) { looks++ }
	var s Scores
	for row := range uint32(400) {
		s.Put(row, []sound.Class{"0"}, [][]uint16{{uint16(row)}})
	}
	for _, filters := range [][]metadata.Filter{
		{contains("notes", "a 3")},
		{contains("notes", "a 3"), {Key: "camera", Op: metadata.OpNotEqual, Value: "camera 1"}},
	} {
		for ends := range int64(8) {
			c.kept.forget()
			selected, err := c.SelectToRank(t.Context(), filters)
			require.NoError(t, err)
			require.NotNil(t, selected.late())
			looks = 0
			_, err = s.Rank(ending(t, ends), "0", selected, NewRanking(Page{Limit: 10}, cmp.Compare[uint32]))
			require.ErrorIs(t, err, context.Canceled)
			require.LessOrEqual(t, looks, int(ends))
		}
		selected, err := c.SelectToRank(t.Context(), filters)
		require.NoError(t, err)
		found, err := s.Rank(t.Context(), "0", selected, NewRanking(Page{Limit: 10}, cmp.Compare[uint32]))
		require.NoError(t, err)
		require.Len(t, found, 10)
		require.Equal(t, uint32(399), found[0].Row)
	}
}
