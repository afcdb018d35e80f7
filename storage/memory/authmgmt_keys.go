package memory

import (
	"context"
	"slices"
)

// UpdateKeyChecks implements [authmgmt.KeyChecker].
func (a *AuthMgmt) UpdateKeyChecks(ctx context.Context, update func(noted [][32]byte) ([][32]byte, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.db.mu.Lock()
	defer a.db.mu.Unlock()
	changed, err := update(slices.Clone(a.db.authmgmt.keyChecks))
	if err != nil {
		return err
	}
	a.db.authmgmt.keyChecks = slices.Clone(changed)
	return nil
}
