package trigger_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

var errWork = errors.New("the work failed")

func TestRetriesWithBackoff(t *testing.T) {
	var waits []int
	f := triggertest.New(t, &triggertest.Options{
		Processor: returning(errWork, errWork, nil),
		Worker: trigger.WorkerOptions{Backoff: func(attempt int) time.Duration {
			waits = append(waits, attempt)
			return time.Duration(attempt) * time.Minute
		}},
	})
	e := submit(t, f.Service, "a")
	for attempt := 1; attempt <= 2; attempt++ {
		require.Equal(t, 1, f.Drain(t.Context()))
		now := get(t, f.Service, e.ID)
		assert.Equal(t, trigger.StatusReceived, now.Status)
		assert.Equal(t, attempt, now.Attempts)
		assert.Equal(t, "the work failed", now.LastError)
		f.Advance(time.Duration(attempt)*time.Minute - time.Microsecond)
		require.Zero(t, f.Drain(t.Context()), "not before the backoff is over")
		f.Advance(time.Microsecond)
	}
	require.Equal(t, 1, f.Drain(t.Context()))
	done := get(t, f.Service, e.ID)
	assert.Equal(t, trigger.StatusCompleted, done.Status)
	assert.Equal(t, 3, done.Attempts)
	assert.Equal(t, f.Now(), done.StartedAt)
	assert.Equal(t, "the work failed", done.LastError, "kept")
	assert.Equal(t, []int{1, 2}, waits)
}

func TestDefaultBackoff(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{Processor: returning(errWork), Worker: trigger.WorkerOptions{MaxAttempts: 15}})
	submit(t, f.Service, "a")
	for attempt := 1; attempt < 15; attempt++ {
		require.Equal(t, 1, f.Drain(t.Context()), "attempt %d", attempt)
		most := min(time.Second<<(attempt-1), 10*time.Minute)
		f.Advance(most/2 - time.Microsecond)
		require.Zero(t, f.Drain(t.Context()), "attempt %d comes too soon", attempt+1)
		f.Advance(most/2 + time.Microsecond)
	}
}

func TestGivesUpAfterMaxAttempts(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{Processor: returning(errWork), Worker: trigger.WorkerOptions{MaxAttempts: 3}})
	e := submit(t, f.Service, "a")
	for attempt := 1; attempt <= 3; attempt++ {
		require.Equal(t, 1, f.Drain(t.Context()))
		f.Advance(time.Minute)
	}
	failed := get(t, f.Service, e.ID)
	assert.Equal(t, trigger.StatusFailed, failed.Status, "at the end of the last attempt")
	assert.Equal(t, 3, failed.Attempts)
	assert.False(t, failed.FinishedAt.IsZero())
	f.Advance(time.Hour)
	assert.Zero(t, f.Drain(t.Context()))
}

func TestPermanentError(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{Processor: returning(trigger.Permanent(errWork))})
	e := submit(t, f.Service, "a")
	f.Drain(t.Context())
	failed := get(t, f.Service, e.ID)
	assert.Equal(t, trigger.StatusFailed, failed.Status)
	assert.Equal(t, "the work failed", failed.LastError)
	assert.Equal(t, 1, failed.Attempts)
	require.ErrorIs(t, trigger.Permanent(errWork), errWork)
	require.ErrorIs(t, trigger.RetryAfter(errWork, 0), errWork)
}

func TestRetryAfter(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{
		Processor: returning(trigger.RetryAfter(errWork, time.Hour), trigger.RetryAfter(errWork, -time.Hour), nil),
	})
	e := submit(t, f.Service, "a")
	f.Drain(t.Context())
	f.Advance(time.Hour - time.Microsecond)
	require.Zero(t, f.Drain(t.Context()))
	f.Advance(time.Microsecond)
	require.Equal(t, 2, f.Drain(t.Context()), "a time in the past is now")
	assert.Equal(t, 3, get(t, f.Service, e.ID).Attempts)
}

// TestWaitsAreBounded: no error and no Backoff puts off the next attempt by more than a day, and
// a Backoff below 0, as of a number that has grown too large, is the default one.
func TestWaitsAreBounded(t *testing.T) {
	years := 290 * 365 * 24 * time.Hour
	for name, test := range map[string]struct {
		failure     error
		backoff     time.Duration
		least, most time.Duration
	}{
		"an error":              {trigger.RetryAfter(errWork, years), 0, 24 * time.Hour, 24 * time.Hour},
		"a backoff":             {errWork, years, 24 * time.Hour, 24 * time.Hour},
		"a backoff without end": {errWork, -years, time.Second / 2, time.Second},
	} {
		f := triggertest.New(t, &triggertest.Options{Processor: returning(test.failure),
			Worker: trigger.WorkerOptions{Backoff: func(int) time.Duration { return test.backoff }, MaxAttempts: 2}})
		e := submit(t, f.Service, "a")
		require.Equal(t, 1, f.Drain(t.Context()), name)
		wait := get(t, f.Service, e.ID).DueAt.Sub(f.Now())
		assert.GreaterOrEqual(t, wait, test.least, name)
		assert.LessOrEqual(t, wait, test.most, name)
	}
}

func TestPanicIsAnError(t *testing.T) {
	n := 0
	f := triggertest.New(t, &triggertest.Options{Processor: func(context.Context, trigger.Event) (trigger.Outcome, error) {
		if n++; n == 1 {
			panic("boom")
		}
		return trigger.Outcome{}, nil
	}})
	e := submit(t, f.Service, "a")
	f.Drain(t.Context())
	assert.Contains(t, get(t, f.Service, e.ID).LastError, "boom")
	f.Advance(time.Minute)
	f.Drain(t.Context())
	assert.Equal(t, trigger.StatusCompleted, get(t, f.Service, e.ID).Status)
}

func TestBadOutcomes(t *testing.T) {
	for name, o := range map[string]trigger.Outcome{
		"summary":  {Summary: "\xff"},
		"data":     {Data: json.RawMessage("{")},
		"too long": {Summary: strings.Repeat("s", 101)},
	} {
		f := triggertest.New(t, &triggertest.Options{
			Service:   trigger.Options{MaxBytes: 100},
			Processor: func(context.Context, trigger.Event) (trigger.Outcome, error) { return o, nil },
		})
		e := submit(t, f.Service, "a")
		f.Drain(t.Context())
		failed := get(t, f.Service, e.ID)
		assert.Equal(t, trigger.StatusFailed, failed.Status, name)
		assert.Nil(t, failed.Outcome, name)
		assert.NotEmpty(t, failed.LastError, name)
	}
}

func TestLastErrorIsBoundedText(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{
		Processor: returning(trigger.Permanent(errors.New("x\xff" + strings.Repeat("\u00e9", 5000)))),
	})
	e := submit(t, f.Service, "a")
	f.Drain(t.Context())
	text := get(t, f.Service, e.ID).LastError
	assert.LessOrEqual(t, len(text), 2051)
	assert.True(t, utf8.ValidString(text))
	assert.True(t, strings.HasPrefix(text, "x\uFFFD\u00e9") && strings.HasSuffix(text, "..."))
}

func TestPoisonDoesNotHoldUpOthers(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{Processor: func(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
		switch e.Instructions {
		case "panic":
			panic("poison")
		case "again":
			return trigger.Outcome{}, trigger.RetryAfter(errWork, 0)
		}
		return trigger.Outcome{}, nil
	}})
	for range 20 {
		submit(t, f.Service, "panic")
		submit(t, f.Service, "again")
	}
	good := submit(t, f.Service, "good")
	for range 41 {
		_, err := f.Worker.RunOnce(t.Context())
		require.NoError(t, err)
	}
	assert.Equal(t, trigger.StatusCompleted, get(t, f.Service, good.ID).Status, "one round over the queue is enough")
}

// TestMaxAttemptsAfterCrashes: an event that kills its worker every time is given up in the end.
func TestMaxAttemptsAfterCrashes(t *testing.T) {
	s, faults, clock := faulty(t, trigger.Options{})
	ran := 0
	w, err := trigger.NewWorker(s, func(context.Context, trigger.Event) (trigger.Outcome, error) {
		ran++
		faults.Before = func(string) error { panic("crash") }
		return trigger.Outcome{}, nil
	}, &trigger.WorkerOptions{MaxAttempts: 3})
	require.NoError(t, err)
	e := submit(t, s, "kills its worker")
	for range 3 {
		assert.Panics(t, func() { _, _ = w.RunOnce(t.Context()) })
		faults.Before = nil
		found, err := w.RunOnce(t.Context())
		require.NoError(t, err)
		require.False(t, found, "the dead worker's lease holds")
		clock.Advance(16 * time.Second)
	}
	found, err := w.RunOnce(t.Context())
	require.NoError(t, err)
	require.True(t, found)
	assert.Equal(t, 3, ran, "given up without another attempt")
	failed := get(t, s, e.ID)
	assert.Equal(t, trigger.StatusFailed, failed.Status)
	assert.Equal(t, 3, failed.Attempts)
	assert.Contains(t, failed.LastError, "died")
}

func TestStoreFailsAroundAnAttempt(t *testing.T) {
	ran := 0
	var f *triggertest.Fake
	heal := func() {}
	f = triggertest.New(t, &triggertest.Options{Processor: func(context.Context, trigger.Event) (trigger.Outcome, error) {
		if ran++; ran == 1 {
			heal = f.Break(triggertest.StorePart)
		}
		return trigger.Outcome{}, nil
	}})
	e := submit(t, f.Service, "a")
	early := f.Break(triggertest.StorePart)
	require.Equal(t, 1, f.Drain(t.Context()))
	require.Zero(t, ran, "an attempt that cannot be counted does not run")
	early()
	f.Advance(time.Second)
	require.Equal(t, 1, f.Drain(t.Context()))
	heal()
	assert.Equal(t, trigger.StatusProcessing, get(t, f.Service, e.ID).Status, "the result could not be written")
	f.Advance(time.Second)
	require.Equal(t, 1, f.Drain(t.Context()))
	assert.Equal(t, trigger.StatusCompleted, get(t, f.Service, e.ID).Status)
	assert.Equal(t, 2, ran)
}
