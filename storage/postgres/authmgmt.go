package postgres

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// AuthMgmt implements [authmgmt.Store], [authmgmt.Pruner], [authmgmt.KeyChecker],
// [authmgmt.Organizations] and [mortise.HostTx].
type AuthMgmt struct{ db *engine }

func newAuthMgmt(db *engine) *AuthMgmt { return &AuthMgmt{db: db} }

var (
	_ authmgmt.Store         = (*AuthMgmt)(nil)
	_ authmgmt.Pruner        = (*AuthMgmt)(nil)
	_ authmgmt.KeyChecker    = (*AuthMgmt)(nil)
	_ authmgmt.Organizations = (*AuthMgmt)(nil)
	_ mortise.HostTx         = (*AuthMgmt)(nil)
)

// AfterCommit implements [mortise.HostTx].
func (a *AuthMgmt) AfterCommit(ctx context.Context, f func(ctx context.Context)) bool {
	return a.db.afterCommit(ctx, f)
}
