package vault_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
)

// TestTrailByTexts: who keeps no more than the text of a position goes on where they
// were.
func TestTrailByTexts(t *testing.T) {
	r := newRig(t, vault.Options{})
	ctx := t.Context()
	for i := range 7 { // all of one time
		_, err := r.CreateVault(ctx, "acme", "ops", fmt.Sprint("d", i), schema)
		require.NoError(t, err)
	}
	whole, err := r.ListAuditEvents(ctx, "acme", vault.AuditQuery{})
	require.NoError(t, err)
	var want, got []uuid.UUID
	for _, e := range whole.Items {
		want = append(want, e.ID)
	}
	for text := ""; ; {
		before, err := mortise.ParsePosition(text)
		require.NoError(t, err)
		page, err := r.ListAuditEvents(ctx, "acme", vault.AuditQuery{After: before, Limit: 2})
		require.NoError(t, err)
		for _, e := range page.Items {
			got = append(got, e.ID)
		}
		if text = page.Next.String(); text == "" {
			break
		}
		require.Less(t, len(got), len(want), "the last page has no next one")
	}
	require.Equal(t, want, got)
}
