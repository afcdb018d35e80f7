package audittest

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// said returns an event with what a query asks for.
func (s *Events[E]) said(kind, actor, about string, at time.Duration) E {
	return s.New(Event{ID: uuid.New(), Organization: orgA, At: conformance.Moment(at), Kind: kind, Actor: actor, About: about})
}

// queryRules are the rules of the fields of an AuditQuery.
func (s *Events[E]) queryRules() []Rule[E] {
	return []Rule[E]{
		{"audit/by-kind-actor-and-" + s.field(), "AuditQuery selects by Kind, by Actor and by " + s.About + "; what is empty selects everything.", func(t *testing.T, s *Trail[E]) {
			var all []E
			for i := range 8 {
				all = append(all, s.said([]string{"made", "gone"}[i&1], []string{"ann", "bea"}[i>>2], []string{"x", "y"}[i>>1&1], time.Duration(i)*time.Hour))
			}
			s.Record(t, all...)
			for kind, n := range map[string]int{"made": 4, "gone": 4, "changed": 0} {
				s.selects(t, all, Query{Kind: kind}, n)
				s.selects(t, all, Query{Kind: kind, Actor: "ann"}, n/2)
				s.selects(t, all, Query{Kind: kind, Actor: "ann", About: "y"}, n/4)
			}
			for actor, n := range map[string]int{"ann": 4, "bea": 4, "cleo": 0} {
				s.selects(t, all, Query{Actor: actor}, n)
				s.selects(t, all, Query{Actor: actor, About: "x"}, n/2)
			}
			for about, n := range map[string]int{"x": 4, "y": 4, "z": 0} {
				s.selects(t, all, Query{About: about}, n)
			}
			s.selects(t, all, Query{}, 8)
		}},

		{"audit/names-are-bytes", "Kind, Actor and " + s.About + " are compared as bytes.", func(t *testing.T, s *Trail[E]) {
			var all []E
			for n, text := range conformance.Strings {
				all = append(all, s.said(text, text, text, time.Duration(n)*time.Hour))
			}
			s.Record(t, all...)
			for _, text := range conformance.Strings {
				s.selects(t, all, Query{Kind: text}, 1)
				s.selects(t, all, Query{Actor: text}, 1)
				s.selects(t, all, Query{About: text}, 1)
			}
		}},

		{"audit/from-to", "From selects events at or after it, To those before it.", func(t *testing.T, s *Trail[E]) {
			var all []E
			for i := range 6 {
				all = append(all, s.event(orgA, "x", time.Duration(i/2)*time.Microsecond))
			}
			s.Record(t, all...)
			for n := -1; n <= 3; n++ {
				from, next := conformance.Moment(time.Duration(n)*time.Microsecond), conformance.Moment(time.Duration(n+1)*time.Microsecond)
				s.selects(t, all, Query{From: from}, 2*min(3, 3-n))
				s.selects(t, all, Query{To: from}, 2*max(0, n))
				s.selects(t, all, Query{From: from, To: next}, map[bool]int{true: 2}[n >= 0 && n < 3])
			}
			s.selects(t, all, Query{From: conformance.Moment(time.Hour), To: conformance.Moment(0)}, 0)
		}},

		{"audit/times-are-instants", "Times of an AuditQuery are instants, in whatever zone they are written.", func(t *testing.T, s *Trail[E]) {
			var all []E
			for i := range 48 {
				all = append(all, s.event(orgA, "x", time.Duration(i)*time.Hour))
			}
			s.Record(t, all...)
			for _, offset := range []int{-11, -5, 0, 2, 13} {
				zone := time.FixedZone("", offset*3600+1800)
				s.selects(t, all, Query{From: conformance.Moment(12 * time.Hour).In(zone), To: conformance.Moment(36 * time.Hour).In(zone)}, 24)
			}
		}},

		{"audit/matches-query", "ListAuditEvents returns what AuditQuery.Matches says, whatever the combination.", func(t *testing.T, s *Trail[E]) {
			kinds, names := []string{"", "made", "gone"}, []string{"", "ann", "bea"}
			var all []E
			for i := range 40 {
				all = append(all, s.said(kinds[1+i%2], names[1+i/4%2], names[1+i/2%2], time.Duration(i/6)*time.Microsecond))
			}
			s.Record(t, all...)
			times := []time.Time{{}, conformance.Moment(2 * time.Microsecond), conformance.Moment(5 * time.Microsecond)}
			for _, kind := range kinds {
				for _, actor := range names {
					for _, about := range names {
						for _, from := range times {
							for _, to := range times {
								s.selects(t, all, Query{Kind: kind, Actor: actor, About: about, From: from, To: to}, -1)
							}
						}
					}
				}
			}
		}},
	}
}
