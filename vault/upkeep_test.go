package vault_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
)

// TestRetention: Run forgets audit events that are older than the retention, and nothing
// without one.
func TestRetention(t *testing.T) {
	for keep, want := range map[time.Duration][]int{0: {2, 2, 2}, 24 * time.Hour: {1, 1, 0}} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, vault.Options{Retention: keep})
			for i, at := range []time.Duration{-25 * time.Hour, -23 * time.Hour} {
				require.NoError(t, r.store.AddAuditEvent(t.Context(), vault.AuditEvent{
					ID: uuid.UUID{15: byte(i + 1)}, Organization: "other", At: begin.Add(at), Kind: mortise.KindDeleted,
				}))
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- r.Run(ctx) }()
			var kept []int
			for _, wait := range []time.Duration{0, time.Minute, time.Hour} {
				r.mu.Lock()
				r.time = r.time.Add(wait)
				r.mu.Unlock()
				time.Sleep(wait)
				synctest.Wait()
				page, err := r.ListAuditEvents(t.Context(), "other", vault.AuditQuery{})
				require.NoError(t, err)
				kept = append(kept, len(page.Items))
			}
			require.Equal(t, want, kept)
			stop()
			require.NoError(t, <-ended)
		})
	}
}
