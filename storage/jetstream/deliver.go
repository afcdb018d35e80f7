package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/seed-6363c74e/mortise"
)

// What a holder tells the server of a message: the protocol of acknowledgements.
const (
	ackDone     = "+ACK"
	ackProgress = "+WPI"
	ackTerm     = "+TERM"
)

// settleTimeout bounds the writing of a verdict, which does not end with Consume's context.
const settleTimeout = 5 * time.Second

// held is a job that this process holds.
type held struct {
	mortise.Delivery
	seq   uint64 // of its message
	reply string // where acknowledgements go
	again bool   // the message was handed out before

	// Of the moment in which it was handed out.
	at         time.Time
	reconnects uint64     // of the connection
	lost       *time.Time // what the queue knew of a loss
}

// sure is for how long a message is taken for the one that was handed out, if nothing is
// known of a restart: the server has not ended and begun again with an older stream.
const sure = time.Second

// holds reports whether the stream has the message that was handed out. In a stream that is
// another one, or an older one, its sequence may be that of another job.
func (q *Queue) holds(ctx context.Context, h *held) (bool, error) {
	if time.Since(h.at) < sure && h.reconnects == q.conn.Stats().Reconnects && h.lost == q.lost.Load() {
		return true, nil
	}
	is, err := q.message(ctx, q.subject(ready, &h.Job))
	return is != nil && is.Sequence == h.seq, err
}

// holding reads a message.
func (q *Queue) holding(m *nats.Msg) (h held, err error) {
	if h.Job, err = jobAt(m.Subject); err != nil {
		return h, err
	}
	if h.Job.Trace, err = traceOf(m.Data); err != nil {
		return h, err
	}
	meta, err := m.Metadata()
	if err != nil {
		return h, fmt.Errorf("jetstream: the delivery of %s: %w", h.Job, err)
	}
	if before := m.Header.Get(deliveriesHeader); before != "" {
		if h.Deliveries, err = strconv.Atoi(before); err != nil || h.Deliveries < 0 {
			return h, fmt.Errorf("jetstream: the header %s of %s is %.40q", deliveriesHeader, h.Job, before)
		}
	}
	h.Deliveries += int(meta.NumDelivered)
	h.seq, h.reply, h.again = meta.Sequence.Stream, m.Reply, meta.NumDelivered > 1
	h.at, h.reconnects, h.lost = time.Now(), q.conn.Stats().Reconnects, q.lost.Load()
	return h, nil
}

// deliver hands out one message, and applies the verdict.
func (c *consumer) deliver(ctx context.Context, m *nats.Msg, ackWait time.Duration) {
	q := c.queue
	until := time.Now().Add(ackWait)
	h, err := q.holding(m)
	if err != nil { // nobody can do anything with it, ever
		q.opts.Logger.ErrorContext(ctx, "a message in the stream of jobs is no job; it is removed", "subject", m.Subject, "error", err)
		_ = q.conn.Publish(m.Reply, []byte(ackTerm))
		return
	}
	if h.again && !q.stands(context.WithoutCancel(ctx), &h) {
		return
	}
	if v, ok := c.call(ctx, &h, ackWait, until); ok {
		q.settle(context.WithoutCancel(ctx), &h, v)
	}
}

// stands reports whether a message that comes again is to be handled. If its holder ended
// halfway through a retry, the job waits for its time already.
func (q *Queue) stands(ctx context.Context, h *held) bool {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	waiting, err := q.message(ctx, q.subject(later, &h.Job))
	if err != nil {
		return false // it comes once more
	}
	if waiting == nil || waiting.Sequence < h.seq {
		return true
	}
	_ = q.end(ctx, h) // or it comes once more
	return false
}

// call calls the handler. It reports false if the job was lost meanwhile: then the verdict
// does not count.
func (c *consumer) call(ctx context.Context, h *held, ackWait time.Duration, until time.Time) (v mortise.Verdict, ok bool) {
	handling, lose := context.WithCancelCause(context.WithoutCancel(ctx))
	defer lose(nil)
	// Most handlers end before the first heartbeat: they need no goroutine for it.
	b := &beating{queue: c.queue, held: h, ackWait: ackWait, lose: lose, ended: make(chan struct{}), until: until}
	first := time.AfterFunc(time.Until(b.next(time.Now())), func() {
		defer close(b.ended)
		b.run(handling)
	})
	defer func() {
		if lose(nil); !first.Stop() {
			<-b.ended
		}
	}()
	v = c.handle(handling, h.Delivery)
	return v, handling.Err() == nil
}

// beating tells the server that a job is still being handled.
type beating struct {
	queue   *Queue
	held    *held
	ackWait time.Duration
	lose    context.CancelCauseFunc
	ended   chan struct{}
	until   time.Time // when the server hands the job out again
}

// next returns when to tell the server again; or, if that comes first, when the job is
// taken for lost, so that the handler hears of it before others have the job.
func (b *beating) next(after time.Time) time.Time {
	beat, end := after.Add(b.ackWait/3), b.until.Add(-min(b.ackWait/10, time.Second))
	if end.Before(beat) {
		return end
	}
	return beat
}

// run tells the server, at once and then time and again, until ctx ends, with the handler.
func (b *beating) run(ctx context.Context) {
	for {
		now := time.Now()
		next := b.next(now)
		if !next.After(now) {
			b.lose(mortise.ErrLeaseLost)
			return
		}
		asking, cancel := context.WithTimeout(ctx, next.Sub(now))
		err := b.queue.tell(asking, b.held, ackProgress)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errOther) {
			b.lose(mortise.ErrLeaseLost)
			return
		}
		if err == nil {
			b.until = now.Add(b.ackWait)
		}
		sleep(ctx, time.Until(b.next(now)))
		if ctx.Err() != nil {
			return
		}
	}
}

// tell sends an acknowledgement and waits until the server has taken it. It is errOther if the
// message is gone: the acknowledgement would be of another job.
func (q *Queue) tell(ctx context.Context, h *held, what string) error {
	holds, err := q.holds(ctx, h)
	if err == nil && !holds {
		err = errOther
	}
	if err == nil {
		_, err = q.conn.RequestWithContext(ctx, h.reply, []byte(what))
	}
	return err
}

// settle applies a verdict. If it cannot, the job is handed out again when the AckWait is
// over.
func (q *Queue) settle(ctx context.Context, h *held, v mortise.Verdict) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	var err error
	switch v.Kind {
	case mortise.VerdictDone:
		err = q.end(ctx, h)
	case mortise.VerdictDead:
		if err = q.keepDead(ctx, h); err == nil {
			err = q.end(ctx, h)
		}
	default:
		err = q.retry(ctx, h, v.After)
	}
	if err != nil {
		q.opts.Logger.WarnContext(ctx, "cannot apply a verdict; the job will come again", "job", h.Job.String(), "error", err)
	}
}

// end removes the message of a job, if it is there. The server may be away for a moment.
func (q *Queue) end(ctx context.Context, h *held) error {
	for {
		trying, cancel := context.WithTimeout(ctx, settleTimeout/4)
		err := q.tell(trying, h, ackDone)
		cancel()
		if err == nil || errors.Is(err, errOther) {
			return nil
		}
		sleep(ctx, leastPause)
		if ctx.Err() != nil {
			return fmt.Errorf("jetstream: acknowledge %s: %w", h.Job, err)
		}
	}
}

// retry puts a message in place of the one that is held, for later or at the end of the
// queue.
func (q *Queue) retry(ctx context.Context, h *held, after time.Duration) error {
	j := h.Job
	if after > 0 {
		j.At = time.Now().Add(after)
	}
	err := q.put(ctx, &j, state{seq: h.seq, deliveries: h.Deliveries})
	other := errors.Is(err, errOther)
	if other {
		// Somebody has cancelled the job just when it was handed out, or this is the second
		// try to put what is there already, or the stream has lost the job.
		is, lookErr := q.message(ctx, q.subject(anyLane, &j))
		if err = lookErr; err == nil && is == nil {
			err = q.put(ctx, &j, state{deliveries: h.Deliveries})
		}
	}
	if err != nil && !errors.Is(err, errOther) {
		return err
	}
	if after > 0 || other {
		return q.end(ctx, h)
	}
	// The stream keeps one message of a subject, so the old one is gone, and only the
	// consumer still knows of it.
	return q.conn.Publish(h.reply, []byte(ackDone))
}

// giveBack makes the job of a message that was not handed out ready again, with as many
// deliveries as before.
func (q *Queue) giveBack(ctx context.Context, m *nats.Msg) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	h, err := q.holding(m)
	if err != nil {
		return // it comes again
	}
	h.Deliveries--
	if err := q.retry(ctx, &h, 0); err != nil {
		q.opts.Logger.WarnContext(ctx, "cannot give a job back; it will come again", "job", h.Job.String(), "error", err)
	}
}

// keepDead stores the copy of a job that is dead.
func (q *Queue) keepDead(ctx context.Context, h *held) error {
	m := &nats.Msg{Subject: q.subject(dead, &h.Job), Data: traceText(h.Job.Trace),
		Header: nats.Header{deliveriesHeader: {strconv.Itoa(h.Deliveries)}}}
	_, err := q.js.PublishMsg(ctx, m)
	if err != nil {
		return fmt.Errorf("jetstream: keep the dead letter %s: %w", h.Job, err)
	}
	return nil
}
