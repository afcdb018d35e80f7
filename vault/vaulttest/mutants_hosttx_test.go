package vaulttest_test

import "context"

// hostTxMutants are wrong about the transactions of a host's.
var hostTxMutants = []broken{
	{name: "does not know the host's transactions", breaks: "hosttx/schemas hosttx/keys",
		mutate: func(m *mutant) { m.after = func(context.Context, func(context.Context)) bool { return false } }},
}
