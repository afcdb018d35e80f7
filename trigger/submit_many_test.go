package trigger_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

func TestSubmitMany(t *testing.T) {
	bothQueues(t, func(t *testing.T, o triggertest.Options) {
		o.Processor, o.Service.MaxWaiting = returning(nil), 1500
		f := triggertest.New(t, &o)
		subs := make([]trigger.Submission, trigger.MaxSubmissions)
		for i := range subs {
			subs[i].Instructions = strings.Repeat("a", i+1)
		}
		subs[1].NotBefore = f.Now().Add(time.Hour)
		events, err := f.SubmitMany(t.Context(), "acme", "ann", subs)
		require.NoError(t, err)
		require.Len(t, events, len(subs))
		for _, i := range []int{0, 1, 999} {
			assert.Equal(t, subs[i].Instructions, events[i].Instructions)
			assert.Equal(t, events[i], get(t, f.Service, events[i].ID))
			assert.EqualValues(t, "ann", events[i].Actor)
			assert.Equal(t, "api", events[i].Source)
		}
		_, err = f.SubmitMany(t.Context(), "acme", "", subs[:501])
		require.ErrorIs(t, err, trigger.ErrTooManyWaiting, "there is room for 500")
		assert.Len(t, f.History(), 1000, "all or none")
		assert.Equal(t, 999, f.Drain(t.Context()))
		f.Advance(time.Hour + time.Microsecond)
		assert.Equal(t, 1, f.Drain(t.Context()))
		empty, err := f.SubmitMany(t.Context(), "acme", "", nil)
		require.NoError(t, err)
		assert.Empty(t, empty)
	})
}

func TestSubmitManyRefuses(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{Service: trigger.Options{MaxBytes: 100}})
	long := strings.Repeat("a", 100)
	for want, subs := range map[string][]trigger.Submission{
		"submissions":                    make([]trigger.Submission, 1001),
		"submissions[1].instructions":    {{Instructions: "a"}, {}},
		"submissions[0].idempotency_key": {{Instructions: "a", IdempotencyKey: "k"}},
	} {
		var invalid *mortise.ValidationError
		_, err := f.SubmitMany(t.Context(), "acme", "", subs)
		require.ErrorAs(t, err, &invalid)
		assert.Equal(t, want, invalid.Problems[0].Path.String())
	}
	large := make([]trigger.Submission, 17)
	for i := range large {
		large[i].Instructions = long
	}
	large[0].Instructions, large[0].Context = "a", json.RawMessage(`{"a":"`+strings.Repeat("a", 91)+`"}`)
	_, err := f.SubmitMany(t.Context(), "acme", "", large)
	require.ErrorContains(t, err, "1700 bytes")
	f.Break(triggertest.StorePart)
	_, err = f.SubmitMany(t.Context(), "acme", "", large[:2])
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	assert.Empty(t, f.History())
}

// TestSubmitManyWhileTheQueueFails: events whose jobs a queue elsewhere refuses are accepted, and
// the sweeper brings them.
func TestSubmitManyWhileTheQueueFails(t *testing.T) {
	s, faults, clock := faulty(t, trigger.Options{})
	faults.Before = triggertest.On(func(string) error { return context.DeadlineExceeded }, "Queue.Enqueue")
	_, err := s.SubmitMany(t.Context(), "acme", "", []trigger.Submission{{Instructions: "a"}, {Instructions: "b"}})
	require.NoError(t, err)
	faults.Before = nil
	w, err := trigger.NewSweeper(s, nil)
	require.NoError(t, err)
	clock.Advance(time.Minute)
	queued, err := w.RunOnce(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 2, queued)
}

// TestSubmitManyWithoutABound: with a MaxBytes that bounds nothing, SubmitMany overflows nothing.
func TestSubmitManyWithoutABound(t *testing.T) {
	db := openMemory(t)
	for _, most := range []int{math.MaxInt, math.MaxInt / 8} {
		s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil)},
			&trigger.Options{MaxBytes: most, Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
		require.NoError(t, err)
		sub := trigger.Submission{Instructions: "a"}
		_, err = s.Submit(t.Context(), "acme", "", sub)
		require.NoError(t, err)
		_, err = s.SubmitMany(t.Context(), "acme", "", []trigger.Submission{sub})
		require.NoError(t, err)
	}
}
