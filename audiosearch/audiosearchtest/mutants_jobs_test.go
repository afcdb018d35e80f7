package audiosearchtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/internal/conformance/queuetest"
)

// afresh is a Reopen that loses everything.
func afresh(t *testing.T, _ audiosearchtest.Backend) audiosearchtest.Backend {
	return newMutant(t).backend()
}

// sharedMutants are those of the rules that job queues have whatever their jobs are.
func sharedMutants() []broken {
	var all []broken
	for _, mistake := range queuetest.Mistakes(audiosearchtest.JobDomain()) {
		all = append(all, broken{name: mistake.Name, breaks: mistake.Breaks, mutate: func(m *mutant) { mistake.Make(m.jobs) }})
	}
	return all
}

var jobMutants = []broken{
	{name: "forgets the organization of a job", breaks: []string{"leases/claim-returns-the-job", "queue/delivers"}, mutate: func(m *mutant) {
		m.jobs.EveryLease(func(l *queuetest.Lease[audiosearch.Job]) { l.Job.Organization = "" })
	}},
	{name: "has one job an organization", breaks: []string{"leases/id-is-of-the-run", "queue/delivers"}, mutate: func(m *mutant) {
		m.jobs.Add = func(ctx context.Context, j audiosearch.Job, at time.Time) error {
			j.RunID = int64(len(j.Organization))
			return m.db.AddJob(ctx, j, at)
		}
	}},
}
