package leases_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/leases"
)

var docsOnly = []string{"docs"}

func TestConsumeOne(t *testing.T) {
	tb := newTable(t, "a", "b")
	q := leases.New(tb, quiet())
	for range 2 {
		found, err := q.ConsumeOne(t.Context(), docsOnly, always(dead))
		require.NoError(t, err)
		require.True(t, found)
	}
	assert.Equal(t, []string{"a", "b"}, tb.dead)
	found, err := q.ConsumeOne(t.Context(), docsOnly, always(done))
	require.NoError(t, err)
	assert.False(t, found)

	tb.set("Claim", errTable)
	_, err = q.ConsumeOne(t.Context(), docsOnly, always(done))
	require.ErrorIs(t, err, errTable)
	tb.set("Claim", nil)
	tb.put(t, docs("c"))
	tb.set("Remove", errTable)
	found, err = q.ConsumeOne(t.Context(), docsOnly, always(done))
	assert.True(t, found)
	require.ErrorIs(t, err, errTable)
	tb.set("Remove", nil)
	tb.put(t, docs("d"))
	robbed := func(_ context.Context, d mortise.Delivery) mortise.Verdict {
		tb.steal(d.Job.ID)
		return done
	}
	_, err = q.ConsumeOne(t.Context(), docsOnly, robbed)
	require.NoError(t, err, "a lost lease is no failure of the consumer")
}

// interrupted is a table whose consumer is told to end while it claims.
type interrupted struct {
	*table
	end func()
}

func (i interrupted) Claim(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
	i.end()
	return i.table.Claim(ctx, c)
}

func TestClaimIsNotCutOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tb := newTable(t, "a")
	q := leases.New(interrupted{tb, cancel}, quiet())
	found, err := q.ConsumeOne(ctx, docsOnly, always(mortise.Verdict{}))
	require.NoError(t, err, "a claim that is cut off holds its jobs until the lease ends")
	assert.True(t, found)
	assert.Equal(t, 1, tb.count("Release"))

	found, err = q.ConsumeOne(ctx, docsOnly, nil)
	require.ErrorIs(t, err, context.Canceled, "nothing is claimed once the context has ended")
	assert.False(t, found)
}

func TestConsumeOfAnEndedContext(t *testing.T) {
	tb := newTable(t, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	handle := func(context.Context, mortise.Delivery) mortise.Verdict {
		t.Error("handled")
		return done
	}
	opts := mortise.ConsumeOptions{Kinds: docsOnly}
	require.NoError(t, leases.New(tb, nil).Consume(ctx, opts, handle))
	assert.Zero(t, tb.count("Claim"))
}

// TestNoKinds: a consumer that would take nothing for ever is told so.
func TestNoKinds(t *testing.T) {
	tb := newTable(t, "a")
	q := leases.New(tb, nil)
	require.Error(t, q.Consume(t.Context(), mortise.ConsumeOptions{Workers: 1}, always(done)))
	_, err := q.ConsumeOne(t.Context(), nil, always(done))
	require.Error(t, err)
	assert.Zero(t, tb.count("Claim"))
}

// TestInvalidJob: the table is not asked.
func TestInvalidJob(t *testing.T) {
	tb := newTable(t)
	q := leases.New(tb, nil)
	for _, j := range []mortise.Job{{}, docs(""), docs("a b")} {
		require.EqualError(t, q.Enqueue(t.Context(), j), j.Check().Error())
		require.EqualError(t, q.Cancel(t.Context(), j), j.Check().Error())
	}
	assert.Zero(t, tb.count("Add")+tb.count("Cancel"))
}

func TestEnqueueFails(t *testing.T) {
	tb := newTable(t)
	tb.set("Add", errTable)
	tb.set("Cancel", errTable)
	q := leases.New(tb, nil)
	require.ErrorIs(t, q.Enqueue(t.Context(), docs("a")), errTable)
	require.ErrorIs(t, q.Cancel(t.Context(), docs("a")), errTable)
}

// TestEndedByItsHandler: what the handler has done with its lease stays as it is.
func TestEndedByItsHandler(t *testing.T) {
	tb := newTable(t, "a")
	q := leases.New(tb, quiet())
	ended := func(ctx context.Context, d mortise.Delivery) mortise.Verdict {
		assert.NoError(t, tb.inner.Remove(ctx, d.Lease(), false))
		assert.NoError(t, tb.inner.Add(ctx, d.Job)) // another one by the same names
		return mortise.Verdict{Kind: mortise.VerdictEnded}
	}
	found, err := q.ConsumeOne(t.Context(), docsOnly, ended)
	require.NoError(t, err)
	require.True(t, found)
	assert.Zero(t, tb.count("Remove")+tb.count("Release")+tb.count("Extend"))
	found, err = q.ConsumeOne(t.Context(), docsOnly,
		func(_ context.Context, d mortise.Delivery) mortise.Verdict {
			assert.Equal(t, 1, d.Deliveries, "deliveries of the new one")
			return done
		})
	require.NoError(t, err)
	assert.True(t, found)
}

// sharing is a table that shares with one store, and has lost jobs.
type sharing struct {
	*table
	store any
	lost  time.Time
	err   error
}

func (s sharing) Shares(store any) bool { return store == s.store }

func (s sharing) LostJobs(context.Context) (time.Time, error) { return s.lost, s.err }

// TestAsksItsTable: a queue is a Sharer and a LossReporter as its table is one.
func TestAsksItsTable(t *testing.T) {
	plain := leases.New(newTable(t), nil)
	store := new(int)
	assert.False(t, plain.Shares(store))
	lost, err := plain.LostJobs(t.Context())
	require.NoError(t, err)
	assert.True(t, lost.IsZero())

	when := time.Now()
	q := leases.New(sharing{newTable(t), store, when, errTable}, nil)
	assert.True(t, q.Shares(store))
	assert.False(t, q.Shares(new(int)))
	lost, err = q.LostJobs(t.Context())
	assert.Equal(t, when, lost)
	assert.True(t, errors.Is(err, errTable))
}
