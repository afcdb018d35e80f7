package audiosearch_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// TestRetryAfter: a scorer says when the next attempt begins.
func TestRetryAfter(t *testing.T) {
	const backoff = 7 * time.Second
	hour := sound.RetryAfter(errBroken, time.Hour)
	minute := sound.RetryAfter(errBroken, time.Minute)
	for name, test := range map[string]struct {
		err  error
		wait time.Duration
	}{
		"not said":     {errBroken, backoff},
		"in an hour":   {hour, time.Hour},
		"wrapped":      {fmt.Errorf("ask the model: %w", minute), time.Minute},
		"a sentinel":   {sound.RetryAfter(mortise.ErrUnavailable, time.Minute), time.Minute},
		"at once":      {sound.RetryAfter(errBroken, 0), 0},
		"in the past":  {sound.RetryAfter(errBroken, -time.Hour), 0},
		"the least":    {sound.RetryAfter(errBroken, math.MinInt64), 0},
		"for ever":     {sound.RetryAfter(errBroken, math.MaxInt64), 24 * time.Hour},
		"the outer":    {sound.RetryAfter(hour, time.Minute), time.Minute},
		"less than us": {sound.RetryAfter(errBroken, time.Nanosecond), 0},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now().UTC().Truncate(time.Microsecond)
			r := newRig(t, func(o *audiosearch.Options, w *audiosearch.WorkerOptions) {
				o.Now = func() time.Time { return now }
				w.Backoff = func(int) time.Duration { return backoff }
			})
			r.video("a", 5000, nil, nil)
			hook := func(context.Context) error { return test.err }
			r.scorer.hook.Store(&hook)
			id := r.start(audiosearch.Query{Class: loud})
			r.drain(1)
			run := r.results(id)
			assert.Equal(t, []any{audiosearch.StateQueued, 1}, []any{run.State, run.Attempts})
			assert.Equal(t, now.Add(test.wait), run.DueAt)
			if test.wait > 0 {
				more, err := r.worker.RunOnce(t.Context())
				require.NoError(t, err)
				assert.False(t, more, "the job is due when the run is")
			}
		})
	}
}

// TestRetryAfterEnds: what is permanent as well, or fails too often, ends the run.
func TestRetryAfterEnds(t *testing.T) {
	for name, test := range map[string]struct {
		err      error
		attempts int
	}{
		"permanent outside": {sound.Permanent(sound.RetryAfter(errBroken, time.Hour)), 1},
		"permanent inside":  {sound.RetryAfter(sound.Permanent(errBroken), time.Hour), 1},
		"each time":         {sound.RetryAfter(errBroken, 0), 8},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.video("a", 5000, nil, nil)
			hook := func(context.Context) error { return test.err }
			r.scorer.hook.Store(&hook)
			run := r.search(audiosearch.Query{Class: loud})
			assert.Equal(t, audiosearch.InternalError, run.Termination)
			assert.Equal(t, test.attempts, run.Attempts)
		})
	}
}
