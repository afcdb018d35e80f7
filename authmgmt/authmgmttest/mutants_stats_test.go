package authmgmttest_test

import (
	"context"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// counts changes what Stats returns.
func counts(change func(*authmgmt.Stats, *mutant, string, time.Time)) func(*mutant) {
	return func(m *mutant) {
		mutate.Around(&m.On, func(c *mutate.Call) {
			c.Go()
			change(mutate.Get[authmgmt.Stats](c.Out), m, *mutate.Get[string](c.In), *mutate.Get[time.Time](c.In))
		}, "Stats")
	}
}

// waitingOf returns the invitations of an organization that are accepted and not granted.
func waitingOf(m *mutant, org string) (waiting []authmgmt.Invitation) {
	page, _ := m.AuthMgmt.ListInvitations(context.Background(), org, time.Time{}, "", authmgmt.Paging{Limit: mortise.MaxPageSize})
	for _, i := range page.Items {
		if !i.AcceptedAt.IsZero() && i.GrantedAt.IsZero() {
			waiting = append(waiting, i)
		}
	}
	return waiting
}

// statsMutants count wrong.
var statsMutants = []broken{
	{name: "knows no organization without anything", breaks: "counter/nothing", mutate: around(func(c *mutate.Call) {
		if c.Go(); *mutate.Get[authmgmt.Stats](c.Out) == (authmgmt.Stats{}) {
			*c.Err() = mortise.ErrNotFound
		}
	}, "Stats")},
	{name: "counts clients that were deleted", breaks: "counter/clients", mutate: func(m *mutant) {
		made := 0
		in(func(*authmgmt.Client) { made++ }, "CreateClient")(m)
		counts(func(s *authmgmt.Stats, _ *mutant, org string, _ time.Time) {
			if org == "org-a" && s.Clients.N > 0 {
				s.Clients.N = made
			}
		})(m)
	}},
	{name: "counts tokens that have ended", breaks: "counter/tokens", mutate: counts(
		func(s *authmgmt.Stats, m *mutant, org string, _ time.Time) {
			page, _ := m.AuthMgmt.ListTokens(context.Background(), org, authmgmt.Paging{Limit: 1, Total: true})
			s.Tokens.N = page.Total
		})},
	{name: "counts no token that never expires", breaks: "counter/tokens counter/of-organization counter/up-to-most", mutate: counts(
		func(s *authmgmt.Stats, m *mutant, org string, now time.Time) {
			page, _ := m.AuthMgmt.ListTokens(context.Background(), org, authmgmt.Paging{Limit: mortise.MaxPageSize})
			s.Tokens = mortise.Count{}
			for _, k := range page.Items {
				if k.RevokedAt.IsZero() && now.Before(k.ExpiresAt) {
					s.Tokens.N++
				}
			}
		})},
	{name: "counts by a time of its own", breaks: "counter/tokens counter/invitations", mutate: arg(
		func(now *time.Time) { *now = time.Now() }, "Stats")},
	{name: "counts invitations that have expired", breaks: "counter/invitations", mutate: counts(
		func(s *authmgmt.Stats, m *mutant, org string, _ time.Time) {
			early, _ := m.AuthMgmt.Stats(context.Background(), org, time.Unix(0, 0), 1000)
			s.Pending = early.Pending
		})},
	{name: "counts no invitation that waits for the person", breaks: "counter/waiting", mutate: counts(
		func(s *authmgmt.Stats, m *mutant, org string, _ time.Time) {
			for _, i := range waitingOf(m, org) {
				if i.AwaitsPerson {
					s.Waiting.N--
				}
			}
		})},
	{name: "takes the newest for the oldest", breaks: "counter/waiting counter/up-to-most", mutate: counts(
		func(s *authmgmt.Stats, m *mutant, org string, _ time.Time) {
			for _, i := range waitingOf(m, org) {
				if i.AcceptedAt.After(s.OldestWaiting) {
					s.OldestWaiting = i.AcceptedAt
				}
			}
		})},
	{name: "counts every organization", breaks: "counter/of-organization", mutate: counts(
		func(s *authmgmt.Stats, m *mutant, _ string, _ time.Time) {
			all, _ := m.AuthMgmt.StatsAll(context.Background(), 1000)
			s.Waiting, s.OldestWaiting = all.Waiting, all.OldestWaiting
		})},
	{name: "counts one too many", breaks: "counter/up-to-most", mutate: arg(func(most *int) { *most++ }, "Stats", "StatsAll")},
	{name: "says that there is more where all was counted", breaks: "counter/up-to-most", mutate: around(func(c *mutate.Call) {
		c.Go()
		tokens := &mutate.Get[authmgmt.Stats](c.Out).Tokens
		tokens.More = tokens.N >= *mutate.Get[int](c.In)
	}, "Stats")},
	{name: "counts the grants of one organization", breaks: "counter/all", mutate: func(m *mutant) {
		out(func(s *authmgmt.AllStats) {
			one, _ := m.AuthMgmt.Stats(context.Background(), "org-a", time.Now(), 1000)
			s.Waiting, s.OldestWaiting = one.Waiting, one.OldestWaiting
		})(m)
	}},
	{name: "says what is due for a person", breaks: "counter/next-due", mutate: func(m *mutant) {
		out(func(s *authmgmt.AllStats) {
			for _, i := range slices.Concat(waitingOf(m, "org-a"), waitingOf(m, "org-b")) {
				if !i.GrantDue.IsZero() && (s.NextDue.IsZero() || i.GrantDue.Before(s.NextDue)) {
					s.NextDue = i.GrantDue
				}
			}
		})(m)
	}},
	{name: "takes no time for the earliest", breaks: "counter/next-due", mutate: func(m *mutant) {
		out(func(s *authmgmt.AllStats) {
			for _, i := range waitingOf(m, "org-a") {
				if i.GrantDue.IsZero() {
					s.NextDue = time.Time{}
				}
			}
		})(m)
	}},
}
