package hook_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
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

// TestObserve: a change in a transaction of the host's waits for the commit. Everything
// else is told at once, and a panic of the observer is logged.
func TestObserve(t *testing.T) {
	var logged bytes.Buffer
	var told []mortise.Kind
	env := &mortise.Env{Logger: slog.New(slog.NewTextHandler(&logged, nil)), Observer: func(_ context.Context, o mortise.Observation) {
		if told = append(told, o.Kind); o.Kind == "broken" {
			panic("no")
		}
	}}
	open := &host{open: true}
	hook.Observe(t.Context(), env, nil, true, mortise.Observation{Kind: "a"})
	hook.Observe(t.Context(), env, struct{}{}, true, mortise.Observation{Kind: "b"})
	hook.Observe(t.Context(), env, new(host), true, mortise.Observation{Kind: "c"})
	hook.Observe(t.Context(), env, open, false, mortise.Observation{Kind: "d"})
	require.Equal(t, []mortise.Kind{"a", "b", "c", "d"}, told)
	hook.Observe(t.Context(), env, open, true, mortise.Observation{Kind: "e"})
	hook.Observe(t.Context(), env, open, true, mortise.Observation{Kind: "broken"})
	require.Len(t, told, 4)
	require.Empty(t, logged.String())
	for _, f := range open.after {
		f(t.Context())
	}
	require.Equal(t, []mortise.Kind{"e", "broken"}, told[4:])
	require.Contains(t, logged.String(), `msg="a hook panicked" hook="the observer"`)
	hook.Observe(t.Context(), new(mortise.Env), open, true, mortise.Observation{})
	require.Len(t, open.after, 2, "without an observer nothing waits")
}
