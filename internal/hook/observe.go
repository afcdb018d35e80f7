package hook

import (
	"context"

	"github.com/seed-6363c74e/mortise"
)

// Observe tells the observer of env, if there is one. If a change is in a transaction of
// the host's, as store says, the observer hears after the commit, and never of a change
// that is rolled back.
func Observe(ctx context.Context, env *mortise.Env, store any, change bool, o mortise.Observation) {
	if env.Observer == nil {
		return
	}
	tell := func(ctx context.Context) {
		defer Recover(ctx, env.Logger, "the observer", nil)
		env.Observer(ctx, o)
	}
	if host, ok := store.(mortise.HostTx); ok && change && host.AfterCommit(ctx, tell) {
		return
	}
	tell(ctx)
}
