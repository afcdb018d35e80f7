package engine

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

type hostTxKey struct{}

// InTx is postgres.InTx.
func InTx(ctx context.Context, tx pgx.Tx) context.Context {
	return context.WithValue(ctx, hostTxKey{}, tx)
}

// IsHosted reports whether a call is, or is to be, part of a transaction of the host's.
func (db *DB) IsHosted(ctx context.Context) bool { return HostTx(ctx) != nil || db.hosted != nil }

// IsInTx reports whether a context is one of InTx.
func IsInTx(ctx context.Context) bool { return HostTx(ctx) != nil }

// HostTx returns the host's transaction, or nil.
func HostTx(ctx context.Context) pgx.Tx {
	tx, _ := ctx.Value(hostTxKey{}).(pgx.Tx)
	return tx
}

var errNested = errors.New("postgres: Transact within a transaction of InTx: use the transaction that is there")

// TransactHost calls do in a transaction as if that was the host's. It is called again as the
// do of Transact.
func (db *DB) TransactHost(ctx context.Context, org string, do func(ctx context.Context) error) error {
	if IsInTx(ctx) {
		return errNested
	}
	return db.Transact(ctx, org, func(s *Session) error {
		if err := do(InTx(s.ctx, s.q.(pgx.Tx))); err != nil {
			return err
		}
		return context.Cause(s.ctx)
	})
}
