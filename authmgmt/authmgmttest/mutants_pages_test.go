package authmgmttest_test

import (
	"context"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// ask asks for a page of whatever listing, and returns where its items stand and what it
// says of itself.
type ask = func(org string, p authmgmt.Paging) (at []authmgmt.Position, next *authmgmt.Position, total *int)

// everyPage puts something between the caller and all of the mutant's listings. It calls
// ask at least once; the page of the last call is what the caller gets. newest says which
// end the listing begins at.
func everyPage(do func(newest bool, org string, p authmgmt.Paging, ask ask)) func(*mutant) {
	return around(func(c *mutate.Call) {
		org, p := mutate.Get[string](c.In), mutate.Get[authmgmt.Paging](c.In)
		do(c.Method != "ListClients", *org, *p, func(o string, q authmgmt.Paging) (at []authmgmt.Position, next *authmgmt.Position, total *int) {
			*org, *p = o, q
			c.Go()
			page := c.Out[0]
			for _, item := range page.FieldByName("Items").Seq2() {
				at = append(at, item.Addr().Interface().(interface{ Position() authmgmt.Position }).Position())
			}
			return at, page.FieldByName("Next").Addr().Interface().(*authmgmt.Position), page.FieldByName("Total").Addr().Interface().(*int)
		})
	}, listings...)
}

// firstID and lastID are before and behind every ID of one time.
func firstID(newest bool) string {
	if newest {
		return "~"
	}
	return ""
}

func lastID(newest bool) string { return firstID(!newest) }

// pageMutants are wrong about pages by positions.
var pageMutants = []broken{
	{name: "repeats items of equal times", breaks: lists("list-pages") + " " + lists("list-after-any-position"),
		mutate: everyPage(func(newest bool, org string, p authmgmt.Paging, ask ask) {
			if !p.After.IsZero() {
				p.After.ID = firstID(newest)
			}
			ask(org, p)
		})},
	{name: "leaves out items of equal times", breaks: lists("list-pages") + " " + lists("list-pages-while-others-come-and-go"),
		mutate: everyPage(func(newest bool, org string, p authmgmt.Paging, ask ask) {
			if !p.After.IsZero() {
				p.After.ID = lastID(newest)
			}
			ask(org, p)
		})},
	{name: "has one more empty page in listings", breaks: lists("list-pages") + " " + lists("list-next-of-offset"),
		mutate: everyPage(func(_ bool, org string, p authmgmt.Paging, ask ask) {
			if at, next, _ := ask(org, p); len(at) == p.Limit && p.Limit > 0 {
				*next = at[p.Limit-1]
			}
		})},
	{name: "has no position behind an offset", breaks: lists("list-next-of-offset"),
		mutate: everyPage(func(_ bool, org string, p authmgmt.Paging, ask ask) {
			if _, next, _ := ask(org, p); p.Offset > 0 {
				*next = authmgmt.Position{}
			}
		})},
	{name: "takes the number of a listed item for its position",
		breaks: lists("list-pages-while-others-come-and-go") + " " + lists("list-after-any-position"),
		mutate: func(m *mutant) {
			numbers := make(map[authmgmt.Position]int)
			everyPage(func(_ bool, org string, p authmgmt.Paging, ask ask) {
				if !p.After.IsZero() {
					p.Offset, p.After = numbers[p.After], authmgmt.Position{}
				}
				at, _, _ := ask(org, p)
				for i := range at {
					numbers[at[i]] = p.Offset + i + 1
				}
			})(m)
		}},
	{name: "begins anew where an item has gone", breaks: lists("list-pages-while-others-come-and-go") + " " + lists("list-after-any-position"),
		mutate: everyPage(func(_ bool, org string, p authmgmt.Paging, ask ask) {
			all, _, _ := ask(org, authmgmt.Paging{Limit: mortise.MaxPageSize})
			if !slices.ContainsFunc(all, func(at authmgmt.Position) bool { return at.Compare(p.After) == 0 }) {
				p.After = authmgmt.Position{}
			}
			ask(org, p)
		})},
	{name: "shows what arrived before the position", breaks: lists("list-pages-while-others-come-and-go"), mutate: func(m *mutant) {
		made := 0
		arg(func(*context.Context) { made++ }, creates...)(m)
		seen := make(map[authmgmt.Position]int)
		everyPage(func(_ bool, org string, p authmgmt.Paging, ask ask) {
			if before, ok := seen[p.After]; ok && before < made {
				p.After = authmgmt.Position{}
			}
			if _, next, _ := ask(org, p); !next.IsZero() {
				seen[*next] = made
			}
		})(m)
	}},
	{name: "compares positions by the clock on the wall", breaks: lists("list-after-any-position"),
		mutate: everyPage(func(_ bool, org string, p authmgmt.Paging, ask ask) {
			_, offset := p.After.At.Zone()
			p.After.At = p.After.At.Add(time.Duration(offset) * time.Second)
			ask(org, p)
		})},
	{name: "takes a position without time for none", breaks: "tokens/list-after-any-position invitations/list-after-any-position",
		mutate: everyPage(func(_ bool, org string, p authmgmt.Paging, ask ask) {
			if p.After.At.IsZero() {
				p.After = authmgmt.Position{}
			}
			ask(org, p)
		})},
	{name: "counts what follows the position", breaks: lists("list-total"),
		mutate: everyPage(func(_ bool, org string, p authmgmt.Paging, ask ask) {
			rest, _, _ := ask(org, authmgmt.Paging{After: p.After, Limit: mortise.MaxPageSize})
			if _, _, total := ask(org, p); p.Total {
				*total = len(rest)
			}
		})},
	{name: "counts without being asked", breaks: lists("list-total") + " " + lists("list-limit-zero"),
		mutate: everyPage(func(_ bool, org string, p authmgmt.Paging, ask ask) {
			p.Total = true
			ask(org, p)
		})},
	{name: "shows all for a limit of 0", breaks: lists("list-limit-zero"),
		mutate: everyPage(func(_ bool, org string, p authmgmt.Paging, ask ask) {
			if p.Limit == 0 {
				p.Limit = mortise.MaxPageSize
			}
			ask(org, p)
		})},
	{name: "goes on at the same place for a limit of 0", breaks: lists("list-limit-zero"),
		mutate: everyPage(func(_ bool, org string, p authmgmt.Paging, ask ask) {
			if _, next, _ := ask(org, p); p.Limit == 0 {
				*next = p.After
			}
		})},
	{name: "shows one item more than the limit", breaks: lists("list-pages") + " " + lists("list-offset-and-limit"),
		mutate: everyPage(func(_ bool, org string, p authmgmt.Paging, ask ask) {
			at, next, _ := ask(org, p)
			if len(at) < p.Limit || next.IsZero() || p.Limit == 0 {
				return
			}
			p.Limit++
			at, next, _ = ask(org, p)
			*next = at[p.Limit-2]
		})},
}
