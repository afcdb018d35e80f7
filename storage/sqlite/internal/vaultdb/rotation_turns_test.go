package vaultdb

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// TestRotationLetsOthersWrite: a step of a rotation that somebody waits for lets them
// write after some of its rows, and then does the rest.
func TestRotationLetsOthersWrite(t *testing.T) {
	const rows = 5 * rotationTurn
	db, tables := openVault(t)
	var stored []vault.Row
	var added []vault.RowFingerprint
	var resealed []vault.Resealed
	for i := range rows {
		stored = append(stored, someRow("a", fmt.Sprint(i), i))
		id := vault.RowID{Organization: "acme", Vault: "v1", Token: fmt.Sprint(i)}
		added = append(added, vault.RowFingerprint{Row: id, Fingerprint: someFingerprint(rows + i)})
		resealed = append(resealed, vault.Resealed{Row: id, From: stored[i].Sealed, To: keyring.Sealed{Version: 2, Ciphertext: []byte("anew")}})
	}
	_, err := tables.InsertTokens(t.Context(), "acme", "v1", 1, stored)
	require.NoError(t, err)
	for _, c := range []struct {
		name, left string // counts what is to be done
		do         func(ctx context.Context) (int, error)
	}{
		{"add", "SELECT count(*) FROM vault_tokens WHERE seq NOT IN (SELECT row FROM vault_fingerprints WHERE version = 2)",
			func(ctx context.Context) (int, error) {
				refused, err := tables.AddFingerprints(ctx, 2, added)
				return rows - len(refused), err
			}},
		{"reseal", "SELECT count(*) FROM vault_tokens WHERE sealed = 1",
			func(ctx context.Context) (int, error) { return tables.Reseal(ctx, resealed) }},
		{"remove", "SELECT count(*) FROM vault_fingerprints WHERE version = 1",
			func(ctx context.Context) (done int, err error) {
				for more := true; more && err == nil; {
					var n int
					n, more, err = tables.RemoveFingerprints(ctx, 1, 2*rows)
					done += n
				}
				return done, err
			}},
	} {
		if c.name == "remove" {
			require.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error {
				_, err := tx.Exec("INSERT INTO vault_keys (purpose, version, check_value, required, retired) VALUES ('fingerprint', 1, zeroblob(32), 0, 1)" +
					" ON CONFLICT DO UPDATE SET (required, retired) = (0, 1)")
				return err
			}))
		}
		queued := func(n int) {
			for db.Probe().Waiting() < n {
				runtime.Gosched()
			}
		}
		begun, release := make(chan struct{}), make(chan struct{})
		answers := make(chan error, 3)
		go func() {
			answers <- db.Write(t.Context(), func(*file.Tx) error {
				close(begun)
				<-release
				return nil
			})
		}()
		<-begun
		done := 0
		go func() {
			n, err := c.do(t.Context())
			done = n
			answers <- err
		}()
		queued(1)
		left := 0
		go func() {
			answers <- db.Write(t.Context(), func(tx *file.Tx) error {
				var err error
				left, err = firstNumber(tx, c.left)
				return err
			})
		}()
		queued(2)
		close(release)
		for range 3 {
			require.NoError(t, <-answers, c.name)
		}
		assert.Equal(t, rows-rotationTurn, left, "%s: a turn is done when the other comes to write", c.name)
		assert.Equal(t, rows, done, "%s: in the end it has done all", c.name)
		require.NoError(t, db.Write(t.Context(), func(tx *file.Tx) (err error) {
			left, err = firstNumber(tx, c.left)
			return err
		}))
		assert.Zero(t, left, c.name)
	}
}
