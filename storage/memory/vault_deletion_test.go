package memory_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// TestNothingIsLeftOfDeleted: after the last step there are the mark, the event, and
// places in the list of all rows, so that those of others stay where they are.
func TestNothingIsLeftOfDeleted(t *testing.T) {
	for _, limit := range []int{1, 7, 1000} {
		db, err := memory.Open(t.Context(), nil)
		require.NoError(t, err)
		s, ctx := db.Vault().Store.(*memory.Vault), t.Context()
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
			_, more, err = s.RemoveDeletedVault(ctx, "goes", "a", limit)
			require.NoError(t, err)
		}
		deleted := func() reflect.Value {
			require.Equal(t, 1, tables(db, "vault", "deleted").Len())
			return tables(db, "vault", "deleted").MapIndex(reflect.ValueOf("goes")).Elem()
		}
		require.Zero(t, tables(db, "vault", "going").Int())
		require.Equal(t, 1, deleted().FieldByName("vaults").Len())
		requireTime(t, at, deleted().FieldByName("vaults").MapIndex(reflect.ValueOf("a")))
		require.Zero(t, deleted().FieldByName("rest").Len())
		_, err = s.MarkDeleted(ctx, "goes", at, event("goes", ""))
		require.NoError(t, err)
		require.EqualValues(t, 1, tables(db, "vault", "going").Int())
		for more := true; more; {
			_, more, err = s.RemoveDeleted(ctx, "goes", limit)
			require.NoError(t, err)
		}
		require.Zero(t, tables(db, "vault", "going").Int())
		for _, name := range []string{"vaults", "rest"} {
			require.Zero(t, deleted().FieldByName(name).Len(), name)
		}
		require.True(t, deleted().FieldByName("all").Bool())
		requireTime(t, at, deleted().FieldByName("since"))
		require.Equal(t, 1, tables(db, "vault", "vaults").Len())
		require.False(t, tables(db, "vault", "ids").MapIndex(reflect.ValueOf("goes")).IsValid())
		require.Equal(t, 1, tables(db, "vault", "audit").MapIndex(reflect.ValueOf("goes")).Len())
		rows := tables(db, "vault", "rows")
		require.Equal(t, 30, rows.Len())
		for i := range rows.Len() {
			require.Equal(t, i >= 10 && i < 20, !rows.Index(i).IsNil(), "row %d", i)
		}
	}
}

// requireTime compares a time with one that reflection must not give away.
func requireTime(t *testing.T, want time.Time, got reflect.Value) {
	t.Helper()
	require.True(t, got.IsValid())
	for _, part := range []string{"wall", "ext"} {
		require.Equal(t, fmt.Sprint(reflect.ValueOf(want).FieldByName(part)), fmt.Sprint(got.FieldByName(part)))
	}
}
