package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/seed-6363c74e/mortise"
)

// Headers of messages. The server takes those of its own away when a schedule is due, and
// leaves ours.
const (
	deliveriesHeader = "Mortise-Deliveries" // how often the job was handed out before this message

	expectHeader         = "Nats-Expected-Last-Subject-Sequence"
	expectSubjectHeader  = "Nats-Expected-Last-Subject-Sequence-Subject"
	scheduleHeader       = "Nats-Schedule"
	scheduleTargetHeader = "Nats-Schedule-Target"
)

// Enqueue implements [mortise.Queue]: one message, which the server takes only if it has
// none of this job.
func (q *Queue) Enqueue(ctx context.Context, j mortise.Job) error {
	if err := j.Check(); err != nil {
		return err
	}
	err := q.put(ctx, &j, state{})
	if errors.Is(err, jetstream.ErrNoStreamResponse) { // the stream is gone, or the server is
		if err = q.ensure(ctx); err == nil {
			err = q.put(ctx, &j, state{})
		}
	}
	if errors.Is(err, errOther) {
		return nil // the job is there
	}
	return err
}

// state is what the stream has of a job.
type state struct {
	seq        uint64 // of the job's message; 0: there must be none
	deliveries int    // how often the job was handed out
}

// errOther means that a job's message is not the expected one.
var errOther = errors.New("jetstream: the stream has another message of this job")

// put stores a job's message in place of the one that is expected: for j.At, if that is
// still to come, and else as one that is due.
func (q *Queue) put(ctx context.Context, j *mortise.Job, is state) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	m := &nats.Msg{Subject: q.subject(ready, j), Data: traceText(j.Trace), Header: nats.Header{
		expectHeader:        {strconv.FormatUint(is.seq, 10)},
		expectSubjectHeader: {q.subject(anyLane, j)},
	}}
	if is.deliveries > 0 {
		m.Header[deliveriesHeader] = []string{strconv.Itoa(is.deliveries)}
	}
	if j.At.After(time.Now()) {
		m.Header[scheduleHeader] = []string{"@at " + j.At.UTC().Add(time.Microsecond-1).Format("2006-01-02T15:04:05.000000Z")}
		m.Header[scheduleTargetHeader] = []string{m.Subject}
		m.Subject = q.subject(later, j)
	}
	for wait := time.Millisecond; ; wait *= 2 {
		err := q.publish(ctx, m)
		if !errors.Is(err, errInFlight) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("jetstream: publish %s: %w", j, ctx.Err())
		case <-time.After(wait):
		}
	}
}

// errInFlight means that a message of this job is on its way through a cluster. Whether it
// arrives is not known.
var errInFlight = errors.New("jetstream: a message of this job is on its way")

func (q *Queue) publish(ctx context.Context, m *nats.Msg) error {
	before := q.last.Load()
	ack, err := q.js.PublishMsg(ctx, m)
	if err == nil {
		q.acknowledged(before, ack.Sequence)
		return nil
	}
	if api := (*jetstream.APIError)(nil); errors.As(err, &api) {
		switch {
		case api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant:
			return errInFlight
		case api.ErrorCode != jetstream.JSErrCodeStreamWrongLastSequence:
		case strings.HasSuffix(api.Description, ": "+m.Header[expectHeader][0]): // it could not look
		default:
			return errOther
		}
	}
	return fmt.Errorf("jetstream: publish %s: %w", m.Subject, err)
}

// Cancel implements [mortise.Queue]. A job that waits for its time is taken out, and so is
// one that is due and was never handed out. Of another one that is due it cannot tell
// whether it is held: it is left as it is, and the error is errors.ErrUnsupported.
func (q *Queue) Cancel(ctx context.Context, j mortise.Job) error {
	if err := j.Check(); err != nil {
		return err
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	for {
		is, err := q.message(ctx, q.subject(anyLane, &j))
		if is == nil || err != nil {
			return err
		}
		held := is
		if is.Subject != q.subject(ready, &j) { // its holder may not have ended its retry
			if held, err = q.message(ctx, q.subject(ready, &j)); err != nil {
				return err
			}
		}
		if held != nil {
			handedOut, err := q.handedOut(ctx, j.Kind)
			if err != nil {
				return err
			}
			if held.Sequence <= handedOut {
				return fmt.Errorf("jetstream: cancel %s, which somebody may hold: %w", j, errors.ErrUnsupported)
			}
		}
		stream, err := q.js.Stream(ctx, q.opts.Name)
		if err != nil {
			return fmt.Errorf("jetstream: cancel %s: %w", j, err)
		}
		err = stream.DeleteMsg(ctx, is.Sequence)
		// What is gone may have become due, or may be done: look again.
		if err == nil || !errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
			return err
		}
	}
}

// message returns the last message of a subject, nil if there is none.
func (q *Queue) message(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	stream, err := q.js.Stream(ctx, q.opts.Name)
	var m *jetstream.RawStreamMsg
	if err == nil {
		m, err = stream.GetLastMsgForSubject(ctx, subject)
	}
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound), errors.Is(err, jetstream.ErrStreamNotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("jetstream: read %s: %w", subject, err)
	}
	return m, nil
}

// handedOut returns the sequence up to which jobs of a kind were handed out.
func (q *Queue) handedOut(ctx context.Context, kind string) (uint64, error) {
	c, err := q.js.Consumer(ctx, q.opts.Name, kind)
	switch {
	case errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, jetstream.ErrStreamNotFound):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("jetstream: look at the consumer %s: %w", kind, err)
	}
	return c.CachedInfo().Delivered.Stream, nil
}
