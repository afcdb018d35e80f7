package audiosearchtest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/countertest"
)

// exactly is the Count of n things that were counted to the end.
func exactly(n int) mortise.Count { return mortise.Count{N: n} }

// hasCounts requires that Counts returns want, where it counts up to most.
func (s *subject) hasCounts(t *testing.T, org string, most int, want audiosearch.Counts) {
	t.Helper()
	got, err := s.Counter.Counts(t.Context(), org, most)
	require.NoError(t, err, "Counts of %q up to %d", org, most)
	require.Equal(t, want, got, "Counts of %q up to %d", org, most)
}

// hasBacklog is hasCounts for Backlog.
func (s *subject) hasBacklog(t *testing.T, most int, want mortise.Backlog) {
	t.Helper()
	countertest.HasBacklog(t, s.Counter.Backlog, most, want)
}

// waitingRun returns a new run, which is due when it was created.
func waitingRun(org string, created time.Duration) audiosearch.Run {
	r := plainRun(org, created)
	r.DueAt = r.CreatedAt
	return r
}

// counter shows how runs are counted.
func (s *subject) counter() *countertest.Counter[audiosearch.Run] {
	in := func(state audiosearch.State, end audiosearch.Termination) func(*audiosearch.Run) {
		return func(r *audiosearch.Run) { r.State, r.Termination = state, end }
	}
	return &countertest.Counter[audiosearch.Run]{
		States: []countertest.State[audiosearch.Run]{
			{Set: in(audiosearch.StatePending, ""), Waits: true, Counts: 0, Backlog: 0},
			{Set: in(audiosearch.StateQueued, ""), Waits: true, Counts: 0, Backlog: 0},
			{Set: in(audiosearch.StateRunning, ""), Counts: 1, Backlog: 1},
			{Set: in(audiosearch.StateTerminating, ""), Counts: 1, Backlog: 1},
			{Set: in(audiosearch.StateTerminated, audiosearch.Success), Counts: 2, Backlog: -1},
			{Set: in(audiosearch.StateTerminated, audiosearch.ClientError), Counts: 3, Backlog: -1},
			{Set: in(audiosearch.StateTerminated, audiosearch.InternalError), Counts: 4, Backlog: -1},
		},
		Names:  exactNames,
		New:    waitingRun,
		Due:    func(r *audiosearch.Run, at time.Time) { r.DueAt = at },
		Add:    s.createRun,
		Update: s.updateRun,
		Counts: func(ctx context.Context, org string, most int) ([]mortise.Count, error) {
			got, err := s.Counter.Counts(ctx, org, most)
			return []mortise.Count{got.Waiting, got.Running, got.Succeeded, got.ClientErrors, got.InternalErrors}, err
		},
		Backlog: s.Counter.Backlog,
	}
}

// sharedCountRules are the rules of every counter.
func sharedCountRules() (all []rule) {
	for _, r := range countertest.Rules[audiosearch.Run]("runs", "waiting and running") {
		all = append(all, rule{Rule{r.ID, r.Text}, needCounter, func(t *testing.T, s *subject) { r.Check(t, s.counter()) }})
	}
	return all
}

// countRules are further rules of Counts.
var countRules = []rule{
	{Rule{
		"counter/nothing",
		"An organization without runs has nothing to count, without an error.",
	}, needCounter,
		func(t *testing.T, s *subject) {
			s.hasCounts(t, orgA, 10, audiosearch.Counts{})
			s.createRun(t, plainRun(orgB, 0))
			s.hasCounts(t, orgA, 10, audiosearch.Counts{})
			s.hasCounts(t, "", 10, audiosearch.Counts{})
		}},

	{Rule{
		"counter/forgotten-runs", "Runs that were forgotten are not counted.",
	}, needCounter | needRunPruner,
		func(t *testing.T, s *subject) {
			for i := range 4 {
				s.createRun(t, toldRun(orgA, time.Duration(i)*time.Hour))
			}
			s.hasCounts(t, orgA, 10, audiosearch.Counts{Succeeded: exactly(4)})
			require.Equal(t, 1, s.prune(t, time.Minute))
			s.hasCounts(t, orgA, 10, audiosearch.Counts{Succeeded: exactly(3)})
			require.Equal(t, 2, s.trim(t, 1))
			s.hasCounts(t, orgA, 10, audiosearch.Counts{Succeeded: exactly(1)})
		}},
}

// counterCalls calls every method of Counter.
func (s *subject) counterCalls() []call {
	return []call{
		{"Counts", func(ctx context.Context, org, _ string) error {
			_, err := s.Counter.Counts(ctx, org, 10)
			return err
		}},
		{"Backlog", func(ctx context.Context, _, _ string) error {
			_, err := s.Counter.Backlog(ctx, 10)
			return err
		}},
	}
}

// counterRules are about Counts and Backlog.
var counterRules = []rule{
	{Rule{"counter/ended-context", endedText}, needCounter,
		func(t *testing.T, s *subject) {
			allFail(conformance.Ended(t), t, s.counterCalls())
			allWork(t, s.counterCalls())
		}},

	{Rule{"counter/failure", brokenText}, needCounter | needBreak,
		func(t *testing.T, s *subject) {
			heal := s.breakIt(t)
			allFail(t.Context(), t, s.counterCalls())
			heal()
			allWork(t, s.counterCalls())
		}},

	{Rule{
		"counter/durable",
		"What is counted outlives the process.",
	}, needCounter | needReopen,
		func(t *testing.T, s *subject) {
			for _, state := range s.counter().States {
				r := waitingRun(orgA, 0)
				state.Set(&r)
				s.createRun(t, r)
			}
			want := audiosearch.Counts{
				Waiting: exactly(2), Running: exactly(2),
				Succeeded: exactly(1), ClientErrors: exactly(1), InternalErrors: exactly(1),
			}
			backlog := mortise.Backlog{Waiting: exactly(2), Running: exactly(2), NextDue: moment(0)}
			s.hasCounts(t, orgA, 10, want)
			s.hasBacklog(t, 10, backlog)
			s.reopen(t)
			s.hasCounts(t, orgA, 10, want)
			s.hasBacklog(t, 10, backlog)
		}},
}
