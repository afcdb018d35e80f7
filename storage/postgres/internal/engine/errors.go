package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed-6363c74e/mortise"
)

// errTimeout is why a call ends that takes longer than Options.Timeout.
var errTimeout = fmt.Errorf("postgres: no answer within Options.Timeout: %w", context.DeadlineExceeded)

// code returns the SQLSTATE of an error, or "".
func code(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// asName makes the error of a text that PostgreSQL cannot hold ErrNotFound: the services store
// UTF-8 without U+0000 only, so no row has such a name. It is for errors of our own statements,
// and not for errors of the host's statements in the same transaction.
func asName(err error) error {
	if code(err) == "22021" { // character_not_in_repertoire
		return mortise.ErrNotFound
	}
	return err
}

// isReadOnly reports that the server is a standby, or was the primary until now.
func isReadOnly(err error) bool { return code(err) == "25006" }

// IsNoRow reports that Session.Row has found none.
func IsNoRow(err error) bool { return errors.Is(err, pgx.ErrNoRows) }

// IgnoreNoRow returns nil instead of the error that Session.Row has found none.
func IgnoreNoRow(err error) error {
	if IsNoRow(err) {
		return nil
	}
	return err
}

// IsUnique reports that a row was there already, by the constraint or unique index of that
// name, or by any if it is "". In Transact, the transaction is lost with it.
func IsUnique(err error, name string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23505" && (name == "" || pg.ConstraintName == name)
}

const deadlock = "40P01"

// isRolledBack reports that the server has said itself that nothing was stored, or that it
// was not told to.
func isRolledBack(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.SeverityUnlocalized == "ERROR" || errors.Is(err, errRefused)
}

// mayRetry reports whether to try again what failed with err. committing: it may have been
// committed.
func mayRetry(err error, committing bool) bool {
	switch c := code(err); c {
	case "40001", deadlock: // 40001 is a serialization failure
		return true
	case "57P05": // idle for too long, which a session is only before it has begun with a statement
		return true
	case "57P01", "57P02", "57P03", "53300", "25006": // shut down, starting, too many connections, read-only
		return !committing || c == "25006" || c == "57P03" || c == "53300"
	case "":
		var connect *pgconn.ConnectError
		switch {
		case errors.As(err, &connect):
			return true
		case !committing:
			return pgconn.SafeToRetry(err) || isLost(err)
		}
		// pgx 5.12 says "conn closed" of a COMMIT that a crashing server has carried out.
		return pgconn.SafeToRetry(err) && isUnsent(err)
	}
	return false
}

// isUnsent reports that a write failed.
func isUnsent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "write"
}

// isLost reports that the connection was lost, or was never made.
func isLost(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.As(err, &op)
}
