package file

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	modernc "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// retryBusy calls try until it returns something else than that the file is locked, or
// until the deadline. It returns ErrClosed if stop is closed meanwhile, and ctx's error
// if ctx ends. stop may be nil.
//
// SQLite's own busy handler would do, but it sleeps through the end of a context, and for
// so long at a time that a process which commits without a pause would rarely let it in.
func retryBusy(ctx context.Context, stop <-chan struct{}, deadline time.Time, try func() error) error {
	return retryBusyUntil(ctx, stop, func() bool { return time.Now().After(deadline) }, try)
}

// retryBusyUntil is retryBusy until it is too late.
func retryBusyUntil(ctx context.Context, stop <-chan struct{}, late func() bool, try func() error) error {
	err := try()
	if !isBusy(err) {
		return err
	}
	for wait := 100 * time.Microsecond; ; wait = min(2*wait, 5*time.Millisecond) {
		timer := time.NewTimer(wait/2 + rand.N(wait))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-stop:
			timer.Stop()
			return ErrClosed
		case <-timer.C:
		}
		if err = try(); !isBusy(err) || late() {
			return err
		}
	}
}

func isBusy(err error) bool {
	var e *modernc.Error
	return errors.As(err, &e) && (e.Code()&0xff == codes.SQLITE_BUSY || e.Code()&0xff == codes.SQLITE_LOCKED)
}
