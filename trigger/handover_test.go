package trigger_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// refusingQueue refuses all jobs.
type refusingQueue struct{ mortise.Queue }

func (refusingQueue) Enqueue(context.Context, mortise.Job) error { return errors.New("refused") }

func unsureService(t *testing.T, store trigger.Store, q mortise.Queue, clock *triggertest.Clock, o func(mortise.Observation)) *trigger.Service {
	s, err := trigger.New(trigger.Backend{Store: store, Queue: q}, &trigger.Options{Env: mortise.Env{
		Now: clock.Now, Logger: slog.New(slog.DiscardHandler), Observer: func(_ context.Context, ob mortise.Observation) {
			if o != nil {
				o(ob)
			}
		},
	}})
	require.NoError(t, err)
	return s
}

// TestMarkFailedOverALostCommit: the mark of an event that could not be queued is made again by a
// store that lost the answer to the COMMIT. An event that is marked failed must not be
// accepted.
func TestMarkFailedOverALostCommit(t *testing.T) {
	db, clock := openMemory(t), new(triggertest.Clock)
	s := unsureService(t, unsureStore{db.Trigger().Store}, refusingQueue{struct{ mortise.Queue }{db.Queue(nil)}}, clock, nil)
	e, err := s.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "a"})
	if err == nil {
		assert.NotEqual(t, trigger.StatusFailed, get(t, s, e.ID).Status, "accepted, and marked failed: it never runs")
	}
	require.ErrorIs(t, err, trigger.ErrEnqueueFailed)
}

// TestQueueMovedIntoTheDatabase: an event that was accepted while the queue was apart, and has
// no job yet, runs also where the host goes on with the queue of the database.
func TestQueueMovedIntoTheDatabase(t *testing.T) {
	clock := new(triggertest.Clock)
	db := openMemoryAt(t, clock.Now)
	open := func(q mortise.Queue) *trigger.Service {
		s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: q},
			&trigger.Options{Env: mortise.Env{Now: clock.Now, Logger: slog.New(slog.DiscardHandler)}})
		require.NoError(t, err)
		return s
	}
	e, err := open(struct{ mortise.Queue }{db.Queue(nil)}).Submit(t.Context(), "acme", "", later(clock.Now().Add(time.Hour)))
	require.NoError(t, err)
	s := open(db.Queue(nil))
	w, err := trigger.NewWorker(s, returning(nil), nil)
	require.NoError(t, err)
	sweeper, err := trigger.NewSweeper(s, nil)
	require.NoError(t, err)
	for range 5 {
		clock.Advance(2 * time.Hour)
		_, err = sweeper.RunOnce(t.Context())
		require.NoError(t, err)
		_, err = w.RunOnce(t.Context())
		require.NoError(t, err)
	}
	assert.Equal(t, trigger.StatusCompleted, get(t, s, e.ID).Status)
}
