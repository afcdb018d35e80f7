package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// step is what a test does with the stores, on its own or in a host's transaction.
type step func(ctx context.Context, db *postgres.DB) error

// levelCases are calls of a host's transaction that began before somebody else's call was
// committed, by which theirs is no longer allowed.
var levelCases = map[string]struct {
	before, elsewhere, host step
	latest                  error // what the host's call is if it sees that
}{
	"an event of a deleted organization": {nothing, func(ctx context.Context, db *postgres.DB) error {
		_, err := db.Trigger().Store.MarkDeleted(ctx, "acme", time.Now())
		return err
	}, func(ctx context.Context, db *postgres.DB) error {
		e := measuredEvent()
		_, _, err := triggerStore(db).CreateEventAndAdd(ctx, *e, time.Time{}, e.Job())
		return err
	}, mortise.ErrDeleted},
	"a client of a deleted organization": {nothing, func(ctx context.Context, db *postgres.DB) error {
		_, err := db.AuthMgmt().Store.MarkDeleted(ctx, "acme", time.Now(), authmgmt.AuditEvent{})
		return err
	}, func(ctx context.Context, db *postgres.DB) error {
		return db.AuthMgmt().Store.CreateClient(ctx, authmgmt.Client{Organization: "acme", ID: "c", CreatedAt: time.Now()}, authmgmt.AuditEvent{})
	}, mortise.ErrDeleted},
	"a change of a client of a deleted organization": {func(ctx context.Context, db *postgres.DB) error {
		return db.AuthMgmt().Store.CreateClient(ctx, authmgmt.Client{Organization: "acme", ID: "c", CreatedAt: time.Now()}, authmgmt.AuditEvent{})
	}, func(ctx context.Context, db *postgres.DB) error {
		_, err := db.AuthMgmt().Store.MarkDeleted(ctx, "acme", time.Now(), authmgmt.AuditEvent{})
		return err
	}, func(ctx context.Context, db *postgres.DB) error {
		return db.AuthMgmt().Store.UpdateClient(ctx, "acme", "c", letter)
	}, mortise.ErrNotFound},
	"a second invitation of an address": {nothing, invite("one"), invite("two"), authmgmt.ErrPendingInvitation},
	"a dataset of a deleted organization": {nothing, func(ctx context.Context, db *postgres.DB) error {
		_, err := db.AudioSearch().Store.MarkDeleted(ctx, "acme", time.Now())
		return err
	}, func(ctx context.Context, db *postgres.DB) error {
		return db.AudioSearch().Store.CreateDataset(ctx, audiosearch.Dataset{Organization: "acme", ID: "d", CreatedAt: time.Now()})
	}, mortise.ErrDeleted},
	"a run too many":  {nothing, oneRun(1), oneRun(2), audiosearch.ErrTooManyRuns},
	"the first key":   {nothing, register(keyring.FingerprintKey, 1), register(keyring.FingerprintKey, 2), nil},
	"a deleted vault": {oneVault, removeVault, insertValue, mortise.ErrNotFound},
	"a retired key":   {oneVault, retireSeal, insertValue, keyring.ErrRetired},
	"a required key": {func(ctx context.Context, db *postgres.DB) error {
		return errors.Join(oneVault(ctx, db), register(keyring.FingerprintKey, 2)(ctx, db))
	}, requireFingerprint, insertValue, keyring.ErrUnknownKey},
	"a token of a vault": {oneVault, removeVault, func(ctx context.Context, db *postgres.DB) error {
		return db.Vault().Store.DeleteToken(ctx, "acme", "v1", "t", vault.AuditEvent{ID: uuid.New(), At: time.Now()})
	}, mortise.ErrNotFound},
	"an access to a vault": {oneVault, removeVault, func(ctx context.Context, db *postgres.DB) error {
		return db.Vault().Store.AddAuditEvent(ctx, vault.AuditEvent{ID: uuid.New(), At: time.Now(), Organization: "acme", Vault: "v1"})
	}, mortise.ErrNotFound},
}

func nothing(context.Context, *postgres.DB) error { return nil }

func invite(id string) step {
	return func(ctx context.Context, db *postgres.DB) error {
		now := time.Now()
		return db.AuthMgmt().Store.CreateInvitation(ctx, authmgmt.Invitation{
			Organization: "acme", ID: id, Email: "a@example.com",
			CreatedAt: now, ExpiresAt: now.Add(time.Hour), Lifetime: time.Hour,
		}, true, authmgmt.AuditEvent{ID: uuid.New(), Organization: "acme", At: now})
	}
}

func oneRun(id int64) step {
	return func(ctx context.Context, db *postgres.DB) error {
		now := time.Now()
		return db.AudioSearch().Store.CreateRun(ctx, audiosearch.Run{
			Organization: "acme", ID: id, Query: audiosearch.Query{Dataset: "d", Class: "Rain"},
			State: audiosearch.StateQueued, CreatedAt: now, UpdatedAt: now, DueAt: now,
		}, 1)
	}
}

func register(p keyring.Purpose, version int) step {
	return func(ctx context.Context, db *postgres.DB) error {
		_, err := db.Vault().Store.RegisterKey(ctx, keyring.Key{Purpose: p, Version: version, Check: [32]byte{byte(version)}})
		return err
	}
}

func oneVault(ctx context.Context, db *postgres.DB) error {
	return db.Vault().Store.PutVault(ctx, vault.Vault{
		Organization: "acme", ID: "v1", Revision: 1, CreatedAt: time.Now(), UpdatedAt: time.Now(),
	}, nil, vault.AuditEvent{ID: uuid.New(), At: time.Now()})
}

func insertValue(ctx context.Context, db *postgres.DB) error {
	_, err := db.Vault().Store.InsertTokens(ctx, "acme", "v1", 1, []vault.Row{vaultRow("x", 1)})
	return err
}

func removeVault(ctx context.Context, db *postgres.DB) error {
	store := db.Vault().Store
	if _, err := store.MarkVaultDeleted(ctx, "acme", "v1", time.Now(), vault.AuditEvent{ID: uuid.New(), At: time.Now()}); err != nil {
		return err
	}
	_, _, err := store.RemoveDeletedVault(ctx, "acme", "v1", 100)
	return err
}

func retireSeal(ctx context.Context, db *postgres.DB) error {
	return errors.Join(register(keyring.SealKey, 1)(ctx, db), db.Vault().Store.RetireKey(ctx, keyring.SealKey, 1, 0))
}

func requireFingerprint(ctx context.Context, db *postgres.DB) error {
	return db.Vault().Store.RequireKey(ctx, 2)
}

// hostAfter calls do in a host's transaction that began, and has its snapshot, before
// elsewhere was called. It returns the error of the call, or of the commit.
func hostAfter(t *testing.T, db *postgres.DB, d *database, level pgx.TxIsoLevel, elsewhere, do step) error {
	return pgx.BeginTxFunc(t.Context(), d.pool(t), pgx.TxOptions{IsoLevel: level}, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "SELECT FROM pg_class LIMIT 1")
		require.NoError(t, err)
		require.NoError(t, elsewhere(t.Context(), db))
		return do(postgres.InTx(t.Context(), tx), db)
	})
}

// TestInTxLevels: a host's transaction that does not see what was committed after it began
// stores nothing that this forbids. It is a serialization failure.
func TestInTxLevels(t *testing.T) {
	t.Parallel()
	for name, c := range levelCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
				d := newDatabase(t)
				db := d.open(t, nil)
				require.NoError(t, c.before(t.Context(), db))
				err := hostAfter(t, db, d, level, c.elsewhere, c.host)
				if level == pgx.ReadCommitted {
					require.ErrorIs(t, err, c.latest)
					continue
				}
				var failed *pgconn.PgError
				require.ErrorAs(t, err, &failed, level)
				require.Equal(t, "40001", failed.Code, level)
			}
		})
	}
}

// TestInTxLatest: what goes by all that is stored is refused in a host's transaction that does
// not see all of it, with what to do.
func TestInTxLatest(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]step{
		"retire a key": func(ctx context.Context, db *postgres.DB) error {
			return db.Vault().Store.RetireKey(ctx, keyring.SealKey, 1, 0)
		},
		"require a key": func(ctx context.Context, db *postgres.DB) error { return db.Vault().Store.RequireKey(ctx, 1) },
		"leave a scope": func(ctx context.Context, db *postgres.DB) error {
			return db.Vault().Store.PutVault(ctx, vault.Vault{Organization: "acme", ID: "v1", Revision: 2, CreatedAt: time.Now(), UpdatedAt: time.Now()},
				[]string{"t.c"}, vault.AuditEvent{ID: uuid.New(), At: time.Now()})
		},
		"remove events": func(ctx context.Context, db *postgres.DB) error {
			_, _, err := db.Trigger().Store.RemoveDeleted(ctx, "acme", 10)
			return err
		},
		"remove credentials": func(ctx context.Context, db *postgres.DB) error {
			_, _, err := db.AuthMgmt().Store.RemoveDeleted(ctx, "acme", 10)
			return err
		},
		"remove vaults": func(ctx context.Context, db *postgres.DB) error {
			_, _, err := db.Vault().Store.RemoveDeleted(ctx, "acme", 10)
			return err
		},
		"remove a vault": func(ctx context.Context, db *postgres.DB) error {
			_, _, err := db.Vault().Store.RemoveDeletedVault(ctx, "acme", "v1", 10)
			return err
		},
		"remove sounds": func(ctx context.Context, db *postgres.DB) error {
			_, _, err := db.AudioSearch().Store.RemoveDeleted(ctx, "acme", 10)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			db := d.open(t, nil)
			require.NoError(t, oneVault(t.Context(), db))
			for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
				require.ErrorContains(t, hostAfter(t, db, d, level, nothing, do), "begin the transaction at READ COMMITTED", level)
			}
			if err := hostAfter(t, db, d, pgx.ReadCommitted, nothing, do); err != nil {
				require.NotContains(t, err.Error(), "READ COMMITTED")
			}
		})
	}
}
