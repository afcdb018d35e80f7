package audiosearchtest

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance/queuetest"
)

// Leases and queues as package queuetest knows them.
type (
	sharedLease    = queuetest.Lease[audiosearch.Job]
	sharedDelivery = queuetest.Delivery[audiosearch.Job]
	sharedHandler  = queuetest.Handler[audiosearch.Job]

	sharedLeases struct{ audiosearch.Leases }
	sharedQueue  struct{ audiosearch.Queue }
)

func (l sharedLeases) Add(ctx context.Context, j audiosearch.Job, at time.Time) error {
	return l.AddJob(ctx, j, at)
}

func (l sharedLeases) Claim(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]sharedLease, error) {
	claimed, err := l.Leases.Claim(ctx, token, now, until, limit, except...)
	var leases []sharedLease
	for _, one := range claimed {
		leases = append(leases, sharedLease(one))
	}
	return leases, err
}

func (l sharedLeases) Extend(ctx context.Context, lease sharedLease, until time.Time) error {
	return l.Leases.Extend(ctx, audiosearch.Lease(lease), until)
}

func (l sharedLeases) Release(ctx context.Context, lease sharedLease, at time.Time) error {
	return l.Leases.Release(ctx, audiosearch.Lease(lease), at)
}

func (l sharedLeases) Remove(ctx context.Context, lease sharedLease, _ bool) error {
	return l.Leases.Remove(ctx, audiosearch.Lease(lease))
}

func (l sharedLeases) NotifyJobs(wake func()) (stop func()) {
	return l.Leases.(audiosearch.JobNotifier).NotifyJobs(wake)
}

func (l sharedLeases) WithoutNotifier() queuetest.Leases[audiosearch.Job] {
	return sharedLeases{struct{ audiosearch.Leases }{l.Leases}}
}

func (l sharedLeases) LeaseQueue(o *queuetest.LeaseOptions) queuetest.Queue[audiosearch.Job] {
	return sharedQueue{audiosearch.LeaseQueue(l.Leases, (*audiosearch.LeaseOptions)(o))}
}

func (q sharedQueue) Consume(ctx context.Context, workers int, handle sharedHandler) error {
	return q.Queue.Consume(ctx, workers, handlerOf(handle))
}

func (q sharedQueue) ConsumeOne(ctx context.Context, handle sharedHandler) (bool, error) {
	return q.Queue.(audiosearch.StepQueue).ConsumeOne(ctx, handlerOf(handle))
}

func handlerOf(handle sharedHandler) func(context.Context, audiosearch.Delivery) audiosearch.Verdict {
	return func(ctx context.Context, d audiosearch.Delivery) audiosearch.Verdict {
		v := handle(ctx, sharedDelivery(d))
		return audiosearch.Verdict{Done: v.Done, After: v.After}
	}
}

// newRunID returns an ID that no run has.
func newRunID() int64 { return 1 + rand.Int64N(audiosearch.MaxRunID) }

// jobDomain says what the jobs of this domain are.
func jobDomain() *queuetest.Domain[audiosearch.Job] {
	return &queuetest.Domain[audiosearch.Job]{
		NewJob: func(org string) audiosearch.Job { return audiosearch.Job{Organization: org, RunID: newRunID()} },
		Sibling: func(j audiosearch.Job) audiosearch.Job {
			j.RunID = j.RunID%audiosearch.MaxRunID + 1
			return j
		},
		Organization: func(j audiosearch.Job) string { return j.Organization },
		LeaseLost:    audiosearch.ErrLeaseLost,
		IsFailure:    isFailure,
		AddName:      "AddJob",
	}
}

// jobs returns the job queue of the backend.
func (s *subject) jobs() *queuetest.Subject[audiosearch.Job] {
	return &queuetest.Subject[audiosearch.Job]{
		Domain: jobDomain(),
		Leases: sharedLeases{s.Leases},
		Queue:  sharedQueue{s.Queue},
		Reopen: func(t *testing.T) *queuetest.Subject[audiosearch.Job] {
			s.reopen(t)
			return s.jobs()
		},
		Break: s.breakIt,
	}
}

// sharedJobRules are those that job queues have whatever their jobs are.
func sharedJobRules() []rule {
	var rules []rule
	for _, r := range queuetest.Rules(jobDomain()) {
		rules = append(rules, rule{Rule(r.Sentence), r.Needs, func(t *testing.T, s *subject) { r.Check(t, s.jobs()) }})
	}
	return rules
}

// jobRules are the rules of Leases that only this domain has.
var jobRules = []rule{
	{Rule{"leases/id-is-of-the-run", "A job's ID is that of its run: each run has a job of its own, and one only, whatever the organization."}, needLeases,
		func(t *testing.T, s *subject) {
			q := s.jobs()
			first := q.Add(t, audiosearch.Job{Organization: orgA, RunID: 1}, 0)
			second := q.Add(t, audiosearch.Job{Organization: orgA, RunID: audiosearch.MaxRunID}, time.Second)
			q.Add(t, audiosearch.Job{Organization: orgB, RunID: 1}, 0)
			l := q.ClaimOne(t, 0, time.Hour)
			require.Equal(t, first, l.Job)
			l = q.ClaimOne(t, time.Second, time.Hour)
			require.Equal(t, second, l.Job)
			require.NoError(t, s.Leases.Remove(t.Context(), audiosearch.Lease(l)))
			require.Equal(t, first, q.ClaimOne(t, time.Hour+time.Microsecond, 2*time.Hour).Job)
		}},
}
