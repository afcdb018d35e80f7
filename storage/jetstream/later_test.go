package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
)

func newMsg(subject string) *nats.Msg { return nats.NewMsg(subject) }

// TestManyRetries: 2000 jobs that wait for their retry hold no worker, are not pending, and
// do not keep others from coming.
func TestManyRetries(t *testing.T) {
	t.Parallel()
	conn := newHastyRig(t).connect(t)
	q := queueOn(t, conn, nil)
	const many = 2000
	for i := range many {
		j := mortise.Job{Kind: "docs", Organization: "acme", ID: fmt.Sprint(i)}
		enqueue(t, q, j)
	}
	c := consume(t, q, 16, func(_ context.Context, d mortise.Delivery) mortise.Verdict {
		if d.Job.Organization == "acme" {
			return mortise.Verdict{After: time.Hour}
		}
		return done
	})
	for range many {
		c.next()
	}
	fresh := enqueue(t, q, mortise.Job{Kind: "docs", Organization: "other", ID: "fresh"})
	assert.Equal(t, fresh.String(), c.next().Job.String())
	c.stop()
	consumer, err := conn.Consumer(t.Context(), "MORTISE", "docs")
	require.NoError(t, err)
	assert.Zero(t, consumer.CachedInfo().NumAckPending, "jobs that count for the consumer")
	stream, err := conn.Stream(t.Context(), "MORTISE")
	require.NoError(t, err)
	assert.EqualValues(t, many, stream.CachedInfo().State.Msgs, "jobs that wait")
}

// TestRetriesInTurn: a job that is to be retried comes after those that became due before
// it, however often it fails.
func TestRetriesInTurn(t *testing.T) {
	t.Parallel()
	q := newRig(t).queue(t, nil)
	var want []string
	for i := range 6 {
		j := enqueue(t, q, mortise.Job{Kind: "docs", Organization: "acme", ID: fmt.Sprint(i)})
		want = append(want, j.String())
	}
	c := consume(t, q, 1, func(_ context.Context, d mortise.Delivery) mortise.Verdict {
		if d.Deliveries == 1 {
			return mortise.Verdict{}
		}
		return done
	})
	var got []string
	for range 2 * len(want) {
		got = append(got, c.next().Job.String())
	}
	assert.Equal(t, append(want, want...), got)
}

// TestCancel: whatever nobody can hold is taken out, and of the rest the queue says that it
// cannot tell.
func TestCancel(t *testing.T) {
	t.Parallel()
	conn := newRig(t).connect(t)
	q := created(t, conn, nil)
	fresh, waiting := job("docs"), job("docs")
	waiting.At = time.Now().Add(time.Hour)
	other := job("thumbnails") // whose consumer is not there
	for _, j := range []mortise.Job{fresh, waiting, other} {
		require.NoError(t, q.Cancel(t.Context(), j), "not there")
		enqueue(t, q, j)
		require.NoError(t, q.Cancel(t.Context(), j))
	}
	stream, err := conn.Stream(t.Context(), "MORTISE")
	require.NoError(t, err)
	require.Zero(t, stream.CachedInfo().State.Msgs)

	enqueue(t, q, fresh)
	take(t, conn)
	require.ErrorIs(t, q.Cancel(t.Context(), fresh), errors.ErrUnsupported)
	stream, err = conn.Stream(t.Context(), "MORTISE")
	require.NoError(t, err)
	require.EqualValues(t, 1, stream.CachedInfo().State.Msgs, "the job that is held")
}

// TestDeadLetter: a dead job leaves a copy that says all there is to say, and does not keep
// a new one out.
func TestDeadLetter(t *testing.T) {
	t.Parallel()
	conn := newRig(t).connect(t)
	q := queueOn(t, conn, nil)
	j := mortise.Job{Kind: "docs", Organization: "the \u00c4rzte", ID: "1", Trace: map[string]string{"tracestate": "a=b&c\xff"}}
	enqueue(t, q, j)
	c := consume(t, q, 1, func(_ context.Context, d mortise.Delivery) mortise.Verdict {
		if d.Deliveries < 3 {
			return mortise.Verdict{}
		}
		return mortise.Verdict{Kind: mortise.VerdictDead}
	})
	for range 3 {
		assert.Equal(t, j, c.next().Job)
	}
	c.stop()
	letters, err := conn.Stream(t.Context(), "MORTISE_DEAD")
	require.NoError(t, err)
	config := letters.CachedInfo().Config
	assert.Equal(t, 30*24*time.Hour, config.MaxAge)
	assert.EqualValues(t, 64<<20, config.MaxBytes)
	m, err := letters.GetMsg(t.Context(), 1)
	require.NoError(t, err)
	assert.Equal(t, "MORTISE.dead.docs.=dGhlIMOEcnp0ZQ.1", m.Subject)
	assert.Equal(t, "3", m.Header.Get("Mortise-Deliveries"))
	assert.Equal(t, "tracestate=a%3Db%26c%FF", string(m.Data))
	jobs, err := conn.Stream(t.Context(), "MORTISE")
	require.NoError(t, err)
	assert.Zero(t, jobs.CachedInfo().State.Msgs)

	enqueue(t, q, j)
	assert.Equal(t, 1, consume(t, q, 1, nil).next().Deliveries)
}

// TestNoJob: what others have published under the subjects of jobs is removed, and holds up
// nothing.
func TestNoJob(t *testing.T) {
	t.Parallel()
	conn := newRig(t).connect(t)
	q := queueOn(t, conn, nil)
	for _, subject := range []string{"MORTISE.ready.docs.=!.1", "MORTISE.ready.docs.=YQ==.1", "MORTISE.ready.docs.a.$"} {
		_, err := conn.Publish(t.Context(), subject, nil)
		require.NoError(t, err)
	}
	for _, header := range []string{"-1", "many"} {
		m := newMsg("MORTISE.ready.docs.a." + header)
		m.Header.Set("Mortise-Deliveries", header)
		_, err := conn.PublishMsg(t.Context(), m)
		require.NoError(t, err)
	}
	_, err := conn.Publish(t.Context(), "MORTISE.ready.docs.a.trace", []byte("%"))
	require.NoError(t, err)
	j := enqueue(t, q, job("docs"))
	c := consume(t, q, 1, nil)
	assert.Equal(t, j.String(), c.next().Job.String())
	require.Eventually(t, func() bool {
		stream, err := conn.Stream(t.Context(), "MORTISE")
		return err == nil && stream.CachedInfo().State.Msgs == 0
	}, time.Minute, 5*time.Millisecond)
}
