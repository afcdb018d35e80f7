package sqlite

import "database/sql"

// tx is an operation's view of the writer's transaction.
type tx struct {
	conn   *conn
	op     *op
	wrote  bool // a statement has changed something
	failed bool // a statement has failed: the transaction may be gone
}

// exec runs a statement and returns how many rows it changed.
func (t *tx) exec(text string, args ...any) (changed int64, err error) {
	stmt, err := t.conn.stmt(text)
	if err != nil {
		t.failed = true
		return 0, err
	}
	result, err := stmt.ExecContext(unbounded, args...)
	if err != nil {
		t.failed = true
		return 0, err
	}
	changed, err = result.RowsAffected()
	t.wrote = t.wrote || changed > 0
	return changed, err
}

// query calls each for every row.
func (t *tx) query(text string, args []any, each func(*sql.Rows) error) error {
	stmt, err := t.conn.stmt(text)
	if err == nil {
		err = scan(stmt.QueryContext(unbounded, args...))(each)
	}
	if err != nil {
		t.failed = true
	}
	return err
}

// host runs code of the caller's, unless he has left. Only here may an operation touch what belongs to the caller.
func (t *tx) host(f func() error) error {
	t.op.mu.Lock()
	defer t.op.mu.Unlock()
	if t.op.gone {
		return errGone
	}
	return f()
}
