package queuetest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance"
)

var (
	done   = Verdict{Done: true}
	dead   = Verdict{Done: true, Dead: true}
	retry  = Verdict{}
	noTime = Verdict{After: 24 * time.Hour} // longer than any test
)

// Consumer is a running Consume.
type Consumer struct {
	cancel context.CancelFunc
	ended  chan struct{} // closed when Consume has returned
	err    error         // what it returned
}

// Consume runs Consume until Stop, or until the test ends.
func (s *Subject[J]) Consume(t *testing.T, workers int, handle Handler[J]) *Consumer {
	t.Helper()
	return consumeOn(t.Context(), t, s.Queue, workers, handle)
}

func consumeOn[J Job](ctx context.Context, t *testing.T, q Queue[J], workers int, handle Handler[J]) *Consumer {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	c := &Consumer{cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		c.err = q.Consume(ctx, workers, handle)
	}()
	t.Cleanup(func() {
		cancel()
		conformance.Await(t, c.ended, "Consume to return at the end of the test")
	})
	return c
}

// Stop ends the context of Consume, which must then return nil.
func (c *Consumer) Stop(t *testing.T) {
	t.Helper()
	c.cancel()
	conformance.Await(t, c.ended, "Consume to return")
	require.NoError(t, c.err, "Consume")
}

// Enqueue enqueues a job.
func (s *Subject[J]) Enqueue(t *testing.T, j J) J {
	t.Helper()
	require.NoError(t, s.Queue.Enqueue(t.Context(), j))
	return j
}

// Diary notes deliveries.
type Diary[J Job] struct {
	say Handler[J]

	mu   sync.Mutex
	seen []Delivery[J]
	News chan Delivery[J] // every delivery, once say has returned
}

// NewDiary returns a diary that answers each delivery by what say returns, nil meaning done.
func NewDiary[J Job](say Handler[J]) *Diary[J] {
	if say == nil {
		say = func(context.Context, Delivery[J]) Verdict { return done }
	}
	return &Diary[J]{say: say, News: make(chan Delivery[J], 10_000)}
}

// Handle is a Handler.
func (d *Diary[J]) Handle(ctx context.Context, delivery Delivery[J]) Verdict {
	d.mu.Lock()
	d.seen = append(d.seen, delivery)
	d.mu.Unlock()
	v := d.say(ctx, delivery)
	select {
	case d.News <- delivery:
	default: // a broken queue; what counts is in seen
	}
	return v
}

// Seen returns the deliveries so far.
func (d *Diary[J]) Seen() []Delivery[J] {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.seen)
}

// Count returns how often the job came, and how often as new.
func (d *Diary[J]) Count(j J) (deliveries, first int) {
	for _, one := range d.Seen() {
		if one.Job == j {
			deliveries++
			if one.Deliveries == 1 {
				first++
			}
		}
	}
	return deliveries, first
}

// Next returns the next delivery, of whatever job.
func (d *Diary[J]) Next(t *testing.T) Delivery[J] {
	t.Helper()
	return conformance.Await(t, d.News, "a delivery")
}

// reach waits for a delivery of the job, and passes over others.
func (d *Diary[J]) reach(t *testing.T, j J) {
	t.Helper()
	for range cap(d.News) {
		if d.Next(t).Job == j {
			return
		}
	}
	require.FailNow(t, "the queue repeats itself", "job %s does not come", j.ID())
}

// Passed consumes until jobs that are enqueued now have come and gone, and returns the diary of all others: since jobs come roughly in
// order of becoming due, what was due before and is not in it does not come again.
func (s *Subject[J]) Passed(t *testing.T) *Diary[J] {
	t.Helper()
	d := NewDiary[J](nil)
	c := s.Consume(t, 1, d.Handle)
	marks := make(map[J]bool)
	for range 3 {
		mark := s.Enqueue(t, s.newJob())
		marks[mark] = true
		d.reach(t, mark)
	}
	c.Stop(t)
	d.seen = slices.DeleteFunc(d.seen, func(one Delivery[J]) bool { return marks[one.Job] })
	return d
}

// isOver requires that the job is not delivered any more.
func (s *Subject[J]) isOver(t *testing.T, j J) {
	t.Helper()
	again, _ := s.Passed(t).Count(j)
	require.Zero(t, again, "deliveries of a job that is over")
}
