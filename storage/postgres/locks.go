package postgres

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

// lockName is the argument of a lock's statements: a text that has no U+0000.
func (db *engine) lockName(of, name string) string {
	return fmt.Sprintf("%s %s %x", db.schema, of, name)
}

// lock keeps others out who ask for the same lock until the transaction of transact ends;
// a shared one keeps only those out who want it alone. Look after it, in a statement of its
// own. Who has it alone, and looks for what those who shared it have stored, calls needsLatest
// first.
func (s *session) lock(of, name string, shared bool) error {
	name = s.db.lockName(of, name)
	if shared {
		return s.lockShared(lockShared, name)
	}
	_, err := s.exec(lockAlone, name)
	return err
}

// lockShared takes locks by a statement whose arguments are their names.
func (s *session) lockShared(text string, names ...any) error {
	if !s.host {
		_, err := s.exec(text, names...)
		return err
	}
	q := queued{s: s}
	q.add(text, names...)
	s.db.noticeOthers(&q.Batch, names...)
	return q.send()
}

// noticeOthers adds what a host's transaction sends behind its shared locks.
func (db *engine) noticeOthers(b *pgx.Batch, names ...any) {
	for _, name := range names {
		b.Queue(db.sql(noticeAlone), name)
	}
}

// errSnapshot is of a call that goes by all that is stored.
var errSnapshot = errors.New("postgres: in a transaction of REPEATABLE READ or SERIALIZABLE this call would not see" +
	" what was stored since: begin the transaction at READ COMMITTED, or call it outside")

// needsLatest returns errSnapshot in a host's transaction that does not see what others have
// committed since it began.
func (s *session) needsLatest() error {
	if !s.host {
		return nil
	}
	var stays bool
	if err := s.row("SELECT "+snapshotStays, nil, &stays); err != nil || !stays {
		return err
	}
	return errSnapshot
}
