package audittest

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// Asked points to the fields of an AuditQuery.
type Asked struct {
	Kind, Actor, About *string
	From, To           *time.Time
	After              *mortise.Position
	Limit              *int
}

// Mutants breaks every rule about queries and the order of events, by a mistake in
// ListAuditEvents. field is the name of what Event.About stands for, in small letters;
// position is the Position of an event, and fields returns those of an AuditQuery Q.
func Mutants[E, Q any](field string, position func(*E) mortise.Position, fields func(*Q) Asked) []mutate.Mutant {
	listed := func(do func(c *mutate.Call, q Asked)) func(any) {
		return func(methods any) {
			mutate.Around(methods, func(c *mutate.Call) { do(c, fields(mutate.Get[Q](c.In))) }, "ListAuditEvents")
		}
	}
	asked := func(change func(q Asked)) func(any) {
		return listed(func(c *mutate.Call, q Asked) {
			change(q)
			c.Go()
		})
	}
	paged := func(change func(q Asked, page *mortise.Page[E])) func(any) {
		return listed(func(c *mutate.Call, q Asked) {
			c.Go()
			change(q, mutate.Get[mortise.Page[E]](c.Out))
		})
	}
	by := "audit/by-kind-actor-and-" + field
	return []mutate.Mutant{
		{Name: "shows the oldest events first", Breaks: []string{"audit/newest-first", "audit/equal-times-by-id", "audit/matches-query"},
			Make: paged(func(_ Asked, page *mortise.Page[E]) { slices.Reverse(page.Items) })},

		{Name: "shows every organization's events", Breaks: []string{"audit/of-organization"},
			Make: func(methods any) { mutate.Arg(methods, func(org *string) { *org = orgA }, "ListAuditEvents") }},

		{Name: "ignores the kind", Breaks: []string{by, "audit/matches-query", "audit/names-are-bytes"},
			Make: asked(func(q Asked) { *q.Kind = "" })},

		{Name: "ignores the actor", Breaks: []string{by},
			Make: asked(func(q Asked) { *q.Actor = "" })},

		{Name: "ignores the actor if there is a " + field, Breaks: []string{by, "audit/matches-query"},
			Make: asked(func(q Asked) {
				if *q.About != "" {
					*q.Actor = ""
				}
			})},

		{Name: "ignores the " + field, Breaks: []string{by, "audit/matches-query", "audit/names-are-bytes"},
			Make: asked(func(q Asked) { *q.About = "" })},

		{Name: "ignores the " + field + " on short pages", Breaks: []string{"audit/pages"},
			Make: asked(func(q Asked) {
				if *q.Limit < 10 {
					*q.About = ""
				}
			})},

		{Name: "filters without case", Breaks: []string{"audit/names-are-bytes"},
			Make: asked(func(q Asked) {
				if *q.Actor == "ACME" {
					*q.Actor = "acme"
				}
			})},

		{Name: "takes From as exclusive", Breaks: []string{"audit/from-to", "audit/times-keep-microseconds"},
			Make: asked(func(q Asked) { *q.From = q.From.Add(1) })},

		{Name: "takes To as inclusive", Breaks: []string{"audit/from-to", "audit/matches-query"},
			Make: asked(func(q Asked) {
				if !q.To.IsZero() {
					*q.To = q.To.Add(1)
				}
			})},

		{Name: "compares times by the clock on the wall", Breaks: []string{"audit/times-are-instants"},
			Make: asked(func(q Asked) {
				if !q.From.IsZero() {
					_, offset := q.From.Zone()
					*q.From = q.From.Add(time.Duration(offset) * time.Second)
				}
			})},

		{Name: "repeats events of equal times", Breaks: []string{"audit/pages", "audit/matches-query"},
			Make: asked(func(q Asked) {
				if !q.After.IsZero() {
					q.After.ID = uuid.Max
				}
			})},

		{Name: "skips events of equal times", Breaks: []string{"audit/pages", "audit/matches-query"},
			Make: asked(func(q Asked) { q.After.ID = uuid.Nil })},

		{Name: "keeps one event of a time", Breaks: []string{"audit/equal-times-by-id"},
			Make: paged(func(_ Asked, page *mortise.Page[E]) {
				page.Items = slices.CompactFunc(page.Items, func(a, b E) bool { return position(&a).At.Equal(position(&b).At) })
			})},

		{Name: "has one more empty page", Breaks: []string{"audit/next-is-zero-at-the-end"},
			Make: paged(func(q Asked, page *mortise.Page[E]) {
				if n := len(page.Items); n == *q.Limit && n > 0 {
					page.Next = position(&page.Items[n-1])
				}
			})},

		{Name: "shows more events than asked for", Breaks: []string{"audit/pages"},
			Make: asked(func(q Asked) { *q.Limit++ })},

		{Name: "pages by number", Breaks: []string{"audit/pages-while-events-arrive"}, Make: listed(func(c *mutate.Call, q Asked) {
			limit, skip := *q.Limit, 0
			if !q.After.IsZero() {
				skip = int(q.After.At.Unix())
			}
			*q.After, *q.Limit = mortise.Position{}, whole
			c.Go()
			page := mutate.Get[mortise.Page[E]](c.Out)
			all := page.Items[min(skip, len(page.Items)):]
			page.Items = all[:min(limit, len(all))]
			if len(all) > limit {
				page.Next = mortise.Position{At: time.Unix(int64(skip+limit), 0)}
			}
		})},
	}
}
