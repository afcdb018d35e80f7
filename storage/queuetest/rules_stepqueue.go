package queuetest

import (
	"bytes"
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
)

// goroutine returns the number of the goroutine that calls it.
func goroutine() string {
	buf := make([]byte, 64)
	fields := bytes.Fields(buf[:runtime.Stack(buf, false)])
	return string(fields[1])
}

// step calls ConsumeOne and returns the delivery, nil if there was none.
func (s *subject) step(t *testing.T, v mortise.Verdict, kinds ...string) *mortise.Delivery {
	t.Helper()
	if len(kinds) == 0 {
		kinds = []string{kindA}
	}
	var got []mortise.Delivery
	one, err := s.Queue.(mortise.StepQueue).ConsumeOne(t.Context(), kinds,
		func(_ context.Context, d mortise.Delivery) mortise.Verdict {
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

const needSteps = needQueue | needStepQueue

// stepQueueRules are the rules of a Queue that is a StepQueue.
var stepQueueRules = []rule{
	{Rule{"stepqueue/nothing-due", "ConsumeOne reports false if no job was due, and does not " +
		"call handle."},
		needSteps, func(t *testing.T, s *subject) {
			require.Nil(t, s.step(t, done))
			s.enqueue(t, newJob())
			require.NotNil(t, s.step(t, noTime))
			require.Nil(t, s.step(t, done), "the job waits for its retry")
		}},

	{Rule{"stepqueue/one-job", "ConsumeOne takes one job that is due now."},
		needSteps, func(t *testing.T, s *subject) {
			want := names(s.enqueue(t, newJob()), s.enqueue(t, newJob()))
			first, second := s.step(t, done), s.step(t, done)
			require.NotNil(t, first)
			require.NotNil(t, second)
			require.ElementsMatch(t, want, names(first.Job, second.Job))
			require.Equal(t, 1, first.Deliveries)
			require.Nil(t, s.step(t, done))
		}},

	{Rule{"stepqueue/kinds", "ConsumeOne takes a job of the kinds, and without kinds it " +
		"returns an error."},
		needSteps, func(t *testing.T, s *subject) {
			b := s.enqueue(t, jobOf(kindB, orgA))
			_, err := s.Queue.(mortise.StepQueue).ConsumeOne(t.Context(), nil,
				func(context.Context, mortise.Delivery) mortise.Verdict { return done })
			require.Error(t, err)
			require.Nil(t, s.step(t, done, kindA, "kind-c"))
			d := s.step(t, done, kindA, kindB)
			require.NotNil(t, d)
			require.Equal(t, b.String(), d.Job.String())
		}},

	{Rule{"stepqueue/verdicts", "ConsumeOne applies the verdict."},
		needSteps, func(t *testing.T, s *subject) {
			for _, last := range []mortise.Verdict{done, dead} {
				j := s.enqueue(t, newJob())
				for i, v := range []mortise.Verdict{retry, {}, last} {
					d := s.step(t, v)
					require.NotNil(t, d)
					require.Equal(t, j.String(), d.Job.String())
					require.Equal(t, i+1, d.Deliveries)
				}
				require.Nil(t, s.step(t, done))
			}
		}},

	{Rule{"stepqueue/callers-goroutine", "ConsumeOne calls handle on the caller's goroutine, " +
		"with a context that carries the caller's values."},
		needSteps, func(t *testing.T, s *subject) {
			s.enqueue(t, newJob())
			var handled string
			var value any
			ctx := context.WithValue(t.Context(), contextKey{}, "mine")
			one, err := s.Queue.(mortise.StepQueue).ConsumeOne(ctx, []string{kindA},
				func(ctx context.Context, _ mortise.Delivery) mortise.Verdict {
					handled, value = goroutine(), ctx.Value(contextKey{})
					return done
				})
			require.NoError(t, err)
			require.True(t, one)
			require.Equal(t, goroutine(), handled, "goroutine")
			require.Equal(t, "mine", value)
		}},
}
