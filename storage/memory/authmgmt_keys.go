package memory

import (
	"context"
	"slices"
)

// UpdateKeyChecks implements [authmgmt.KeyChecker].
func (a *AuthMgmt) UpdateKeyChecks(ctx context.Context, update func(noted [][32]byte) ([][32]byte, error)) error {
	db, err := a.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	changed, err := update(slices.Clone(db.authmgmt.keyChecks))
	if err != nil {
		return err
	}
	db.authmgmt.keyChecks = slices.Clone(changed)
	return nil
}
