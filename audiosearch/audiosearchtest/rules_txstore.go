package audiosearchtest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/storage/leases"
)

func (s *subject) tx() audiosearch.TxStore { return s.Runs.(audiosearch.TxStore) }

// claim returns all jobs that can be claimed now, held for an hour.
func (s *subject) claim(t *testing.T) []mortise.Lease {
	t.Helper()
	leases, err := s.Leases.Claim(t.Context(), mortise.Claim{
		Token: uuid.New(), Kinds: []string{audiosearch.JobKind}, Limit: 1000, TTL: time.Hour,
	})
	require.NoError(t, err)
	return leases
}

// claimOne requires that the job of a run is the only one that can be claimed now.
func (s *subject) claimOne(t *testing.T, r audiosearch.Run) mortise.Lease {
	t.Helper()
	leases := s.claim(t)
	require.Len(t, leases, 1, "jobs that can be claimed")
	require.Equal(t, r.Job(), leases[0].Job)
	return leases[0]
}

// holds requires that a lease holds its job, or that it does not.
func (s *subject) holds(t *testing.T, l mortise.Lease, yes bool) {
	t.Helper()
	if err := s.Leases.Extend(t.Context(), l, time.Hour); yes {
		require.NoError(t, err, "the lease is lost")
	} else {
		require.ErrorIs(t, err, mortise.ErrLeaseLost)
	}
}

// addRun stores a run with its job, and returns the job's lease.
func (s *subject) addRun(t *testing.T, r audiosearch.Run) mortise.Lease {
	t.Helper()
	require.NoError(t, s.tx().CreateRunAndAdd(t.Context(), r.Clone(), manyRuns, r.Job()))
	return s.claimOne(t, r)
}

// claims requires that these jobs can be claimed now, and no others.
func (s *subject) claims(t *testing.T, want ...mortise.Job) {
	t.Helper()
	var got []mortise.Job
	for _, l := range s.claim(t) {
		got = append(got, l.Job)
	}
	require.ElementsMatch(t, want, got, "jobs that can be claimed")
}

// withJobs is an update that returns jobs.
func withJobs(update func(*audiosearch.Run) error, jobs ...mortise.Job) func(*audiosearch.Run) ([]mortise.Job, error) {
	return func(r *audiosearch.Run) ([]mortise.Job, error) { return jobs, update(r) }
}

// terminate is an update that ends a run.
func terminate(r *audiosearch.Run) error {
	r.State = audiosearch.StateTerminated
	return nil
}

// txCreateRules are the rules of CreateRunAndAdd.
var txCreateRules = []rule{
	{Rule{"txstore/create-and-add",
		"CreateRunAndAdd does CreateRun and, if that created the run, Leases.Add."}, needTx,
		func(t *testing.T, s *subject) {
			r := endedRun(orgA, 0)
			r.State, r.Results = audiosearch.StateQueued, nil
			job := r.Job()
			job.At = time.Time{}
			given := r.Clone()
			require.NoError(t, s.tx().CreateRunAndAdd(t.Context(), given, manyRuns, job))
			spoilRun(&given)
			s.hasRun(t, r)
			leases := s.claim(t)
			require.Len(t, leases, 1)
			job.Trace = r.Clone().Trace
			require.Equal(t, job, leases[0].Job)
			require.Equal(t, 1, leases[0].Deliveries)

			later := plainRun(orgA, 0)
			job = later.Job()
			job.At = time.Now().Add(24 * time.Hour)
			require.NoError(t, s.tx().CreateRunAndAdd(t.Context(), later, manyRuns, job))
			s.hasRun(t, later)
			require.Empty(t, s.claim(t), "a job that is due tomorrow")
		}},

	{Rule{"txstore/exists-adds-nothing",
		"If there is a run of this ID, of any organization, CreateRunAndAdd stores " +
			"nothing, adds no job, and returns ErrExists."}, needTx,
		func(t *testing.T, s *subject) {
			want := s.createRun(t, plainRun(orgA, 0))
			for _, org := range []string{orgA, orgB} {
				again := plainRun(org, time.Hour)
				again.ID = want.ID
				require.ErrorIs(t, s.tx().CreateRunAndAdd(t.Context(), again, manyRuns, again.Job()),
					mortise.ErrExists)
			}
			s.hasRun(t, want)
			require.Empty(t, s.claim(t), "jobs")
		}},

	{Rule{"txstore/too-many-adds-nothing",
		"If the organization has too many runs, CreateRunAndAdd stores nothing, adds " +
			"no job, and returns ErrTooManyRuns."}, needTx,
		func(t *testing.T, s *subject) {
			s.createRun(t, plainRun(orgA, 0))
			r := plainRun(orgA, 0)
			require.ErrorIs(t, s.tx().CreateRunAndAdd(t.Context(), r, 1, r.Job()),
				audiosearch.ErrTooManyRuns)
			s.isUnknown(t, orgA, r.ID)
			require.Empty(t, s.claim(t), "jobs")
		}},

	{Rule{"txstore/job-is-there",
		"A job that is there is left as it is by CreateRunAndAdd; the run is created."}, needTx,
		func(t *testing.T, s *subject) {
			r := plainRun(orgA, 0)
			job := r.Job()
			job.Trace = map[string]string{"first": "yes"}
			require.NoError(t, s.Leases.Add(t.Context(), job))
			require.NoError(t, s.tx().CreateRunAndAdd(t.Context(), r, manyRuns, r.Job()))
			s.hasRun(t, r)
			leases := s.claim(t)
			require.Len(t, leases, 1)
			require.Equal(t, job, leases[0].Job)
		}},

	{Rule{"txstore/notifies",
		"A table that is a JobNotifier tells of the jobs that CreateRunAndAdd adds."},
		needTx | needJobNotifier,
		func(t *testing.T, s *subject) {
			kinds := make(chan string, 1000)
			defer s.Leases.(leases.JobNotifier).NotifyJobs(func(kind string) { kinds <- kind })()
			r := plainRun(orgA, 0)
			require.NoError(t, s.tx().CreateRunAndAdd(t.Context(), r, manyRuns, r.Job()))
			for conformance.Await(t, kinds, "word of a job") != audiosearch.JobKind {
			}
		}},

	{Rule{"txstore/create-both-or-neither",
		"CreateRunAndAdd is one transaction: run and job, both or neither, also if the " +
			"call was cut off."}, needTx,
		func(t *testing.T, s *subject) {
			const n = 40
			runs := make([]audiosearch.Run, n)
			for i := range runs {
				runs[i] = plainRun(orgA, 0)
			}
			conformance.CutOff(t, n, func(ctx context.Context, i int) {
				_ = s.tx().CreateRunAndAdd(ctx, runs[i], manyRuns, runs[i].Job())
			})
			added := make(map[string]bool)
			conformance.Until(t, "every run to have its job, and every job its run", func() bool {
				for _, l := range s.claim(t) {
					added[l.Job.ID] = true
				}
				for i, r := range runs {
					_, err := s.Runs.Run(t.Context(), orgA, r.ID)
					if err != nil {
						require.ErrorIs(t, err, audiosearch.ErrRunNotFound)
					}
					if (err == nil) != added[r.Job().ID] || err != nil && i%2 == 1 {
						return false
					}
				}
				return true
			})
		}},
}

// txUpdateRules are the rules of UpdateRunAndJobs.
var txUpdateRules = []rule{
	{Rule{"txstore/update-and-jobs",
		"UpdateRunAndJobs does UpdateRun and, if that succeeded, Leases.Remove: the " +
			"job can be added anew."}, needTx,
		func(t *testing.T, s *subject) {
			r, other := plainRun(orgA, 0), plainRun(orgA, 0)
			otherLease := s.addRun(t, other)
			l := s.addRun(t, r)
			var seen audiosearch.Run
			require.NoError(t, s.tx().UpdateRunAndJobs(t.Context(), orgA, r.ID, withJobs(func(stored *audiosearch.Run) error {
				seen = stored.Clone()
				stored.State, stored.Message = audiosearch.StateTerminated, "It ended."
				return nil
			}), l))
			sameRun(t, r, seen)
			r.State, r.Message = audiosearch.StateTerminated, "It ended."
			s.hasRun(t, r)
			s.holds(t, l, false)
			s.hasRun(t, other)
			s.holds(t, otherLease, true)
			require.NoError(t, s.Leases.Add(t.Context(), r.Job()))
			require.Equal(t, 1, s.claimOne(t, r).Deliveries, "deliveries of a job that was added anew")
		}},

	{Rule{"txstore/update-and-jobs-adds",
		"UpdateRunAndJobs adds the jobs that update returns, each once, for their times, also " +
			"where no lease holds a job; a job that is there is left as it is."}, needTx,
		func(t *testing.T, s *subject) {
			r := plainRun(orgA, 0)
			l := s.addRun(t, r)
			newJob := func(org string) mortise.Job {
				r := plainRun(org, 0)
				return r.Job()
			}
			next, later, there := newJob(orgB), newJob(orgA), newJob(orgA)
			next.Trace = map[string]string{"traceparent": "00-1"}
			tomorrow := later
			tomorrow.At = time.Now().Add(24 * time.Hour)
			again := there
			again.At = tomorrow.At
			require.NoError(t, s.Leases.Add(t.Context(), there))
			require.NoError(t, s.tx().UpdateRunAndJobs(t.Context(), orgA, r.ID, withJobs(terminate, next, tomorrow, again, next), l))
			s.claims(t, next, there)
			s.holds(t, l, false)
			require.NoError(t, s.Leases.Add(t.Context(), later))
			s.claims(t) // it is there, for its time

			bare := s.createRun(t, plainRun(orgA, 0))
			require.NoError(t, s.tx().UpdateRunAndJobs(t.Context(), orgA, bare.ID, withJobs(terminate, bare.Job()), mortise.Lease{}))
			require.Equal(t, audiosearch.StateTerminated, s.run(t, bare).State)
			s.claims(t, bare.Job())
		}},

	{Rule{"txstore/update-refused",
		"If update returns an error, or there is no such run, UpdateRunAndJobs " +
			"changes nothing, returns that error, leaves the job and adds none."}, needTx,
		func(t *testing.T, s *subject) {
			r, other := plainRun(orgA, 0), plainRun(orgA, 0)
			l := s.addRun(t, r)
			err := s.tx().UpdateRunAndJobs(t.Context(), orgA, r.ID, withJobs(func(stored *audiosearch.Run) error {
				stored.State = audiosearch.StateTerminated
				return audiosearch.ErrFinished
			}, other.Job()), l)
			require.ErrorIs(t, err, audiosearch.ErrFinished)
			s.hasRun(t, r)
			s.holds(t, l, true)
			err = s.tx().UpdateRunAndJobs(t.Context(), orgB, r.ID, withJobs(func(*audiosearch.Run) error {
				t.Error("update was called")
				return nil
			}, other.Job()), l)
			require.ErrorIs(t, err, audiosearch.ErrRunNotFound)
			s.holds(t, l, true)
			s.claims(t)
		}},

	{Rule{"txstore/lease-lost",
		"That the lease is lost, or has no token, is no error: UpdateRunAndJobs changes the run, " +
			"and the job stays with its holder."}, needTx,
		func(t *testing.T, s *subject) {
			r := plainRun(orgA, 0)
			first := s.addRun(t, r)
			require.NoError(t, s.Leases.Release(t.Context(), first, 0))
			second := s.claimOne(t, r)
			none := second
			none.Token = uuid.Nil
			change := func(l mortise.Lease) {
				t.Helper()
				r.Attempts++
				require.NoError(t, s.tx().UpdateRunAndJobs(t.Context(), orgA, r.ID, withJobs(func(stored *audiosearch.Run) error {
					stored.Attempts++
					return nil
				}), l))
				s.hasRun(t, r)
			}
			for _, l := range []mortise.Lease{first, none} {
				change(l)
				s.holds(t, second, true)
			}
			require.NoError(t, s.Leases.Release(t.Context(), second, 0))
			change(none)
			s.claimOne(t, r)
		}},

	{Rule{"txstore/update-both-or-neither",
		"UpdateRunAndJobs is one transaction: the run is changed if and only if the job is gone " +
			"and the others are added, also if the call was cut off."}, needTx,
		func(t *testing.T, s *subject) {
			const n = 40
			runs, leases, next := make([]audiosearch.Run, n), make([]mortise.Lease, n), make([]audiosearch.Run, n)
			for i := range runs {
				runs[i], next[i] = plainRun(orgA, 0), plainRun(orgA, 0)
				leases[i] = s.addRun(t, runs[i])
			}
			conformance.CutOff(t, n, func(ctx context.Context, i int) {
				_ = s.tx().UpdateRunAndJobs(ctx, orgA, runs[i].ID, withJobs(terminate, next[i].Job()), leases[i])
			})
			added := make(map[string]bool)
			conformance.Until(t, "every run to have ended without its job and with the next, or neither", func() bool {
				for _, l := range s.claim(t) {
					added[l.Job.ID] = true
				}
				for i, r := range runs {
					err := s.Leases.Extend(t.Context(), leases[i], time.Hour)
					if err != nil {
						require.ErrorIs(t, err, mortise.ErrLeaseLost)
					}
					ended := s.run(t, r).State == audiosearch.StateTerminated
					if ended != (err != nil) || ended != added[next[i].Job().ID] || !ended && i%2 == 1 {
						return false
					}
				}
				return true
			})
		}},

	{Rule{"txstore/durable",
		"What CreateRunAndAdd and UpdateRunAndJobs did outlives the process, run and " +
			"jobs."}, needTx | needReopen,
		func(t *testing.T, s *subject) {
			ended, open, next := plainRun(orgA, 0), plainRun(orgA, 0), plainRun(orgA, 0)
			l := s.addRun(t, ended)
			require.NoError(t, s.tx().UpdateRunAndJobs(t.Context(), orgA, ended.ID, withJobs(terminate, next.Job()), l))
			ended.State = audiosearch.StateTerminated
			require.NoError(t, s.tx().CreateRunAndAdd(t.Context(), open, manyRuns, open.Job()))
			s.reopen(t)
			s.hasRun(t, ended)
			s.hasRun(t, open)
			s.claims(t, open.Job(), next.Job())
			s.holds(t, l, false)
		}},
}

// foreignRuns are Runs of a kind that no table has heard of.
type foreignRuns struct{ audiosearch.Runs }

// shares requires that a Sharer shares the backend's own runs only.
func (s *subject) shares(t *testing.T, sharer mortise.Sharer) {
	t.Helper()
	require.True(t, sharer.Shares(s.Runs), "with the Runs of the same backend")
	require.False(t, sharer.Shares(s.h.Open(t).Runs), "with the Runs of another one")
	require.False(t, sharer.Shares(foreignRuns{s.Runs}), "with Runs of a kind that it does not know")
	require.False(t, sharer.Shares(nil), "with nothing")
}

// shareRules are the rules of a Sharer beside a TxStore.
var shareRules = []rule{
	{Rule{"txstore/leases-share",
		"Shares of Leases reports whether a TxStore adds and removes jobs of theirs."},
		needTx | needLeasesSharer,
		func(t *testing.T, s *subject) { s.shares(t, s.Leases.(mortise.Sharer)) }},

	{Rule{"txstore/queue-shares",
		"Shares of a Queue reports whether a TxStore adds and removes jobs of it."},
		needTx | needQueueSharer,
		func(t *testing.T, s *subject) { s.shares(t, s.Queue.(mortise.Sharer)) }},
}
