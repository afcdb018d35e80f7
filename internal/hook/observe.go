package hook

import (
	"context"
	"log/slog"
)

// hostTx is mortise.HostTx.
type hostTx interface {
	AfterCommit(ctx context.Context, f func(ctx context.Context)) bool
}

// Observe calls tell, which tells a host's observer of something. If that is a change, and
// the calls of store under ctx are part of a transaction of the host's, tell is called once
// that is committed, and never if it is rolled back.
func Observe(ctx context.Context, log *slog.Logger, store any, change bool, tell func(ctx context.Context)) {
	safely := func(ctx context.Context) {
		defer Recover(ctx, log, "the observer", nil)
		tell(ctx)
	}
	if host, ok := store.(hostTx); ok && change && host.AfterCommit(ctx, safely) {
		return
	}
	safely(ctx)
}
