// Package listtest proves the lists of stores: three rules for each list of a domain, which
// are the same for all of them. A suite says in a [List] how a list is filled and read.
// [Mutants] break the rules.
package listtest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// List is a list of a backend. S is the subject of the suite.
type List[S any] struct {
	ID     string // of the rules, behind "lists/"
	Method string // its name
	Items  string // what it lists, in the plural: "received events"
	Needs  conformance.Need
	Newest bool // the newest item first
	Shared bool // one list of all organizations

	// Open prepares the list of an organization.
	Open func(t *testing.T, s S, org string) Opened
}

// Opened is the list of an organization.
type Opened struct {
	// Position returns where an item is in the list. IDs are in the order of N: see UUID,
	// Name and Number.
	Position func(i Item) mortise.Position

	Add    func(t *testing.T, items ...Item) // stores items
	Remove func(t *testing.T, i Item)        // takes an item off the list; nil: none goes
	Page   func(ctx context.Context, after mortise.Cursor, limit int) (at []mortise.Position, next mortise.Cursor, err error)

	// Count counts the list; nil: it is not counted.
	Count func(ctx context.Context, most int) (mortise.Count, error)
}

// Item is an item of a list: its time, in hours after the suite's first moment, and its
// number among all items.
type Item struct{ Hour, N int }

// At returns the time of an item.
func (i Item) At() time.Time { return conformance.Moment(time.Duration(i.Hour) * time.Hour) }

// Numbers of items are from -least to most.
const least, most = 50, 300

// UUID returns a UUID for an item, in the order of numbers, and another one for each
// organization.
func UUID(org string, n int) uuid.UUID {
	id := uuid.UUID{6: 0x70, 8: 0x80, 15: org[len(org)-1]}
	binary.BigEndian.PutUint16(id[:], uint16((n+least)*185)) // with bytes over 127
	return id
}

// Name returns a name for an item. Names are in the order of numbers as bytes, which is not
// the order of any language.
func Name(n int) string {
	first := []string{"1", "B", "a", "\u00e4", "\ufffd", "\U0001F4DA"}
	return fmt.Sprintf("%s%03d", first[max(0, min(n/42, len(first)-1))], n+least)
}

// Number returns a number for an item, in the order of numbers, and another one for each
// organization.
func Number(org string, n int) int64 {
	return int64(n+least)<<24 | int64(org[len(org)-1]) // with more than 32 bits
}

// Of makes the Page of an [Opened] of a method of a store.
func Of[T any](
	list func(ctx context.Context, after mortise.Cursor, limit int) (mortise.Page[T], error), position func(*T) mortise.Position,
) func(context.Context, mortise.Cursor, int) ([]mortise.Position, mortise.Cursor, error) {
	return func(ctx context.Context, after mortise.Cursor, limit int) ([]mortise.Position, mortise.Cursor, error) {
		page, err := list(ctx, after, limit)
		at := make([]mortise.Position, 0, len(page.Items))
		for i := range page.Items {
			at = append(at, position(&page.Items[i]))
		}
		return at, page.Next, err
	}
}

// Rule is a rule of a suite.
type Rule[S any] struct {
	ID, Text string
	Needs    conformance.Need
	Check    func(t *testing.T, s S)
}

// Rules returns the rules of lists: three of each.
func Rules[S any](all []List[S]) (rules []Rule[S]) {
	for _, l := range all {
		order := "oldest first, and equal times by ID"
		if l.Newest {
			order = "newest first, and equal times by the greatest ID"
		}
		whose := "one organization"
		if l.Shared {
			whose = "all organizations"
		}
		rules = append(rules,
			Rule[S]{"lists/" + l.ID, fmt.Sprintf("%s returns the %s of %s, %s (as bytes; lists without times by ID alone). Whatever the limit, "+
				"a page has at most limit items, and pages from \"\" on, each from the Next of the page before, return each item once. "+
				"Next is \"\" on the last page only. A list that is counted has as many items as its count says, up to most.", l.Method, l.Items, whose, order), l.Needs, l.pages},
			Rule[S]{"lists/" + l.ID + Changing, fmt.Sprintf("Pages of %s (%s) neither repeat nor skip an item that exists throughout, whatever comes and goes "+
				"meanwhile: before the cursor, behind it, and the item at it.", l.Method, l.Items), l.Needs, l.changing},
			Rule[S]{"lists/" + l.ID + Cursors, fmt.Sprintf("The Next of a page of %s (%s) is the Cursor of its last item's Position, and can be used again. "+
				"A text that is no cursor is a ValidationError at \"after\". One of another list is, too, or begins somewhere in the list of the organization.",
				l.Method, l.Items), l.Needs, l.cursors})
	}
	return rules
}

// Changing and Cursors end the IDs of rules.
const (
	Changing = "-while-items-change"
	Cursors  = "-cursors"
)

// filled is a list, and the items that it must have, in its order.
type filled struct {
	Opened
	name, org string
	newest    bool
	have      []mortise.Position
	items     map[mortise.Position]Item
}

func (l List[S]) open(t *testing.T, s S, org string) *filled {
	return &filled{Opened: l.Open(t, s, org), name: l.Method, org: org, newest: l.Newest, items: make(map[mortise.Position]Item)}
}

// fill adds n items, three at each time, not in their order.
func (f *filled) fill(t *testing.T, n int) {
	t.Helper()
	var items []Item
	for i := range n {
		at := (i*7 + 3) % n
		items = append(items, Item{at / 3, at})
	}
	f.add(t, items...)
}

func (f *filled) add(t *testing.T, items ...Item) {
	t.Helper()
	f.Add(t, items...)
	for _, i := range items {
		at := f.Position(i)
		f.items[at] = i
		f.have = append(f.have, at)
	}
	slices.SortFunc(f.have, func(a, b mortise.Position) int {
		if f.newest {
			a, b = b, a
		}
		return a.Compare(b)
	})
}

// remove takes an item off the list, if that can be done.
func (f *filled) remove(t *testing.T, at mortise.Position) {
	t.Helper()
	if f.Remove != nil {
		f.Remove(t, f.items[at])
		f.have = slices.DeleteFunc(f.have, func(p mortise.Position) bool { return p == at })
	}
}

// page reads a page, and requires the properties that all pages have.
func (f *filled) page(t *testing.T, after mortise.Cursor, limit int) ([]mortise.Position, mortise.Cursor) {
	t.Helper()
	at, next, err := f.Page(t.Context(), after, limit)
	require.NoError(t, err, "%s of %q after %q, at most %d", f.name, f.org, after, limit)
	require.LessOrEqual(t, len(at), limit, "a page has more items than its limit")
	if len(at) > 0 && after != "" {
		require.NotEqual(t, after, at[0].Cursor(), "the item at the cursor, %s, comes again", f.say(at[0]))
	}
	if next != "" {
		require.NotEmpty(t, at, "a page has a Next, and no items")
		require.Equal(t, at[len(at)-1].Cursor(), next, "Next is not the cursor of the last item's position")
	}
	return at, next
}

// say names an item.
func (f *filled) say(at mortise.Position) string {
	if i, ok := f.items[at]; ok {
		return fmt.Sprintf("item %d of hour %d", i.N, i.Hour)
	}
	return fmt.Sprintf("an item of another list, or none, at %v with the ID %q", at.At, at.ID)
}

// same requires items, and says where the first difference is.
func (f *filled) same(t *testing.T, want, got []mortise.Position, what string, args ...any) {
	t.Helper()
	what = fmt.Sprintf(what, args...)
	for i, at := range got {
		if i < len(want) && want[i] == at {
			continue
		}
		switch {
		case slices.Contains(got[:i], at):
			require.FailNow(t, "twice", "%s of %q: %s comes twice", what, f.org, f.say(at))
		case !slices.Contains(want, at):
			require.FailNow(t, "too many", "%s of %q: %s does not belong there", what, f.org, f.say(at))
		case !slices.Contains(got, want[i]):
			require.FailNow(t, "skipped", "%s of %q: %s is skipped, before %s", what, f.org, f.say(want[i]), f.say(at))
		}
		require.FailNow(t, "order", "%s of %q: %s comes before %s", what, f.org, f.say(at), f.say(want[i]))
	}
	if len(got) < len(want) {
		require.FailNow(t, "skipped", "%s of %q: there are %d items after the %d that came, the first is %s",
			what, f.org, len(want)-len(got), len(got), f.say(want[len(got)]))
	}
}

// rest reads all pages from a cursor on.
func (f *filled) rest(t *testing.T, after mortise.Cursor, limit int) []mortise.Position {
	t.Helper()
	all := []mortise.Position{}
	for {
		at, next := f.page(t, after, limit)
		if len(all) > 0 {
			require.NotEmpty(t, at, "a page has a Next, and nothing follows its %d items", len(all))
		}
		all = append(all, at...)
		require.Less(t, len(all), 10_000, "%s does not end", f.name)
		if next == "" {
			return all
		}
		after = next
	}
}

func (l List[S]) pages(t *testing.T, s S) {
	f := l.open(t, s, "org-a")
	f.fill(t, 250)
	var other, empty *filled
	if !l.Shared {
		other, empty = l.open(t, s, "org-b"), l.open(t, s, "org-c")
		other.fill(t, 20)
	}
	f.remove(t, f.have[0])
	f.remove(t, f.have[100])
	for _, limit := range []int{1, 7, 100, len(f.have) - 1, len(f.have), len(f.have) + 1, mortise.MaxPageSize} {
		f.same(t, f.have, f.rest(t, "", limit), "%s by pages of at most %d items", l.Method, limit)
	}
	if !l.Shared {
		other.same(t, other.have, other.rest(t, "", 7), "%s", l.Method)
		require.Empty(t, empty.rest(t, "", 7), "the list of an organization that has none")
	}
	if f.Count == nil {
		return
	}
	for _, most := range []int{1, len(f.have) - 1, len(f.have), mortise.MaxCount} {
		n, err := f.Count(t.Context(), most)
		require.NoError(t, err)
		require.Equal(t, mortise.CountUpTo(len(f.have), most), n, "the count up to %d", most)
	}
	if l.Shared {
		return
	}
	n, err := empty.Count(t.Context(), 1)
	require.NoError(t, err)
	require.Zero(t, n, "the count of an organization that has none")
}

func (l List[S]) changing(t *testing.T, s S) {
	f := l.open(t, s, "org-a")
	for n := 10; n < 90; n += 10 {
		f.add(t, Item{n, n})
	}
	seen := make(map[mortise.Position]bool)
	low, high := 0, 90 // numbers of items that come
	before := func() int { low--; return low }
	behind := func() int { high++; return high }
	var after mortise.Cursor
	for turn := 0; turn == 0 || after != ""; turn++ {
		throughout := slices.Clone(f.have)
		at, next := f.page(t, after, 2)
		for _, p := range at {
			require.False(t, seen[p], "%+v comes twice", f.items[p])
			seen[p] = true
		}
		if after = next; next == "" {
			for _, p := range throughout {
				require.True(t, seen[p] || f.items[p].N < 10 || f.items[p].N >= 90, "%+v is skipped", f.items[p])
			}
			continue
		}
		require.Less(t, turn, 100, "%s does not end", l.Method)
		if turn > 5 {
			continue
		}
		last := f.items[at[len(at)-1]]
		f.add(t, Item{0, before()}, Item{200, behind()}, Item{last.Hour, before()}, Item{last.Hour, behind()}, Item{last.Hour + 1, before()})
		if turn%2 == 0 {
			f.remove(t, at[len(at)-1])
		}
	}
}

func (l List[S]) cursors(t *testing.T, s S) {
	f := l.open(t, s, "org-a")
	f.fill(t, 12)
	other := f
	if !l.Shared {
		other = l.open(t, s, "org-b")
		other.fill(t, 12)
	}
	own := func(f *filled, after mortise.Cursor) {
		at, _, err := f.Page(t.Context(), after, 100)
		var invalid *mortise.ValidationError
		if errors.As(err, &invalid) {
			require.Equal(t, "after", invalid.Problems[0].Path.String(), "the place of the problem with %q", after)
			return
		}
		_, unreadable := after.Position()
		require.NoError(t, unreadable, "%s after %q, which Cursor.Position refuses: its error", l.Method, after)
		require.NoError(t, err, "%s after %q", l.Method, after)
		require.Subset(t, f.have, at, "items after %q", after)
	}
	var cursor mortise.Cursor
	for i := range len(f.have) - 1 {
		at, next := f.page(t, cursor, 1)
		f.same(t, f.have[i:i+1], at, "%s, a page of one item", l.Method)
		cursor = next
		for range 2 {
			f.same(t, f.have[i+1:], f.rest(t, cursor, 5), "%s after %s", l.Method, f.say(f.have[i]))
		}
		own(other, cursor)
	}
	for _, text := range []mortise.Cursor{
		"x", "AAAA", "AAAAAAAAAAAA", "-1", "../../etc/passwd", "%00", "\x00", "'", cursor + "A", cursor[1:], cursor[:len(cursor)-1], cursor + "\n",
		mortise.Cursor(strings.Repeat("A", 44)), mortise.Cursor(strings.Repeat("_", 32)), mortise.Cursor(strings.Repeat("A", 512)),
	} {
		own(f, text)
	}
}
