package river

import (
	"context"
	"errors"
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

// within calls do in a savepoint of the host's transaction, as storage/postgres does: when
// ctx ends, what is under way is cancelled and rolled back. The end of a context of pgx's would
// close the host's connection, or leave there what the call has done.
func (q *Queue) within(ctx context.Context, host pgx.Tx, do func(context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, q.opts.Timeout)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return err
	}
	running, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(context.Canceled)
	defer context.AfterFunc(ctx, func() { time.AfterFunc(giveUp, func() { cut(context.Cause(ctx)) }) })()
	if _, err := host.Exec(running, setSavepoint); err != nil {
		return err
	}
	left := onceEnded(ctx, func(stopped <-chan struct{}) { cancelStatements(running, host, stopped) })
	done := false
	defer func() { // after a panic, too
		left()
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
		if ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), err)
		}
	}()
	err = do(running)
	done = true
	return err
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
