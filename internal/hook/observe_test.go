package hook_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/hook"
)

// host is a store in a transaction of the host's, if it is open.
type host struct {
	open  bool
	after []func(context.Context)
}

func (h *host) AfterCommit(_ context.Context, f func(context.Context)) bool {
	if h.open {
		h.after = append(h.after, f)
	}
	return h.open
}

// TestObserve: a change in a transaction of the host's waits for the commit; everything else
// is told at once.
func TestObserve(t *testing.T) {
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, nil))
	told := 0
	tell := func(context.Context) { told++ }
	open := &host{open: true}
	hook.Observe(t.Context(), log, nil, true, tell)
	hook.Observe(t.Context(), log, struct{}{}, true, tell)
	hook.Observe(t.Context(), log, new(host), true, tell)
	hook.Observe(t.Context(), log, open, false, tell)
	require.Equal(t, 4, told)
	hook.Observe(t.Context(), log, open, true, tell)
	hook.Observe(t.Context(), log, open, true, func(context.Context) { panic("no") })
	require.Equal(t, 4, told)
	require.Empty(t, logged.String())
	for _, f := range open.after {
		f(t.Context())
	}
	require.Equal(t, 5, told)
	require.Contains(t, logged.String(), `msg="a hook panicked" hook="the observer"`)
}
