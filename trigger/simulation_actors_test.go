package trigger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// process is what one program holds in memory. A crash throws it away; the database
// stays.
type process struct {
	sim     *simulation
	index   int
	dead    bool
	service *trigger.Service
	worker  *trigger.Worker
	sweeper *trigger.Sweeper
}

// crashed is the panic that unwinds the calls of a process that died.
type crashed struct{ p *process }

var errFault = errors.New("simulated fault")

// seeded makes a Reader of the schedule's randomness.
type seeded struct{ rng *rand.Rand }

func (r seeded) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(r.rng.Uint32())
	}
	return len(b), nil
}

// boot starts process i anew.
func (s *simulation) boot(i int) {
	p := &process{sim: s, index: i}
	faults := &triggertest.Faults{Before: p.before, After: p.after}
	jobs := faults.Leases(auditedJobs{s.db.jobs, s.db})
	if !s.shared {
		jobs = struct{ mortise.Leases }{jobs}
	}
	logger := slog.New(slog.DiscardHandler)
	queue := faults.Queue(leases.New(jobs, &leases.Options{TTL: simTTL, Logger: logger}))
	var err error
	p.service, err = trigger.New(trigger.Backend{Store: faults.Store(s.db), Queue: queue}, &trigger.Options{
		Env: mortise.Env{Now: s.clock.Now, Rand: seeded{s.rng}, Logger: logger, Observer: p.observe}, IdempotencyWindow: simWindow, OnEnd: told,
	})
	if err != nil {
		panic(err)
	}
	p.worker, err = trigger.NewWorker(p.service, p.process, &trigger.WorkerOptions{
		MaxAttempts: s.maxAttempts, Apply: s.applies,
		Backoff: func(attempt int) time.Duration { return time.Duration(s.rng.IntN(1+attempt*5000)) * time.Millisecond },
	})
	if err != nil {
		panic(err)
	}
	if p.sweeper, err = trigger.NewSweeper(p.service, nil); err != nil {
		panic(err)
	}
	s.procs[i] = p
}

// told is the OnEnd of the simulation: a job for each end.
func told(e trigger.Event) []mortise.Job {
	return []mortise.Job{{Kind: "told", Organization: e.Organization, ID: e.Job().ID}}
}

// alive ends the calls of a process that died in the meantime.
func (p *process) alive() {
	if p.dead {
		panic(crashed{p})
	}
}

// fault decides what happens to a call at its boundary.
func (p *process) fault(op, when string, probability float64) error {
	s := p.sim
	p.alive()
	s.within()
	p.alive()
	if s.calm {
		return nil
	}
	switch n := s.rng.Float64(); {
	case n < s.pCrash:
		s.tracef("  process %d crashes %s %s", p.index, when, op)
		p.dead = true
		panic(crashed{p})
	case n < s.pCrash+probability:
		s.tracef("  process %d gets an error %s %s", p.index, when, op)
		return errFault
	}
	return nil
}

func (p *process) before(op string) error { return p.fault(op, "before", p.sim.pError) }

func (p *process) after(op string) error {
	began, known := p.sim.written, false
	p.sim.written = nil
	if began != nil && op == "Store.UpdateEvent" {
		generation := began.generation // another one may have begun when this call ends
		defer func() {
			if !known {
				began.lost[generation]++
			}
		}()
	}
	err := p.fault(op, "after", p.sim.pLost)
	known = err == nil
	return err
}

// run makes a call of the process and reports whether the process survived it.
func (p *process) run(what string, call func()) (survived bool) {
	s := p.sim
	depth := s.depth
	defer func() {
		if r := recover(); r != nil {
			if c, ok := r.(crashed); !ok || c.p != p {
				panic(r)
			}
			s.depth = depth
			s.tracef("%s died with process %d", what, p.index)
			if s.procs[p.index] == p {
				s.boot(p.index)
			}
		}
	}()
	call()
	return true
}

// submission is one call of Submit.
type submission struct {
	org     string
	sub     trigger.Submission
	created *eventRecord // the event that this call stored, if any
}

type submissionKey struct{}

// answer is a Submit that returned no error, a 202.
type answer struct {
	*submission
	id uuid.UUID
}

// resubmit repeats the latest submission that has a key.
func (s *simulation) resubmit(p *process) {
	for i := len(s.calls) - 1; i >= 0; i-- {
		if latest := s.calls[i]; latest.sub.IdempotencyKey != "" {
			s.send(p, &submission{org: latest.org, sub: latest.sub}, "once more")
			return
		}
	}
}

func (s *simulation) submit(p *process) {
	c := &submission{org: fmt.Sprintf("org-%d", s.rng.IntN(2))}
	c.sub = trigger.Submission{Instructions: fmt.Sprintf("document %d\x00", len(s.calls)), Source: "sim"}
	if s.chance(0.5) {
		c.sub.Context = json.RawMessage(fmt.Sprintf("{ \"n\" : %d.0e0, \"s\":\"\\u0000\u00e9\" }", s.rng.IntN(3)))
	}
	if s.chance(0.15) {
		c.sub.NotBefore = s.clock.Now().Add(time.Duration(s.rng.IntN(1200)) * time.Second)
	}
	word := "fresh"
	if s.keyed && s.chance(0.75) {
		c.sub.IdempotencyKey = fmt.Sprintf("key-%d", len(s.calls))
		if n := len(s.calls); n > 0 && s.chance(0.7) {
			earlier := s.calls[max(n-1-s.rng.IntN(4), 0)]
			c.org, c.sub.IdempotencyKey = earlier.org, earlier.sub.IdempotencyKey
			word = "other body"
			switch n := s.rng.IntN(10); {
			case n == 0 && string(c.sub.Context) != string(earlier.sub.Context):
				c.sub.NotBefore = earlier.sub.NotBefore
				c.sub.Instructions, word = earlier.sub.Instructions, "other context"
			case n > 1:
				c.sub, word = earlier.sub, "same body"
			}
		}
	}
	s.send(p, c, word)
}

func (s *simulation) send(p *process, c *submission, word string) {
	s.calls = append(s.calls, c)
	number := len(s.calls)
	s.tracef("submit %d to process %d: %s, %s %q", number, p.index, word, c.org, c.sub.IdempotencyKey)

	start := s.clock.Now()
	var e trigger.Event
	var err error
	ctx := context.WithValue(context.Background(), submissionKey{}, c)
	if !p.run(fmt.Sprintf("submit %d", number), func() { e, err = p.service.Submit(ctx, c.org, "", c.sub) }) {
		return
	}
	s.tracef("submit %d: %s, %v", number, s.name(e.ID), err)
	switch {
	case err == nil:
		s.answers = append(s.answers, answer{c, e.ID})
	case errors.Is(err, trigger.ErrIdempotencyKeyReused):
		s.checkReused(c, start)
	case errors.Is(err, trigger.ErrEnqueueFailed) && errors.Is(err, errFault):
		if c.created == nil {
			s.broken("submit %d stored nothing and got ErrEnqueueFailed", number)
			return
		}
		c.created.refused = true
	case errors.Is(err, mortise.ErrUnavailable) && errors.Is(err, errFault):
	case errors.Is(err, mortise.ErrDeleted) && s.deleted[c.org]:
	default:
		s.broken("submit %d: %v", number, err)
	}
}

// delivery is one RunOnce of a worker, carried by its context.
type delivery struct {
	shutdown context.CancelFunc
	job      mortise.Job // what it claimed
	attempt  int         // the attempt for which the Processor was entered; 0: not yet
}

type deliveryKey struct{}

// work lets the process's worker take one job, and reports whether there was one.
func (s *simulation) work(p *process) (found bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.tracef("worker %d steps", p.index)
	if !s.calm && s.chance(0.03) {
		s.tracef("  its context has ended")
		cancel()
	}
	ctx = context.WithValue(ctx, deliveryKey{}, &delivery{shutdown: cancel})
	p.run(fmt.Sprintf("worker %d", p.index), func() { found, _ = p.worker.RunOnce(ctx) })
	return found
}

func (s *simulation) sweep(p *process) {
	s.tracef("sweeper %d steps", p.index)
	p.run(fmt.Sprintf("sweeper %d", p.index), func() {
		if n, err := p.sweeper.RunOnce(context.Background()); n > 0 || err != nil {
			s.tracef("sweeper %d queued %d, %v", p.index, n, err)
		}
	})
}

// byHand retries, cancels or runs some event.
func (s *simulation) byHand(p *process) {
	if len(s.order) == 0 {
		return
	}
	type action struct {
		name string
		call func(ctx context.Context, org string, by mortise.Actor, id uuid.UUID) (trigger.Event, error)
		from []trigger.Status // it succeeds
		to   func(trigger.Event) bool
	}
	a := []action{
		{"retries", p.service.Retry, []trigger.Status{trigger.StatusFailed, trigger.StatusCancelled},
			func(e trigger.Event) bool { return e.Status == trigger.StatusReceived && e.Attempts == 0 }},
		{"cancels", p.service.Cancel, []trigger.Status{trigger.StatusReceived, trigger.StatusProcessing, trigger.StatusCancelled},
			func(e trigger.Event) bool { return e.Status == trigger.StatusCancelled }},
		{"runs", p.service.RunNow, []trigger.Status{trigger.StatusReceived, trigger.StatusProcessing},
			func(e trigger.Event) bool {
				return e.Status == trigger.StatusProcessing || e.Status == trigger.StatusReceived && !e.DueAt.After(s.clock.Now())
			}},
	}[s.rng.IntN(3)]
	var some []*eventRecord
	for _, r := range s.order {
		if slices.Contains(a.from, r.status) || s.chance(0.05) {
			some = append(some, r)
		}
	}
	if len(some) == 0 {
		return
	}
	r := some[s.rng.IntN(len(some))]
	s.tracef("process %d %s %s by hand", p.index, a.name, r.name)
	p.run(a.name, func() {
		e, err := a.call(context.Background(), r.org, "", r.id)
		if err == nil && !a.to(e) {
			s.broken("the caller that %s %s got it as %s, due at %v", a.name, r.name, e.Status, e.DueAt)
		}
	})
}

// delete takes a step in the deletion of an organization, in schedules that have
// deletions.
func (s *simulation) delete(p *process) {
	if !s.deletes {
		return
	}
	s.tracef("process %d deletes org-1", p.index)
	p.run("deletion", func() { _, _ = p.service.DeleteOrganization(context.Background(), "org-1", "") })
}

// deleteAll takes the steps that are left.
func (s *simulation) deleteAll(p *process, org string) {
	for more, calls := true, 0; more; calls++ {
		var err error
		more, err = p.service.DeleteOrganization(context.Background(), org, "")
		if err != nil || calls > 10 {
			s.broken("the deletion of %s: %v after %d calls", org, err, calls)
			return
		}
	}
}

func (p *process) observe(_ context.Context, o mortise.Observation) {
	if p.dead || o.Kind != mortise.KindCompleted {
		return
	}
	p.sim.events[uuid.MustParse(o.Object)].completions++
}
