package memory

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/leases"
)

// Queue returns a queue over this database's jobs, of all kinds. Options may be nil. A
// service and its workers share one, and so may all services over the database.
func (db *DB) Queue(opts *leases.Options) *leases.Queue {
	return leases.New(db.Jobs(), opts)
}

// Jobs returns the table of jobs, of all kinds.
func (db *DB) Jobs() *Jobs { return &Jobs{db: db} }

// Jobs implements [mortise.Leases], [mortise.Sharer] and [leases.JobNotifier].
type Jobs struct{ db *DB }

var (
	_ mortise.Leases     = (*Jobs)(nil)
	_ mortise.Sharer     = (*Jobs)(nil)
	_ leases.JobNotifier = (*Jobs)(nil)
)

// Shares implements [mortise.Sharer].
func (t *Jobs) Shares(store any) bool {
	switch s := store.(type) {
	case *Trigger:
		return s.db == t.db
	case *AudioSearch:
		return s.db == t.db
	}
	return false
}

// NotifyJobs implements [leases.JobNotifier].
func (t *Jobs) NotifyJobs(wake func(kind string)) (stop func()) { return t.db.notified.add(wake) }

// Add implements [mortise.Leases].
func (t *Jobs) Add(ctx context.Context, j mortise.Job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.db.mu.Lock()
	added := t.db.addJob(j)
	t.db.mu.Unlock()
	if added {
		t.db.notified.tell(j.Kind)
	}
	return nil
}

// Cancel implements [mortise.Leases].
func (t *Jobs) Cancel(ctx context.Context, j mortise.Job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	if kept, ok := t.db.jobs.all[keyOf(j)]; ok && !kept.dead && kept.token == uuid.Nil {
		t.db.jobs.remove(kept, false)
	}
	return nil
}

// Claim implements [mortise.Leases].
func (t *Jobs) Claim(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	var leases []mortise.Lease
	for _, j := range t.db.jobs.claim(&c, t.db.jobTime()) {
		l := mortise.Lease{Job: j.job, Deliveries: j.deliveries, Token: c.Token}
		l.Job.Trace = maps.Clone(l.Job.Trace)
		leases = append(leases, l)
	}
	return leases, nil
}

// Extend implements [mortise.Holder].
func (t *Jobs) Extend(ctx context.Context, l mortise.Lease, ttl time.Duration) error {
	return t.held(ctx, l, func(j *job) { t.db.jobs.extend(j, t.db.jobTime().Add(ttl)) })
}

// Release implements [mortise.Holder].
func (t *Jobs) Release(ctx context.Context, l mortise.Lease, after time.Duration) error {
	return t.held(ctx, l, func(j *job) { t.db.jobs.release(j, t.db.jobTime().Add(after)) })
}

// Remove implements [mortise.Holder].
func (t *Jobs) Remove(ctx context.Context, l mortise.Lease, dead bool) error {
	return t.held(ctx, l, func(j *job) { t.db.jobs.remove(j, dead) })
}

// held calls f with the job, if l still holds it.
func (t *Jobs) held(ctx context.Context, l mortise.Lease, f func(*job)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	j := t.db.jobs.held(l)
	if j == nil {
		return mortise.ErrLeaseLost
	}
	f(j)
	return nil
}

// jobTime returns the time by the clock of the jobs.
func (db *DB) jobTime() time.Time { return db.now().UTC().Truncate(time.Microsecond) }

// addJob reports false if the job was there. The caller holds the lock, and tells of the
// job when it has given that back.
func (db *DB) addJob(j mortise.Job) bool {
	at := j.At
	if at.IsZero() {
		at = db.jobTime()
	}
	j.At, j.Trace = time.Time{}, maps.Clone(j.Trace)
	return db.jobs.add(j, at)
}

// endJob removes the job if the lease still holds it. The caller holds the lock.
func (db *DB) endJob(l mortise.Lease, dead bool) {
	if j := db.jobs.held(l); j != nil {
		db.jobs.remove(j, dead)
	}
}

// turnOf names the turns that claims of the kinds take. They are their own: a claim of
// other kinds may pass organizations by that these have jobs of.
func turnOf(kinds []string) string {
	if len(kinds) == 1 {
		return kinds[0]
	}
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(kinds))), " ")
}

// claim returns the jobs that it gave the token to: one of each organization in turn, from
// the one behind the one that was served last.
func (t *jobTable) claim(c *mortise.Claim, now time.Time) (claimed []*job) {
	orgs := t.lines[c.Kinds[0]].names()
	if len(c.Kinds) > 1 {
		orgs = nil
		for _, kind := range c.Kinds {
			orgs = append(orgs, t.lines[kind].names()...)
		}
		slices.Sort(orgs)
		orgs = slices.Compact(orgs)
	}
	turn := turnOf(c.Kinds)
	last := t.last[turn]
	at, _ := slices.BinarySearch(orgs, last+"\x00") // the least name behind it
	for idle := 0; len(claimed) < c.Limit && idle < len(orgs); at++ {
		org := orgs[at%len(orgs)]
		first := t.first(c.Kinds, org)
		if first.at.After(now) || slices.Contains(c.Except, org) {
			idle++
			continue
		}
		first.token = c.Token
		first.deliveries++
		t.extend(first, now.Add(c.TTL))
		claimed = append(claimed, first)
		last, idle = org, 0
	}
	t.last[turn] = last
	return claimed
}
