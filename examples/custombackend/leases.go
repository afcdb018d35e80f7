package custombackend

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
)

var (
	_ mortise.JobTable = (*File)(nil)
	_ mortise.Sharer   = (*File)(nil)
)

// Shares implements [mortise.Sharer]: events and jobs stand in one file.
func (f *File) Shares(store any) bool { return store == any(f) }

// jobKey says which job it is: each part counts.
type jobKey struct{ Kind, Organization, ID string }

func keyOf(j mortise.Job) jobKey { return jobKey{j.Kind, j.Organization, j.ID} }

// Add implements [mortise.Leases].
func (f *File) Add(ctx context.Context, j mortise.Job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if rows := f.newRows(j); rows != nil {
		return f.commit(record{Jobs: rows})
	}
	return nil
}

// newRows returns the row of a new job, nil if the job is there.
func (f *File) newRows(j mortise.Job) []row {
	if _, ok := f.jobs[keyOf(j)]; ok {
		return nil
	}
	at := j.At
	if at.IsZero() {
		at = f.now()
	}
	j.At, j.Trace = time.Time{}, maps.Clone(j.Trace)
	return []row{{Job: j, At: at, Seq: f.seq + 1}}
}

// Cancel implements [mortise.Leases].
func (f *File) Cancel(ctx context.Context, j mortise.Job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if kept, ok := f.jobs[keyOf(j)]; !ok || kept.Dead || kept.Token != uuid.Nil {
		return nil
	}
	return f.commit(record{Gone: []jobKey{keyOf(j)}})
}

// Claim implements [mortise.Leases].
func (f *File) Claim(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	var due []row
	for _, j := range f.jobs {
		if !j.Dead && !j.At.After(now) && slices.Contains(c.Kinds, j.Job.Kind) && !slices.Contains(c.Except, j.Job.Organization) {
			due = append(due, j)
		}
	}
	slices.SortFunc(due, func(a, b row) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Seq, b.Seq)) })
	turn := strings.Join(slices.Compact(slices.Sorted(slices.Values(c.Kinds))), " ")
	due = inTurn(due, f.served[turn])
	due = due[:min(c.Limit, len(due))]
	if len(due) == 0 {
		return nil, nil
	}
	f.served[turn] = due[len(due)-1].Job.Organization
	var leases []mortise.Lease
	for i := range due {
		due[i].At, due[i].Token = now.Add(c.TTL), c.Token
		due[i].Deliveries++
		l := mortise.Lease{Job: due[i].Job, Deliveries: due[i].Deliveries, Token: c.Token}
		l.Job.Trace = maps.Clone(l.Job.Trace)
		leases = append(leases, l)
	}
	return leases, f.commit(record{Jobs: due})
}

// inTurn puts jobs in order: one of each organization, beginning after the one that was
// served last, then the next of each, and so on.
func inTurn(due []row, served string) []row {
	turn := make(map[string]int) // by organization: how many of its jobs came before
	rounds := make([]int, len(due))
	order := make([]int, len(due))
	for i, j := range due {
		order[i], rounds[i] = i, turn[j.Job.Organization]
		turn[j.Job.Organization]++
	}
	// An organization up to the one that was served last waits for those behind it.
	before := func(i int) bool { return due[i].Job.Organization <= served }
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

// Extend implements [mortise.Holder].
func (f *File) Extend(ctx context.Context, l mortise.Lease, ttl time.Duration) error {
	return f.held(ctx, l, func(j row) record {
		j.At = f.now().Add(ttl)
		return record{Jobs: []row{j}}
	})
}

// Release implements [mortise.Holder].
func (f *File) Release(ctx context.Context, l mortise.Lease, after time.Duration) error {
	return f.held(ctx, l, func(j row) record {
		j.At, j.Seq, j.Token = f.now().Add(after), f.seq+1, uuid.Nil
		return record{Jobs: []row{j}}
	})
}

// Remove implements [mortise.Holder].
func (f *File) Remove(ctx context.Context, l mortise.Lease, dead bool) error {
	return f.held(ctx, l, func(j row) record { return removal(j, dead) })
}

// removal is the record of a job that ends.
func removal(j row, dead bool) record {
	if !dead {
		return record{Gone: []jobKey{keyOf(j.Job)}}
	}
	j.Dead, j.Token = true, uuid.Nil
	return record{Jobs: []row{j}}
}

// held commits a change of a job, if l still holds it.
func (f *File) held(ctx context.Context, l mortise.Lease, change func(row) record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	j, held := f.heldRow(l)
	if !held {
		return mortise.ErrLeaseLost
	}
	return f.commit(change(j))
}

// heldRow returns the job of a lease, and whether that holds it.
func (f *File) heldRow(l mortise.Lease) (row, bool) {
	j, ok := f.jobs[keyOf(l.Job)]
	return j, ok && !j.Dead && j.Token == l.Token && l.Token != uuid.Nil
}

// now is the clock of the jobs.
func (f *File) now() time.Time { return f.Now().UTC().Truncate(time.Microsecond) }
