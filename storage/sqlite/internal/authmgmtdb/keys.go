package authmgmtdb

import (
	"context"
	"slices"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

const (
	// The values are one behind the other.
	keyChecks    = "SELECT value FROM authmgmt_key_check WHERE only = 1"
	putKeyChecks = "INSERT INTO authmgmt_key_check (only, value) VALUES (1, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
)

// UpdateKeyChecks implements [authmgmt.KeyChecker].
func (a *Store) UpdateKeyChecks(ctx context.Context, update func(noted [][32]byte) ([][32]byte, error)) error {
	read := func(noted *[][32]byte) func(*file.Row) error {
		return func(r *file.Row) error {
			*noted = r.Digests(0)
			return nil
		}
	}
	// Every start asks, and few of them have anything to write.
	var noted [][32]byte
	if err := a.db.Find(ctx, file.NoOrg, keyChecks, nil, read(&noted)); err != nil {
		return err
	}
	changed, err := update(slices.Clone(noted))
	if err != nil || slices.Equal(changed, noted) {
		return err
	}
	return a.db.Write(ctx, func(tx *file.Tx) error {
		var noted [][32]byte
		if err := tx.Query(keyChecks, nil, read(&noted)); err != nil {
			return err
		}
		value := []byte{}
		err := tx.Host(func() error {
			changed, err := update(noted)
			for _, check := range changed {
				value = append(value, check[:]...)
			}
			return err
		})
		if err != nil {
			return err
		}
		_, err = tx.Exec(putKeyChecks, value)
		return err
	})
}
