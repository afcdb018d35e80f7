package memory

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

// PruneTokens implements [authmgmt.Pruner].
func (a *AuthMgmt) PruneTokens(ctx context.Context, before time.Time, limit int) (int, error) {
	db, err := a.db.write(ctx)
	if err != nil {
		return 0, err
	}
	defer db.end()
	removed := 0
	db.authmgmt.forgetTokens(func(t *authmgmt.Token) bool {
		return counted(&removed, limit, !t.ExpiresAt.IsZero() && t.ExpiresAt.Before(before))
	})
	return removed, nil
}

// PruneInvitations implements [authmgmt.Pruner].
func (a *AuthMgmt) PruneInvitations(ctx context.Context, before time.Time, limit int) (int, error) {
	db, err := a.db.write(ctx)
	if err != nil {
		return 0, err
	}
	defer db.end()
	removed := 0
	t := &db.authmgmt
	for org := range t.inviteList {
		t.inviteList.remove(org, func(i *authmgmt.Invitation) bool {
			end := i.EndedAt()
			gone := counted(&removed, limit, !end.IsZero() && end.Before(before))
			if gone {
				delete(t.invitations, ownedID{org, i.ID})
			}
			return gone
		})
	}
	return removed, nil
}

// counted reports whether one more row goes, and counts it.
func counted(removed *int, limit int, ended bool) bool {
	if !ended || *removed >= limit {
		return false
	}
	*removed++
	return true
}
