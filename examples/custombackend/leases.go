package custombackend

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/trigger"
)

var _ trigger.Leases = (*File)(nil)

// Add implements [trigger.Leases].
func (f *File) Add(ctx context.Context, j trigger.Job, at time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.jobs[j.ID()]; ok {
		return nil
	}
	return f.commit(record{Jobs: []row{{Job: j, At: at, Seq: f.seq + 1}}})
}

// Claim implements [trigger.Leases].
func (f *File) Claim(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]trigger.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var due []row
	for _, j := range f.jobs {
		if !j.Dead && !j.At.After(now) && !slices.Contains(except, j.Job.Organization) {
			due = append(due, j)
		}
	}
	slices.SortFunc(due, func(a, b row) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Seq, b.Seq)) })
	due = f.inTurn(due)
	due = due[:min(limit, len(due))]
	if len(due) == 0 {
		return nil, nil
	}
	f.served = due[len(due)-1].Job.Organization
	var leases []trigger.Lease
	for i := range due {
		due[i].At, due[i].Token = until, token
		due[i].Deliveries++
		leases = append(leases, trigger.Lease{Job: due[i].Job, Token: token, Deliveries: due[i].Deliveries})
	}
	return leases, f.commit(record{Jobs: due})
}

// inTurn puts jobs in order: one of each organization, beginning after the one that was
// served last, then the next of each, and so on.
func (f *File) inTurn(due []row) []row {
	turn := make(map[string]int) // by organization: how many of its jobs came before
	rounds := make([]int, len(due))
	order := make([]int, len(due))
	for i, j := range due {
		order[i], rounds[i] = i, turn[j.Job.Organization]
		turn[j.Job.Organization]++
	}
	// An organization up to the one that was served last waits for those behind it.
	before := func(i int) bool { return due[i].Job.Organization <= f.served }
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case rounds[a] != rounds[b]:
			return cmp.Compare(rounds[a], rounds[b])
		case before(a) != before(b) && before(b):
			return -1
		case before(a) != before(b):
			return 1
		}
		return cmp.Compare(due[a].Job.Organization, due[b].Job.Organization)
	})
	sorted := make([]row, len(due))
	for i, at := range order {
		sorted[i] = due[at]
	}
	return sorted
}

// Extend implements [trigger.Leases].
func (f *File) Extend(ctx context.Context, l trigger.Lease, until time.Time) error {
	return f.held(ctx, l, func(j row) record {
		j.At = until
		return record{Jobs: []row{j}}
	})
}

// Release implements [trigger.Leases].
func (f *File) Release(ctx context.Context, l trigger.Lease, at time.Time) error {
	return f.held(ctx, l, func(j row) record {
		j.At, j.Seq, j.Token = at, f.seq+1, uuid.Nil
		return record{Jobs: []row{j}}
	})
}

// Remove implements [trigger.Leases].
func (f *File) Remove(ctx context.Context, l trigger.Lease, dead bool) error {
	return f.held(ctx, l, func(j row) record {
		if !dead {
			return record{Gone: j.Job.ID()}
		}
		j.Dead, j.Token = true, uuid.Nil
		return record{Jobs: []row{j}}
	})
}

// held commits a change of a job, if l still holds it.
func (f *File) held(ctx context.Context, l trigger.Lease, change func(row) record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	j, ok := f.jobs[l.Job.ID()]
	if !ok || j.Dead || j.Token != l.Token {
		return trigger.ErrLeaseLost
	}
	return f.commit(change(j))
}
