package trigger_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// bothQueues runs a test over a queue in the store's transaction, and over one beside it.
func bothQueues(t *testing.T, test func(t *testing.T, o triggertest.Options)) {
	t.Run("transaction", func(t *testing.T) { test(t, triggertest.Options{}) })
	t.Run("separate", func(t *testing.T) { test(t, triggertest.Options{SeparateQueue: true}) })
}

func TestSubmit(t *testing.T) {
	bothQueues(t, func(t *testing.T, o triggertest.Options) {
		var seen trigger.Event
		o.Processor = func(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
			seen = e
			return trigger.Outcome{Summary: "wrote it", Data: json.RawMessage(`[1]`)}, nil
		}
		f := triggertest.New(t, &o)
		sub := trigger.Submission{
			Instructions: "a\x00\u00e9", Context: json.RawMessage("{ \"n\": 1.0,\n\"s\":\"\\u0000\" }"), Collection: uuid.New(), Source: "ci",
		}
		e, err := f.Submit(t.Context(), "acme", "", sub)
		require.NoError(t, err)
		assert.Equal(t, trigger.StatusReceived, e.Status)
		assert.Equal(t, o.SeparateQueue, !e.WakeAt.IsZero())
		assert.Equal(t, e, get(t, f.Service, e.ID))

		require.Equal(t, 1, f.Drain(t.Context()))
		assert.Equal(t, sub.Instructions, seen.Instructions)
		assert.Equal(t, string(sub.Context), string(seen.Context), "byte for byte")
		assert.Equal(t, sub.Collection, seen.Collection)
		assert.Equal(t, "ci", seen.Source)
		assert.Equal(t, trigger.StatusProcessing, seen.Status)
		done := get(t, f.Service, e.ID)
		assert.Equal(t, trigger.StatusCompleted, done.Status)
		assert.Equal(t, "wrote it", done.Outcome.Summary)
		assert.Equal(t, 1, done.Attempts)
	})
}

func TestSubmitValidates(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{Service: trigger.Options{MaxBytes: 100}})
	good := trigger.Submission{Instructions: "private"}
	for name, test := range map[string]struct {
		org    string
		change func(*trigger.Submission)
		fields []string
	}{
		"no organization":      {"", func(*trigger.Submission) {}, []string{"organization"}},
		"NUL in organization":  {"a\x00", func(*trigger.Submission) {}, []string{"organization"}},
		"no instructions":      {"acme", func(s *trigger.Submission) { s.Instructions = "" }, []string{"instructions"}},
		"bad UTF-8":            {"acme", func(s *trigger.Submission) { s.Instructions = "private\xff" }, []string{"instructions"}},
		"too long":             {"acme", func(s *trigger.Submission) { s.Instructions = strings.Repeat("private", 20) }, []string{"instructions"}},
		"long with context":    {"acme", func(s *trigger.Submission) { s.Context = json.RawMessage(`{"x":"` + strings.Repeat("x", 90) + `"}`) }, []string{"instructions"}},
		"context no JSON":      {"acme", func(s *trigger.Submission) { s.Context = json.RawMessage("private") }, []string{"context"}},
		"context empty":        {"acme", func(s *trigger.Submission) { s.Context = json.RawMessage{} }, []string{"context"}},
		"context no object":    {"acme", func(s *trigger.Submission) { s.Context = json.RawMessage("[]") }, []string{"context"}},
		"context twice a key":  {"acme", func(s *trigger.Submission) { s.Context = json.RawMessage(`{"private":1,"private":2}`) }, []string{"context"}},
		"source too long":      {"acme", func(s *trigger.Submission) { s.Source = strings.Repeat("s", 256) }, []string{"source"}},
		"key too long":         {"acme", func(s *trigger.Submission) { s.IdempotencyKey = strings.Repeat("k", 256) }, []string{"idempotency_key"}},
		"key with space":       {"acme", func(s *trigger.Submission) { s.IdempotencyKey = "private key" }, []string{"idempotency_key"}},
		"key not ASCII":        {"acme", func(s *trigger.Submission) { s.IdempotencyKey = "private\u00e9" }, []string{"idempotency_key"}},
		"everything at a time": {"", func(s *trigger.Submission) { *s = trigger.Submission{Context: []byte("1"), IdempotencyKey: " "} }, []string{"organization", "instructions", "context", "idempotency_key"}},
	} {
		t.Run(name, func(t *testing.T) {
			sub := good
			test.change(&sub)
			_, err := f.Submit(t.Context(), test.org, "", sub)
			var invalid *mortise.ValidationError
			require.ErrorAs(t, err, &invalid)
			var fields []string
			for _, problem := range invalid.Problems {
				fields = append(fields, problem.Path.String())
			}
			assert.Equal(t, test.fields, fields)
			assert.NotContains(t, err.Error(), "private", "the message repeats the request")
			var first mortise.Problem
			require.ErrorAs(t, err, &first)
			require.Equal(t, invalid.Problems[0], first)
			for _, problem := range invalid.Problems {
				require.ErrorIs(t, err, problem)
				problem.Message += "."
				require.NotErrorIs(t, err, problem)
			}
		})
	}
	assert.Empty(t, f.History())
	f.Break(triggertest.StorePart)
	_, err := f.Submit(t.Context(), "acme", "", trigger.Submission{})
	require.NotErrorIs(t, err, mortise.ErrUnavailable, "validation comes first")
}

func TestIdempotencyKey(t *testing.T) {
	bothQueues(t, func(t *testing.T, o triggertest.Options) {
		f := triggertest.New(t, &o)
		sub := trigger.Submission{Instructions: "a", IdempotencyKey: "k"}
		first, err := f.Submit(t.Context(), "acme", "", sub)
		require.NoError(t, err)
		f.Drain(t.Context())
		f.Advance(24 * time.Hour)
		again, err := f.Submit(t.Context(), "acme", "", sub)
		require.NoError(t, err)
		assert.Equal(t, first.ID, again.ID)
		assert.Equal(t, trigger.StatusCompleted, again.Status, "whatever has become of it")

		for name, change := range map[string]func(*trigger.Submission){
			"instructions": func(s *trigger.Submission) { s.Instructions = "b" },
			"context":      func(s *trigger.Submission) { s.Context = json.RawMessage(`{}`) },
			"collection":   func(s *trigger.Submission) { s.Collection = uuid.New() },
			"source":       func(s *trigger.Submission) { s.Source = "ci" },
		} {
			other := sub
			change(&other)
			_, err := f.Submit(t.Context(), "acme", "", other)
			require.ErrorIs(t, err, trigger.ErrIdempotencyKeyReused, name)
		}
		elsewhere, err := f.Submit(t.Context(), "other", "", sub)
		require.NoError(t, err)
		assert.NotEqual(t, first.ID, elsewhere.ID, "keys belong to one organization")

		f.Advance(time.Microsecond)
		late, err := f.Submit(t.Context(), "acme", "", sub)
		require.NoError(t, err)
		assert.NotEqual(t, first.ID, late.ID, "the window is over")
		assert.Empty(t, get(t, f.Service, first.ID).IdempotencyKey)
	})
}

func TestReplayComesBeforeTheOrganizationsState(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{Directory: true})
	ready := func(ready bool) {
		require.NoError(t, f.UpdateOrganization(t.Context(), "acme", "", func(o *trigger.Organization) error {
			o.SetupComplete = true
			o.SetCollection(uuid.Max, ready)
			return nil
		}))
	}
	ready(true)
	sub := trigger.Submission{Instructions: "a", IdempotencyKey: "k"}
	first, err := f.Submit(t.Context(), "acme", "", sub)
	require.NoError(t, err)
	ready(false)
	again, err := f.Submit(t.Context(), "acme", "", sub)
	require.NoError(t, err)
	assert.Equal(t, first.ID, again.ID)
	sub.IdempotencyKey = "other"
	_, err = f.Submit(t.Context(), "acme", "", sub)
	require.ErrorIs(t, err, trigger.ErrNoEligibleCollection)
}

func TestSubmitWhenTheQueueFails(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{SeparateQueue: true})
	sub := trigger.Submission{Instructions: "a", IdempotencyKey: "k"}
	heal := f.Break(triggertest.QueuePart)
	_, err := f.Submit(t.Context(), "acme", "", sub)
	require.ErrorIs(t, err, trigger.ErrEnqueueFailed)
	require.NotErrorIs(t, err, mortise.ErrUnavailable)
	heal()

	refused := f.History()[0]
	assert.Equal(t, trigger.StatusFailed, refused.Status)
	assert.Empty(t, refused.IdempotencyKey, "the key is free")
	assert.NotEmpty(t, refused.LastError)
	f.Advance(time.Hour)
	require.Zero(t, f.Drain(t.Context()), "it never runs")

	e, err := f.Submit(t.Context(), "acme", "", sub)
	require.NoError(t, err)
	assert.NotEqual(t, refused.ID, e.ID)
	f.Drain(t.Context())
	assert.Equal(t, trigger.StatusCompleted, get(t, f.Service, e.ID).Status)
	assert.Equal(t, trigger.StatusFailed, get(t, f.Service, refused.ID).Status)
}

func TestSubmitWhenTheTransactionFails(t *testing.T) {
	for _, part := range []triggertest.Part{triggertest.StorePart, triggertest.QueuePart} {
		f := triggertest.New(t, nil)
		f.Break(part)
		_, err := f.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "a"})
		require.ErrorIs(t, err, mortise.ErrUnavailable)
		require.NotErrorIs(t, err, trigger.ErrEnqueueFailed)
		assert.Empty(t, f.History(), "both or neither")
	}
}

// faulty is a service whose queue is not in the store's transaction, with hooks on all
// its parts.
func faulty(t *testing.T, o trigger.Options) (*trigger.Service, *triggertest.Faults, *triggertest.Clock) {
	t.Helper()
	faults, clock := new(triggertest.Faults), new(triggertest.Clock)
	db := openMemoryAt(t, clock.Now)
	queue := leases.New(struct{ mortise.Leases }{db.Jobs()}, nil)
	o.Now = clock.Now
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s, err := trigger.New(trigger.Backend{Store: faults.Store(db.Trigger().Store), Queue: faults.Queue(queue)}, &o)
	require.NoError(t, err)
	return s, faults, clock
}

func only(t *testing.T, s *trigger.Service) trigger.Event {
	t.Helper()
	page, err := s.ListEvents(t.Context(), "acme", trigger.EventQuery{})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	return page.Items[0]
}

func TestSubmitWhenQueueAndMarkFail(t *testing.T) {
	s, faults, clock := faulty(t, trigger.Options{})
	hook, heal := triggertest.Outage()
	faults.Before = triggertest.On(hook, "Queue.Enqueue", "Store.UpdateEvent")
	_, err := s.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "a"})
	require.ErrorIs(t, err, mortise.ErrUnavailable, "nobody can promise that it never runs")
	require.NotErrorIs(t, err, trigger.ErrEnqueueFailed)
	require.Equal(t, trigger.StatusReceived, only(t, s).Status)

	heal()
	clock.Advance(time.Hour)
	w, err := trigger.NewSweeper(s, nil)
	require.NoError(t, err)
	queued, err := w.RunOnce(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, queued, "the answer left open whether it runs")
}

func TestSubmitWhenTheQueuesAnswerIsLost(t *testing.T) {
	s, faults, _ := faulty(t, trigger.Options{})
	w, err := trigger.NewWorker(s, returning(nil), nil)
	require.NoError(t, err)
	worked := false
	faults.After = triggertest.On(func(string) error {
		if !worked {
			worked = true
			found, err := w.RunOnce(t.Context())
			assert.True(t, found && err == nil)
			return triggertest.ErrInjected
		}
		return nil
	}, "Queue.Enqueue")
	e, err := s.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "a"})
	require.NoError(t, err, "a worker has it already")
	assert.Equal(t, trigger.StatusCompleted, get(t, s, e.ID).Status)
}

func TestTheMarkIsWrittenThoughTheCallerLeft(t *testing.T) {
	for _, fails := range []bool{true, false} {
		s, faults, _ := faulty(t, trigger.Options{})
		ctx, leave := context.WithCancel(t.Context())
		faults.After = triggertest.On(func(string) error {
			leave()
			if fails {
				return triggertest.ErrInjected
			}
			return nil
		}, "Queue.Enqueue")
		_, err := s.Submit(ctx, "acme", "", trigger.Submission{Instructions: "a"})
		e := only(t, s)
		if fails {
			require.ErrorIs(t, err, trigger.ErrEnqueueFailed)
			assert.Equal(t, trigger.StatusFailed, e.Status)
		} else {
			require.NoError(t, err)
			assert.Equal(t, trigger.StatusReceived, e.Status)
			assert.Equal(t, time.Hour, e.WakeAt.Sub(e.SubmittedAt), "it is known to be queued")
		}
	}
}

func TestRepeatedRequestMendsACrash(t *testing.T) {
	s, faults, _ := faulty(t, trigger.Options{})
	sub := trigger.Submission{Instructions: "a", IdempotencyKey: "k"}
	faults.Before = triggertest.On(func(string) error { panic("crash") }, "Queue.Enqueue")
	assert.Panics(t, func() { _, _ = s.Submit(t.Context(), "acme", "", sub) })

	hook, _ := triggertest.Outage()
	faults.Before = triggertest.On(hook, "Queue.Enqueue")
	e, err := s.Submit(t.Context(), "acme", "", sub)
	require.ErrorIs(t, err, mortise.ErrUnavailable, "it may still run, so this is no ErrEnqueueFailed")
	require.NotErrorIs(t, err, trigger.ErrEnqueueFailed)
	assert.Equal(t, uuid.Nil, e.ID)
	assert.Equal(t, trigger.StatusReceived, only(t, s).Status, "only its creator gives an event up")

	faults.Before = nil
	e, err = s.Submit(t.Context(), "acme", "", sub)
	require.NoError(t, err)
	assert.Equal(t, only(t, s).ID, e.ID)
	assert.Equal(t, time.Hour, only(t, s).WakeAt.Sub(e.SubmittedAt), "the repeated request queued it")
}

func TestSubmitWithoutRandomness(t *testing.T) {
	s, _, _ := faulty(t, trigger.Options{Env: mortise.Env{Rand: iotest.ErrReader(errors.New("no entropy"))}})
	_, err := s.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "a"})
	require.ErrorIs(t, err, mortise.ErrUnavailable)
}
