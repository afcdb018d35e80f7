package sqlite

import (
	"errors"

	"github.com/seed-6363c74e/mortise"
)

// tx is an operation's view of the writer's transaction.
type tx struct {
	conn      *conn
	op        *op
	shared    *memories // of the transaction, for all of its operations
	lasting   *memories // of the writer; an empty one for InTx, whose calls can be rolled back
	writer    *writer
	wrote     bool // a statement has changed something
	scattered int  // see scatter
	failed    bool // a statement has failed: the transaction may be gone
	own       bool // it is not the writer's, but one of InTx
}

var errFailed = errors.New("sqlite: an earlier statement of the transaction has failed")

// exec runs a statement and returns how many rows it changed.
func (t *tx) exec(text string, args ...any) (changed int64, err error) {
	if t.failed { // outside of a transaction that has ended, the statement would be committed by itself
		return 0, errFailed
	}
	changed, err = t.conn.exec(unbounded, text, args...)
	t.wrote = t.wrote || changed > 0
	t.failed = t.failed || err != nil
	return changed, err
}

// query calls each for every row.
func (t *tx) query(text string, args []any, each func(*row) error) error {
	err := t.conn.query(unbounded, text, args, each)
	t.failed = t.failed || err != nil
	return err
}

// onCommit calls f once the transaction is on the disk, unless this operation fails. f must
// not block.
func (t *tx) onCommit(f func()) { t.op.committed = append(t.op.committed, f) }

// awaited reports whether another operation waits for this one's end.
func (t *tx) awaited() bool {
	if t.own {
		return false
	}
	return len(t.writer.ops) > 0 || t.writer.group[len(t.writer.group)-1] != t.op
}

// host runs code of the caller's, unless the caller has left. Only here may an operation
// touch what belongs to the caller.
func (t *tx) host(f func() error) (err error) {
	t.op.mu.Lock()
	defer t.op.mu.Unlock()
	if t.op.gone {
		return errGone
	}
	defer t.op.catch(&err) // here, so that leave waits for it
	return f()
}

// change is a statement with its values, to be run later: they hold nothing that the
// caller could change meanwhile.
type change struct {
	statement string
	args      []any
}

// apply makes changes in their order.
func (t *tx) apply(changes []change) error {
	for _, c := range changes {
		if _, err := t.exec(c.statement, c.args...); err != nil {
			return err
		}
	}
	return nil
}

// insert runs a statement that inserts one row ON CONFLICT DO NOTHING. It is ErrExists if
// there is such a row.
func (t *tx) insert(statement string, args ...any) error {
	inserted, err := t.exec(statement, args...)
	if err == nil && inserted == 0 {
		err = mortise.ErrExists
	}
	return err
}

// exists reports whether a query finds anything.
func (t *tx) exists(query string, args ...any) (found bool, err error) {
	err = t.query(query, args, func(*row) error {
		found = true
		return nil
	})
	return found, err
}
