package authmgmttest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// auditRules say what the audit trail keeps, and in which order.
var auditRules = []rule{
	{Rule{"audit/stores-every-field", "An audit event is stored with all its fields, those of its snapshots included; a snapshot is nil if there was none, which an empty one is not."}, needStore,
		func(t *testing.T, s *subject) {
			both, after, before, empty := filledEvent(orgA, "both"), filledEvent(orgA, "after"), filledEvent(orgA, "before"), filledEvent(orgA, "empty")
			after.Before, before.After = nil, nil
			empty.Before, empty.After = &authmgmt.Snapshot{}, &authmgmt.Snapshot{}
			events := []authmgmt.AuditEvent{both, after, before, empty, newEvent(orgA, authmgmt.KindInvited, "plain", 0)}
			s.record(t, events...)
			for _, e := range events {
				s.hasEvent(t, e)
			}
		}},

	{Rule{"audit/times-keep-microseconds", "Times of audit events keep microseconds, and are UTC, those of snapshots included."}, needStore,
		func(t *testing.T, s *subject) {
			for _, at := range exactTimes {
				e := filledEvent(orgA, "x")
				e.At, e.After.ExpiresAt, e.After.RevokedAt = at, &at, nil
				s.record(t, e)
				s.hasEvent(t, e)
				page := s.audit(t, orgA, authmgmt.AuditQuery{From: at, To: at.Add(time.Microsecond), Limit: 10})
				require.Len(t, page.Items, 1, "from %v for one microsecond", at)
			}
		}},

	{Rule{"audit/strings-keep-every-byte", "Strings of audit events keep every byte; those of snapshots, which are JSON, every character."}, needStore,
		func(t *testing.T, s *subject) {
			for n, text := range hard {
				e := filledEvent(text, text)
				e.Actor, e.Kind = authmgmt.Actor(text), authmgmt.Kind(text)
				if text != "\xff" && text != "\xfe\xff" {
					after := e.After
					after.Name, after.Email, after.State, after.Client, after.Subject = text, text, authmgmt.InvitationState(text), text, text
					after.Roles[0] = access.Role{ID: text, Resource: access.ResourceType(text), ResourceInstance: text}
				}
				s.record(t, e)
				require.Len(t, s.trail(t, text), 2, "events of %q", text)
				s.hasEvent(t, e)
				e = newEvent(orgA, authmgmt.Kind(text), text, time.Duration(n)*time.Hour)
				s.record(t, e)
				s.hasEvent(t, e)
			}
		}},

	{Rule{"audit/newest-first", "ListAuditEvents returns the events newest first, by At, whatever the order in which they were stored."}, needStore,
		func(t *testing.T, s *subject) {
			want := make([]authmgmt.AuditEvent, 6)
			for _, i := range []int{3, 0, 5, 4, 1, 2} {
				want[i] = filledEvent(orgA, "x")
				want[i].At = moment(-time.Duration(i) * time.Microsecond)
				s.record(t, want[i])
			}
			got := s.audit(t, orgA, recorded()).Items
			require.Equal(t, eventIDs(want), eventIDs(got))
			for i := range want {
				sameEvent(t, want[i], got[i])
			}
		}},

	{Rule{"audit/equal-times-by-id", "ListAuditEvents orders equal times by ID, as bytes, descending."}, needStore,
		func(t *testing.T, s *subject) {
			var want []uuid.UUID
			for _, first := range []byte{0xff, 0x80, 0x7f, 0x61, 0x10, 0x01} {
				for _, last := range []byte{0xff, 0x80, 0x01} {
					want = append(want, uuid.UUID{0: first, 8: 0x41, 15: last})
				}
			}
			for i := range want {
				e := newEvent(orgA, authmgmt.KindInvited, "x", 0)
				e.ID = want[(i*7)%len(want)]
				s.record(t, e)
			}
			require.Equal(t, want, eventIDs(s.audit(t, orgA, recorded()).Items))
		}},

	{Rule{"audit/of-organization", "ListAuditEvents returns the organization's events and no other's; none if there are none."}, needStore,
		func(t *testing.T, s *subject) {
			a, b := newEvent(orgA, authmgmt.KindInvited, "x", 0), newEvent(orgB, authmgmt.KindInvited, "x", 0)
			s.record(t, a, b)
			for org, want := range map[string][]uuid.UUID{orgA: {a.ID}, orgB: {b.ID}, "org-c": {}, "": {}} {
				page := s.audit(t, org, recorded())
				require.Equal(t, want, eventIDs(page.Items))
				require.True(t, page.Next.IsZero())
			}
		}},

	{Rule{"audit/copies", "What ListAuditEvents returns is the receiver's own."}, needStore,
		func(t *testing.T, s *subject) {
			e := filledEvent(orgA, "x")
			s.record(t, e)
			for range 2 {
				got := s.audit(t, orgA, recorded()).Items
				require.Len(t, got, 1)
				sameEvent(t, e, got[0])
				spoilSnapshot(got[0].Before)
				spoilSnapshot(got[0].After)
			}
		}},
}

// auditQueryRules say what an AuditQuery selects, and how it is cut into pages.
var auditQueryRules = []rule{
	{Rule{"audit/by-kind-actor-and-target", "AuditQuery selects by Kind, by Actor and by Target; what is empty selects everything."}, needStore,
		func(t *testing.T, s *subject) {
			var all []authmgmt.AuditEvent
			for i := range 8 {
				e := newEvent(orgA, []authmgmt.Kind{authmgmt.KindInvited, authmgmt.KindCancelled}[i&1], []string{"x", "y"}[i>>1&1], time.Duration(i)*time.Hour)
				e.Actor = []authmgmt.Actor{"ann", "bea"}[i>>2]
				all = append(all, e)
			}
			s.record(t, all...)
			for kind, n := range map[authmgmt.Kind]int{authmgmt.KindInvited: 4, authmgmt.KindCancelled: 4, authmgmt.KindResent: 0} {
				s.selects(t, all, authmgmt.AuditQuery{Kind: kind}, n)
				s.selects(t, all, authmgmt.AuditQuery{Kind: kind, Actor: "ann"}, n/2)
				s.selects(t, all, authmgmt.AuditQuery{Kind: kind, Actor: "ann", Target: "y"}, n/4)
			}
			for _, actor := range []authmgmt.Actor{"ann", "bea"} {
				s.selects(t, all, authmgmt.AuditQuery{Actor: actor}, 4)
				s.selects(t, all, authmgmt.AuditQuery{Actor: actor, Target: "x"}, 2)
			}
			for target, n := range map[string]int{"x": 4, "y": 4, "z": 0} {
				s.selects(t, all, authmgmt.AuditQuery{Target: target}, n)
			}
			s.selects(t, all, authmgmt.AuditQuery{Actor: "cleo"}, 0)
			s.selects(t, all, authmgmt.AuditQuery{}, 8)
		}},

	{Rule{"audit/names-are-bytes", "Kind, Actor and Target are compared as bytes."}, needStore,
		func(t *testing.T, s *subject) {
			var all []authmgmt.AuditEvent
			for n, text := range hard {
				e := newEvent(orgA, authmgmt.Kind(text), text, time.Duration(n)*time.Hour)
				e.Actor = authmgmt.Actor(text)
				all = append(all, e)
			}
			s.record(t, all...)
			for _, text := range hard {
				s.selects(t, all, authmgmt.AuditQuery{Kind: authmgmt.Kind(text)}, 1)
				s.selects(t, all, authmgmt.AuditQuery{Actor: authmgmt.Actor(text)}, 1)
				s.selects(t, all, authmgmt.AuditQuery{Target: text}, 1)
			}
		}},

	{Rule{"audit/from-to", "From selects events at or after it, To those before it."}, needStore,
		func(t *testing.T, s *subject) {
			var all []authmgmt.AuditEvent
			for i := range 6 {
				all = append(all, newEvent(orgA, authmgmt.KindInvited, "x", time.Duration(i/2)*time.Microsecond))
			}
			s.record(t, all...)
			for from := -1; from <= 3; from++ {
				s.selects(t, all, authmgmt.AuditQuery{From: moment(time.Duration(from) * time.Microsecond)}, 2*min(3, 3-from))
				s.selects(t, all, authmgmt.AuditQuery{To: moment(time.Duration(from) * time.Microsecond)}, 2*max(0, from))
				s.selects(t, all, authmgmt.AuditQuery{From: moment(time.Duration(from) * time.Microsecond), To: moment(time.Duration(from+1) * time.Microsecond)},
					map[bool]int{true: 2}[from >= 0 && from < 3])
			}
			s.selects(t, all, authmgmt.AuditQuery{From: moment(time.Hour), To: moment(0)}, 0)
		}},

	{Rule{"audit/times-are-instants", "Times of an AuditQuery are instants, in whatever zone they are written."}, needStore,
		func(t *testing.T, s *subject) {
			var all []authmgmt.AuditEvent
			for i := range 48 {
				all = append(all, newEvent(orgA, authmgmt.KindInvited, "x", time.Duration(i)*time.Hour))
			}
			s.record(t, all...)
			for _, offset := range []int{-11, -5, 0, 2, 13} {
				zone := time.FixedZone("", offset*3600+1800)
				s.selects(t, all, authmgmt.AuditQuery{From: moment(12 * time.Hour).In(zone), To: moment(36 * time.Hour).In(zone)}, 24)
				before := all[20].Position()
				before.At = before.At.In(zone)
				s.selects(t, all, authmgmt.AuditQuery{After: before}, 20)
			}
		}},

	{Rule{"audit/matches-query", "ListAuditEvents returns what AuditQuery.Matches says, whatever the combination."}, needStore,
		func(t *testing.T, s *subject) {
			kinds, names := []authmgmt.Kind{"", authmgmt.KindInvited, authmgmt.KindGranted}, []string{"", "ann", "bea"}
			var all []authmgmt.AuditEvent
			for i := range 40 {
				e := newEvent(orgA, kinds[1+i%2], names[1+i/2%2], time.Duration(i/6)*time.Microsecond)
				e.Actor = authmgmt.Actor(names[1+i/4%2])
				all = append(all, e)
			}
			s.record(t, all...)
			times := []time.Time{{}, moment(2 * time.Microsecond), moment(5 * time.Microsecond)}
			befores := []mortise.Position{{}, all[13].Position(), {At: moment(3 * time.Microsecond)}, {At: moment(time.Microsecond), ID: uuid.Max}}
			for _, kind := range kinds {
				for _, actor := range names {
					for _, target := range names {
						for n, from := range times {
							for m := range times {
								q := authmgmt.AuditQuery{
									Kind: kind, Actor: authmgmt.Actor(actor), Target: target,
									From: from, To: times[m], After: befores[(n+2*m)%len(befores)],
								}
								s.selects(t, all, q, -1)
							}
						}
					}
				}
			}
			for _, before := range befores {
				s.selects(t, all, authmgmt.AuditQuery{After: before}, -1)
			}
		}},

	{Rule{"audit/pages", "Paging neither repeats nor skips an event, whatever the limit and the filters; a page holds at most Limit events."}, needStore,
		func(t *testing.T, s *subject) {
			const n = 24
			var all []authmgmt.AuditEvent
			for i := range n {
				all = append(all, newEvent(orgA, authmgmt.KindInvited, []string{"x", "y", "x"}[i%3], time.Duration(i/4)*time.Hour))
			}
			s.record(t, all...)
			for _, target := range []string{"", "x", "y"} {
				q := recorded()
				q.Target = target
				want := eventIDs(s.audit(t, orgA, q).Items)
				for _, limit := range []int{1, 2, 3, 4, 5, 7, n - 1, n, n + 1, authmgmt.MaxPageSize} {
					q.Limit = limit
					require.Equal(t, want, eventIDs(s.pages(t, orgA, q)), "limit %d", limit)
				}
			}
		}},

	{Rule{"audit/next-is-zero-at-the-end", "Page.Next is zero if this is the last page, a full one included."}, needStore,
		func(t *testing.T, s *subject) {
			for i := range 6 {
				s.record(t, newEvent(orgA, []authmgmt.Kind{authmgmt.KindInvited, authmgmt.KindGranted}[i%2], "x", time.Duration(i)*time.Hour))
			}
			for _, c := range []struct {
				q    authmgmt.AuditQuery
				more bool
			}{
				{authmgmt.AuditQuery{From: moment(0), Limit: 5}, true},
				{authmgmt.AuditQuery{From: moment(0), Limit: 6}, false},
				{authmgmt.AuditQuery{From: moment(0), Limit: 7}, false},
				{authmgmt.AuditQuery{Kind: authmgmt.KindInvited, Limit: 2}, true},
				{authmgmt.AuditQuery{Kind: authmgmt.KindInvited, Limit: 3}, false},
				{authmgmt.AuditQuery{Kind: authmgmt.KindGranted, Limit: 3}, false},
				{authmgmt.AuditQuery{Actor: "somebody", Target: "x", Limit: 6}, false},
				{authmgmt.AuditQuery{From: moment(4 * time.Hour), Limit: 2}, false},
			} {
				page := s.audit(t, orgA, c.q)
				require.Equal(t, c.more, !page.Next.IsZero(), "whether a page follows with %+v", c.q)
			}
		}},

	{Rule{"audit/pages-while-events-arrive", "A position stays where it is while other events arrive, so that paging neither repeats nor skips one."}, needStore,
		func(t *testing.T, s *subject) {
			for i := range 10 {
				s.record(t, newEvent(orgA, authmgmt.KindInvited, fmt.Sprint(i), time.Duration(i/3)*time.Hour))
			}
			q := recorded()
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
				s.record(t, newEvent(orgA, authmgmt.KindInvited, "new", 10*time.Hour), newEvent(orgB, authmgmt.KindInvited, "new", 0))
			}
			require.Equal(t, want, got)
		}},
}

// pages returns all of the query's events, page by page, and checks each page's size and
// end.
func (s *subject) pages(t *testing.T, org string, q authmgmt.AuditQuery) []authmgmt.AuditEvent {
	t.Helper()
	var all []authmgmt.AuditEvent
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

// selects requires that a query, within what record stored in orgA, returns those of the
// events that it matches; n of them, unless n is less than 0.
func (s *subject) selects(t *testing.T, all []authmgmt.AuditEvent, q authmgmt.AuditQuery, n int) {
	t.Helper()
	if q.From.IsZero() {
		q.From = recorded().From
	}
	q.Limit = authmgmt.MaxPageSize
	matching := slices.DeleteFunc(slices.Clone(all), func(e authmgmt.AuditEvent) bool { return !q.Matches(&e) })
	slices.SortFunc(matching, func(a, b authmgmt.AuditEvent) int { return b.Position().Compare(a.Position()) })
	require.Equal(t, eventIDs(matching), eventIDs(s.audit(t, orgA, q).Items), "%+v", q)
	if n >= 0 {
		require.Len(t, matching, n, "%+v", q)
	}
}
