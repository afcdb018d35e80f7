package triggertest_test

import (
	"context"
	"errors"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// transacting replaces Transact.
func transacting(f func(m *mutant, ctx context.Context, do func(ctx context.Context) error) error) func(*mutant) {
	return replace("Transact", func(m *mutant, ctx context.Context, _ string, do func(ctx context.Context) error) error {
		return f(m, ctx, do)
	})
}

// transactMutants are wrong about transactions of their own.
var transactMutants = []broken{
	{name: "has no transaction", breaks: "transactor/commits transactor/rolls-back transactor/jobs transactor/holds-events transactor/nested", mutate: both(
		transacting(func(_ *mutant, ctx context.Context, do func(ctx context.Context) error) error { return do(ctx) }),
		around(func(_ *mutant, c *mutate.Call) {
			c.Go()
			conformance.Seam()
		}, "UpdateEvent"),
	)},
	{name: "commits after an error of do", breaks: "transactor/rolls-back transactor/jobs",
		mutate: transacting(func(m *mutant, ctx context.Context, do func(ctx context.Context) error) error {
			var err error
			return errors.Join(m.Trigger.Transact(ctx, "", func(ctx context.Context) error { err = do(ctx); return nil }), err)
		})},
	{name: "commits after a panic of do", breaks: "transactor/rolls-back",
		mutate: transacting(func(m *mutant, ctx context.Context, do func(ctx context.Context) error) error {
			var panicked any
			err := m.Trigger.Transact(ctx, "", func(ctx context.Context) error {
				defer func() { panicked = recover() }()
				return do(ctx)
			})
			if panicked != nil {
				panic(panicked)
			}
			return err
		})},
	{name: "swallows a panic of do", breaks: "transactor/rolls-back",
		mutate: transacting(func(m *mutant, ctx context.Context, do func(ctx context.Context) error) (err error) {
			defer func() {
				if recover() != nil {
					err = errBroken
				}
			}()
			return m.Trigger.Transact(ctx, "", do)
		})},
	{name: "returns errors of its own", breaks: "transactor/rolls-back transactor/jobs",
		mutate: transacting(func(m *mutant, ctx context.Context, do func(ctx context.Context) error) error {
			if m.Trigger.Transact(ctx, "", do) != nil {
				return errBroken
			}
			return nil
		})},
	{name: "commits nothing", breaks: "transactor/commits transactor/jobs transactor/holds-events transactor/durable",
		mutate: transacting(func(m *mutant, ctx context.Context, do func(ctx context.Context) error) error {
			rolledBack := errors.New("rolled back")
			err := m.Trigger.Transact(ctx, "", func(ctx context.Context) error { return errors.Join(do(ctx), rolledBack) })
			if err != nil && err.Error() == rolledBack.Error() {
				return nil
			}
			return err
		})},
	{name: "calls do again after the commit", breaks: "transactor/commits transactor/holds-events transactor/durable",
		mutate: transacting(func(m *mutant, ctx context.Context, do func(ctx context.Context) error) error {
			if err := m.Trigger.Transact(ctx, "", do); err != nil {
				return err
			}
			return m.Trigger.Transact(ctx, "", do)
		})},
	{name: "gives do another context", breaks: "transactor/commits",
		mutate: transacting(func(m *mutant, ctx context.Context, do func(ctx context.Context) error) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return m.Trigger.Transact(bg, "", do)
		})},
	{name: "commits although the context has ended", breaks: "transactor/ended-context",
		mutate: transacting(func(m *mutant, ctx context.Context, do func(ctx context.Context) error) error {
			return m.Trigger.Transact(context.WithoutCancel(ctx), "", func(inner context.Context) error {
				both, cancel := context.WithCancelCause(inner)
				defer context.AfterFunc(ctx, func() { cancel(ctx.Err()) })()
				return do(both)
			})
		})},
	{name: "joins the transaction that is there", breaks: "transactor/nested",
		mutate: transacting(func(m *mutant, ctx context.Context, do func(ctx context.Context) error) error {
			if err := m.Trigger.Transact(ctx, "", func(context.Context) error { return nil }); err != nil && ctx.Err() == nil {
				return do(ctx)
			}
			return m.Trigger.Transact(ctx, "", do)
		})},
	{name: "forgets transactions", breaks: "transactor/durable", reopen: afresh, mutate: func(*mutant) {}},
}
