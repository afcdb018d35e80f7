package engine

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
)

const (
	countRevocation = "INSERT INTO @.revocations (n, last) VALUES (1, $1)"
	revocationsNow  = "SELECT max(database), sum(n)::bigint, max(last), count(*) FROM @.revocations"

	// For a number.
	raiseRevocations = "INSERT INTO @.revocations (n) SELECT $1::bigint - sum(n) FROM @.revocations HAVING sum(n) < $1::bigint"

	// In one statement: a reader never sees another sum.
	joinRevocations = "WITH gone AS (DELETE FROM @.revocations WHERE ctid = ANY (ARRAY(SELECT ctid FROM @.revocations LIMIT 10000 FOR UPDATE SKIP LOCKED)) RETURNING database, n, last)" +
		" INSERT INTO @.revocations (database, n, last) SELECT max(database), sum(n), max(last) FROM gone HAVING count(*) > 0"

	mostRevocations = 1000 // rows
)

// TookAway is part of each transaction that takes something away, at a time, which may be zero.
func (s *Session) TookAway(at time.Time) error {
	_, err := s.Exec(countRevocation, sqltext.Stamp(at))
	return err
}

// TookAway adds the statement of [Session.TookAway].
func (q *Queued) TookAway(at time.Time) { q.Add(countRevocation, sqltext.Stamp(at)) }

// Revoked implements [mortise.RevocationCounter] for the stores of a database.
type Revoked struct{ db *DB }

// Revoked returns the database's.
func (db *DB) Revoked() Revoked { return Revoked{db} }

// Revocations implements [mortise.RevocationCounter].
func (r Revoked) Revocations(ctx context.Context) (now mortise.Revocations, err error) {
	var at pgtype.Timestamptz
	rows := 0
	err = r.db.Read(ctx, NoOrg, func(s *Session) error {
		if err := s.Row(revocationsNow, nil, &now.Database, &now.N, &at, &rows); err != nil || rows <= mostRevocations {
			return err
		}
		_, err := s.Exec(joinRevocations)
		return err
	})
	now.Last = sqltext.TimeOf(at)
	return now, err
}

// RaiseRevocations implements [mortise.RevocationCounter].
func (r Revoked) RaiseRevocations(ctx context.Context, n int64) error {
	return r.db.Transact(ctx, NoOrg, func(s *Session) error {
		if err := s.Lock("revocations", "", false); err != nil {
			return err
		}
		_, err := s.Exec(raiseRevocations, n)
		return err
	})
}
