// Package hook calls a host's Observer and Tracer, whose panics change nothing. And it
// meets a panic of other things that a host has plugged in (a processor, a scorer) where it
// would end the host's program: on a goroutine of ours. There it is recovered and logged
// with its stack at ERROR. On a caller's goroutine nothing recovers it.
package hook

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
)

// PanicError is a panic of a hook. Its text does not quote what the hook panicked with,
// which may hold what the hook was given.
type PanicError struct {
	Hook  string // "the tokenizer"
	Value any    // what it panicked with
}

// Error names the hook.
func (e *PanicError) Error() string { return e.Hook + " panicked: " + e.reason() }

// reason is the text of the runtime's own errors, and the type of everything else.
func (e *PanicError) reason() string {
	if fault, ok := e.Value.(runtime.Error); ok {
		return fmt.Sprint(fault)
	}
	return fmt.Sprintf("a value of type %T", e.Value)
}

// Recover is deferred by a function that calls a hook: a panic is logged and becomes the
// function's error. With a nil err the function returns what its results are then. The
// attributes go into the log.
func Recover(ctx context.Context, log *slog.Logger, name string, err *error, attrs ...any) {
	if p := recover(); p != nil {
		panicked := Panicked(ctx, log, name, p, attrs...)
		if err != nil {
			*err = panicked
		}
	}
}

// Panicked logs what was recovered from a hook, and returns it as an error. It must be
// called by the deferred function that recovered it.
func Panicked(ctx context.Context, log *slog.Logger, name string, value any, attrs ...any) error {
	e := &PanicError{Hook: name, Value: value}
	log.ErrorContext(ctx, "a hook panicked", append([]any{"hook", name, "panic", e.reason(), "stack", stack()}, attrs...)...)
	return e
}

// maxFrames bounds a stack.
const maxFrames = 64

// stack lists the functions and lines that led to the panic which is being recovered.
// Unlike that of runtime/debug it shows no arguments, which may be secrets.
func stack() string {
	pcs := make([]uintptr, maxFrames)
	const skip = 3 // Callers, stack and Panicked
	frames := runtime.CallersFrames(pcs[:runtime.Callers(skip, pcs)])
	var b strings.Builder
	for {
		f, more := frames.Next()
		fmt.Fprintf(&b, "%s\n\t%s:%d\n", f.Function, f.File, f.Line)
		if !more {
			return b.String()
		}
	}
}
