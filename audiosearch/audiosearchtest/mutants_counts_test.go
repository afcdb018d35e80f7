package audiosearchtest_test

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

// everyCounts applies change to what Counts returns.
func everyCounts(change func(s *audiosearch.Counts, org string, most int)) func(*mutant) {
	return replace("Counts", func(m *mutant, ctx context.Context, org string, most int) (audiosearch.Counts, error) {
		s, err := m.db.Counts(ctx, org, most)
		change(&s, org, most)
		return s, err
	})
}

// everyBacklog applies change to what Backlog returns.
func everyBacklog(change func(b *mortise.Backlog, most int)) func(*mutant) {
	return replace("Backlog", func(m *mutant, ctx context.Context, most int) (mortise.Backlog, error) {
		b, err := m.db.Backlog(ctx, most)
		change(&b, most)
		return b, err
	})
}

// runsOf returns the runs of a page of ListRuns.
func (m *mutant) runsOf(org string, q audiosearch.RunQuery) ([]audiosearch.Run, error) {
	page, err := m.db.ListRuns(context.Background(), org, q)
	return page.Items, err
}

// videosOf returns all videos of a dataset.
func (m *mutant) videosOf(ctx context.Context, org, dataset string) ([]audiosearch.Video, error) {
	page, err := m.db.ListVideos(ctx, org, dataset, "", mortise.MaxPageSize)
	return page.Items, err
}

// allRuns returns the runs of an organization, newest first.
func (m *mutant) allRuns(org string) []audiosearch.Run {
	runs, _ := m.runsOf(org, audiosearch.RunQuery{Limit: 10_000})
	return runs
}

var countMutants = []broken{
	{name: "does not know who has nothing", breaks: "counter/nothing",
		mutate: replace("Counts", func(m *mutant, ctx context.Context, org string, most int) (audiosearch.Counts, error) {
			s, err := m.db.Counts(ctx, org, most)
			if err == nil && s == (audiosearch.Counts{}) {
				err = audiosearch.ErrDatasetNotFound
			}
			return s, err
		})},
	{name: "counts for organizations that are alike", breaks: "counter/of-organization",
		mutate: replace("Counts", func(m *mutant, ctx context.Context, org string, most int) (audiosearch.Counts, error) {
			return m.db.Counts(ctx, strings.ToLower(org), most)
		})},
	{name: "takes what is stored for running", breaks: "counter/states", mutate: func(m *mutant) {
		everyCounts(func(s *audiosearch.Counts, org string, _ int) {
			for _, r := range m.allRuns(org) {
				if r.State == audiosearch.StatePending {
					s.Waiting.N--
					s.Running.N++
				}
			}
		})(m)
	}},
	{name: "counts a run that was cancelled as an error of its own", breaks: "counter/states",
		mutate: everyCounts(func(s *audiosearch.Counts, _ string, _ int) {
			s.InternalErrors.N += s.ClientErrors.N
			s.ClientErrors.N = 0
		})},
	{name: "says more when it is just most", breaks: "counter/most",
		mutate: everyCounts(func(s *audiosearch.Counts, _ string, most int) { s.Waiting.More = s.Waiting.N >= most })},
	{name: "counts ended runs in all and then by how", breaks: "counter/most",
		mutate: everyCounts(func(s *audiosearch.Counts, _ string, most int) {
			s.ClientErrors = mortise.CountUpTo(s.ClientErrors.N, most-s.Succeeded.N)
		})},
	{name: "counts runs that were forgotten", breaks: "counter/forgotten-runs", mutate: func(m *mutant) {
		var ended int
		everyCounts(func(s *audiosearch.Counts, _ string, _ int) {
			ended = max(ended, s.Succeeded.N)
			s.Succeeded.N = ended
		})(m)
	}},

	{name: "leaves one organization out of all", breaks: "counter/backlog counter/backlog-most", mutate: func(m *mutant) {
		everyBacklog(func(b *mortise.Backlog, most int) {
			s, _ := m.db.Counts(context.Background(), "org-a", most)
			b.Running.N -= s.Running.N
		})(m)
	}},
	{name: "takes a run to be cancelled for one that has ended", breaks: "counter/backlog", mutate: func(m *mutant) {
		everyBacklog(func(b *mortise.Backlog, _ int) {
			for _, org := range []string{"org-a", "org-b", "org-c", ""} {
				for _, r := range m.allRuns(org) {
					if r.State == audiosearch.StateTerminating {
						b.Running.N--
					}
				}
			}
		})(m)
	}},
	{name: "says when the next open run is due", breaks: "counter/next-due", mutate: func(m *mutant) {
		everyBacklog(func(b *mortise.Backlog, _ int) { b.NextDue = m.nextDue("") })(m)
	}},
	{name: "takes a run that is due at no time for the next one", breaks: "counter/next-due", mutate: func(m *mutant) {
		everyBacklog(func(b *mortise.Backlog, _ int) {
			for _, r := range m.allRuns("org-a") {
				if r.State == audiosearch.StatePending && r.DueAt.IsZero() {
					b.NextDue = time.Time{}
				}
			}
		})(m)
	}},
	{name: "forgets those that are queued when it says what is due", breaks: "counter/next-due", mutate: func(m *mutant) {
		everyBacklog(func(b *mortise.Backlog, _ int) {
			b.NextDue = m.nextDue(audiosearch.StatePending)
		})(m)
	}},
	{name: "counts the runs of all up to one more", breaks: "counter/backlog-most",
		mutate: replace("Backlog", func(m *mutant, ctx context.Context, most int) (mortise.Backlog, error) {
			return m.db.Backlog(ctx, most+1)
		})},

	{name: "counts for nobody", breaks: "counter/ended-context",
		mutate: replace("Backlog", func(m *mutant, _ context.Context, most int) (mortise.Backlog, error) {
			return m.db.Backlog(context.Background(), most)
		})},
	{name: "says not found when it cannot count", breaks: "counter/failure", mutate: func(m *mutant) {
		m.failure = errors.Join(errBroken, audiosearch.ErrDatasetNotFound)
	}},
	{name: "loses what it counted", breaks: "counter/durable", reopen: afresh, mutate: func(*mutant) {}},
}

// nextDue returns when the next open run is due, by one idea of what is open.
func (m *mutant) nextDue(state audiosearch.State) (next time.Time) {
	for _, org := range []string{"org-a", "org-b", "org-c", ""} {
		runs, _ := m.runsOf(org,
			audiosearch.RunQuery{Open: true, State: state, Limit: 10_000})
		for _, r := range runs {
			if !r.DueAt.IsZero() && (next.IsZero() || r.DueAt.Before(next)) {
				next = r.DueAt
			}
		}
	}
	return next
}
