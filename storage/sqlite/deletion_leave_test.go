package sqlite_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/vault"
)

// TestLeaveDeletion: a caller whose context ends while the writer is at their call has
// the result for themselves. The race detector sees to it: nothing orders the end of the
// call and what the writer does.
func TestLeaveDeletion(t *testing.T) {
	db, ctx := openAt(t, filetest.EmptyFile(t), nil), t.Context()
	tokens, auth, events, sounds := db.Vault().Store, db.AuthMgmt().Store, db.Trigger().Store, db.AudioSearch().Store
	fillVault(t, db, "acme")
	_, err := tokens.MarkVaultDeleted(ctx, "acme", "v1", filetest.SomeTime, vault.AuditEvent{})
	require.NoError(t, err)
	for _, d := range deletions {
		d.fill(t, db, "goes")
		require.NoError(t, d.mark(ctx, db, "goes", "ops"))
	}
	step := func(do func(ctx context.Context) (int, bool, error)) func(ctx context.Context) (any, error) {
		return func(ctx context.Context) (any, error) {
			_, more, err := do(ctx)
			return more, err
		}
	}
	for name, do := range map[string]func(ctx context.Context) (any, error){
		"vault.MarkDeleted": func(ctx context.Context) (any, error) {
			return tokens.MarkDeleted(ctx, "goes", filetest.SomeTime, vault.AuditEvent{})
		},
		"vault.MarkVaultDeleted": func(ctx context.Context) (any, error) {
			return tokens.MarkVaultDeleted(ctx, "acme", "v1", filetest.SomeTime, vault.AuditEvent{})
		},
		"vault.RemoveDeleted":      step(func(ctx context.Context) (int, bool, error) { return tokens.RemoveDeleted(ctx, "goes", 1) }),
		"vault.RemoveDeletedVault": step(func(ctx context.Context) (int, bool, error) { return tokens.RemoveDeletedVault(ctx, "acme", "v1", 1) }),
		"audiosearch.MarkDeleted": func(ctx context.Context) (any, error) {
			return sounds.MarkDeleted(ctx, "goes", filetest.SomeTime)
		},
		"audiosearch.RemoveDeleted": step(func(ctx context.Context) (int, bool, error) { return sounds.RemoveDeleted(ctx, "goes", 1) }),
		"authmgmt.MarkDeleted": func(ctx context.Context) (any, error) {
			return auth.MarkDeleted(ctx, "goes", filetest.SomeTime, authmgmt.AuditEvent{})
		},
		"authmgmt.RemoveDeleted": step(func(ctx context.Context) (int, bool, error) { return auth.RemoveDeleted(ctx, "goes", 1) }),
		"trigger.MarkDeleted":    func(ctx context.Context) (any, error) { return events.MarkDeleted(ctx, "goes", filetest.SomeTime) },
		"trigger.RemoveDeleted":  step(func(ctx context.Context) (int, bool, error) { return events.RemoveDeleted(ctx, "goes", 1) }),
	} {
		left := 0
		for range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			ended := ctx.Done()
			entered, leave := make(chan struct{}), make(chan struct{})
			var wg sync.WaitGroup
			hold := func(f func()) {
				assert.NoError(t, db.File().Write(t.Context(), func(*file.Tx) error { f(); return nil }))
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
			require.Eventually(t, func() bool { return db.File().Probe().Waiting() == 1 }, 30*time.Second, time.Millisecond)
			wg.Go(func() { hold(func() { <-ended }) }) // in the same transaction, behind it
			require.Eventually(t, func() bool { return db.File().Probe().Waiting() == 2 }, 30*time.Second, time.Millisecond)
			close(leave)
			wg.Wait()
			cancel()
		}
		t.Log(name, left, "calls were left")
	}
}
