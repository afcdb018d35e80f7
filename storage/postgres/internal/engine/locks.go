package engine

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// The locks of names are PostgreSQL's advisory ones. Who looks after a lock sees what its last
// holder has committed, in a statement of its own at READ COMMITTED. In a host's transaction
// whose snapshot stays they would not, and would store what is no longer allowed. So who takes
// a lock alone also changes a row, which a host's transaction looks for as one that it adds: if
// it was changed after the snapshot, PostgreSQL answers with a serialization failure.
const (
	lockShared = "SELECT pg_advisory_xact_lock_shared(pg_catalog.hashtextextended($1, 0::bigint))"
	lockAlone  = "INSERT INTO @.locks AS l (id, taken)" +
		" SELECT pg_catalog.hashtextextended($1, 0::bigint), 1 FROM pg_advisory_xact_lock(pg_catalog.hashtextextended($1, 0::bigint))" +
		" ON CONFLICT (id) DO UPDATE SET taken = l.taken + 1"

	snapshotStays = "current_setting('transaction_isolation') IN ('repeatable read', 'serializable')"

	// For who has the lock shared. It fails if the row was added or changed after the snapshot.
	noticeAlone = "INSERT INTO @.locks (id, taken) SELECT pg_catalog.hashtextextended($1, 0::bigint), 0 WHERE " + snapshotStays + " ON CONFLICT DO NOTHING"
)

// LockName is the argument of a lock's statements: a text that has no U+0000.
func (db *DB) LockName(of, name string) string {
	return fmt.Sprintf("%s %s %x", db.schema, of, name)
}

// Lock keeps others out who ask for the same lock until the transaction of Transact ends;
// a shared one keeps only those out who want it alone. Look after it, in a statement of its
// own. Who has it alone, and looks for what those who shared it have stored, calls NeedsLatest
// first.
func (s *Session) Lock(of, name string, shared bool) error {
	name = s.db.LockName(of, name)
	if shared {
		return s.LockShared(lockShared, name)
	}
	_, err := s.Exec(lockAlone, name)
	return err
}

// LockShared takes locks by a statement whose arguments are their names.
func (s *Session) LockShared(text string, names ...any) error {
	if !s.host {
		_, err := s.Exec(text, names...)
		return err
	}
	q := s.Queued()
	q.Add(text, names...)
	s.db.noticeOthers(&q.Batch, names...)
	return q.Send()
}

// LockShared adds a shared lock, and what a host's transaction sends behind it.
func (q *Queued) LockShared(of, name string) {
	lock := q.s.db.LockName(of, name)
	q.Add(lockShared, lock)
	if q.s.host {
		q.s.db.noticeOthers(&q.Batch, lock)
	}
}

// noticeOthers adds what a host's transaction sends behind its shared locks.
func (db *DB) noticeOthers(b *pgx.Batch, names ...any) {
	for _, name := range names {
		b.Queue(db.sql(noticeAlone), name)
	}
}

// errSnapshot is of a call that goes by all that is stored.
var errSnapshot = errors.New("postgres: in a transaction of REPEATABLE READ or SERIALIZABLE this call would not see" +
	" what was stored since: begin the transaction at READ COMMITTED, or call it outside")

// NeedsLatest returns errSnapshot in a host's transaction that does not see what others have
// committed since it began.
func (s *Session) NeedsLatest() error {
	if !s.host {
		return nil
	}
	var stays bool
	if err := s.Row("SELECT "+snapshotStays, nil, &stays); err != nil || !stays {
		return err
	}
	return errSnapshot
}
