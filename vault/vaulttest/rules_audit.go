package vaulttest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
)

// auditRules say what the audit trail keeps, and in which order.
var auditRules = []rule{
	{Rule{"audit/stores-every-field", "An audit event is stored with all its fields, its tokens in their order and its schema included; the schema is nil if there was none, which an empty one is not."}, 0,
		func(t *testing.T, s *subject) {
			both, tokens, schema, empty := filledEvent(orgA, "both"), filledEvent(orgA, "tokens"), filledEvent(orgA, "schema"), filledEvent(orgA, "empty")
			tokens.Schema, schema.Tokens = nil, nil
			empty.Tokens, empty.Schema = []vault.AuditToken{}, &vault.Schema{}
			events := []vault.AuditEvent{both, tokens, schema, empty, newEvent(orgA, vault.KindDetokenized, "plain", 0)}
			s.record(t, events...)
			for _, e := range events {
				s.hasEvent(t, e)
			}
		}},

	{Rule{"audit/many-tokens", "An audit event names 1000 tokens, as long as they can be."}, 0,
		func(t *testing.T, s *subject) {
			e := newEvent(orgA, vault.KindDetokenized, "customers", 0)
			for i := range 1000 {
				e.Tokens = append(e.Tokens, vault.AuditToken{Token: fmt.Sprintf("%0255d", i), Scope: strings.Repeat("s", 511), Redaction: vault.PlainText})
			}
			s.record(t, e)
			s.hasEvent(t, e)
		}},

	{Rule{"audit/times-keep-microseconds", "Times of audit events keep microseconds, and are UTC."}, 0,
		func(t *testing.T, s *subject) {
			for _, at := range exactTimes {
				e := filledEvent(orgA, "x")
				e.At = at
				s.record(t, e)
				s.hasEvent(t, e)
			}
		}},

	{Rule{"audit/strings-keep-every-byte", "Strings of audit events keep every byte; those of tokens and schemas, which are JSON, every character."}, 0,
		func(t *testing.T, s *subject) {
			for n, text := range hard {
				e := filledEvent(text, text)
				e.Actor, e.Kind = vault.Actor(text), vault.Kind(text)
				if text != "\xff" && text != "\xfe\xff" {
					e.Tokens[1] = vault.AuditToken{Token: text, Scope: text, Redaction: vault.Redaction(text)}
					e.Schema.Tables[0].Name = text
				}
				s.record(t, e)
				require.Len(t, s.trail(t, text), 1, "events of %q", text)
				s.hasEvent(t, e)
				e = newEvent(orgA, vault.Kind(text), text, time.Duration(n)*time.Hour)
				s.record(t, e)
				s.hasEvent(t, e)
			}
		}},

	{Rule{"audit/newest-first", "ListAuditEvents returns the events newest first, by At, whatever the order in which they were stored."}, 0,
		func(t *testing.T, s *subject) {
			want := make([]vault.AuditEvent, 6)
			for _, i := range []int{3, 0, 5, 4, 1, 2} {
				want[i] = filledEvent(orgA, "x")
				want[i].At = moment(-time.Duration(i) * time.Microsecond)
				s.record(t, want[i])
			}
			got := s.audit(t, orgA, everything).Items
			require.Equal(t, eventIDs(want), eventIDs(got))
			for i := range want {
				sameEvent(t, want[i], got[i])
			}
		}},

	{Rule{"audit/equal-times-by-id", "ListAuditEvents orders equal times by ID, as bytes, descending."}, 0,
		func(t *testing.T, s *subject) {
			var want []uuid.UUID
			for _, first := range []byte{0xff, 0x80, 0x7f, 0x61, 0x10, 0x01} {
				for _, last := range []byte{0xff, 0x80, 0x01} {
					want = append(want, uuid.UUID{0: first, 8: 0x41, 15: last})
				}
			}
			for i := range want {
				e := newEvent(orgA, vault.KindDetokenized, "x", 0)
				e.ID = want[(i*7)%len(want)]
				s.record(t, e)
			}
			require.Equal(t, want, eventIDs(s.audit(t, orgA, everything).Items))
		}},

	{Rule{"audit/of-organization", "ListAuditEvents returns the organization's events and no other's; none if there are none."}, 0,
		func(t *testing.T, s *subject) {
			a, b := newEvent(orgA, vault.KindDetokenized, "x", 0), newEvent(orgB, vault.KindDetokenized, "x", 0)
			s.record(t, a, b)
			for org, want := range map[string][]uuid.UUID{orgA: {a.ID}, orgB: {b.ID}, "org-c": {}, "": {}} {
				page := s.audit(t, org, everything)
				require.Equal(t, want, eventIDs(page.Items))
				require.True(t, page.Next.IsZero())
			}
		}},

	{Rule{"audit/copies", "Arguments and results are the receiver's own: what AddAuditEvent is given, and what ListAuditEvents returns."}, 0,
		func(t *testing.T, s *subject) {
			e := filledEvent(orgA, "x")
			mine := e.Clone()
			require.NoError(t, s.Store.AddAuditEvent(t.Context(), mine))
			spoilEvent(&mine)
			for range 2 {
				got := s.audit(t, orgA, everything).Items
				require.Len(t, got, 1)
				sameEvent(t, e, got[0])
				spoilEvent(&got[0])
			}
		}},
}

// auditQueryRules say what an AuditQuery selects, and how it is cut into pages.
var auditQueryRules = []rule{
	{Rule{"audit/by-kind-actor-and-vault", "AuditQuery selects by Kind, by Actor and by Vault; what is empty selects everything."}, 0,
		func(t *testing.T, s *subject) {
			var all []vault.AuditEvent
			for i := range 8 {
				e := newEvent(orgA, []vault.Kind{vault.KindDetokenized, vault.KindDeleted}[i&1], []string{"x", "y"}[i>>1&1], time.Duration(i)*time.Hour)
				e.Actor = []vault.Actor{"ann", "bea"}[i>>2]
				all = append(all, e)
			}
			s.record(t, all...)
			for kind, n := range map[vault.Kind]int{vault.KindDetokenized: 4, vault.KindDeleted: 4, vault.KindRewrapped: 0} {
				s.selects(t, all, vault.AuditQuery{Kind: kind}, n)
				s.selects(t, all, vault.AuditQuery{Kind: kind, Actor: "ann"}, n/2)
				s.selects(t, all, vault.AuditQuery{Kind: kind, Actor: "ann", Vault: "y"}, n/4)
			}
			for _, actor := range []vault.Actor{"ann", "bea"} {
				s.selects(t, all, vault.AuditQuery{Actor: actor}, 4)
				s.selects(t, all, vault.AuditQuery{Actor: actor, Vault: "x"}, 2)
			}
			for id, n := range map[string]int{"x": 4, "y": 4, "z": 0} {
				s.selects(t, all, vault.AuditQuery{Vault: id}, n)
			}
			s.selects(t, all, vault.AuditQuery{Actor: "cleo"}, 0)
			s.selects(t, all, vault.AuditQuery{}, 8)
		}},

	{Rule{"audit/names-are-bytes", "Kind, Actor and Vault are compared as bytes."}, 0,
		func(t *testing.T, s *subject) {
			var all []vault.AuditEvent
			for n, text := range hard {
				e := newEvent(orgA, vault.Kind(text), text, time.Duration(n)*time.Hour)
				e.Actor = vault.Actor(text)
				all = append(all, e)
			}
			s.record(t, all...)
			for _, text := range hard {
				s.selects(t, all, vault.AuditQuery{Kind: vault.Kind(text)}, 1)
				s.selects(t, all, vault.AuditQuery{Actor: vault.Actor(text)}, 1)
				s.selects(t, all, vault.AuditQuery{Vault: text}, 1)
			}
		}},

	{Rule{"audit/from-to", "From selects events at or after it, To those before it."}, 0,
		func(t *testing.T, s *subject) {
			var all []vault.AuditEvent
			for i := range 6 {
				all = append(all, newEvent(orgA, vault.KindDetokenized, "x", time.Duration(i/2)*time.Microsecond))
			}
			s.record(t, all...)
			for from := -1; from <= 3; from++ {
				s.selects(t, all, vault.AuditQuery{From: moment(time.Duration(from) * time.Microsecond)}, 2*min(3, 3-from))
				s.selects(t, all, vault.AuditQuery{To: moment(time.Duration(from) * time.Microsecond)}, 2*max(0, from))
				s.selects(t, all, vault.AuditQuery{From: moment(time.Duration(from) * time.Microsecond), To: moment(time.Duration(from+1) * time.Microsecond)},
					map[bool]int{true: 2}[from >= 0 && from < 3])
			}
			s.selects(t, all, vault.AuditQuery{From: moment(time.Hour), To: moment(0)}, 0)
		}},

	{Rule{"audit/times-are-instants", "Times of an AuditQuery are instants, in whatever zone they are written."}, 0,
		func(t *testing.T, s *subject) {
			var all []vault.AuditEvent
			for i := range 48 {
				all = append(all, newEvent(orgA, vault.KindDetokenized, "x", time.Duration(i)*time.Hour))
			}
			s.record(t, all...)
			for _, offset := range []int{-11, -5, 0, 2, 13} {
				zone := time.FixedZone("", offset*3600+1800)
				s.selects(t, all, vault.AuditQuery{From: moment(12 * time.Hour).In(zone), To: moment(36 * time.Hour).In(zone)}, 24)
				before := all[20].Position()
				before.At = before.At.In(zone)
				s.selects(t, all, vault.AuditQuery{After: before}, 20)
			}
		}},

	{Rule{"audit/matches-query", "ListAuditEvents returns what AuditQuery.Matches says, whatever the combination."}, 0,
		func(t *testing.T, s *subject) {
			kinds, names := []vault.Kind{"", vault.KindDetokenized, vault.KindExported}, []string{"", "ann", "bea"}
			var all []vault.AuditEvent
			for i := range 40 {
				e := newEvent(orgA, kinds[1+i%2], names[1+i/2%2], time.Duration(i/6)*time.Microsecond)
				e.Actor = vault.Actor(names[1+i/4%2])
				all = append(all, e)
			}
			s.record(t, all...)
			times := []time.Time{{}, moment(2 * time.Microsecond), moment(5 * time.Microsecond)}
			befores := []mortise.Position{{}, all[13].Position(), {At: moment(3 * time.Microsecond)}, {At: moment(time.Microsecond), ID: uuid.Max}}
			for _, kind := range kinds {
				for _, actor := range names {
					for _, id := range names {
						for n, from := range times {
							for m := range times {
								q := vault.AuditQuery{Kind: kind, Actor: vault.Actor(actor), Vault: id, From: from, To: times[m], After: befores[(n+2*m)%len(befores)]}
								s.selects(t, all, q, -1)
							}
						}
					}
				}
			}
			for _, before := range befores {
				s.selects(t, all, vault.AuditQuery{After: before}, -1)
			}
		}},

	{Rule{"audit/pages", "Paging neither repeats nor skips an event, whatever the limit and the filters; a page holds at most Limit events."}, 0,
		func(t *testing.T, s *subject) {
			const n = 24
			var all []vault.AuditEvent
			for i := range n {
				all = append(all, newEvent(orgA, vault.KindDetokenized, []string{"x", "y", "x"}[i%3], time.Duration(i/4)*time.Hour))
			}
			s.record(t, all...)
			for _, id := range []string{"", "x", "y"} {
				q := everything
				q.Vault = id
				want := eventIDs(s.audit(t, orgA, q).Items)
				for _, limit := range []int{1, 2, 3, 4, 5, 7, n - 1, n, n + 1, vault.MaxPageSize} {
					q.Limit = limit
					require.Equal(t, want, eventIDs(s.pages(t, orgA, q)), "limit %d", limit)
				}
			}
		}},

	{Rule{
		"audit/limit-zero",
		"Limit 0 selects nothing: the page is empty and its Next is zero.",
	}, 0,
		func(t *testing.T, s *subject) {
			s.record(t, newEvent(orgA, vault.KindDetokenized, "x", 0))
			for _, q := range []vault.AuditQuery{{}, {Vault: "x"}, {Kind: vault.KindDetokenized}} {
				page := s.audit(t, orgA, q)
				require.Empty(t, page.Items, "events on a page of Limit 0")
				require.True(t, page.Next.IsZero(), "Next is set after a page of Limit 0")
			}
		}},

	{Rule{"audit/next-is-zero-at-the-end", "Page.Next is zero if this is the last page, a full one included."}, 0,
		func(t *testing.T, s *subject) {
			for i := range 6 {
				s.record(t, newEvent(orgA, []vault.Kind{vault.KindDetokenized, vault.KindExported}[i%2], "x", time.Duration(i)*time.Hour))
			}
			for _, c := range []struct {
				q    vault.AuditQuery
				more bool
			}{
				{vault.AuditQuery{From: moment(0), Limit: 5}, true},
				{vault.AuditQuery{From: moment(0), Limit: 6}, false},
				{vault.AuditQuery{From: moment(0), Limit: 7}, false},
				{vault.AuditQuery{Kind: vault.KindDetokenized, Limit: 2}, true},
				{vault.AuditQuery{Kind: vault.KindDetokenized, Limit: 3}, false},
				{vault.AuditQuery{Kind: vault.KindExported, Limit: 3}, false},
				{vault.AuditQuery{Actor: "somebody", Vault: "x", Limit: 6}, false},
				{vault.AuditQuery{From: moment(4 * time.Hour), Limit: 2}, false},
			} {
				page := s.audit(t, orgA, c.q)
				require.Equal(t, c.more, !page.Next.IsZero(), "whether a page follows with %+v", c.q)
			}
		}},

	{Rule{"audit/pages-while-events-arrive", "A position stays where it is while other events arrive, so that paging neither repeats nor skips one."}, 0,
		func(t *testing.T, s *subject) {
			for i := range 10 {
				s.record(t, newEvent(orgA, vault.KindDetokenized, fmt.Sprint(i), time.Duration(i/3)*time.Hour))
			}
			q := everything
			want := eventIDs(s.audit(t, orgA, q).Items)
			q.Limit = 3
			var got []uuid.UUID
			for turn := 0; ; turn++ {
				require.Less(t, turn, 100, "paging does not end")
				page := s.audit(t, orgA, q)
				got = append(got, eventIDs(page.Items)...)
				if page.Next.IsZero() {
					break
				}
				q.After = page.Next
				s.record(t, newEvent(orgA, vault.KindDetokenized, "new", 10*time.Hour), newEvent(orgB, vault.KindDetokenized, "new", 0))
			}
			require.Equal(t, want, got)
		}},
}

// pages returns all of the query's events, page by page, and checks each page's size and
// end.
func (s *subject) pages(t *testing.T, org string, q vault.AuditQuery) []vault.AuditEvent {
	t.Helper()
	var all []vault.AuditEvent
	for range 10_000 {
		page := s.audit(t, org, q)
		require.LessOrEqual(t, len(page.Items), q.Limit, "events of a page")
		all = append(all, page.Items...)
		if page.Next.IsZero() {
			return all
		}
		require.NotEmpty(t, page.Items, "an empty page that is not the last one")
		q.After = page.Next
	}
	require.FailNow(t, "paging does not end")
	return nil
}

// selects requires that a query, of orgA returns those of the events that it matches; n
// of them, unless n is less than 0.
func (s *subject) selects(t *testing.T, all []vault.AuditEvent, q vault.AuditQuery, n int) {
	t.Helper()
	q.Limit = vault.MaxPageSize
	matching := slices.DeleteFunc(slices.Clone(all), func(e vault.AuditEvent) bool { return !q.Matches(&e) })
	slices.SortFunc(matching, func(a, b vault.AuditEvent) int { return b.Position().Compare(a.Position()) })
	require.Equal(t, eventIDs(matching), eventIDs(s.audit(t, orgA, q).Items), "%+v", q)
	if n >= 0 {
		require.Len(t, matching, n, "%+v", q)
	}
}
