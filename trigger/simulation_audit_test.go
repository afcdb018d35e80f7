package trigger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// eventRecord is what the simulation knows of an event, from the writes that took effect.
type eventRecord struct {
	number      int // in the order of storing
	name        string
	org         string
	id          uuid.UUID
	submitted   time.Time
	stored      time.Time // by the clock, which other actors may have moved since
	key         string    // as submitted
	call        *submission
	status      trigger.Status
	generation  int
	begun       map[int]int // attempts whose beginning was written, by generation
	lost        map[int]int // of those, the ones whose worker never learned that it was written
	entered     map[int]int // calls of the Processor
	cut         map[int]int // of those, the ones ended by a shutdown, which do not count as attempts
	completions int         // observations
	refused     bool        // its creator got ErrEnqueueFailed
	ends        []string    // the jobs that tell of its ends
}

// auditedDB is the database that survives crashes. It stands below the faults, so that it
// sees what really happened, and checks every write.
type auditedDB struct {
	*memory.Trigger
	jobs *memory.Jobs
	sim  *simulation
	open *[]func() // checks to be made when the transaction that is open has been committed; nil: none is open
}

// auditedJobs are its jobs.
type auditedJobs struct {
	*memory.Jobs
	db *auditedDB
}

func newAuditedDB(s *simulation) *auditedDB {
	db, err := memory.Open(context.Background(), &memory.Options{Now: func() time.Time { return s.clock.Now() }})
	if err != nil {
		panic(err)
	}
	return &auditedDB{Trigger: db.Trigger().Store.(*memory.Trigger), jobs: db.Jobs(), sim: s}
}

// Transact makes the checks of its writes if they are committed.
func (db *auditedDB) Transact(ctx context.Context, org string, do func(ctx context.Context) error) error {
	var checks []func()
	err := db.Trigger.Transact(ctx, org, func(ctx context.Context) error {
		db.open = &checks
		defer func() { db.open = nil }()
		return do(ctx)
	})
	if err == nil {
		for _, check := range checks {
			check()
		}
	}
	return err
}

// onCommit makes a check: at once, or once the transaction that is open has been committed.
func (db *auditedDB) onCommit(check func()) {
	if db.open == nil {
		check()
		return
	}
	*db.open = append(*db.open, check)
}

func (j auditedJobs) Shares(store any) bool { return store == any(j.db) }

func (db *auditedDB) CreateEvent(ctx context.Context, e trigger.Event, keySince time.Time) (trigger.Event, bool, error) {
	stored, created, err := db.Trigger.CreateEvent(ctx, e, keySince)
	db.created(ctx, &stored, created)
	return stored, created, err
}

func (db *auditedDB) CreateEventAndAdd(ctx context.Context, e trigger.Event, keySince time.Time, j mortise.Job) (trigger.Event, bool, error) {
	stored, created, err := db.Trigger.CreateEventAndAdd(ctx, e, keySince, j)
	db.created(ctx, &stored, created)
	return stored, created, err
}

// MarkDeleted notes for the simulation which organizations are deleted.
func (db *auditedDB) MarkDeleted(ctx context.Context, org string, at time.Time) (time.Time, error) {
	since, err := db.Trigger.MarkDeleted(ctx, org, at)
	if err == nil && !db.sim.deleted[org] {
		db.sim.deleted[org] = true
		db.sim.tracef("  %s is deleted", org)
	}
	return since, err
}

func (db *auditedDB) created(ctx context.Context, e *trigger.Event, created bool) {
	if !created {
		return
	}
	s := db.sim
	c := ctx.Value(submissionKey{}).(*submission)
	if c.created != nil {
		s.broken("one Submit stored two events")
	}
	c.created = &eventRecord{
		number: len(s.order) + 1, name: fmt.Sprintf("event %d", len(s.order)+1), org: e.Organization, id: e.ID, submitted: e.SubmittedAt, stored: s.clock.Now(), key: e.IdempotencyKey,
		call: c, status: e.Status, begun: make(map[int]int), lost: make(map[int]int), entered: make(map[int]int), cut: make(map[int]int),
	}
	s.events[e.ID] = c.created
	s.order = append(s.order, c.created)
	s.tracef("  %s is stored", c.created.name)
}

func (db *auditedDB) UpdateEvent(ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) error) error {
	return db.audit(ctx, org, id, func() error { return db.Trigger.UpdateEvent(ctx, org, id, update) })
}

func (db *auditedDB) UpdateEventAndJobs(
	ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) ([]mortise.Job, error), l mortise.Lease, dead bool,
) error {
	err := db.audit(ctx, org, id, func() error { return db.Trigger.UpdateEventAndJobs(ctx, org, id, update, l, dead) })
	if err == nil && l.Token != uuid.Nil {
		db.onCommit(func() { db.checkRemoved(l) })
	}
	return err
}

// audit checks what a call changes of an event.
func (db *auditedDB) audit(ctx context.Context, org string, id uuid.UUID, call func() error) error {
	before, _ := db.Event(context.Background(), org, id)
	err := call()
	db.sim.written = nil
	if err == nil {
		db.onCommit(func() { db.checkUpdate(ctx, org, id, before) })
	}
	return err
}

func (db *auditedDB) checkUpdate(ctx context.Context, org string, id uuid.UUID, before trigger.Event) {
	after, _ := db.Event(context.Background(), org, id)
	r := db.sim.events[id]
	if after.Status != before.Status || after.Generation != before.Generation || after.Attempts != before.Attempts {
		db.sim.tracef("  %s: %s/%d/%d -> %s/%d/%d", r.name,
			before.Status, before.Generation, before.Attempts, after.Status, after.Generation, after.Attempts)
	}
	began := after.Status == trigger.StatusProcessing && after.Attempts > before.Attempts
	if err := db.sim.checkChange(&before, &after); err != nil {
		db.sim.broken("%s: %v", r.name, err)
	}
	if d, ok := ctx.Value(deliveryKey{}).(*delivery); ok && strings.HasPrefix(d.job.ID, id.String()) {
		switch {
		case d.job.ID != after.Job().ID:
			db.sim.broken("%s is in generation %d, changed by job %s", r.name, after.Generation, d.job.ID)
		case d.attempt != 0 && (after.Status != trigger.StatusCompleted || db.sim.applies) && d.attempt != before.Attempts:
			db.sim.broken("%s is in attempt %d, and the end of attempt %d is written", r.name, before.Attempts, d.attempt)
		}
	}
	if after.Status.Finished() && !before.Status.Finished() && (after.Status != trigger.StatusFailed || after.Attempts > 0) {
		r.ends = append(r.ends, told(after)[0].ID)
	}
	r.status, r.generation = after.Status, after.Generation
	if began {
		r.begun[after.Generation]++
		db.sim.written = r
	}
}

// rows returns how many rows Apply has written for an event.
func (db *auditedDB) rows(id uuid.UUID) int {
	kept, _ := db.Setup(context.Background(), "rows of "+id.String())
	return len(kept.Collections)
}

// apply is the Outcome.Apply of a simulated worker, which writes a row for the event.
func (p *process) apply(r *eventRecord) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		s := p.sim
		n := 100
		if !s.calm {
			n = s.rng.IntN(100)
		}
		s.tracef("  %s: applied, outcome %d", r.name, n)
		row := trigger.Collection{ID: uuid.UUID{15: byte(s.db.rows(r.id))}}
		if err := s.db.Trigger.UpdateOrganization(ctx, "rows of "+r.id.String(), func(kept *trigger.Organization) error {
			kept.Collections = append(kept.Collections, row)
			return nil
		}); err != nil {
			return err
		}
		switch {
		case n < 10:
			return errors.New("the host's statement failed")
		case n < 15:
			return trigger.Permanent(errors.New("the host's statement makes no sense"))
		case n < 20:
			panic("Apply panics")
		case n < 30:
			p.dead = true // the next call to a backend unwinds the worker: that after the commit
		}
		return nil
	}
}

// checkChange says whether an event may go from one state to another.
func (s *simulation) checkChange(before, after *trigger.Event) error {
	a, b := before, after
	switch {
	case a.Instructions != b.Instructions || !bytes.Equal(a.Context, b.Context) || a.Source != b.Source || a.BodyDigest != b.BodyDigest:
		return errors.New("what was submitted changed")
	case b.Attempts < 0 || b.Attempts > s.maxAttempts:
		return fmt.Errorf("%d attempts of %d", b.Attempts, s.maxAttempts)
	case !b.Status.Finished() && b.WakeAt.IsZero() != s.shared || b.Status.Finished() && !b.WakeAt.IsZero() && s.shared:
		return fmt.Errorf("%s with WakeAt %v", b.Status, b.WakeAt)
	case b.Generation != a.Generation:
		retried := (a.Status == trigger.StatusFailed || a.Status == trigger.StatusCancelled) && b.Attempts == 0
		run := a.Status == trigger.StatusReceived && b.Attempts == a.Attempts && b.DueAt.Before(a.DueAt)
		if b.Generation != a.Generation+1 || !retried && !run || b.Status != trigger.StatusReceived {
			return errors.New("a new generation, but no Retry of an event that has ended and no RunNow of one that waits")
		}
		return nil
	case a.Status.Finished() && (b.Status != a.Status || !b.FinishedAt.Equal(a.FinishedAt) || b.Attempts != a.Attempts):
		return fmt.Errorf("finished as %s, then changed to %s", a.Status, b.Status)
	case b.Status.Finished() != !b.FinishedAt.IsZero():
		return fmt.Errorf("%s with FinishedAt %v", b.Status, b.FinishedAt)
	case b.Status == trigger.StatusProcessing && (b.StartedAt.IsZero() || b.Attempts == 0):
		return errors.New("processing, but never started")
	case a.IdempotencyKey != b.IdempotencyKey && b.Status != trigger.StatusFailed:
		return errors.New("lost its idempotency key, but was not given up")
	}
	return nil
}

// Claim notes for the simulation which job a worker got.
func (j auditedJobs) Claim(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
	claimed, err := j.Jobs.Claim(ctx, c)
	if d, ok := ctx.Value(deliveryKey{}).(*delivery); ok && len(claimed) == 1 {
		d.job = claimed[0].Job
	}
	return claimed, err
}

// Remove checks that no job goes before its work is done: nothing would ever bring it
// back.
func (j auditedJobs) Remove(ctx context.Context, l mortise.Lease, dead bool) error {
	err := j.Jobs.Remove(ctx, l, dead)
	if err == nil {
		j.db.checkRemoved(l)
	}
	return err
}

func (db *auditedDB) checkRemoved(l mortise.Lease) {
	id := uuid.MustParse(l.Job.ID[:36])
	e, err := db.Event(context.Background(), l.Job.Organization, id)
	if err == nil && !e.Status.Finished() && e.Job().ID == l.Job.ID {
		db.sim.broken("%s is %s and loses its job", db.sim.name(e.ID), e.Status)
	}
}

// process is the Processor of a simulated worker.
func (p *process) process(ctx context.Context, e trigger.Event) (trigger.Outcome, error) {
	s := p.sim
	r := s.events[e.ID]
	g := e.Generation
	d := ctx.Value(deliveryKey{}).(*delivery)
	d.attempt = e.Attempts
	if r.entered[g]++; r.entered[g] > s.maxAttempts+r.cut[g] {
		s.broken("%s is processed for the %d. time, with %d attempts allowed and %d cut short", r.name, r.entered[g], s.maxAttempts, r.cut[g])
	}
	if g == 0 && s.clock.Now().Before(r.call.sub.NotBefore) {
		s.broken("%s is processed before %v", r.name, r.call.sub.NotBefore)
	}
	if n := r.begun[g] - r.lost[g]; r.entered[g] > n {
		s.broken("%s is processed for the %d. time, with %d attempts known to have begun", r.name, r.entered[g], n)
	}
	if sub := r.call.sub; e.Instructions != sub.Instructions || !bytes.Equal(e.Context, sub.Context) {
		s.broken("%s reached the processor as %q %s", r.name, e.Instructions, e.Context)
	}
	if r.refused && g == 0 {
		s.broken("%s was refused with ErrEnqueueFailed and is processed", r.name)
	}
	good := trigger.Outcome{Summary: "done", Data: []byte(`{"by":"simulation"}`)}
	if s.applies {
		good.Apply = p.apply(r)
	}
	if s.calm {
		return good, nil
	}
	s.within()
	if s.chance(0.1) {
		s.tracef("  %s outlives its lease", r.name)
		s.clock.Advance(simTTL + time.Second)
		s.depth++
		s.work(s.procs[s.rng.IntN(len(s.procs))])
		if s.chance(0.3) {
			s.byHand(s.procs[0])
		}
		s.depth--
	}
	fail := errors.New("the work failed")
	n := s.rng.IntN(100)
	s.tracef("  %s: outcome %d", r.name, n)
	switch {
	case n < 45:
		return good, nil
	case n < 65:
		return trigger.Outcome{}, fail
	case n < 71:
		return trigger.Outcome{}, trigger.Permanent(fail)
	case n < 80:
		return trigger.Outcome{}, trigger.RetryAfter(fail, time.Duration(s.rng.IntN(600))*time.Second)
	case n < 85:
		panic("the processor panics")
	case n < 88:
		return trigger.Outcome{Data: []byte("{")}, nil
	case n < 95:
		d.shutdown()
		r.cut[g]++
		return trigger.Outcome{}, fail
	default:
		p.dead = true // runHere recovers panics; the next call to a backend unwinds the worker
		return good, nil
	}
}
