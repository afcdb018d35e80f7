package trigger_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// preciseStore notes the latest query, and the times of events that are finer than a
// store keeps.
type preciseStore struct {
	trigger.Store
	q   trigger.EventQuery
	mu  sync.Mutex
	bad []time.Time
}

func (p *preciseStore) UpdateEvent(ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) error) error {
	return p.Store.UpdateEvent(ctx, org, id, func(e *trigger.Event) error {
		err := update(e)
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, at := range []time.Time{e.StartedAt, e.FinishedAt, e.DueAt, e.WakeAt} {
			if at.Nanosecond()%1000 != 0 {
				p.bad = append(p.bad, at)
			}
		}
		return err
	})
}

func (p *preciseStore) ListEvents(ctx context.Context, org string, q trigger.EventQuery) (mortise.Page[trigger.Event], error) {
	p.q = q
	return p.Store.ListEvents(ctx, org, q)
}

// TestBackendsGetMicroseconds: no backend is given a time that it would have to cut.
func TestBackendsGetMicroseconds(t *testing.T) {
	db := openMemory(t)
	ps := &preciseStore{Store: db.Trigger().Store}
	s, err := trigger.New(trigger.Backend{Store: ps, Queue: db.Queue(nil)}, nil)
	require.NoError(t, err)
	w, err := trigger.NewWorker(s, returning(errWork), nil)
	require.NoError(t, err)
	for range 10 {
		submit(t, s, "a")
		_, err = w.RunOnce(t.Context())
		require.NoError(t, err)
	}
	assert.Empty(t, ps.bad, "times finer than microseconds")
	_, err = s.ListEvents(t.Context(), "acme", trigger.EventQuery{From: time.Unix(1, 500)})
	require.NoError(t, err)
	assert.Zero(t, ps.q.From.Nanosecond()%1000, "From")
}

// pickyQueue refuses one organization for ever.
type pickyQueue struct {
	mortise.Queue
	lost time.Time
}

func (q *pickyQueue) LostJobs(context.Context) (time.Time, error) { return q.lost, nil }

func (q *pickyQueue) Enqueue(ctx context.Context, j mortise.Job) error {
	if j.Organization == "bad" {
		return errors.New("refused")
	}
	return q.Queue.Enqueue(ctx, j)
}

// TestSweeperGetsPastRefusedEvents: events that the queue refuses for ever do not fill
// every sweep, nor every one after a loss that the queue reports.
func TestSweeperGetsPastRefusedEvents(t *testing.T) {
	for _, loss := range []bool{false, true} {
		clock := new(triggertest.Clock)
		db := openMemoryAt(t, clock.Now)
		q := &pickyQueue{Queue: db.Queue(nil)}
		s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: q}, &trigger.Options{Env: mortise.Env{Now: clock.Now, Logger: slog.New(slog.DiscardHandler)}})
		require.NoError(t, err)
		mk := func(org string) trigger.Event {
			e := trigger.Event{ID: uuid.New(), Organization: org, Status: trigger.StatusReceived, Source: "api", Instructions: "x", SubmittedAt: clock.Now(), DueAt: clock.Now(), WakeAt: clock.Now()}
			if loss {
				e.WakeAt = e.WakeAt.Add(time.Hour) // it was queued
			}
			_, _, err := db.Trigger().Store.CreateEvent(t.Context(), e, time.Time{})
			require.NoError(t, err)
			clock.Advance(time.Second)
			return e
		}
		for range 25 {
			mk("bad")
		}
		good := mk("acme")
		if loss {
			q.lost = clock.Now()
		}
		sw, err := trigger.NewSweeper(s, nil)
		require.NoError(t, err)
		for range 10 {
			clock.Advance(time.Minute)
			_, _ = sw.RunOnce(t.Context())
		}
		assert.True(t, get(t, s, good.ID).WakeAt.After(clock.Now().Add(time.Minute)), "never queued in 10 sweeps, loss %v", loss)
	}
}

// losingQueue loses a job while it is noted as queued.
type losingQueue struct {
	mortise.Queue
	lost time.Time
}

func (q *losingQueue) Enqueue(ctx context.Context, j mortise.Job) error {
	if q.lost.IsZero() {
		time.Sleep(time.Second)
		q.lost = time.Now()
		time.Sleep(time.Second) // until the answer is here
		return nil
	}
	return q.Queue.Enqueue(ctx, j)
}

func (q *losingQueue) LostJobs(context.Context) (time.Time, error) { return q.lost, nil }

// TestLossBeforeTheJobIsNoted: a job that the queue has lost, and says so, before the
// event was noted as queued.
func TestLossBeforeTheJobIsNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openMemory(t)
		s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: &losingQueue{Queue: db.Queue(nil)}}, &trigger.Options{Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
		require.NoError(t, err)
		sw, err := trigger.NewSweeper(s, nil)
		require.NoError(t, err)
		submit(t, s, "a")
		n, err := sw.RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n, "events that were queued again")
	})
}

// TestRetryReturnsWhatIsStored: Retry returns the event as it is then.
func TestRetryReturnsWhatIsStored(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{Processor: returning(trigger.Permanent(errWork))})
	e := submit(t, f.Service, "a")
	f.Drain(t.Context())
	got, err := f.Service.Retry(t.Context(), "acme", "", e.ID)
	require.NoError(t, err)
	assert.Equal(t, get(t, f.Service, e.ID), got)
}

// TestFlushKeepsALaterUse: a use that is noted while an earlier one is written is written
// too.
func TestFlushKeepsALaterUse(t *testing.T) {
	db := openMemory(t)
	clock := new(triggertest.Clock)
	var during func()
	faults := &triggertest.Faults{After: func(op string) error {
		if op == "APIKeys.UpdateKey" && during != nil {
			d := during
			during = nil
			d()
		}
		return nil
	}}
	s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil), Keys: faults.Keys(db.Trigger().Store.(*memory.Trigger))}, &trigger.Options{Env: mortise.Env{Now: clock.Now}})
	require.NoError(t, err)
	_, key, err := s.IssueKey(t.Context(), "acme", "", "")
	require.NoError(t, err)
	_, err = s.VerifyKey(t.Context(), key.Reveal())
	require.NoError(t, err)
	during = func() {
		clock.Advance(5 * time.Minute)
		_, err := s.VerifyKey(t.Context(), key.Reveal())
		require.NoError(t, err)
	}
	require.NoError(t, s.FlushKeyUse(t.Context()))
	require.NoError(t, s.FlushKeyUse(t.Context()))
	k, err := s.FindKey(t.Context(), key.Reveal())
	require.NoError(t, err)
	assert.Equal(t, clock.Now(), k.LastUsedAt)
}
