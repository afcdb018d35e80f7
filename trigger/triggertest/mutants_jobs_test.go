package triggertest_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/queuetest"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// afresh is a Reopen that loses everything.
func afresh(t *testing.T, _ triggertest.Backend) triggertest.Backend { return newMutant(t).backend() }

// sharedMutants are those of the rules that job queues have whatever their jobs are.
func sharedMutants() []broken {
	// The rules that some of them break besides, here.
	more := map[string][]string{"looks once": {"txqueue/create-and-enqueue"}}
	var all []broken
	for _, mistake := range queuetest.Mistakes(triggertest.JobDomain()) {
		all = append(all, broken{
			name: mistake.Name, breaks: append(mistake.Breaks, more[mistake.Name]...), mutate: func(m *mutant) { mistake.Make(m.jobs) },
		})
	}
	return all
}

var jobMutants = []broken{
	{name: "forgets the organization of a job", breaks: []string{"leases/claim-returns-the-job", "queue/delivers"}, mutate: func(m *mutant) {
		m.jobs.EveryLease(func(l *queuetest.Lease[trigger.Job]) { l.Job.Organization = "" })
	}},
	{name: "has one job an event", breaks: []string{"leases/generations-are-jobs", "queue/generations-are-jobs"}, mutate: func(m *mutant) {
		m.jobs.Add = func(ctx context.Context, j trigger.Job, at time.Time) error {
			j.Generation = 0
			return m.Trigger.Add(ctx, j, at)
		}
	}},
	{name: "tells of no job of CreateAndAdd", breaks: []string{"jobnotifier/create-and-add"}, mutate: func(m *mutant) {
		var creating atomic.Bool
		m.jobs.NotifyJobs = func(wake func()) func() {
			return m.Trigger.NotifyJobs(func() {
				if !creating.Load() {
					wake()
				}
			})
		}
		m.createAndAdd = func(ctx context.Context, e trigger.Event, since time.Time, j trigger.Job) (trigger.Event, bool, error) {
			creating.Store(true)
			defer creating.Store(false)
			return m.Trigger.CreateAndAdd(ctx, e, since, j, e.SubmittedAt)
		}
	}},
	{name: "shares with everybody", breaks: []string{"txleases/shares", "txqueue/shares"}, mutate: func(m *mutant) {
		m.shares = func(trigger.Store) bool { return true }
	}},
	{name: "shares with nobody", breaks: []string{"txleases/shares", "txqueue/shares"}, mutate: func(m *mutant) {
		m.shares = func(trigger.Store) bool { return false }
	}},
	{name: "adds a job in any case", mutate: func(m *mutant) {
		m.createAndAdd = func(ctx context.Context, e trigger.Event, since time.Time, j trigger.Job) (trigger.Event, bool, error) {
			stored, created, err := m.Trigger.Create(ctx, e, since)
			_ = m.Trigger.Add(ctx, j, e.SubmittedAt)
			return stored, created, err
		}
	}, breaks: []string{
		"txleases/same-key-adds-nothing", "txleases/same-id-adds-nothing", "txleases/concurrent-one-key",
		"txqueue/same-key-enqueues-nothing", "txqueue/same-id-enqueues-nothing", "txqueue/concurrent-one-key",
	}},
	{name: "creates without a job", mutate: func(m *mutant) {
		m.createAndAdd = func(ctx context.Context, e trigger.Event, since time.Time, _ trigger.Job) (trigger.Event, bool, error) {
			return m.Trigger.Create(ctx, e, since)
		}
	}, breaks: []string{"txleases/create-and-add", "txleases/key-before-window", "txqueue/key-before-window", "txleases/durable"}},
	{name: "adds a job twice with an event", breaks: []string{"txleases/job-is-there", "txqueue/job-is-there"}, mutate: func(m *mutant) {
		m.createAndAdd = func(ctx context.Context, e trigger.Event, since time.Time, j trigger.Job) (trigger.Event, bool, error) {
			j.Generation++
			return m.Trigger.CreateAndAdd(ctx, e, since, j, e.SubmittedAt)
		}
	}},
	{name: "ignores the context of CreateAndAdd", breaks: []string{"leases/ended-context"}, mutate: func(m *mutant) {
		m.createAndAdd = func(ctx context.Context, e trigger.Event, since time.Time, j trigger.Job) (trigger.Event, bool, error) {
			return m.Trigger.CreateAndAdd(context.WithoutCancel(ctx), e, since, j, e.SubmittedAt)
		}
	}},
	{name: "loses its data", reopen: afresh, mutate: func(*mutant) {}, breaks: []string{
		"store/durable", "organizations/durable", "keys/durable", "leases/durable", "txleases/durable",
	}},
	{name: "ignores the context", mutate: func(m *mutant) {
		m.create = func(_ context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error) {
			return m.Trigger.Create(context.Background(), e, since)
		}
		m.organization = func(_ context.Context, org string) (trigger.Organization, error) {
			return m.Trigger.Organization(context.Background(), org)
		}
		m.listKeys = func(_ context.Context, org string) ([]trigger.APIKey, error) {
			return m.Trigger.ListKeys(context.Background(), org)
		}
	}, breaks: []string{"store/ended-context", "organizations/ended-context", "keys/ended-context"}},
	{name: "says not found when it fails", mutate: func(m *mutant) { m.failure = errors.Join(errBroken, trigger.ErrNotFound) }, breaks: []string{
		"store/failure", "organizations/failure", "keys/failure", "leases/failure", "queue/failure",
	}},
	{name: "brings pruned events back", breaks: []string{"pruner/durable"}, mutate: func(m *mutant) {
		m.prune = func(context.Context, time.Time, int) (int, error) { return 1, nil }
	}},
	{name: "stores and adds in two steps", breaks: []string{"txleases/both-or-neither", "txqueue/both-or-neither"}, mutate: func(m *mutant) {
		m.createAndAdd = func(ctx context.Context, e trigger.Event, since time.Time, j trigger.Job) (trigger.Event, bool, error) {
			stored, created, err := m.Trigger.Create(context.WithoutCancel(ctx), e, since)
			conformance.Seam() // until all calls that are cut off are
			if err == nil {
				err = m.Trigger.Add(ctx, j, e.SubmittedAt)
			}
			return stored, created, err
		}
	}},
}
