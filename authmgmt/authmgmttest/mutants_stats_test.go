package authmgmttest_test

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// Stats and StatsAll replace the backend's, if the mutant has some.
func (m *mutant) Stats(ctx context.Context, org string, now time.Time, most int) (authmgmt.Stats, error) {
	if err := m.fail(); err != nil {
		return authmgmt.Stats{}, err
	}
	if m.stats != nil {
		return m.stats(ctx, org, now, most)
	}
	return m.AuthMgmt.Stats(ctx, org, now, most)
}

func (m *mutant) StatsAll(ctx context.Context, most int) (authmgmt.AllStats, error) {
	if err := m.fail(); err != nil {
		return authmgmt.AllStats{}, err
	}
	if m.statsAll != nil {
		return m.statsAll(ctx, most)
	}
	return m.AuthMgmt.StatsAll(ctx, most)
}

// counts changes what Stats returns.
func counts(change func(*authmgmt.Stats, *mutant, string, time.Time)) func(*mutant) {
	return func(m *mutant) {
		m.stats = func(ctx context.Context, org string, now time.Time, most int) (authmgmt.Stats, error) {
			stats, err := m.AuthMgmt.Stats(ctx, org, now, most)
			change(&stats, m, org, now)
			return stats, err
		}
	}
}

// waitingOf returns the invitations of an organization that are accepted and not granted.
func waitingOf(m *mutant, org string) (waiting []authmgmt.Invitation) {
	page, _ := m.AuthMgmt.ListInvitations(context.Background(), org, time.Time{}, authmgmt.Paging{Limit: authmgmt.MaxPageSize})
	for _, i := range page.Items {
		if !i.AcceptedAt.IsZero() && i.GrantedAt.IsZero() {
			waiting = append(waiting, i)
		}
	}
	return waiting
}

// statsMutants count wrong.
var statsMutants = []broken{
	{name: "knows no organization without anything", breaks: []string{"counter/nothing"}, mutate: func(m *mutant) {
		m.stats = func(ctx context.Context, org string, now time.Time, most int) (authmgmt.Stats, error) {
			stats, err := m.AuthMgmt.Stats(ctx, org, now, most)
			if stats == (authmgmt.Stats{}) {
				err = authmgmt.ErrNotFound
			}
			return stats, err
		}
	}},
	{name: "counts clients that were deleted", breaks: []string{"counter/clients"}, mutate: func(m *mutant) {
		made := 0
		m.createClient = func(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
			made++
			return m.AuthMgmt.CreateClient(ctx, c, e)
		}
		counts(func(s *authmgmt.Stats, _ *mutant, org string, _ time.Time) {
			if org == "org-a" && s.Clients.N > 0 {
				s.Clients.N = made
			}
		})(m)
	}},
	{name: "counts tokens that have ended", breaks: []string{"counter/tokens"}, mutate: counts(
		func(s *authmgmt.Stats, m *mutant, org string, _ time.Time) {
			page, _ := m.AuthMgmt.ListTokens(context.Background(), org, authmgmt.Paging{Limit: 1, Total: true})
			s.Tokens.N = page.Total
		})},
	{name: "counts no token that never expires", breaks: []string{"counter/tokens", "counter/of-organization", "counter/up-to-most"}, mutate: counts(
		func(s *authmgmt.Stats, m *mutant, org string, now time.Time) {
			page, _ := m.AuthMgmt.ListTokens(context.Background(), org, authmgmt.Paging{Limit: authmgmt.MaxPageSize})
			s.Tokens = mortise.Count{}
			for _, k := range page.Items {
				if k.RevokedAt.IsZero() && now.Before(k.ExpiresAt) {
					s.Tokens.N++
				}
			}
		})},
	{name: "counts by a time of its own", breaks: []string{"counter/tokens", "counter/invitations"}, mutate: func(m *mutant) {
		m.stats = func(ctx context.Context, org string, _ time.Time, most int) (authmgmt.Stats, error) {
			return m.AuthMgmt.Stats(ctx, org, time.Now(), most)
		}
	}},
	{name: "counts invitations that have expired", breaks: []string{"counter/invitations"}, mutate: func(m *mutant) {
		m.stats = func(ctx context.Context, org string, now time.Time, most int) (authmgmt.Stats, error) {
			stats, err := m.AuthMgmt.Stats(ctx, org, now, most)
			early, _ := m.AuthMgmt.Stats(ctx, org, time.Unix(0, 0), most)
			stats.Pending = early.Pending
			return stats, err
		}
	}},
	{name: "counts no invitation that waits for the person", breaks: []string{"counter/waiting"}, mutate: counts(
		func(s *authmgmt.Stats, m *mutant, org string, _ time.Time) {
			for _, i := range waitingOf(m, org) {
				if i.AwaitsPerson {
					s.Waiting.N--
				}
			}
		})},
	{name: "takes the newest for the oldest", breaks: []string{"counter/waiting", "counter/up-to-most"}, mutate: counts(
		func(s *authmgmt.Stats, m *mutant, org string, _ time.Time) {
			for _, i := range waitingOf(m, org) {
				if i.AcceptedAt.After(s.OldestWaiting) {
					s.OldestWaiting = i.AcceptedAt
				}
			}
		})},
	{name: "counts every organization", breaks: []string{"counter/of-organization"}, mutate: func(m *mutant) {
		m.stats = func(ctx context.Context, org string, now time.Time, most int) (authmgmt.Stats, error) {
			stats, err := m.AuthMgmt.Stats(ctx, org, now, most)
			open, _ := m.AuthMgmt.StatsAll(ctx, most)
			stats.Waiting, stats.OldestWaiting = open.Waiting, open.OldestWaiting
			return stats, err
		}
	}},
	{name: "counts one too many", breaks: []string{"counter/up-to-most"}, mutate: func(m *mutant) {
		m.stats = func(ctx context.Context, org string, now time.Time, most int) (authmgmt.Stats, error) {
			return m.AuthMgmt.Stats(ctx, org, now, most+1)
		}
		m.statsAll = func(ctx context.Context, most int) (authmgmt.AllStats, error) {
			return m.AuthMgmt.StatsAll(ctx, most+1)
		}
	}},
	{name: "says that there is more where all was counted", breaks: []string{"counter/up-to-most"}, mutate: func(m *mutant) {
		m.stats = func(ctx context.Context, org string, now time.Time, most int) (authmgmt.Stats, error) {
			stats, err := m.AuthMgmt.Stats(ctx, org, now, most)
			stats.Tokens.More = stats.Tokens.N >= most
			return stats, err
		}
	}},
	{name: "counts the grants of one organization", breaks: []string{"counter/all"}, mutate: func(m *mutant) {
		m.statsAll = func(ctx context.Context, most int) (authmgmt.AllStats, error) {
			open, err := m.AuthMgmt.StatsAll(ctx, most)
			stats, _ := m.AuthMgmt.Stats(ctx, "org-a", time.Now(), most)
			open.Waiting, open.OldestWaiting = stats.Waiting, stats.OldestWaiting
			return open, err
		}
	}},
	{name: "says what is due for a person", breaks: []string{"counter/next-due"}, mutate: func(m *mutant) {
		m.statsAll = func(ctx context.Context, most int) (authmgmt.AllStats, error) {
			open, err := m.AuthMgmt.StatsAll(ctx, most)
			for _, org := range []string{"org-a", "org-b"} {
				for _, i := range waitingOf(m, org) {
					if !i.GrantDue.IsZero() && (open.NextDue.IsZero() || i.GrantDue.Before(open.NextDue)) {
						open.NextDue = i.GrantDue
					}
				}
			}
			return open, err
		}
	}},
	{name: "takes no time for the earliest", breaks: []string{"counter/next-due"}, mutate: func(m *mutant) {
		m.statsAll = func(ctx context.Context, most int) (authmgmt.AllStats, error) {
			open, err := m.AuthMgmt.StatsAll(ctx, most)
			for _, i := range waitingOf(m, "org-a") {
				if i.GrantDue.IsZero() {
					open.NextDue = time.Time{}
				}
			}
			return open, err
		}
	}},
}
