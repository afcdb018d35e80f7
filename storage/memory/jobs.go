package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/storage/leases"
)

// Queue returns a queue over this database's jobs, of all kinds. Options may be nil. A
// service and its workers share one, and so may all services over the database.
func (db *DB) Queue(opts *leases.Options) *leases.Queue {
	return leases.New(db.Jobs(), opts)
}

// Jobs returns the table of jobs, of all kinds.
func (db *DB) Jobs() *Jobs { return &Jobs{db: db} }

// Jobs implements [mortise.JobTable], [mortise.Sharer] and [leases.JobNotifier].
type Jobs struct{ db *DB }

var (
	_ mortise.JobTable   = (*Jobs)(nil)
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
	db, err := t.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	db.addJob(j)
	return nil
}

// Cancel implements [mortise.Leases].
func (t *Jobs) Cancel(ctx context.Context, j mortise.Job) error {
	db, err := t.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	if kept, ok := db.jobs.all[keyOf(j)]; ok && !kept.dead && kept.token == uuid.Nil {
		db.jobs.remove(kept, false)
	}
	return nil
}

// Claim implements [mortise.Leases].
func (t *Jobs) Claim(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
	db, err := t.db.write(ctx)
	if err != nil {
		return nil, err
	}
	defer db.end()
	var leases []mortise.Lease
	for _, j := range db.jobs.claim(&c, db.jobTime()) {
		l := mortise.Lease{Job: j.job, Deliveries: j.deliveries, Token: c.Token}
		l.Job.Trace = maps.Clone(l.Job.Trace)
		leases = append(leases, l)
	}
	return leases, nil
}

// Extend implements [mortise.Holder].
func (t *Jobs) Extend(ctx context.Context, l mortise.Lease, ttl time.Duration) error {
	return t.held(ctx, l, func(t *tables, j *job) { t.jobs.extend(j, t.jobTime().Add(ttl)) })
}

// Release implements [mortise.Holder].
func (t *Jobs) Release(ctx context.Context, l mortise.Lease, after time.Duration) error {
	return t.held(ctx, l, func(t *tables, j *job) { t.jobs.release(j, t.jobTime().Add(after).Truncate(time.Microsecond)) })
}

// Remove implements [mortise.Holder].
func (t *Jobs) Remove(ctx context.Context, l mortise.Lease, dead bool) error {
	return t.held(ctx, l, func(t *tables, j *job) { t.jobs.remove(j, dead) })
}

// held calls f with the job, if l still holds it.
func (t *Jobs) held(ctx context.Context, l mortise.Lease, f func(*tables, *job)) error {
	db, err := t.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	j := db.jobs.held(l)
	if j == nil {
		return mortise.ErrLeaseLost
	}
	f(db.tables, j)
	return nil
}

// ListDead implements [mortise.DeadJobs].
func (t *Jobs) ListDead(ctx context.Context, kind string, after mortise.Cursor, limit int) (page mortise.Page[mortise.DeadJob], err error) {
	_, n, _, err := pages.ByNumber(after)
	if err := cmp.Or(err, pages.CheckLimit(limit)); err != nil {
		return page, err
	}
	db, err := t.db.read(ctx)
	if err != nil {
		return page, err
	}
	defer db.end()
	list := db.jobs.dead[kind]
	list = list[place(list, (&mortise.DeadJob{Number: n + 1}).Position()):]
	var dead []mortise.DeadJob
	for _, j := range list[:min(limit+1, len(list))] {
		d := j.deadJob()
		d.Job.Trace = maps.Clone(d.Job.Trace)
		dead = append(dead, *d)
	}
	return pages.Cut(dead, limit, (*mortise.DeadJob).Position), nil
}

// CountDead implements [mortise.DeadJobs].
func (t *Jobs) CountDead(ctx context.Context, kind string, most int) (mortise.Count, error) {
	db, err := t.db.read(ctx)
	if err != nil {
		return mortise.Count{}, err
	}
	defer db.end()
	return mortise.CountUpTo(len(db.jobs.dead[kind]), most), nil
}

// Revive implements [mortise.DeadJobs].
func (t *Jobs) Revive(ctx context.Context, j mortise.Job) error {
	db, err := t.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	if kept, ok := db.jobs.all[keyOf(j)]; ok && kept.dead {
		db.jobs.revive(kept, db.jobTime())
	}
	return nil
}

// jobTime returns the time by the clock of the jobs.
func (t *tables) jobTime() time.Time { return t.now().UTC().Truncate(time.Microsecond) }

// addJob adds a job, of which is told once it is committed. The caller holds the lock.
func (t *tables) addJob(j mortise.Job) {
	at := j.At
	if at.IsZero() {
		at = t.jobTime()
	}
	j.At, j.Trace = time.Time{}, maps.Clone(j.Trace)
	t.jobs.add(j, at)
}

// endJob removes the job if the lease still holds it. The caller holds the lock.
func (t *tables) endJob(l mortise.Lease, dead bool) {
	if j := t.jobs.held(l); j != nil {
		t.jobs.remove(j, dead)
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
