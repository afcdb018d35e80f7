package triggertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/trigger"
)

func (s *subject) transact(ctx context.Context, do func(ctx context.Context) error) error {
	return s.Store.(mortise.Transactor).Transact(ctx, orgA, do)
}

// attempted changes an event under the context of a transaction.
func (s *subject) attempted(ctx context.Context, e trigger.Event) (attempts int, err error) {
	err = s.Store.UpdateEvent(ctx, e.Organization, e.ID, func(e *trigger.Event) error {
		e.Attempts++
		attempts = e.Attempts
		return nil
	})
	return attempts, err
}

// transactRules are the rules of mortise.Transactor.
var transactRules = []rule{
	{Rule{"transactor/commits", "Transact calls do once and commits what the calls under its context have written; other callers see nothing of it before."}, needTransactor,
		func(t *testing.T, s *subject) {
			e, added := s.create(t, plainEvent(orgA, 0)), plainEvent(orgB, 0)
			type key struct{}
			require.NoError(t, s.transact(context.WithValue(t.Context(), key{}, "value"), func(ctx context.Context) error {
				require.Equal(t, "value", ctx.Value(key{}), "a value of the caller's context")
				if _, err := s.attempted(ctx, e); err != nil {
					return err
				}
				_, _, err := s.Store.CreateEvent(ctx, added, window())
				require.NoError(t, err)
				own, err := s.Store.Event(ctx, orgA, e.ID)
				require.NoError(t, err)
				require.Equal(t, 1, own.Attempts, "attempts as the transaction sees them")
				sameEvent(t, e, s.get(t, e))
				_, err = s.Store.Event(t.Context(), orgB, added.ID)
				require.ErrorIs(t, err, mortise.ErrNotFound, "an event that is not committed, for another caller")
				return nil
			}))
			e.Attempts = 1
			sameEvent(t, e, s.get(t, e))
			sameEvent(t, added, s.get(t, added))
		}},

	{Rule{"transactor/rolls-back", "If do returns an error, or panics, Transact stores nothing, and errors.Is finds the error; the panic goes on."}, needTransactor,
		func(t *testing.T, s *subject) {
			e, added := s.create(t, plainEvent(orgA, 0)), plainEvent(orgA, 0)
			write := func(ctx context.Context) {
				_, err := s.attempted(ctx, e)
				require.NoError(t, err)
				_, _, err = s.Store.CreateEvent(ctx, added, window())
				require.NoError(t, err)
			}
			unchanged := func() {
				t.Helper()
				sameEvent(t, e, s.get(t, e))
				_, err := s.Store.Event(t.Context(), orgA, added.ID)
				require.ErrorIs(t, err, mortise.ErrNotFound)
			}
			require.ErrorIs(t, s.transact(t.Context(), func(ctx context.Context) error { write(ctx); return errRefused }), errRefused)
			unchanged()
			require.Panics(t, func() {
				_ = s.transact(t.Context(), func(ctx context.Context) error {
					write(ctx)
					panic("of a rule of triggertest; nothing is wrong")
				})
			})
			unchanged()
			require.NoError(t, s.transact(t.Context(), func(ctx context.Context) error { write(ctx); return nil }), "a transaction after those")
		}},

	{Rule{"transactor/jobs", "Jobs that UpdateEventAndJobs removes and adds under the context of Transact are part of the transaction."}, needTransactor | needTx,
		func(t *testing.T, s *subject) {
			h := s.held(t, orgA)
			next := h.event
			next.Generation = 1
			end := func(ctx context.Context) error { return s.endBy(ctx, h, fail, false, next.Job()) }
			require.ErrorIs(t, s.transact(t.Context(), func(ctx context.Context) error { return errors.Join(end(ctx), errRefused) }), errRefused)
			s.isHeld(t, h.lease)
			s.hasJobs(t)
			require.NoError(t, s.transact(t.Context(), end))
			require.ErrorIs(t, s.Leases.Extend(t.Context(), h.lease, time.Hour), mortise.ErrLeaseLost)
			s.hasJobs(t, next)
		}},

	{Rule{"transactor/ended-context", "If the context of Transact has ended, do is not called; if it ends before do returns, nothing is stored. The error is none of the sentinels."}, needTransactor,
		func(t *testing.T, s *subject) {
			e := s.create(t, plainEvent(orgA, 0))
			isFailure(t, "Transact whose context has ended", s.transact(conformance.Ended(t), func(context.Context) error {
				require.FailNow(t, "do was called")
				return nil
			}))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			isFailure(t, "Transact whose context has ended", s.transact(ctx, func(ctx context.Context) error {
				_, err := s.attempted(ctx, e)
				require.NoError(t, err)
				cancel()
				<-ctx.Done()
				return nil
			}))
			sameEvent(t, e, s.get(t, e))
		}},

	{Rule{"transactor/holds-events", "An event that a transaction has changed is changed by no other call until the transaction has ended."}, needTransactor,
		func(t *testing.T, s *subject) {
			const n = 8
			first, second := s.create(t, plainEvent(orgA, 0)), s.create(t, plainEvent(orgA, 0))
			var errs [n]error
			conformance.Together(n, func(i int) {
				errs[i] = s.transact(t.Context(), func(ctx context.Context) error {
					attempts, err := s.attempted(ctx, first)
					if err != nil {
						return err
					}
					return s.Store.UpdateEvent(ctx, orgA, second.ID, func(e *trigger.Event) error {
						if e.Attempts != attempts-1 {
							e.LastError = "out of order"
						}
						e.Attempts = attempts
						return nil
					})
				})
			})
			conformance.NoErrors(t, errs[:])
			first.Attempts, second.Attempts = n, n
			sameEvent(t, first, s.get(t, first))
			sameEvent(t, second, s.get(t, second))
		}},

	{Rule{"transactor/nested", "Transact within a transaction is an error, and leaves the transaction as it is."}, needTransactor,
		func(t *testing.T, s *subject) {
			e := s.create(t, plainEvent(orgA, 0))
			require.NoError(t, s.transact(t.Context(), func(ctx context.Context) error {
				isFailure(t, "Transact within a transaction", s.transact(ctx, func(context.Context) error {
					require.FailNow(t, "do was called")
					return nil
				}))
				_, err := s.attempted(ctx, e)
				return err
			}))
			require.Equal(t, 1, s.get(t, e).Attempts)
		}},

	{Rule{"transactor/durable", "What Transact has committed outlives the process."}, needTransactor | needReopen,
		func(t *testing.T, s *subject) {
			e := s.create(t, plainEvent(orgA, 0))
			require.NoError(t, s.transact(t.Context(), func(ctx context.Context) error {
				_, err := s.attempted(ctx, e)
				return err
			}))
			s.reopen(t)
			require.Equal(t, 1, s.get(t, e).Attempts)
		}},
}

// transactCall calls Transact.
func (s *subject) transactCall(id uuid.UUID) call {
	return conformance.CallOf("Transact", s.Store.(mortise.Transactor).Transact, orgA, func(ctx context.Context) error {
		return s.Store.UpdateEvent(ctx, orgA, id, func(*trigger.Event) error { return nil })
	})
}
