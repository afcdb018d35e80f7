package jetstream_test

import (
	"context"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/jetstream"
)

// take is a consumer that takes one job, tells the server nothing more, and never ends.
func take(t *testing.T, conn js.JetStream) js.Msg {
	consumer, err := conn.Consumer(t.Context(), "MORTISE", "docs")
	require.NoError(t, err)
	m, err := consumer.Next(js.FetchMaxWait(time.Minute))
	require.NoError(t, err)
	return m
}

// created returns a queue of docs whose consumer is there.
func created(t *testing.T, conn js.JetStream, opts *jetstream.Options) *jetstream.Queue {
	q := queueOn(t, conn, opts)
	c := consume(t, q, 1, nil)
	enqueue(t, q, job("docs"))
	c.next()
	c.stop()
	return q
}

// TestStalled: the job of a consumer that stalls comes elsewhere, and counts both times.
func TestStalled(t *testing.T) {
	t.Parallel()
	conn := newRig(t).connect(t)
	q := created(t, conn, &jetstream.Options{AckWait: time.Second})
	j := enqueue(t, q, job("docs"))
	take(t, conn)
	taken := time.Now()
	d := consume(t, q, 1, nil).next()
	assert.Equal(t, j.String(), d.Job.String())
	assert.Equal(t, 2, d.Deliveries)
	assert.Greater(t, time.Since(taken), time.Second*9/10, "it was held until then")
}

// TestLongWork: a job is held for as long as its handler runs, whatever AckWait is.
func TestLongWork(t *testing.T) {
	t.Parallel()
	const ackWait = 400 * time.Millisecond
	conn := newRig(t).connect(t)
	q := queueOn(t, conn, &jetstream.Options{AckWait: ackWait})
	j := enqueue(t, q, job("docs"))
	over := make(chan time.Duration)
	begun := time.Now()
	c := consume(t, q, 2, func(ctx context.Context, _ mortise.Delivery) mortise.Verdict {
		select {
		case <-ctx.Done():
		case <-time.After(3 * ackWait):
		}
		over <- time.Since(begun)
		return done
	})
	assert.Equal(t, j.String(), c.next().Job.String())
	assert.GreaterOrEqual(t, await(t, over, "the handler"), 3*ackWait, "the handler was cut off")
	c.stop()
	assert.Empty(t, c.given, "it came a second time")
	stream, err := conn.Stream(t.Context(), "MORTISE")
	require.NoError(t, err)
	assert.Zero(t, stream.CachedInfo().State.Msgs, "jobs after the verdict")
}

// TestLostLease: a handler hears that it has lost its job while the server is away, and its
// verdict does not count.
func TestLostLease(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	q := r.queue(t, &jetstream.Options{AckWait: 500 * time.Millisecond})
	j := enqueue(t, q, job("docs"))
	inside := make(chan context.Context)
	through := make(chan struct{})
	c := consume(t, q, 1, func(ctx context.Context, d mortise.Delivery) mortise.Verdict {
		if d.Deliveries == 1 {
			inside <- ctx
			<-through
		}
		return done
	})
	c.next()
	ctx := await(t, inside, "the handler")
	r.stop()
	await(t, ctx.Done(), "the end of the handler's context")
	require.ErrorIs(t, context.Cause(ctx), mortise.ErrLeaseLost)
	require.NoError(t, r.start())
	close(through)
	again := c.next()
	assert.Equal(t, j.String(), again.Job.String())
	assert.Greater(t, again.Deliveries, 1)
}

// TestVerdictOfLostJob: a verdict on a job that the stream has lost is not one on another job
// whose message has the same sequence in the new stream, be it done or to be retried.
func TestVerdictOfLostJob(t *testing.T) {
	t.Parallel()
	for name, verdict := range map[string]mortise.Verdict{
		"done": done, "later": {Kind: mortise.VerdictRetry, After: time.Hour}, "at once": {Kind: mortise.VerdictRetry},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := newRig(t).connect(t)
			q := queueOn(t, conn, &jetstream.Options{Synced: true})
			first, free := enqueue(t, q, job("docs")), make(chan struct{})
			var second mortise.Job
			c := consume(t, q, 2, func(ctx context.Context, d mortise.Delivery) mortise.Verdict {
				switch d.Job.ID {
				case first.ID:
					<-free
					return verdict
				case second.ID:
					<-t.Context().Done()
				}
				return done
			})
			require.Equal(t, first, c.next().Job)
			require.NoError(t, conn.DeleteStream(t.Context(), "MORTISE"))
			_, err := q.LostJobs(t.Context()) // which makes it anew
			require.NoError(t, err)
			second = job("docs")
			enqueue(t, q, second)
			require.Equal(t, second, c.next().Job)
			third := enqueue(t, q, job("docs"))
			close(free)
			require.Equal(t, third, c.next().Job, "the worker is free, so the verdict was applied")
			stream, err := conn.Stream(t.Context(), "MORTISE")
			require.NoError(t, err)
			m, err := stream.GetLastMsgForSubject(t.Context(), "MORTISE.ready.docs.acme."+second.ID)
			require.NoError(t, err, "the job that another worker holds")
			require.Equal(t, uint64(1), m.Sequence, "as the first one had")
		})
	}
}

// TestHalfRetry: a consumer that dies between the two steps of a retry leaves the job to
// come when it is due, once, with all deliveries.
func TestHalfRetry(t *testing.T) {
	t.Parallel()
	conn := newRig(t).connect(t)
	q := created(t, conn, &jetstream.Options{AckWait: time.Second})
	j := enqueue(t, q, job("docs"))
	m := take(t, conn)
	meta, err := m.Metadata()
	require.NoError(t, err)
	due := time.Now().Add(3 * time.Second)
	tail := ".docs." + j.Organization + "." + j.ID
	schedule := newMsg("MORTISE.later" + tail)
	schedule.Header.Set("Nats-Schedule", "@at "+due.UTC().Format(time.RFC3339Nano))
	schedule.Header.Set("Nats-Schedule-Target", "MORTISE.ready"+tail)
	schedule.Header.Set("Mortise-Deliveries", "1")
	_, err = conn.PublishMsg(t.Context(), schedule, js.WithExpectLastSequenceForSubject(meta.Sequence.Stream, "MORTISE.*"+tail))
	require.NoError(t, err)

	c := consume(t, q, 1, nil)
	d := c.next()
	assert.Equal(t, j.String(), d.Job.String())
	assert.Equal(t, 2, d.Deliveries)
	assert.False(t, time.Now().Before(due), "before it was due")
	last := enqueue(t, q, job("docs"))
	assert.Equal(t, last.String(), c.next().Job.String(), "nothing of it is left")
}

// TestCancelledWhileTaken: a job that is taken out just when it is handed out stays with its
// holder, who may have it come again.
func TestCancelledWhileTaken(t *testing.T) {
	t.Parallel()
	conn := newRig(t).connect(t)
	q := queueOn(t, conn, nil)
	j := enqueue(t, q, job("docs"))
	c := consume(t, q, 1, func(ctx context.Context, d mortise.Delivery) mortise.Verdict {
		if d.Deliveries > 1 {
			return done
		}
		stream, err := conn.Stream(ctx, "MORTISE")
		if assert.NoError(t, err) {
			assert.NoError(t, stream.DeleteMsg(ctx, stream.CachedInfo().State.LastSeq))
		}
		return mortise.Verdict{}
	})
	c.next()
	again := c.next()
	assert.Equal(t, j.String(), again.Job.String())
	assert.Equal(t, 2, again.Deliveries)
}

// TestOneWorkerOfTwoKinds: what comes while the only worker is busy is given back, as if it
// had never been handed out.
func TestOneWorkerOfTwoKinds(t *testing.T) {
	t.Parallel()
	r := newHastyRig(t)
	for range 20 {
		q := r.queue(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		inside, through := make(chan mortise.Delivery, 10), make(chan struct{})
		ended := make(chan error, 1)
		go func() {
			ended <- q.Consume(ctx, mortise.ConsumeOptions{Kinds: []string{"docs", "search"}, Workers: 1},
				func(_ context.Context, d mortise.Delivery) mortise.Verdict {
					inside <- d
					<-through
					return done
				})
		}()
		both := map[string]mortise.Job{"docs": job("docs"), "search": job("search")}
		for _, j := range both {
			go func() { assert.NoError(t, q.Enqueue(t.Context(), j)) }()
		}
		first := await(t, inside, "the first job")
		other := "docs"
		if first.Job.Kind == "docs" {
			other = "search"
		}
		elsewhere := make(chan mortise.Delivery, 10)
		beside, stop := context.WithCancel(t.Context())
		go func() {
			ended <- q.Consume(beside, mortise.ConsumeOptions{Kinds: []string{other}},
				func(_ context.Context, d mortise.Delivery) mortise.Verdict {
					elsewhere <- d
					return done
				})
		}()
		d := await(t, elsewhere, "the job that the only worker cannot take")
		assert.Equal(t, both[other].String(), d.Job.String())
		assert.Equal(t, 1, d.Deliveries)
		assert.Empty(t, inside, "a second job for one worker")
		close(through)
		cancel()
		stop()
		for range 2 {
			require.NoError(t, await(t, ended, "Consume to return"))
		}
	}
}
