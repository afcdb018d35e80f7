package queuetest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

var (
	done   = mortise.Verdict{Kind: mortise.VerdictDone}
	dead   = mortise.Verdict{Kind: mortise.VerdictDead}
	retry  = mortise.Verdict{}
	noTime = mortise.Verdict{After: 24 * time.Hour} // longer than any test
)

// consumer is a running Consume.
type consumer struct {
	cancel context.CancelFunc
	ended  chan struct{} // closed when Consume has returned
	err    error         // what it returned
}

// consume runs Consume until stop, or until the test ends: for jobs of the usual kind, if
// no kinds are given.
func (s *subject) consume(t *testing.T, workers int, handle mortise.Handler,
	kinds ...string) *consumer {
	t.Helper()
	return consumeOn(t.Context(), t, s.Queue, workers, handle, kinds...)
}

func consumeOn(ctx context.Context, t *testing.T, q mortise.Queue, workers int,
	handle mortise.Handler, kinds ...string) *consumer {
	t.Helper()
	if len(kinds) == 0 {
		kinds = []string{kindA}
	}
	ctx, cancel := context.WithCancel(ctx)
	c := &consumer{cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		c.err = q.Consume(ctx, mortise.ConsumeOptions{Kinds: kinds, Workers: workers}, handle)
	}()
	t.Cleanup(func() {
		cancel()
		conformance.Await(t, c.ended, "Consume to return at the end of the test")
	})
	return c
}

// stop ends the context of Consume, which must then return nil.
func (c *consumer) stop(t *testing.T) {
	t.Helper()
	c.cancel()
	conformance.Await(t, c.ended, "Consume to return")
	require.NoError(t, c.err, "Consume")
}

// enqueue enqueues a job.
func (s *subject) enqueue(t *testing.T, j mortise.Job) mortise.Job {
	t.Helper()
	require.NoError(t, s.Queue.Enqueue(t.Context(), j))
	return j
}

// enqueueAt enqueues a job for later, and returns it without its At.
func (s *subject) enqueueAt(t *testing.T, at time.Time) mortise.Job {
	t.Helper()
	j := newJob()
	timed := j
	timed.At = at
	s.enqueue(t, timed)
	return j
}

// diary notes deliveries.
type diary struct {
	say mortise.Handler

	mu   sync.Mutex
	all  []mortise.Delivery
	news chan mortise.Delivery // every delivery, once say has returned
}

// newDiary returns a diary that answers each delivery by what say returns, nil meaning done.
func newDiary(say mortise.Handler) *diary {
	if say == nil {
		say = func(context.Context, mortise.Delivery) mortise.Verdict { return done }
	}
	return &diary{say: say, news: make(chan mortise.Delivery, 10_000)}
}

// handle is a [mortise.Handler].
func (d *diary) handle(ctx context.Context, delivery mortise.Delivery) mortise.Verdict {
	d.mu.Lock()
	d.all = append(d.all, delivery)
	d.mu.Unlock()
	v := d.say(ctx, delivery)
	select {
	case d.news <- delivery:
	default: // a broken queue; what counts is in all
	}
	return v
}

// seen returns the deliveries so far.
func (d *diary) seen() []mortise.Delivery {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.all)
}

// count returns how often the job came, and how often as new.
func (d *diary) count(j mortise.Job) (deliveries, first int) {
	for _, one := range d.seen() {
		if one.Job.String() == j.String() {
			deliveries++
			if one.Deliveries == 1 {
				first++
			}
		}
	}
	return deliveries, first
}

// next returns the next delivery, of whatever job.
func (d *diary) next(t *testing.T) mortise.Delivery {
	t.Helper()
	return conformance.Await(t, d.news, "a delivery")
}

// expect requires that the next delivery is of the job.
func (d *diary) expect(t *testing.T, j mortise.Job) mortise.Delivery {
	t.Helper()
	got := d.next(t)
	require.Equal(t, j.String(), got.Job.String(), "the next delivery")
	return got
}

// reach waits for a delivery of the job, and passes over others.
func (d *diary) reach(t *testing.T, j mortise.Job) mortise.Delivery {
	t.Helper()
	for range cap(d.news) {
		if got := d.next(t); got.Job.String() == j.String() {
			return got
		}
	}
	require.FailNow(t, "the queue repeats itself", "job %s does not come", j)
	panic("unreachable")
}

// passed consumes until jobs that are enqueued now have come and gone, and returns the diary
// of all others: since jobs come roughly in order of becoming due, what was due before and
// is not in it does not come again.
func (s *subject) passed(t *testing.T) *diary {
	t.Helper()
	d := newDiary(nil)
	c := s.consume(t, 1, d.handle)
	marks := make(map[string]bool)
	for range 3 {
		mark := s.enqueue(t, newJob())
		marks[mark.String()] = true
		d.reach(t, mark)
	}
	c.stop(t)
	d.all = slices.DeleteFunc(d.all, func(one mortise.Delivery) bool {
		return marks[one.Job.String()]
	})
	return d
}

// isOver requires that the job is not delivered any more.
func (s *subject) isOver(t *testing.T, j mortise.Job) {
	t.Helper()
	again, _ := s.passed(t).count(j)
	require.Zero(t, again, "deliveries of a job that is over")
}

// gate holds handlers until they are let through.
type gate struct {
	t       *testing.T
	inside  chan mortise.Job // each job that arrives
	through chan struct{}    // one value lets one handler go on
}

func newGate(t *testing.T) *gate {
	return &gate{t: t, inside: make(chan mortise.Job, 1000), through: make(chan struct{})}
}

// handle is a [mortise.Handler] whose verdict is done.
func (g *gate) handle(_ context.Context, d mortise.Delivery) mortise.Verdict {
	g.pass(d.Job)
	return done
}

// pass is called by a handler.
func (g *gate) pass(j mortise.Job) {
	g.inside <- j
	select {
	case <-g.through:
	case <-g.t.Context().Done(): // the rule has failed
	}
}

// arrival returns the next job whose handler waits.
func (g *gate) arrival(what string) mortise.Job {
	g.t.Helper()
	return conformance.Await(g.t, g.inside, what)
}

// let lets one handler through.
func (g *gate) let() {
	g.t.Helper()
	conformance.Send(g.t, g.through, struct{}{}, "a handler that can be let through")
}
