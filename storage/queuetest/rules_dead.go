package queuetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/listtest"
)

const needDeadTable = needTable | needDead

// dead returns the table as one with dead jobs.
func (s *subject) dead() mortise.DeadJobs { return s.Leases.(mortise.DeadJobs) }

// bury adds a job, claims it until a time, and makes it a dead letter. No other job is claimable.
func (s *subject) bury(t *testing.T, j mortise.Job, now, until time.Duration) mortise.Job {
	t.Helper()
	s.add(t, j, now)
	s.remove(t, s.take(t, j, now, until), true)
	return j
}

func (s *subject) revive(t *testing.T, j mortise.Job) {
	t.Helper()
	require.NoError(t, s.dead().Revive(t.Context(), j), "Revive")
}

// buried returns all dead jobs of a kind, which are as many as their count says.
func (s *subject) buried(t *testing.T, kind string) (all []mortise.DeadJob) {
	t.Helper()
	for after, pages := mortise.Cursor(""), 0; pages == 0 || after != ""; pages++ {
		require.Less(t, pages, 1000, "ListDead does not end")
		page, err := s.dead().ListDead(t.Context(), kind, after, mortise.MaxPageSize)
		require.NoError(t, err, "ListDead")
		all, after = append(all, page.Items...), page.Next
	}
	n, err := s.dead().CountDead(t.Context(), kind, mortise.MaxCount)
	require.NoError(t, err, "CountDead")
	require.Equal(t, mortise.Count{N: len(all)}, n, "CountDead, and the number of jobs that ListDead returns")
	return all
}

// buriedNames returns which jobs they are, in their order.
func (s *subject) buriedNames(t *testing.T, kind string) []string {
	t.Helper()
	var list []string
	for _, d := range s.buried(t, kind) {
		list = append(list, d.Job.String())
	}
	return list
}

// deadRules are the rules of DeadJobs, but for the rules of all lists.
var deadRules = []rule{
	{Rule{"dead/only-dead", "ListDead and CountDead have the jobs of the kind that Remove kept, of all organizations, and no others: " +
		"not those that wait, are held, were released, removed or cancelled, or are of another kind."},
		needDeadTable, func(t *testing.T, s *subject) {
			require.Empty(t, s.buried(t, kindA), "dead jobs of a new table")
			one, other := s.bury(t, newJob(), 0, time.Hour), s.bury(t, jobOf(kindA, orgB), 0, time.Hour)
			_, l := s.addAndTake(t, 0, time.Hour)
			s.remove(t, l, false)
			_, l = s.addAndTake(t, 0, time.Hour)
			s.release(t, l, 0, time.Hour)
			s.addAndTake(t, 0, time.Hour)
			s.cancel(t, s.add(t, newJob(), 0))
			s.add(t, newJob(), 0)
			stranger := s.add(t, jobOf(kindB, orgA), 0)
			leases := s.claimAs(t, 0, mortise.Claim{Kinds: []string{kindB}, Limit: 1, TTL: time.Hour})
			require.Equal(t, names(stranger), leased(leases))
			s.remove(t, leases[0], true)
			require.Equal(t, names(one, other), s.buriedNames(t, kindA))
			require.Equal(t, names(stranger), s.buriedNames(t, kindB))
			require.Empty(t, s.buried(t, "else"), "dead jobs of a kind that has none")
		}},

	{Rule{"dead/returns-the-job", "A DeadJob has the job as it was added, its trace included, a zero At, and how often it was claimed. " +
		"It is the receiver's own."},
		needDeadTable, func(t *testing.T, s *subject) {
			want := s.add(t, traced(), 0)
			s.release(t, s.take(t, want, 0, time.Hour), 0, time.Minute)
			s.take(t, want, time.Minute, 2*time.Minute)
			s.remove(t, s.take(t, want, 2*time.Minute, time.Hour), true)
			plain := s.bury(t, newJob(), time.Hour, 2*time.Hour)
			for range 2 {
				all := s.buried(t, kindA)
				require.Len(t, all, 2)
				sameJob(t, want, all[0].Job)
				require.Equal(t, 3, all[0].Deliveries)
				sameJob(t, plain, all[1].Job)
				require.Equal(t, 1, all[1].Deliveries)
				clear(all[0].Job.Trace)
			}
		}},

	{Rule{"dead/count", "CountDead is exact up to most, and else most and More."},
		needDeadTable, func(t *testing.T, s *subject) {
			for n := range 4 {
				for _, most := range []int{1, 2, 3, 4, mortise.MaxCount} {
					count, err := s.dead().CountDead(t.Context(), kindA, most)
					require.NoError(t, err)
					require.Equal(t, mortise.CountUpTo(n, most), count, "%d dead jobs, counted up to %d", n, most)
				}
				s.bury(t, jobOf(kindA, []string{orgA, orgB}[n%2]), 0, time.Hour)
			}
		}},

	{Rule{"dead/order", "The Numbers of dead jobs are over 0 and have the order in which the jobs were added, or released or revived last."},
		needDeadTable, func(t *testing.T, s *subject) {
			released := s.add(t, newJob(), 0)
			l := s.take(t, released, 0, time.Hour)
			first, second := s.add(t, newJob(), 0), s.add(t, newJob(), 0)
			both := s.claim(t, 0, time.Hour, 2)
			require.Equal(t, names(first, second), leased(both))
			s.remove(t, both[1], true)
			s.remove(t, both[0], true)
			s.release(t, l, 0, 0)
			s.remove(t, s.take(t, released, 0, time.Hour), true)
			require.Equal(t, names(first, second, released), s.buriedNames(t, kindA))
			s.revive(t, first)
			s.remove(t, s.take(t, first, 0, time.Hour), true)
			require.Equal(t, names(second, released, first), s.buriedNames(t, kindA))
			last := int64(0)
			for _, d := range s.buried(t, kindA) {
				require.Greater(t, d.Number, last, "the Number of a job, and of the one before it")
				last = d.Number
			}
		}},

	{Rule{"dead/limit", "A limit below 1 or over MaxPageSize is a ValidationError at \"limit\"."},
		needDeadTable, func(t *testing.T, s *subject) {
			s.bury(t, newJob(), 0, time.Hour)
			for _, limit := range []int{-1, 0, mortise.MaxPageSize + 1} {
				_, err := s.dead().ListDead(t.Context(), kindA, "", limit)
				var invalid *mortise.ValidationError
				require.True(t, errors.As(err, &invalid), "limit %d: %v", limit, err)
				require.Equal(t, "limit", invalid.Problems[0].Path.String())
			}
		}},

	{Rule{"dead/revive", "Revive makes a dead job claimable from now on, by the clock of the table, behind the jobs that are claimable by then, " +
		"with its trace, and as if it had never been claimed. It is dead no more, and may die again."},
		needDeadTable, func(t *testing.T, s *subject) {
			j := traced()
			s.add(t, j, 0)
			for range 3 {
				s.release(t, s.take(t, j, 0, time.Hour), 0, 0)
			}
			l := s.take(t, j, 0, time.Hour)
			s.remove(t, l, true)
			s.at(2 * time.Hour)
			before := s.add(t, jobOf(kindA, j.Organization), 2*time.Hour)
			s.revive(t, j)
			require.Empty(t, s.buried(t, kindA), "dead jobs")
			s.powerless(t, l)
			s.none(t, 2*time.Hour-time.Microsecond)
			leases := s.claim(t, 2*time.Hour, 3*time.Hour, 10)
			require.Equal(t, names(before, j), leased(leases))
			sameJob(t, j, leases[1].Job)
			require.Equal(t, 1, leases[1].Deliveries)
			s.remove(t, leases[1], true)
			s.none(t, 2*time.Hour)
			all := s.buried(t, kindA)
			require.Len(t, all, 1)
			require.Equal(t, 1, all[0].Deliveries)
		}},

	{Rule{"dead/revive-and-cancel", "A job that was revived is one like any other: Cancel removes it, and it can be added anew."},
		needDeadTable, func(t *testing.T, s *subject) {
			j := s.bury(t, newJob(), 0, time.Hour)
			s.revive(t, j)
			s.cancel(t, j)
			s.none(t, time.Hour)
			s.add(t, j, 2*time.Hour)
			s.none(t, time.Hour)
			s.take(t, j, 2*time.Hour, 3*time.Hour)
		}},

	{Rule{"dead/revive-others", "A job that is not dead, or not there, is left as it is by Revive: no error. So is each other job."},
		needDeadTable, func(t *testing.T, s *subject) {
			dead := s.bury(t, newJob(), 0, time.Hour)
			held, l := s.addAndTake(t, 0, 2*time.Hour)
			waiting := s.add(t, newJob(), 3*time.Hour)
			over := s.add(t, newJob(), 0)
			s.remove(t, s.take(t, over, 0, time.Hour), false)
			for _, other := range []mortise.Job{
				held, waiting, over, newJob(),
				{Kind: kindB, Organization: dead.Organization, ID: dead.ID}, {Kind: dead.Kind, Organization: orgB, ID: dead.ID},
			} {
				s.revive(t, other)
			}
			s.none(t, 2*time.Hour-time.Microsecond)
			s.extend(t, l, 0, 2*time.Hour)
			require.Equal(t, 2, s.take(t, held, 2*time.Hour, 10*time.Hour).Deliveries)
			s.none(t, 3*time.Hour-time.Microsecond)
			s.take(t, waiting, 3*time.Hour, 10*time.Hour)
			require.Empty(t, s.claimAs(t, 3*time.Hour, mortise.Claim{Kinds: []string{kindB}, Limit: 10, TTL: time.Hour}))
			require.Equal(t, names(dead), s.buriedNames(t, kindA))
		}},

	{Rule{"dead/wakes", "wake is called with the kind of each job that is revived: a claim that follows it finds the job."},
		needNotifier | needDead, func(t *testing.T, s *subject) {
			claim := func(kind string) mortise.Lease {
				leases, err := s.Leases.Claim(t.Context(), mortise.Claim{Token: uuid.New(), Kinds: []string{kind}, Limit: 1, TTL: time.Hour})
				require.NoError(t, err)
				require.Len(t, leases, 1)
				return leases[0]
			}
			for _, kind := range []string{kindA, kindB} {
				j := jobOf(kind, orgA)
				require.NoError(t, s.Leases.Add(t.Context(), j))
				s.remove(t, claim(kind), true)
				b := s.subscribe(t)
				b.finds(t, j, s.dead().Revive)
			}
		}},

	{Rule{"dead/ended-context", "With a context that has ended ListDead, CountDead and Revive return an error that is not ErrLeaseLost, " +
		"and do nothing."},
		needDeadTable, func(t *testing.T, s *subject) {
			j := s.bury(t, newJob(), 0, time.Hour)
			ended := conformance.Ended(t)
			_, err := s.dead().ListDead(ended, kindA, "", 1)
			isFailure(t, "ListDead", err)
			_, err = s.dead().CountDead(ended, kindA, 1)
			isFailure(t, "CountDead", err)
			isFailure(t, "Revive", s.dead().Revive(ended, j))
			require.Equal(t, names(j), s.buriedNames(t, kindA))
		}},

	{Rule{"dead/failure", "While the backend fails, Revive returns an error, and no dead job is lost."},
		needDeadTable | needBreak, func(t *testing.T, s *subject) {
			j := s.bury(t, newJob(), 0, time.Hour)
			heal := s.breakIt(t)
			isFailure(t, "Revive", s.dead().Revive(t.Context(), newJob()))
			heal()
			require.Equal(t, names(j), s.buriedNames(t, kindA))
		}},

	{Rule{"dead/durable", "Dead jobs outlive the process, with their order, and can be revived then."},
		needDeadTable | needReopen, func(t *testing.T, s *subject) {
			first, second := s.bury(t, traced(), 0, time.Hour), s.bury(t, newJob(), 0, time.Hour)
			want := s.buried(t, kindA)
			s.reopen(t)
			s.at(0)
			require.Equal(t, want, s.buried(t, kindA))
			s.revive(t, first)
			sameJob(t, first, s.take(t, first, 0, time.Hour).Job)
			require.Equal(t, names(second), s.buriedNames(t, kindA))
		}},
}

// deadLists are the lists of package mortise.
var deadLists = []listtest.List[*subject]{
	{ID: "dead-jobs", Method: "ListDead", Items: "dead jobs of a kind", Needs: needDeadTable, Shared: true, Open: listedDead},
}

// listedDead adds and claims the jobs of all items, in the order of their numbers: so each can
// become a dead letter before a cursor, or behind it.
func listedDead(t *testing.T, s *subject, _ string) listtest.Opened {
	const first, last = -40, 260
	job := func(n int) mortise.Job {
		return mortise.Job{Kind: kindA, Organization: []string{orgA, orgB}[n&1], ID: fmt.Sprint("item-", n)}
	}
	for n := first; n < last; n++ {
		s.add(t, job(n), 0)
		if n == 0 {
			s.add(t, jobOf(kindB, orgA), 0)
		}
	}
	held := make(map[string]mortise.Lease)
	for len(held) < last-first {
		leases := s.claimAs(t, 0, mortise.Claim{Kinds: []string{kindA, kindB}, Limit: last - first + 1, TTL: time.Hour})
		require.NotEmpty(t, leases, "claimable jobs, after %d", len(held))
		for _, l := range leases {
			if l.Job.Kind == kindB {
				s.remove(t, l, true)
			} else {
				held[l.Job.ID] = l
			}
		}
	}
	return listtest.Opened{
		Position: func(i listtest.Item) mortise.Position {
			for _, d := range s.buried(t, kindA) {
				if d.Job.ID == job(i.N).ID {
					return d.Position()
				}
			}
			require.FailNow(t, "not listed", "%s is dead", job(i.N))
			return mortise.Position{}
		},
		Add: func(t *testing.T, items ...listtest.Item) {
			for _, i := range items {
				s.remove(t, held[job(i.N).ID], true)
			}
		},
		Remove: func(t *testing.T, i listtest.Item) { s.revive(t, job(i.N)) },
		Page: listtest.Of(func(ctx context.Context, after mortise.Cursor, limit int) (mortise.Page[mortise.DeadJob], error) {
			return s.dead().ListDead(ctx, kindA, after, limit)
		}, (*mortise.DeadJob).Position),
		Count: func(ctx context.Context, most int) (mortise.Count, error) {
			return s.dead().CountDead(ctx, kindA, most)
		},
	}
}

func deadListRules() (rules []rule) {
	for _, r := range listtest.Rules(deadLists) {
		rules = append(rules, rule{Rule{r.ID, r.Text}, r.Needs, r.Check})
	}
	return rules
}
