package audiosearch

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errStalled is why work that shows no progress is cut off.
var errStalled = errors.New("audiosearch: no progress")

// watched calls work on a goroutine of its own and watches it: work calls beat whenever it has got on. If it has not for as long as stall, its
// context ends with errStalled. If it does not return within grace of the end of its context, it is left behind. A panic becomes an error.
func watched(ctx context.Context, stall, grace time.Duration, work func(ctx context.Context, beat func()) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(stall, func() { cancel(errStalled) })
	defer timer.Stop()
	beat := func() {
		if ctx.Err() == nil {
			timer.Reset(stall)
		}
	}
	done := make(chan error, 1)
	go func() {
		err := errors.New("the goroutine was ended") // by runtime.Goexit, as FailNow of a test does
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
			done <- err
		}()
		err = work(ctx, beat)
	}()
	select {
	case err := <-done:
		return because(ctx, err)
	case <-ctx.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case err := <-done:
		return because(ctx, err)
	case <-late.C:
		return fmt.Errorf("%w, and it did not stop within %v of being told so", context.Cause(ctx), grace)
	}
}

// because puts the reason why a context ended in the place of its bare error.
func because(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.Is(err, context.Cause(ctx)) {
		return err
	}
	return fmt.Errorf("%w: %w", context.Cause(ctx), err)
}
