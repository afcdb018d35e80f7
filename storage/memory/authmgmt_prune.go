package memory

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

// PruneTokens implements [authmgmt.Pruner].
func (a *AuthMgmt) PruneTokens(ctx context.Context, before time.Time, limit int) (int, bool, error) {
	db, err := a.db.write(ctx)
	if err != nil {
		return 0, false, err
	}
	defer db.end()
	step := boundedStep{limit: limit}
	db.authmgmt.forgetTokens(func(t *authmgmt.Token) bool {
		return step.takes(!t.ExpiresAt.IsZero() && t.ExpiresAt.Before(before))
	})
	return step.n, step.more, nil
}

// PruneInvitations implements [authmgmt.Pruner].
func (a *AuthMgmt) PruneInvitations(ctx context.Context, before time.Time, limit int) (int, bool, error) {
	db, err := a.db.write(ctx)
	if err != nil {
		return 0, false, err
	}
	defer db.end()
	step := boundedStep{limit: limit}
	t := &db.authmgmt
	for org := range t.inviteList {
		t.inviteList.remove(org, func(i *authmgmt.Invitation) bool {
			end := i.EndedAt()
			gone := step.takes(!end.IsZero() && end.Before(before))
			if gone {
				delete(t.invitations, ownedID{org, i.ID})
			}
			return gone
		})
	}
	return step.n, step.more, nil
}
