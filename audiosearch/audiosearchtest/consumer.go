package audiosearchtest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// handler is what Queue.Consume calls.
type handler = func(ctx context.Context, d audiosearch.Delivery) audiosearch.Verdict

var (
	done   = audiosearch.Verdict{Done: true}
	retry  = audiosearch.Verdict{}
	noTime = audiosearch.Verdict{After: 24 * time.Hour} // longer than any test
)

// orgMark is the organization of jobs that mark a place in the queue.
const orgMark = "org-mark"

// consumer is a running Consume.
type consumer struct {
	cancel context.CancelFunc
	ended  chan struct{} // closed when Consume has returned
	err    error         // what it returned
}

// consume runs Consume until stop, or until the test ends.
func (s *subject) consume(t *testing.T, workers int, handle handler) *consumer {
	t.Helper()
	return consumeOn(t.Context(), t, s.Queue, workers, handle)
}

func consumeOn(ctx context.Context, t *testing.T, q audiosearch.Queue, workers int, handle handler) *consumer {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	c := &consumer{cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		c.err = q.Consume(ctx, workers, handle)
	}()
	t.Cleanup(func() {
		cancel()
		await(t, c.ended, "Consume to return at the end of the test")
	})
	return c
}

// stop ends the context of Consume, which must then return nil.
func (c *consumer) stop(t *testing.T) {
	t.Helper()
	c.cancel()
	await(t, c.ended, "Consume to return")
	require.NoError(t, c.err, "Consume")
}

// enqueue enqueues a job.
func (s *subject) enqueue(t *testing.T, j audiosearch.Job) audiosearch.Job {
	t.Helper()
	require.NoError(t, s.Queue.Enqueue(t.Context(), j))
	return j
}

// diary notes deliveries and answers each by what say returns, nil meaning done.
type diary struct {
	say func(ctx context.Context, d audiosearch.Delivery) audiosearch.Verdict

	mu   sync.Mutex
	seen []audiosearch.Delivery
	news chan audiosearch.Delivery // every delivery, once say has returned
}

func newDiary(say handler) *diary {
	if say == nil {
		say = func(context.Context, audiosearch.Delivery) audiosearch.Verdict { return done }
	}
	return &diary{say: say, news: make(chan audiosearch.Delivery, 10_000)}
}

func (d *diary) handle(ctx context.Context, delivery audiosearch.Delivery) audiosearch.Verdict {
	d.mu.Lock()
	d.seen = append(d.seen, delivery)
	d.mu.Unlock()
	v := d.say(ctx, delivery)
	select {
	case d.news <- delivery:
	default: // a broken queue; what counts is in seen
	}
	return v
}

// count returns how often the job came, and how often as new.
func (d *diary) count(j audiosearch.Job) (deliveries, first int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.seen {
		if one.Job == j {
			deliveries++
			if one.Deliveries == 1 {
				first++
			}
		}
	}
	return deliveries, first
}

// next returns the next delivery, of whatever job.
func (d *diary) next(t *testing.T) audiosearch.Delivery {
	t.Helper()
	return await(t, d.news, "a delivery")
}

// reach waits for a delivery of the job, and passes over others.
func (d *diary) reach(t *testing.T, j audiosearch.Job) {
	t.Helper()
	for range cap(d.news) {
		if d.next(t).Job == j {
			return
		}
	}
	require.FailNow(t, "the queue repeats itself", "job %s does not come", j.ID())
}

// passed consumes until jobs that are enqueued now have come and gone, and returns the diary of it: since jobs come roughly in
// order of becoming due, what was due before and is not in it does not come again.
func (s *subject) passed(t *testing.T) *diary {
	t.Helper()
	d := newDiary(nil)
	c := s.consume(t, 1, d.handle)
	for range 3 {
		d.reach(t, s.enqueue(t, audiosearch.Job{Organization: orgMark, RunID: newRunID()}))
	}
	c.stop(t)
	return d
}

// isOver requires that the job is not delivered any more.
func (s *subject) isOver(t *testing.T, j audiosearch.Job) {
	t.Helper()
	again, _ := s.passed(t).count(j)
	require.Zero(t, again, "deliveries of a job that is over")
}
