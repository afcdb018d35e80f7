package hook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/hook"
)

// call is what a domain does with a hook.
func call(t *testing.T, f func() error) (logged map[string]string, err error) {
	t.Helper()
	var b bytes.Buffer
	func() {
		defer hook.Recover(t.Context(), slog.New(slog.NewJSONHandler(&b, nil)), "the tokenizer", &err, "vault", "v1")
		err = f()
	}()
	if b.Len() > 0 {
		require.NoError(t, json.Unmarshal(b.Bytes(), &logged))
	}
	return logged, err
}

func explode(value any) error { panic(value) }

func TestRecover(t *testing.T) {
	logged, err := call(t, func() error { return nil })
	require.NoError(t, err)
	require.Nil(t, logged)

	logged, err = call(t, func() error { return explode("no token for 4111 1111") })
	require.EqualError(t, err, "the tokenizer panicked: a value of type string")
	var panicked *hook.PanicError
	require.ErrorAs(t, err, &panicked)
	require.Equal(t, "no token for 4111 1111", panicked.Value)
	require.Contains(t, logged["stack"], "hook_test.explode\n", "where it panicked")
	require.Contains(t, logged["stack"], "hook_test.go:")
	delete(logged, "stack")
	delete(logged, "time")
	require.Equal(t, map[string]string{
		"level": "ERROR", "msg": "a hook panicked", "hook": "the tokenizer", "panic": "a value of type string", "vault": "v1",
	}, logged)
}

func TestRecoverRuntimeErrors(t *testing.T) {
	var nobody *slog.Logger
	logged, err := call(t, func() error { _ = nobody.Handler(); return nil })
	require.EqualError(t, err, "the tokenizer panicked: runtime error: invalid memory address or nil pointer dereference")
	require.Contains(t, logged["panic"], "nil pointer")
}

// brokenTracer panics wherever it is told to.
type brokenTracer struct{ inject, start, end bool }

func (b brokenTracer) Inject(_ context.Context, carrier map[string]string) {
	carrier["traceparent"] = "00"
	if b.inject {
		panic("inject")
	}
}

func (b brokenTracer) Start(ctx context.Context, _ mortise.Work, _ map[string]string) (context.Context, func(error)) {
	if b.start {
		panic("start")
	}
	return context.WithValue(ctx, brokenTracer{}, true), func(error) {
		if b.end {
			panic("end")
		}
	}
}

func TestTracer(t *testing.T) {
	for _, b := range []brokenTracer{{}, {inject: true}, {start: true}, {end: true}} {
		var logged bytes.Buffer
		env := &mortise.Env{Logger: slog.New(slog.NewTextHandler(&logged, nil)), Tracer: b}
		carrier := hook.Inject(t.Context(), env)
		require.Equal(t, !b.inject, len(carrier) == 1)
		ctx, end := hook.Start(t.Context(), env, mortise.Work{Op: "op"}, carrier)
		require.Equal(t, !b.start, ctx.Value(brokenTracer{}) != nil)
		end(errors.New("x"))
		require.Equal(t, b != brokenTracer{}, logged.Len() > 0)
	}
	require.Nil(t, hook.Inject(t.Context(), new(mortise.Env)), "without a tracer")
	ctx, end := hook.Start(t.Context(), new(mortise.Env), mortise.Work{}, nil)
	require.Equal(t, t.Context(), ctx)
	end(nil)
}
