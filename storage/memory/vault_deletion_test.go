package memory

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// TestNothingIsLeftOfDeleted: after the last step there are the mark, the event, and
// places in the list of all rows, so that those of others stay where they are.
func TestNothingIsLeftOfDeleted(t *testing.T) {
	for _, limit := range []int{1, 7, 1000} {
		db, err := Open(t.Context(), nil)
		require.NoError(t, err)
		s, ctx := &Vault{db: db}, t.Context()
		at := time.Unix(1, 0).UTC()
		event := func(org, id string) vault.AuditEvent {
			return vault.AuditEvent{ID: uuid.New(), Organization: org, Vault: id, At: at}
		}
		fill := func(org, id string) {
			require.NoError(t, s.PutVault(ctx, vault.Vault{Organization: org, ID: id, Revision: 1}, nil, event(org, id)))
			for i := range 10 {
				r := vault.Row{Token: fmt.Sprint("t", i), Scope: "s", Deterministic: true,
					Fingerprints: []vault.VersionedFingerprint{{Version: 1, Fingerprint: keyring.Fingerprint{byte(i)}}}}
				_, err := s.InsertTokens(ctx, org, id, 1, []vault.Row{r})
				require.NoError(t, err)
			}
			require.NoError(t, s.DeleteToken(ctx, org, id, "t3", event(org, id)))
		}
		fill("goes", "a")
		fill("stays", "a")
		fill("goes", "b")
		_, err = s.MarkVaultDeleted(ctx, "goes", "a", at, event("goes", "a"))
		require.NoError(t, err)
		for more := true; more; {
			more, err = s.RemoveDeletedVault(ctx, "goes", "a", limit)
			require.NoError(t, err)
		}
		tables := &db.vault
		require.Zero(t, tables.going)
		require.Equal(t, map[string]time.Time{"a": at}, tables.deleted["goes"].vaults)
		require.Empty(t, tables.deleted["goes"].rest)
		_, err = s.MarkDeleted(ctx, "goes", at, event("goes", ""))
		require.NoError(t, err)
		require.Equal(t, 1, tables.going)
		for more := true; more; {
			more, err = s.RemoveDeleted(ctx, "goes", limit)
			require.NoError(t, err)
		}
		require.Zero(t, tables.going)
		require.Equal(t, map[string]*deletedVaults{"goes": {all: true, since: at}}, tables.deleted)
		require.Len(t, tables.vaults, 1)
		require.Empty(t, tables.ids["goes"])
		require.Len(t, tables.audit["goes"], 1)
		require.Len(t, tables.rows, 30)
		for i, r := range tables.rows {
			require.Equal(t, i >= 10 && i < 20, r != nil, "row %d", i)
		}
	}
}
