package sqlite

import "errors"

// tx is an operation's view of the writer's transaction.
type tx struct {
	conn      *conn
	op        *op
	alive     *alive // shared by the operations of the transaction
	recent    *recentEvents
	writer    *writer
	before    sealCounts // what they have changed
	counts    sealCounts // what this one has changed
	wrote     bool       // a statement has changed something
	scattered int        // see scatter
	failed    bool       // a statement has failed: the transaction may be gone
	own       bool       // it is not the writer's, but one of InTx
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
