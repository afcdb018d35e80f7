package audiosearchtest_test

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// Stats is that of the mutant.
// StatsAll is that of the mutant.
// everyStats applies change to what Stats returns.
func everyStats(change func(s *audiosearch.Stats, org string, most int)) func(*mutant) {
	return replace("Stats", func(m *mutant, ctx context.Context, org string, most int) (audiosearch.Stats, error) {
		s, err := m.db.Stats(ctx, org, most)
		change(&s, org, most)
		return s, err
	})
}

// everyStatsAll applies change to what StatsAll returns.
func everyStatsAll(change func(o *audiosearch.AllStats, most int)) func(*mutant) {
	return replace("StatsAll", func(m *mutant, ctx context.Context, most int) (audiosearch.AllStats, error) {
		o, err := m.db.StatsAll(ctx, most)
		change(&o, most)
		return o, err
	})
}

// allRuns returns the runs of an organization, newest first.
func (m *mutant) allRuns(org string) []audiosearch.Run {
	runs, _ := m.db.ListRuns(context.Background(), org, audiosearch.RunQuery{Limit: 10_000})
	return runs
}

var statsMutants = []broken{
	{name: "does not know who has nothing", breaks: "counter/nothing",
		mutate: replace("Stats", func(m *mutant, ctx context.Context, org string, most int) (audiosearch.Stats, error) {
			s, err := m.db.Stats(ctx, org, most)
			if err == nil && s == (audiosearch.Stats{}) {
				err = audiosearch.ErrDatasetNotFound
			}
			return s, err
		})},
	{name: "counts videos as often as they were put", breaks: "counter/videos", mutate: func(m *mutant) {
		put := make(map[string]int)
		m.On.PutVideos = func(ctx context.Context, org, dataset string, videos []audiosearch.Video) error {
			put[org] += len(videos)
			return m.db.PutVideos(ctx, org, dataset, videos)
		}
		everyStats(func(s *audiosearch.Stats, org string, most int) {
			s.Videos = mortise.CountUpTo(put[org], most)
		})(m)
	}},
	{name: "counts the videos of a deleted dataset", breaks: "counter/videos", mutate: func(m *mutant) {
		lost := make(map[string]int)
		m.On.DeleteDataset = func(ctx context.Context, org, id string) error {
			videos, _ := m.db.ListVideos(ctx, org, id, "", 1000)
			lost[org] += len(videos)
			return m.db.DeleteDataset(ctx, org, id)
		}
		everyStats(func(s *audiosearch.Stats, org string, _ int) { s.Videos.N += lost[org] })(m)
	}},
	{name: "counts what organizations have that are alike", breaks: "counter/of-organization",
		mutate: replace("Stats", func(m *mutant, ctx context.Context, org string, most int) (audiosearch.Stats, error) {
			return m.db.Stats(ctx, strings.ToLower(org), most)
		})},
	{name: "takes what is stored for running", breaks: "counter/runs", mutate: func(m *mutant) {
		everyStats(func(s *audiosearch.Stats, org string, _ int) {
			for _, r := range m.allRuns(org) {
				if r.State == audiosearch.StatePending {
					s.Waiting.N--
					s.Running.N++
				}
			}
		})(m)
	}},
	{name: "counts a run that was cancelled as an error of its own", breaks: "counter/runs",
		mutate: everyStats(func(s *audiosearch.Stats, _ string, _ int) {
			s.InternalErrors.N += s.ClientErrors.N
			s.ClientErrors.N = 0
		})},
	{name: "takes the oldest open run for the oldest waiting one", breaks: "counter/oldest-waiting", mutate: func(m *mutant) {
		everyStats(func(s *audiosearch.Stats, org string, _ int) {
			for _, r := range m.allRuns(org) {
				if r.State != audiosearch.StateTerminated {
					s.OldestWaiting = r.CreatedAt
				}
			}
		})(m)
	}},
	{name: "takes the newest waiting run for the oldest one", breaks: "counter/oldest-waiting", mutate: func(m *mutant) {
		everyStats(func(s *audiosearch.Stats, org string, _ int) {
			for _, r := range m.allRuns(org) {
				if r.State == audiosearch.StatePending || r.State == audiosearch.StateQueued {
					s.OldestWaiting = r.CreatedAt
					return
				}
			}
		})(m)
	}},
	{name: "says more when it is just most", breaks: "counter/most",
		mutate: everyStats(func(s *audiosearch.Stats, _ string, most int) { s.Waiting.More = s.Waiting.N >= most })},
	{name: "counts ended runs in all and then by how", breaks: "counter/most",
		mutate: everyStats(func(s *audiosearch.Stats, _ string, most int) {
			s.ClientErrors = mortise.CountUpTo(s.ClientErrors.N, most-s.Succeeded.N)
		})},
	{name: "takes the videos of the first datasets for all", breaks: "counter/most-datasets",
		mutate: replace("Stats", func(m *mutant, ctx context.Context, org string, most int) (audiosearch.Stats, error) {
			s, err := m.db.Stats(ctx, org, most)
			if s.Datasets.More {
				s.Videos = mortise.Count{N: 1}
			}
			return s, err
		})},
	{name: "counts runs that were forgotten", breaks: "counter/forgotten-runs", mutate: func(m *mutant) {
		var ended int
		everyStats(func(s *audiosearch.Stats, _ string, _ int) {
			ended = max(ended, s.Succeeded.N)
			s.Succeeded.N = ended
		})(m)
	}},

	{name: "leaves one organization out of all", breaks: "counter/all counter/all-most", mutate: func(m *mutant) {
		everyStatsAll(func(o *audiosearch.AllStats, most int) {
			s, _ := m.db.Stats(context.Background(), "org-a", most)
			o.Running.N -= s.Running.N
		})(m)
	}},
	{name: "takes a run to be cancelled for one that has ended", breaks: "counter/all", mutate: func(m *mutant) {
		everyStatsAll(func(o *audiosearch.AllStats, _ int) {
			for _, org := range []string{"org-a", "org-b", "org-c", ""} {
				for _, r := range m.allRuns(org) {
					if r.State == audiosearch.StateTerminating {
						o.Running.N--
					}
				}
			}
		})(m)
	}},
	{name: "says when the next open run is due", breaks: "counter/all-next-due", mutate: func(m *mutant) {
		everyStatsAll(func(o *audiosearch.AllStats, _ int) { o.NextDue = m.nextDue("") })(m)
	}},
	{name: "takes a run that is due at no time for the next one", breaks: "counter/all-next-due", mutate: func(m *mutant) {
		everyStatsAll(func(o *audiosearch.AllStats, _ int) {
			for _, r := range m.allRuns("org-a") {
				if r.State == audiosearch.StatePending && r.DueAt.IsZero() {
					o.NextDue = time.Time{}
				}
			}
		})(m)
	}},
	{name: "forgets those that are queued when it says what is due", breaks: "counter/all-next-due", mutate: func(m *mutant) {
		everyStatsAll(func(o *audiosearch.AllStats, _ int) {
			o.NextDue = m.nextDue(audiosearch.StatePending)
		})(m)
	}},
	{name: "counts the runs of all up to one more", breaks: "counter/all-most",
		mutate: replace("StatsAll", func(m *mutant, ctx context.Context, most int) (audiosearch.AllStats, error) {
			return m.db.StatsAll(ctx, most+1)
		})},

	{name: "counts one state after the other", breaks: "counter/one-moment",
		mutate: replace("Stats", func(m *mutant, ctx context.Context, org string, most int) (audiosearch.Stats, error) {
			s, err := m.db.Stats(ctx, org, most)
			conformance.Seam()
			later, _ := m.db.Stats(ctx, org, most)
			s.Running = later.Running
			return s, err
		})},
	{name: "counts all that is running, and then all that waits", breaks: "counter/one-moment",
		mutate: replace("StatsAll", func(m *mutant, ctx context.Context, most int) (audiosearch.AllStats, error) {
			o, err := m.db.StatsAll(ctx, most)
			conformance.Seam()
			later, _ := m.db.StatsAll(ctx, most)
			o.Waiting = later.Waiting
			return o, err
		})},
	{name: "counts for nobody", breaks: "counter/ended-context",
		mutate: replace("StatsAll", func(m *mutant, _ context.Context, most int) (audiosearch.AllStats, error) {
			return m.db.StatsAll(context.Background(), most)
		})},
	{name: "says not found when it cannot count", breaks: "counter/failure", mutate: func(m *mutant) {
		m.failure = errors.Join(errBroken, audiosearch.ErrDatasetNotFound)
	}},
	{name: "loses what it counted", breaks: "counter/durable", reopen: afresh, mutate: func(*mutant) {}},
}

// nextDue returns when the next open run is due, by one idea of what is open.
func (m *mutant) nextDue(state audiosearch.State) (next time.Time) {
	for _, org := range []string{"org-a", "org-b", "org-c", ""} {
		runs, _ := m.db.ListRuns(context.Background(), org,
			audiosearch.RunQuery{Open: true, State: state, Limit: 10_000})
		for _, r := range runs {
			if !r.DueAt.IsZero() && (next.IsZero() || r.DueAt.Before(next)) {
				next = r.DueAt
			}
		}
	}
	return next
}
