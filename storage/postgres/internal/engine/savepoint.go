package engine

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// Savepoints of one name hide each other, and the latest one counts. So these do not care
// what the host, or another call around this one, has named so.
const (
	setSavepoint   = "SAVEPOINT mortise"
	keepSavepoint  = "RELEASE SAVEPOINT mortise"
	clearSavepoint = "ROLLBACK TO SAVEPOINT mortise; RELEASE SAVEPOINT mortise"
)

// giveUp is how long after its end a call may go on in a transaction of the host's. If its
// statement cannot be cancelled until then, the connection is cut off, and the host's work
// is lost with it.
const giveUp = time.Second

// within calls do in a savepoint of the host's transaction. When ctx ends, the statement that
// is under way is cancelled, and what do has written is rolled back. It does not end by the
// context of pgx, which would close the host's connection, or not roll back at all.
func (db *DB) within(ctx context.Context, host pgx.Tx, do func(*Session) error) (err error) {
	select {
	case <-db.closed:
		return ErrClosed
	default:
	}
	ctx, cancel := context.WithTimeoutCause(ctx, db.timeout, errTimeout)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	running, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(context.Canceled)
	defer context.AfterFunc(ctx, func() { time.AfterFunc(giveUp, func() { cut(context.Cause(ctx)) }) })()
	if _, err := host.Exec(running, setSavepoint); err != nil {
		return err
	}
	// Not before there is a savepoint to go back to.
	left := onceEnded(ctx, func(stopped <-chan struct{}) { cancelStatements(running, host, stopped) })
	done := false
	defer func() { // after a panic, too
		left()
		ending, stop := context.WithTimeout(context.WithoutCancel(ctx), db.timeout)
		defer stop()
		if done && err == nil {
			if _, err = host.Exec(ending, keepSavepoint); err == nil {
				return
			}
		}
		for range 3 { // what cancels a statement may come after its end
			if _, undo := host.Exec(ending, clearSavepoint); code(undo) != queryCanceled {
				break
			}
		}
		if ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), err)
		}
	}()
	err = do(&Session{ctx: running, db: db, q: host, host: true})
	done = true
	return err
}

const queryCanceled = "57014"

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
