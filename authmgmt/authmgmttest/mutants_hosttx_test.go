package authmgmttest_test

import "context"

// hostTxMutants are wrong about the transactions of a host's.
var hostTxMutants = []broken{
	{name: "does not know the host's transactions",
		breaks: "hosttx/tokens hosttx/key-of-invitations hosttx/access-control hosttx/delivery hosttx/observer",
		mutate: func(m *mutant) { m.after = func(context.Context, func(context.Context)) bool { return false } }},
	{name: "takes a transaction for committed at once", breaks: "hosttx/delivery hosttx/observer", mutate: func(m *mutant) {
		m.after = func(ctx context.Context, f func(context.Context)) bool {
			hosted := m.AuthMgmt.AfterCommit(ctx, nil)
			if hosted && f != nil {
				f(ctx)
			}
			return hosted
		}
	}},
	{name: "calls nothing after a commit", breaks: "hosttx/delivery hosttx/observer", mutate: func(m *mutant) {
		m.after = func(ctx context.Context, _ func(context.Context)) bool { return m.AuthMgmt.AfterCommit(ctx, nil) }
	}},
}
