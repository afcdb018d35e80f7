package river

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	setSavepoint   = "SAVEPOINT mortise_river"
	keepSavepoint  = "RELEASE SAVEPOINT mortise_river"
	clearSavepoint = "ROLLBACK TO SAVEPOINT mortise_river; RELEASE SAVEPOINT mortise_river"

	// giveUp is how long after its end a call may go on before the host's connection is cut.
	giveUp = time.Second
)

// within is bounded in a savepoint of the host's transaction, as storage/postgres does it: what
// fails is rolled back. The end of a context of pgx's would close the host's connection, or
// leave there what the call has done.
func (q *Queue) within(ctx context.Context, host pgx.Tx, do func(context.Context) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	// A Timeout that says "never" must not overflow to a time that has passed.
	most := min(q.opts.Timeout, math.MaxInt64-giveUp) + giveUp
	beginning, stop := context.WithTimeout(context.WithoutCancel(ctx), most)
	defer stop()
	if _, err := host.Exec(beginning, setSavepoint); err != nil {
		return err
	}
	done := false
	defer func() { // after a panic, too
		ending, stop := context.WithTimeout(context.WithoutCancel(ctx), q.opts.Timeout)
		defer stop()
		if done && err == nil {
			if _, err = host.Exec(ending, keepSavepoint); err == nil {
				return
			}
		}
		for range 3 { // what cancels a statement may come after its end
			_, undo := host.Exec(ending, clearSavepoint)
			if pg := (*pgconn.PgError)(nil); !errors.As(undo, &pg) || pg.Code != "57014" {
				break
			}
		}
	}()
	err = q.bounded(ctx, host, do)
	done = true
	return err
}

// errTimeout is why a call ends that takes longer than Options.Timeout.
var errTimeout = fmt.Errorf("river: no answer within Options.Timeout: %w", context.DeadlineExceeded)

// bounded calls do, within Options.Timeout, in a transaction that others go on with.
func (q *Queue) bounded(ctx context.Context, tx pgx.Tx, do func(context.Context) error) (err error) {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(context.Canceled)
	var timer *time.Timer
	begin := func() { timer = time.AfterFunc(q.opts.Timeout, func() { end(errTimeout) }) }
	if late, ok := tx.(interface{ WhenReady(func()) }); ok { // an event that may wait for others
		late.WhenReady(begin)
	} else {
		begin()
	}
	defer func() {
		if timer != nil {
			timer.Stop()
		}
	}()
	running, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(context.Canceled)
	defer context.AfterFunc(ctx, func() { time.AfterFunc(giveUp, func() { cut(context.Cause(ctx)) }) })()
	left := onceEnded(ctx, func(stopped <-chan struct{}) { cancelStatements(running, tx, stopped) })
	defer func() { // after a panic, too
		left()
		if ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), err)
		}
	}()
	return do(running)
}

// onceEnded has do run when ctx ends. stop tells it to end, and waits for it.
func onceEnded(ctx context.Context, do func(stopped <-chan struct{})) (stop func()) {
	stopped, ended := make(chan struct{}), make(chan struct{})
	never := context.AfterFunc(ctx, func() {
		defer close(ended)
		do(stopped)
	})
	return func() {
		close(stopped)
		if !never() {
			<-ended
		}
	}
}

// cancelStatements asks the server to cancel what the transaction's connection does, until
// it is stopped: a call may be between two statements.
func cancelStatements(ctx context.Context, host pgx.Tx, stopped <-chan struct{}) {
	conn := host.Conn()
	if conn == nil {
		return
	}
	for {
		_ = conn.PgConn().CancelRequest(ctx)
		select {
		case <-stopped:
			return
		case <-ctx.Done():
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}
