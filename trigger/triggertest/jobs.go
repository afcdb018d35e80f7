package triggertest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/internal/conformance/queuetest"
	"github.com/seed-6363c74e/mortise/trigger"
)

// Leases and queues as package queuetest knows them.
type (
	sharedLease    = queuetest.Lease[trigger.Job]
	sharedDelivery = queuetest.Delivery[trigger.Job]
	sharedHandler  = queuetest.Handler[trigger.Job]

	sharedLeases struct{ trigger.Leases }
	sharedQueue  struct{ trigger.Queue }
)

func (l sharedLeases) Claim(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]sharedLease, error) {
	claimed, err := l.Leases.Claim(ctx, token, now, until, limit, except...)
	var leases []sharedLease
	for _, one := range claimed {
		leases = append(leases, sharedLease(one))
	}
	return leases, err
}

func (l sharedLeases) Extend(ctx context.Context, lease sharedLease, until time.Time) error {
	return l.Leases.Extend(ctx, trigger.Lease(lease), until)
}

func (l sharedLeases) Release(ctx context.Context, lease sharedLease, at time.Time) error {
	return l.Leases.Release(ctx, trigger.Lease(lease), at)
}

func (l sharedLeases) Remove(ctx context.Context, lease sharedLease, dead bool) error {
	return l.Leases.Remove(ctx, trigger.Lease(lease), dead)
}

func (l sharedLeases) NotifyJobs(wake func()) (stop func()) {
	return l.Leases.(trigger.JobNotifier).NotifyJobs(wake)
}

func (l sharedLeases) WithoutNotifier() queuetest.Leases[trigger.Job] {
	return sharedLeases{struct{ trigger.Leases }{l.Leases}}
}

func (l sharedLeases) LeaseQueue(o *queuetest.LeaseOptions) queuetest.Queue[trigger.Job] {
	return sharedQueue{trigger.LeaseQueue(l.Leases, (*trigger.LeaseOptions)(o))}
}

func (q sharedQueue) Consume(ctx context.Context, workers int, handle sharedHandler) error {
	return q.Queue.Consume(ctx, workers, handlerOf(handle))
}

func (q sharedQueue) ConsumeOne(ctx context.Context, handle sharedHandler) (bool, error) {
	return q.Queue.(trigger.StepQueue).ConsumeOne(ctx, handlerOf(handle))
}

func handlerOf(handle sharedHandler) func(context.Context, trigger.Delivery) trigger.Verdict {
	return func(ctx context.Context, d trigger.Delivery) trigger.Verdict {
		switch v := handle(ctx, sharedDelivery(d)); {
		case v.Dead:
			return trigger.Verdict{Kind: trigger.VerdictDead}
		case v.Done:
			return trigger.Verdict{Kind: trigger.VerdictDone}
		default:
			return trigger.Verdict{After: v.After}
		}
	}
}

// jobDomain says what the jobs of this domain are.
func jobDomain() *queuetest.Domain[trigger.Job] {
	return &queuetest.Domain[trigger.Job]{
		NewJob: func(org string) trigger.Job { return trigger.Job{Organization: org, EventID: uuid.New()} },
		Sibling: func(j trigger.Job) trigger.Job {
			j.Generation++
			return j
		},
		Organization: func(j trigger.Job) string { return j.Organization },
		LeaseLost:    trigger.ErrLeaseLost,
		IsFailure:    isFailure,
		DeadLetters:  true,
		AddName:      "Add",
		Own: map[string]queuetest.Sentence{
			"leases/gone":        {ID: "leases/gone", Text: "If the job is gone or dead, Extend, Release and Remove change nothing and return ErrLeaseLost."},
			"leases/durable":     {ID: "leases/durable", Text: "Jobs outlive the process: waiting ones with their time, held ones until their lease ends, dead ones as dead, and none that is done."},
			"leases/failure":     {ID: "leases/failure", Text: brokenText},
			"queue/retry-after":  {ID: "queue/retry-after", Text: "With VerdictRetry, a job is delivered again, but not before After has passed."},
			"queue/zero-verdict": {ID: "queue/retry-is-the-default", Text: "The zero Verdict means retry, so that nothing is lost by omission."},
		},
	}
}

// jobs returns the job queue of the backend.
func (s *subject) jobs() *queuetest.Subject[trigger.Job] {
	return &queuetest.Subject[trigger.Job]{
		Domain:    jobDomain(),
		Leases:    sharedLeases{s.Leases},
		Queue:     sharedQueue{s.Queue},
		MoreCalls: s.txLeaseCalls(),
		Reopen: func(t *testing.T) *queuetest.Subject[trigger.Job] {
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
