package queuetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// allFail calls every method of the table, with a lease of it, and requires that each is a failure.
func (s *Subject[J]) allFail(ctx context.Context, t *testing.T, l Lease[J]) {
	t.Helper()
	for _, c := range append([]Call{
		{s.AddName, func(ctx context.Context) error {
			return s.Leases.Add(ctx, s.newJob(), conformance.Moment(1000*time.Hour))
		}},
		{"Claim", func(ctx context.Context) error {
			_, err := s.Leases.Claim(ctx, uuid.New(), conformance.Moment(-time.Hour), conformance.Moment(0), 1)
			return err
		}},
		{"Extend", func(ctx context.Context) error { return s.Leases.Extend(ctx, l, conformance.Moment(2*time.Hour)) }},
		{"Release", func(ctx context.Context) error { return s.Leases.Release(ctx, l, conformance.Moment(2*time.Hour)) }},
		{"Remove", func(ctx context.Context) error { return s.Leases.Remove(ctx, l, false) }},
	}, s.MoreCalls...) {
		s.IsFailure(t, c.Name, c.Do(ctx))
	}
}

// outageRules say what a context that has ended and a failure of the backend look like from outside.
func outageRules[J Job]() []Rule[J] {
	return []Rule[J]{
		{Sentence{"leases/ended-context", "A call whose context has ended returns an error that is none of the sentinels."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				s.Add(t, s.newJob(), 0)
				s.allFail(conformance.Ended(t), t, s.ClaimOne(t, 0, time.Hour))
			}},

		{Sentence{"queue/ended-context", "Enqueue with a context that has ended returns an error that is none of the sentinels; Consume returns nil and hands out nothing."}, NeedQueue,
			func(t *testing.T, s *Subject[J]) {
				s.IsFailure(t, "Enqueue", s.Queue.Enqueue(conformance.Ended(t), s.newJob()))
				s.Enqueue(t, s.newJob())
				handed := false
				require.NoError(t, s.Queue.Consume(conformance.Ended(t), 1, func(context.Context, Delivery[J]) Verdict {
					handed = true
					return done
				}))
				require.False(t, handed, "a job was handed out")
			}},

		{Sentence{"leases/failure", "While the backend fails, every call returns an error that is none of the sentinels, nothing is lost, and afterwards all is as before."}, NeedLeases | NeedBreak,
			func(t *testing.T, s *Subject[J]) {
				waiting := s.Add(t, s.newJob(), time.Hour)
				held := s.Add(t, s.newJob(), 0)
				l := s.ClaimOne(t, 0, 2*time.Hour)
				heal := s.Break(t)
				s.allFail(t.Context(), t, l)
				lost := l
				lost.Token = [16]byte{1}
				s.IsFailure(t, "Extend of a lost lease", s.Leases.Extend(t.Context(), lost, conformance.Moment(0)))
				heal()
				require.Equal(t, waiting, s.ClaimOne(t, time.Hour, 4*time.Hour).Job)
				// Extend may have taken effect although it failed; the calls wrote the same end.
				again := s.ClaimOne(t, 3*time.Hour, 4*time.Hour)
				require.Equal(t, held, again.Job)
				require.NoError(t, s.Leases.Remove(t.Context(), again, false))
			}},

		{Sentence{"queue/failure", "While the backend fails, Enqueue returns an error that is none of the sentinels; Consume waits a passing failure out, and no job is lost."}, NeedQueue | NeedBreak,
			func(t *testing.T, s *Subject[J]) {
				before := s.Enqueue(t, s.newJob())
				heal := s.Break(t)
				d := NewDiary[J](nil)
				c := s.Consume(t, 1, d.Handle)
				s.IsFailure(t, "Enqueue", s.Queue.Enqueue(t.Context(), s.newJob()))
				conformance.Nothing(t, c.ended, "Consume returned instead of waiting the failure out")
				heal()
				d.reach(t, before)
				after := s.Enqueue(t, s.newJob())
				d.reach(t, after)
				c.Stop(t)
			}},
	}
}
