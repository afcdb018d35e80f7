package queuetest

import (
	"bytes"
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// goroutine returns the number of the goroutine that calls it.
func goroutine() string {
	buf := make([]byte, 64)
	fields := bytes.Fields(buf[:runtime.Stack(buf, false)])
	return string(fields[1])
}

// step calls ConsumeOne and returns the delivery, nil if there was none.
func (s *Subject[J]) step(t *testing.T, v Verdict) *Delivery[J] {
	t.Helper()
	var got []Delivery[J]
	one, err := s.Queue.ConsumeOne(t.Context(), func(_ context.Context, d Delivery[J]) Verdict {
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
func stepQueueRules[J Job]() []Rule[J] {
	return []Rule[J]{
		{Sentence{"stepqueue/nothing-due", "ConsumeOne reports false if no job was due, and does not call handle."}, NeedQueue | NeedStepQueue,
			func(t *testing.T, s *Subject[J]) {
				require.Nil(t, s.step(t, done))
				s.Enqueue(t, s.newJob())
				require.NotNil(t, s.step(t, noTime))
				require.Nil(t, s.step(t, done), "the job waits for its retry")
			}},

		{Sentence{"stepqueue/one-job", "ConsumeOne takes one job that is due now."}, NeedQueue | NeedStepQueue,
			func(t *testing.T, s *Subject[J]) {
				want := []J{s.Enqueue(t, s.newJob()), s.Enqueue(t, s.newJob())}
				first, second := s.step(t, done), s.step(t, done)
				require.NotNil(t, first)
				require.NotNil(t, second)
				require.ElementsMatch(t, want, []J{first.Job, second.Job})
				require.Equal(t, 1, first.Deliveries)
				require.Nil(t, s.step(t, done))
			}},

		{Sentence{"stepqueue/verdicts", "ConsumeOne applies the verdict."}, NeedQueue | NeedStepQueue,
			func(t *testing.T, s *Subject[J]) {
				for _, last := range []Verdict{done, dead} {
					j := s.Enqueue(t, s.newJob())
					for i, v := range []Verdict{retry, {}, last} {
						d := s.step(t, v)
						require.NotNil(t, d)
						require.Equal(t, Delivery[J]{Job: j, Deliveries: i + 1}, *d)
					}
					require.Nil(t, s.step(t, done))
				}
			}},

		{Sentence{"stepqueue/callers-goroutine", "ConsumeOne calls handle on the caller's goroutine, with a context that carries the caller's values."}, NeedQueue | NeedStepQueue,
			func(t *testing.T, s *Subject[J]) {
				s.Enqueue(t, s.newJob())
				var handled string
				var value any
				one, err := s.Queue.ConsumeOne(context.WithValue(t.Context(), contextKey{}, "mine"),
					func(ctx context.Context, _ Delivery[J]) Verdict {
						handled, value = goroutine(), ctx.Value(contextKey{})
						return done
					})
				require.NoError(t, err)
				require.True(t, one)
				require.Equal(t, goroutine(), handled, "goroutine")
				require.Equal(t, "mine", value)
			}},
	}
}
