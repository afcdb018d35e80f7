package sqlite

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/vault"
)

// TestLeaveDeletion: a caller whose context ends while the writer is at their call has
// the result for themselves. The race detector sees to it: nothing orders the end of the
// call and what the writer does.
func TestLeaveDeletion(t *testing.T) {
	db, s := openVault(t)
	fillVault(t, s, "acme", "v2")
	fillVault(t, s, "goes", "v1")
	_, err := s.MarkVaultDeleted(t.Context(), "acme", "v2", someTime, vault.AuditEvent{})
	require.NoError(t, err)
	_, err = s.MarkDeleted(t.Context(), "goes", someTime, vault.AuditEvent{})
	require.NoError(t, err)
	furnishOrg(t, db, "goes", 100, 10)
	for _, mark := range []func() error{
		func() error { _, err := (db.audiosearch).MarkDeleted(t.Context(), "goes", someTime); return err },
		func() error {
			_, err := (db.authmgmt).MarkDeleted(t.Context(), "goes", someTime, authmgmt.AuditEvent{})
			return err
		},
		func() error { _, err := (db.trigger).MarkDeleted(t.Context(), "goes", someTime); return err },
	} {
		require.NoError(t, mark())
	}
	step := func(do func(ctx context.Context) (int, bool, error)) func(ctx context.Context) (any, error) {
		return func(ctx context.Context) (any, error) {
			_, more, err := do(ctx)
			return more, err
		}
	}
	for name, do := range map[string]func(ctx context.Context) (any, error){
		"vault.MarkDeleted": func(ctx context.Context) (any, error) {
			return s.MarkDeleted(ctx, "goes", someTime, vault.AuditEvent{})
		},
		"vault.MarkVaultDeleted": func(ctx context.Context) (any, error) {
			return s.MarkVaultDeleted(ctx, "acme", "v2", someTime, vault.AuditEvent{})
		},
		"vault.RemoveDeleted":      step(func(ctx context.Context) (int, bool, error) { return s.RemoveDeleted(ctx, "goes", 1) }),
		"vault.RemoveDeletedVault": step(func(ctx context.Context) (int, bool, error) { return s.RemoveDeletedVault(ctx, "acme", "v2", 1) }),
		"audiosearch.MarkDeleted": func(ctx context.Context) (any, error) {
			return (db.audiosearch).MarkDeleted(ctx, "goes", someTime)
		},
		"audiosearch.RemoveDeleted": step(func(ctx context.Context) (int, bool, error) { return (db.audiosearch).RemoveDeleted(ctx, "goes", 1) }),
		"authmgmt.MarkDeleted": func(ctx context.Context) (any, error) {
			return (db.authmgmt).MarkDeleted(ctx, "goes", someTime, authmgmt.AuditEvent{})
		},
		"authmgmt.RemoveDeleted": step(func(ctx context.Context) (int, bool, error) { return (db.authmgmt).RemoveDeleted(ctx, "goes", 1) }),
		"trigger.MarkDeleted":    func(ctx context.Context) (any, error) { return (db.trigger).MarkDeleted(ctx, "goes", someTime) },
		"trigger.RemoveDeleted":  step(func(ctx context.Context) (int, bool, error) { return (db.trigger).RemoveDeleted(ctx, "goes", 1) }),
	} {
		left := 0
		for range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			ended := ctx.Done()
			entered, leave := make(chan struct{}), make(chan struct{})
			var wg sync.WaitGroup
			hold := func(f func()) {
				assert.NoError(t, db.writer.write(t.Context(), func(*tx) error { f(); return nil }))
			}
			wg.Go(func() {
				hold(func() {
					close(entered)
					<-leave
					// What comes after it does not order it.
					time.AfterFunc(5*time.Millisecond, cancel)
				})
			})
			<-entered
			wg.Go(func() {
				if result, err := do(ctx); err != nil {
					left++
					assert.ErrorIs(t, err, context.Canceled)
					assert.Zero(t, result)
				}
			})
			require.Eventually(t, func() bool { return len(db.writer.ops) == 1 }, 30*time.Second, time.Millisecond)
			wg.Go(func() { hold(func() { <-ended }) }) // in the same transaction, behind it
			require.Eventually(t, func() bool { return len(db.writer.ops) == 2 }, 30*time.Second, time.Millisecond)
			close(leave)
			wg.Wait()
			cancel()
		}
		t.Log(name, left, "calls were left")
	}
}
