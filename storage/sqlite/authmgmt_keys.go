package sqlite

import (
	"context"
	"slices"
)

const (
	// The values are one behind the other.
	keyChecks    = "SELECT value FROM authmgmt_key_check WHERE only = 1"
	putKeyChecks = "INSERT INTO authmgmt_key_check (only, value) VALUES (1, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
)

// UpdateKeyChecks implements [authmgmt.KeyChecker].
func (a *AuthMgmt) UpdateKeyChecks(ctx context.Context, update func(noted [][32]byte) ([][32]byte, error)) error {
	read := func(noted *[][32]byte) func(*row) error {
		return func(r *row) error {
			*noted = r.digests(0)
			return nil
		}
	}
	// Every start asks, and few of them have anything to write.
	var noted [][32]byte
	if err := a.db.find(ctx, noOrg, keyChecks, nil, read(&noted)); err != nil {
		return err
	}
	changed, err := update(slices.Clone(noted))
	if err != nil || slices.Equal(changed, noted) {
		return err
	}
	return a.db.writer.write(ctx, func(tx *tx) error {
		var noted [][32]byte
		if err := tx.query(keyChecks, nil, read(&noted)); err != nil {
			return err
		}
		value := []byte{}
		err := tx.host(func() error {
			changed, err := update(noted)
			for _, check := range changed {
				value = append(value, check[:]...)
			}
			return err
		})
		if err != nil {
			return err
		}
		_, err = tx.exec(putKeyChecks, value)
		return err
	})
}
