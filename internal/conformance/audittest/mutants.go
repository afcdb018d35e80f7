package audittest

import (
	"time"

	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// Asked points to the fields of an AuditQuery.
type Asked struct {
	Kind, Actor, About *string
	From, To           *time.Time
}

// Mutants breaks every rule about queries and the order of events, by a mistake in
// ListAuditEvents. field is the name of what Event.About stands for, in small letters;
// position is the Position of an event, and fields returns those of an AuditQuery Q.
func Mutants[Q any](field string, fields func(*Q) Asked) []mutate.Mutant {
	asked := func(change func(q Asked)) func(any) {
		return func(methods any) {
			mutate.Around(methods, func(c *mutate.Call) {
				change(fields(mutate.Get[Q](c.In)))
				c.Go()
			}, "ListAuditEvents")
		}
	}
	by := "audit/by-kind-actor-and-" + field
	return []mutate.Mutant{
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
	}
}
