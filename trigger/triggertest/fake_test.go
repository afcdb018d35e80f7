package triggertest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

func TestFake(t *testing.T) {
	f := triggertest.New(t, nil)
	assert.Zero(t, f.Drain(t.Context()))
	start := f.Now()
	for _, org := range []string{"b", "a", "b"} {
		_, err := f.Submit(t.Context(), org, "", trigger.Submission{Instructions: org})
		require.NoError(t, err)
		f.Advance(time.Second)
	}
	assert.Equal(t, start.Add(3*time.Second), f.Now())
	var orgs []string
	for _, e := range f.History() {
		orgs = append(orgs, e.Organization)
		assert.Equal(t, trigger.StatusReceived, e.Status)
	}
	assert.Equal(t, []string{"b", "a", "b"}, orgs, "oldest first")
	assert.Equal(t, 3, f.Drain(t.Context()))
	for _, e := range f.History() {
		assert.Equal(t, trigger.StatusCompleted, e.Status)
		assert.Equal(t, f.Now(), e.FinishedAt)
	}
	observed := f.Observations()
	assert.Len(t, observed, 9)
	observed[0].Kind = "changed"
	assert.NotEqual(t, observed[0], f.Observations()[0], "a copy")
}

func TestFakeKeepsTheHostsSettings(t *testing.T) {
	heard := 0
	f := triggertest.New(t, &triggertest.Options{
		Processor: func(context.Context, trigger.Event) (trigger.Outcome, error) {
			return trigger.Outcome{}, errors.New("no")
		},
		Worker:  trigger.WorkerOptions{MaxAttempts: 1},
		Service: trigger.Options{MaxBytes: 1, Env: mortise.Env{Observer: func(context.Context, mortise.Observation) { heard++ }}},
	})
	_, err := f.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "ab"})
	require.ErrorAs(t, err, new(*mortise.ValidationError))
	_, err = f.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "a"})
	require.NoError(t, err)
	f.Drain(t.Context())
	assert.Equal(t, trigger.StatusFailed, f.History()[0].Status)
	assert.Equal(t, len(f.Observations()), heard)
}

func TestBreak(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{SeparateQueue: true})
	submit := func() error {
		_, err := f.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "a"})
		return err
	}
	first, second := f.Break(triggertest.QueuePart), f.Break(triggertest.QueuePart)
	require.ErrorIs(t, submit(), trigger.ErrEnqueueFailed)
	first()
	first()
	require.ErrorIs(t, submit(), trigger.ErrEnqueueFailed, "broken twice, healed once")
	second()
	require.NoError(t, submit())
	heal := f.Break(triggertest.QueuePart)
	assert.Zero(t, f.Drain(t.Context()))
	heal()
	assert.Equal(t, 1, f.Drain(t.Context()))

	f.Break(triggertest.StorePart)
	require.ErrorIs(t, submit(), mortise.ErrUnavailable)
	assert.Len(t, f.History(), 3, "a broken fake can be looked at")
}

func TestDrainStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := triggertest.New(t, &triggertest.Options{Processor: func(context.Context, trigger.Event) (trigger.Outcome, error) {
		cancel()
		return trigger.Outcome{}, trigger.RetryAfter(errors.New("again"), 0)
	}})
	_, err := f.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "a"})
	require.NoError(t, err)
	assert.Equal(t, 1, f.Drain(ctx))
	assert.Zero(t, f.Drain(ctx))
}

func TestFakeIsSafeForConcurrentUse(t *testing.T) {
	f := triggertest.New(t, nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				heal := f.Break(triggertest.APIKeysPart)
				_, err := f.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "a"})
				assert.NoError(t, err)
				f.Advance(time.Millisecond)
				f.Drain(t.Context())
				f.History()
				heal()
			}
		})
	}
	wg.Wait()
	f.Drain(t.Context())
	assert.Len(t, f.History(), 400)
	assert.False(t, slices.ContainsFunc(f.History(), func(e trigger.Event) bool { return e.Status != trigger.StatusCompleted }))
}

func TestFakeGoesByTheClockItIsGiven(t *testing.T) {
	clock := new(triggertest.Clock)
	clock.Advance(time.Hour)
	f := triggertest.New(t, &triggertest.Options{Clock: clock})
	assert.Same(t, clock, f.Clock)
	clock.Advance(time.Minute)
	assert.Equal(t, clock.Now(), f.Now())
	f.Advance(time.Minute)
	assert.Equal(t, clock.Now(), f.Now())
	assert.NotSame(t, triggertest.New(t, nil).Clock, triggertest.New(t, nil).Clock, "by default each has its own")
}
