package triggertest_test

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/trigger"
)

// queued returns what makes calls one after the other, on a goroutine of its own. A call
// whose context ends returns, but what it has asked for is done all the same.
func queued() func(ctx context.Context, do func(context.Context) error) error {
	type call struct {
		do     func() error
		result chan error
	}
	calls := make(chan call, 100)
	go func() {
		for c := range calls {
			c.result <- c.do()
		}
	}()
	return func(ctx context.Context, do func(context.Context) error) error {
		conformance.Rest()
		if err := ctx.Err(); err != nil {
			return err
		}
		c := call{func() error { return do(context.WithoutCancel(ctx)) }, make(chan error, 1)}
		calls <- c
		select {
		case err := <-c.result:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// leaveMutants let calls have to do with each other.
var leaveMutants = []broken{
	{name: "finds nothing when its caller leaves", breaks: "store/left-at-any-look keys/left-at-any-look organizations/left-at-any-look",
		mutate: func(m *mutant) { mutate.Leaving(&m.On, mortise.ErrNotFound) }},
	{name: "runs update functions of callers who have left",
		breaks: "store/update-left organizations/update-left keys/update-left",
		mutate: func(m *mutant) {
			run := queued()
			m.On.UpdateEvent = func(
				ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error,
			) error {
				return run(ctx, func(ctx context.Context) error { return m.Trigger.UpdateEvent(ctx, org, id, f) })
			}
			m.On.UpdateOrganization = func(
				ctx context.Context, org string, f func(*trigger.Organization) error,
			) error {
				return run(ctx, func(ctx context.Context) error {
					return m.Trigger.UpdateOrganization(ctx, org, f)
				})
			}
			m.On.UpdateKey = func(
				ctx context.Context, org string, id uuid.UUID, f func(*trigger.APIKey) error,
			) error {
				return run(ctx, func(ctx context.Context) error { return m.Trigger.UpdateKey(ctx, org, id, f) })
			}
		}},
	{name: "reads events of callers who have left", breaks: "store/create-left", mutate: func(m *mutant) {
		run := queued()
		m.On.UpdateEvent = func(
			ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error,
		) error {
			return run(ctx, func(ctx context.Context) error { return m.Trigger.UpdateEvent(ctx, org, id, f) })
		}
		m.On.CreateEvent = func(
			ctx context.Context, e trigger.Event, since time.Time,
		) (stored trigger.Event, created bool, err error) {
			done := make(chan struct{})
			err = run(ctx, func(ctx context.Context) (err error) {
				defer close(done)
				stored, created, err = m.Trigger.CreateEvent(ctx, e, since)
				return err
			})
			if err != nil {
				return trigger.Event{}, false, err
			}
			<-done
			return stored, created, nil
		}
	}},
	{name: "says ErrNotFound when a context has ended meanwhile", breaks: "store/update-left",
		mutate: replace("UpdateEvent", func(m *mutant, ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			err := m.Trigger.UpdateEvent(context.WithoutCancel(ctx), org, id, f)
			if ctx.Err() != nil {
				return mortise.ErrNotFound
			}
			return err
		})},
	{name: "fails all updates of a group if one fails", breaks: "store/one-failure-of-many", mutate: func(m *mutant) {
		var failed atomic.Bool
		m.On.UpdateEvent = func(
			ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error,
		) error {
			e, err := m.Trigger.Event(ctx, org, id)
			if err != nil {
				return err
			}
			func() {
				defer func() {
					if recover() != nil {
						failed.Store(true)
					}
				}()
				if f(&e) != nil {
					failed.Store(true)
				}
			}()
			conformance.Seam() // all of the group have run
			if failed.Load() {
				return errors.New("another call of the group has failed")
			}
			return m.Trigger.UpdateEvent(ctx, org, id, f)
		}
	}},
	{name: "stores an event again that was pruned", breaks: "pruner/beside-update",
		mutate: replace("UpdateEvent", func(m *mutant, ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error) error {
			e, err := m.Trigger.Event(ctx, org, id)
			if err != nil {
				return err
			}
			if err := f(&e); err != nil {
				return err
			}
			conformance.Seam()
			err = m.Trigger.UpdateEvent(ctx, org, id, func(stored *trigger.Event) error {
				*stored = e
				return nil
			})
			if errors.Is(err, mortise.ErrNotFound) {
				_, _, err = m.Trigger.CreateEvent(ctx, e, time.Time{})
			}
			return err
		})},
}
