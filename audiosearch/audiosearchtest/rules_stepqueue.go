package audiosearchtest

import (
	"bytes"
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// goroutine returns the number of the goroutine that calls it.
func goroutine() string {
	buf := make([]byte, 64)
	fields := bytes.Fields(buf[:runtime.Stack(buf, false)])
	return string(fields[1])
}

// step calls ConsumeOne and returns the delivery, nil if there was none.
func (s *subject) step(t *testing.T, v audiosearch.Verdict) *audiosearch.Delivery {
	t.Helper()
	var got []audiosearch.Delivery
	one, err := s.Queue.(audiosearch.StepQueue).ConsumeOne(t.Context(), func(_ context.Context, d audiosearch.Delivery) audiosearch.Verdict {
		got = append(got, d)
		return v
	})
	require.NoError(t, err)
	if !one {
		require.Empty(t, got, "ConsumeOne reported false after it had called handle")
		return nil
	}
	require.Len(t, got, 1, "calls of handle")
	return &got[0]
}

// stepQueueRules are the rules of a Queue that is a StepQueue.
var stepQueueRules = []rule{
	{Rule{"stepqueue/nothing-due", "ConsumeOne reports false if no job was due, and does not call handle."}, needQueue | needStepQueue,
		func(t *testing.T, s *subject) {
			require.Nil(t, s.step(t, done))
			s.enqueue(t, newJob())
			require.NotNil(t, s.step(t, noTime))
			require.Nil(t, s.step(t, done), "the job waits for its retry")
		}},

	{Rule{"stepqueue/one-job", "ConsumeOne takes one job that is due now."}, needQueue | needStepQueue,
		func(t *testing.T, s *subject) {
			want := []audiosearch.Job{s.enqueue(t, newJob()), s.enqueue(t, newJob())}
			first, second := s.step(t, done), s.step(t, done)
			require.NotNil(t, first)
			require.NotNil(t, second)
			require.ElementsMatch(t, want, []audiosearch.Job{first.Job, second.Job})
			require.Equal(t, 1, first.Deliveries)
			require.Nil(t, s.step(t, done))
		}},

	{Rule{"stepqueue/verdicts", "ConsumeOne applies the verdict."}, needQueue | needStepQueue,
		func(t *testing.T, s *subject) {
			j := s.enqueue(t, newJob())
			for i, v := range []audiosearch.Verdict{retry, {}, done} {
				d := s.step(t, v)
				require.NotNil(t, d)
				require.Equal(t, audiosearch.Delivery{Job: j, Deliveries: i + 1}, *d)
			}
			require.Nil(t, s.step(t, done))
		}},

	{Rule{"stepqueue/callers-goroutine", "ConsumeOne calls handle on the caller's goroutine, with a context that carries the caller's values."}, needQueue | needStepQueue,
		func(t *testing.T, s *subject) {
			s.enqueue(t, newJob())
			var handled string
			var value any
			one, err := s.Queue.(audiosearch.StepQueue).ConsumeOne(context.WithValue(t.Context(), contextKey{}, "mine"),
				func(ctx context.Context, _ audiosearch.Delivery) audiosearch.Verdict {
					handled, value = goroutine(), ctx.Value(contextKey{})
					return done
				})
			require.NoError(t, err)
			require.True(t, one)
			require.Equal(t, goroutine(), handled, "goroutine")
			require.Equal(t, "mine", value)
		}},
}
