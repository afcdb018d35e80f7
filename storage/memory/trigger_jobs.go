package memory

import (
	"container/heap"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/trigger"
)

type jobID struct {
	event      uuid.UUID
	generation int
}

// job is one row of the job table. at is when it can be claimed: the time given to Add or Release, or the end of its lease.
type job struct {
	job        trigger.Job
	at         time.Time
	seq        uint64 // of arrival or of the latest Release: decides between equal times
	token      uuid.UUID
	deliveries int
	dead       bool
	index      int // in the heap; -1 when not in it
}

// jobHeap holds the jobs that are not dead, soonest claimable first.
type jobHeap []*job

func (h jobHeap) Len() int { return len(h) }
func (h jobHeap) Less(i, j int) bool {
	if c := h[i].at.Compare(h[j].at); c != 0 {
		return c < 0
	}
	return h[i].seq < h[j].seq
}
func (h jobHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *jobHeap) Push(x any) {
	j := x.(*job)
	j.index = len(*h)
	*h = append(*h, j)
}
func (h *jobHeap) Pop() any {
	old := *h
	j := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	j.index = -1
	return j
}

// Add implements [trigger.Leases].
func (t *Trigger) Add(ctx context.Context, j trigger.Job, at time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.db.mu.Lock()
	added := t.db.trigger.addJob(j, at)
	t.db.mu.Unlock()
	if added {
		t.db.wakers.wake()
	}
	return nil
}

// addJob reports false if the job was there.
func (t *triggerTables) addJob(j trigger.Job, at time.Time) bool {
	id := jobID{j.EventID, j.Generation}
	if _, ok := t.jobs[id]; ok {
		return false
	}
	t.jobSeq++
	added := &job{job: j, at: at, seq: t.jobSeq}
	t.jobs[id] = added
	heap.Push(&t.due, added)
	return true
}

// forgetDead removes the dead jobs of an event, of all its generations.
func (t *triggerTables) forgetDead(e *trigger.Event) {
	for generation := range e.Generation + 1 {
		id := jobID{e.ID, generation}
		if j, ok := t.jobs[id]; ok && j.dead {
			delete(t.jobs, id)
		}
	}
}

// Shares implements [trigger.TxLeases].
func (t *Trigger) Shares(s trigger.Store) bool {
	other, ok := s.(*Trigger)
	return ok && other.db == t.db
}

// CreateAndAdd implements [trigger.TxLeases].
func (t *Trigger) CreateAndAdd(ctx context.Context, e trigger.Event, keySince time.Time, j trigger.Job, at time.Time) (trigger.Event, bool, error) {
	if err := ctx.Err(); err != nil {
		return trigger.Event{}, false, err
	}
	t.db.mu.Lock()
	stored, created := t.db.trigger.create(e, keySince)
	added := created && t.db.trigger.addJob(j, at)
	t.db.mu.Unlock()
	if added {
		t.db.wakers.wake()
	}
	return stored, created, nil
}

// Claim implements [trigger.Leases].
func (t *Trigger) Claim(ctx context.Context, token uuid.UUID, now, until time.Time, limit int) ([]trigger.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	tables := &t.db.trigger
	var leases []trigger.Lease
	for len(leases) < limit && len(tables.due) > 0 {
		first := tables.due[0]
		if first.at.After(now) {
			break
		}
		first.at, first.token = until, token
		first.deliveries++
		heap.Fix(&tables.due, first.index)
		leases = append(leases, trigger.Lease{Job: first.job, Token: token, Deliveries: first.deliveries})
	}
	return leases, nil
}

// Extend implements [trigger.Leases].
func (t *Trigger) Extend(ctx context.Context, l trigger.Lease, until time.Time) error {
	return t.held(ctx, l, func(j *job) {
		j.at = until
		heap.Fix(&t.db.trigger.due, j.index)
	})
}

// Release implements [trigger.Leases].
func (t *Trigger) Release(ctx context.Context, l trigger.Lease, at time.Time) error {
	return t.held(ctx, l, func(j *job) {
		// Behind the others that are claimable at the same time, or a job given back at once would hold them up.
		t.db.trigger.jobSeq++
		j.at, j.token, j.seq = at, uuid.Nil, t.db.trigger.jobSeq
		heap.Fix(&t.db.trigger.due, j.index)
	})
}

// Remove implements [trigger.Leases].
func (t *Trigger) Remove(ctx context.Context, l trigger.Lease, dead bool) error {
	return t.held(ctx, l, func(j *job) {
		heap.Remove(&t.db.trigger.due, j.index)
		j.dead, j.token = dead, uuid.Nil
		if !dead {
			delete(t.db.trigger.jobs, jobID{j.job.EventID, j.job.Generation})
		}
	})
}

// held calls f with the job, if l still holds it.
func (t *Trigger) held(ctx context.Context, l trigger.Lease, f func(*job)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	j, ok := t.db.trigger.jobs[jobID{l.Job.EventID, l.Job.Generation}]
	if !ok || j.dead || j.token != l.Token || l.Token == uuid.Nil {
		return trigger.ErrLeaseLost
	}
	f(j)
	return nil
}
