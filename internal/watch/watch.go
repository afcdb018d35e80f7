// Package watch runs work of others under a watch: a decoder, a model, a file system. It
// is cut off when it shows no progress, and left behind when it does not end then.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// ErrStalled is why work that shows no progress is cut off.
var ErrStalled = errors.New("audiosearch: no progress")

// ErrGoexit: the goroutine of the work ended by runtime.Goexit, as FailNow of a test does.
var ErrGoexit = errors.New("the goroutine was ended")

// Run calls work on a goroutine of its own and watches it: work calls beat whenever
// it has got on, with how long it may take until the next time. If it does not, its
// context ends with ErrStalled. If it does not return within grace of the end of its
// context, it is left behind. What it panics with becomes an error by panicked. first is
// how long it may take until the first beat.
func Run(ctx context.Context, first, grace time.Duration, panicked func(p any) error,
	work func(ctx context.Context, beat func(next time.Duration)) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(first, func() { cancel(ErrStalled) })
	defer timer.Stop()
	beat := func(next time.Duration) {
		if ctx.Err() == nil {
			timer.Reset(next)
		}
	}
	done := make(chan error, 1)
	go func() {
		err := ErrGoexit
		defer func() {
			if p := recover(); p != nil {
				err = panicked(p)
			}
			done <- err
		}()
		err = work(ctx, beat)
	}()
	select {
	case err := <-done:
		return Because(ctx, err)
	case <-ctx.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case err := <-done:
		return Because(ctx, err)
	case <-late.C:
		return fmt.Errorf("%w, and it did not stop within %v of being told so", context.Cause(ctx), grace)
	}
}

// Copy copies src to dst, for work that is watched: it calls beat after each few
// megabytes. It looks at ctx only between these.
func Copy(ctx context.Context, dst io.Writer, src io.Reader, beat func()) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		const step = 4 << 20
		_, err := io.CopyN(dst, src, step)
		beat()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Because puts the reason why a context ended in the place of its bare error.
func Because(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.Is(err, context.Cause(ctx)) {
		return err
	}
	return fmt.Errorf("%w: %w", context.Cause(ctx), err)
}
