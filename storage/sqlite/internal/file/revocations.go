package file

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
)

const (
	revocationsNow   = "SELECT database, n, last FROM mortise_revocations WHERE one = 1"
	countRevocation  = "UPDATE mortise_revocations SET n = n + 1, last = coalesce(max(last, ?1), ?1, last) WHERE one = 1"
	raiseRevocations = "UPDATE mortise_revocations SET n = max(n, ?) WHERE one = 1"
)

// TookAway is part of each change that takes something away, at a time, which may be zero.
func TookAway(at time.Time) Change { return Do(countRevocation, Micros(at)) }

// Revoked implements [mortise.RevocationCounter] for the stores of a file.
type Revoked struct{ file *File }

// Revoked returns the file's.
func (db *File) Revoked() Revoked { return Revoked{db} }

// Revocations implements [mortise.RevocationCounter].
func (r Revoked) Revocations(ctx context.Context) (now mortise.Revocations, err error) {
	err = r.file.Find(ctx, NoOrg, revocationsNow, nil, func(row *Row) error {
		now = mortise.Revocations{Database: row.Text(0), N: int64(row.Number(1)), Last: row.Moment(2)}
		return nil
	})
	return now, err
}

// RaiseRevocations implements [mortise.RevocationCounter].
func (r Revoked) RaiseRevocations(ctx context.Context, n int64) error {
	return r.file.Write(ctx, func(t *Tx) error { return t.Apply(Do(raiseRevocations, n)) })
}
