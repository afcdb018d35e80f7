package authmgmttest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

// pageRules are the rules of pages by positions, of all listings.
func pageRules() []rule {
	return slices.Concat(
		rulesOfPages("clients", "ListClients", listedClients),
		rulesOfPages("tokens", "ListTokens", listedTokens),
		rulesOfPages("invitations", "ListInvitations", listedInvitations(time.Time{}, ""), listedInvitations(moment(day), ""),
			listedInvitations(time.Time{}, "Bob"), listedInvitations(moment(day), "Bob")),
	)
}

func rulesOfPages(group, method string, lists ...listed) []rule {
	// Each check is tried on an organization of its own, beside one that has things of
	// the same IDs and times.
	each := func(check func(t *testing.T, l *listing)) func(*testing.T, *subject) {
		return func(t *testing.T, s *subject) {
			for i := range lists {
				check(t, &listing{listed: &lists[i], s: s, org: fmt.Sprint("org-", i)})
			}
		}
	}
	filled := func(check func(t *testing.T, l *listing)) func(*testing.T, *subject) {
		return each(func(t *testing.T, l *listing) {
			other := &listing{listed: l.listed, s: l.s, org: l.org + "-b"}
			const n = 12
			for i := range n {
				at := (i * 5) % n
				l.add(t, l.place(at/3, at)) // three at each time
				other.add(t, other.place(at/3, at))
			}
			check(t, l)
		})
	}
	return []rule{
		{Rule{group + "/list-pages", method + " by After neither repeats nor leaves out an item, whatever the limit, those of equal times neither; a page holds at most Limit items, and Next is zero on the last one only."}, needStore,
			filled(func(t *testing.T, l *listing) {
				for limit := 1; limit <= len(l.have)+1; limit++ {
					p := authmgmt.Paging{Limit: limit}
					for read := 0; read < len(l.have); read += limit {
						p.After = l.shows(t, l.have[read:], p).next
					}
					require.Zero(t, p.After)
				}
			})},

		{Rule{group + "/list-next-of-offset", "Next of a page by Offset is where the page behind it begins."}, needStore,
			filled(func(t *testing.T, l *listing) {
				for _, p := range stretches(len(l.have)) {
					rest := l.have[min(p.Offset, len(l.have)):]
					if next := l.shows(t, rest, p).next; !next.IsZero() {
						l.shows(t, rest[p.Limit:], authmgmt.Paging{After: next, Limit: p.Limit})
					}
				}
			})},

		{Rule{group + "/list-pages-while-others-come-and-go", method + " by After goes on behind the position, whatever came and went meanwhile: its item, those before it and those behind it."}, needStore,
			each(func(t *testing.T, l *listing) {
				for n := 10; n < 90; n += 10 {
					l.add(t, l.place(n, n))
				}
				low, high := 0, 90 // of what arrives
				lowest := func() string { low++; return l.id(l.org, low) }
				highest := func() string { high++; return l.id(l.org, high) }
				p := authmgmt.Paging{Limit: 2}
				for turn := 1; turn <= 3; turn++ {
					got := l.shows(t, l.behind(p.After), p)
					p.After = got.next
					require.NotZero(t, p.After)
					next := l.behind(p.After)[0]
					for _, at := range []authmgmt.Position{
						// Which is the next one now.
						{At: p.After.At.Add(next.At.Sub(p.After.At) / 2), ID: lowest()},
						{At: moment(0), ID: lowest()}, {At: moment(100 * time.Hour), ID: highest()},
						// On both sides.
						{At: p.After.At, ID: lowest()}, {At: p.After.At, ID: highest()},
					} {
						l.add(t, at)
					}
					l.remove(t, got.at[turn%2])
					l.remove(t, next)
				}
				l.shows(t, l.behind(p.After), authmgmt.Paging{After: p.After, Limit: 100})
			})},

		{Rule{group + "/list-after-any-position", method + " takes every position, also one where nothing ever stood and one of another organization."}, needStore,
			filled(func(t *testing.T, l *listing) {
				for _, after := range []authmgmt.Position{
					l.place(-1, 0), l.place(0, 0), l.place(0, 15), l.place(1, 0), l.place(1, 2), l.place(1, 15), l.place(2, 7), l.place(3, 11),
					l.place(3, 12), l.place(9, 0),
					{At: moment(time.Hour + time.Microsecond), ID: l.id(l.org, 4)}, {At: moment(time.Hour - time.Microsecond), ID: l.id(l.org, 4)},
					{At: moment(time.Hour), ID: l.id(l.org+"-b", 4)}, {At: moment(time.Hour).In(time.FixedZone("", 5*3600)), ID: l.id(l.org, 4)},
					{At: time.Unix(0, 0), ID: l.id(l.org, 4)}, {ID: l.id(l.org, 4)},
				} {
					for _, limit := range []int{1, 3, 100} {
						l.shows(t, l.behind(after), authmgmt.Paging{After: after, Limit: limit})
					}
				}
			})},

		{Rule{group + "/list-total", "Total counts the whole listing if Paging.Total is set, wherever the page begins, and else it is 0."}, needStore,
			filled(func(t *testing.T, l *listing) {
				for _, p := range []authmgmt.Paging{{Limit: 5}, {Limit: 100}, {Offset: 3, Limit: 5}, {Offset: 100, Limit: 5},
					{After: l.have[4], Limit: 5}, {After: l.have[len(l.have)-1], Limit: 5}} {
					require.Zero(t, l.list(t, l.s, l.org, p).total, "%+v", p)
					p.Total = true
					require.Equal(t, len(l.have), l.list(t, l.s, l.org, p).total, "%+v", p)
				}
			})},

		{Rule{group + "/list-limit-zero", "A Limit of 0, or less, shows nothing, and Next is zero; Total counts."}, needStore,
			filled(func(t *testing.T, l *listing) {
				for _, p := range []authmgmt.Paging{{}, {Limit: -1}, {Offset: 2}, {After: l.have[4]}} {
					require.Equal(t, shownPage{at: []authmgmt.Position{}}, l.list(t, l.s, l.org, p), "%+v", p)
					p.Total = true
					require.Equal(t, shownPage{at: []authmgmt.Position{}, total: len(l.have)}, l.list(t, l.s, l.org, p), "%+v", p)
				}
			})},
	}
}
