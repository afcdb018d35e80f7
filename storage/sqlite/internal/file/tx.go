package file

import (
	"errors"

	"github.com/seed-6363c74e/mortise"
)

// Tx is an operation's view of the writer's transaction.
type Tx struct {
	conn      *Conn
	op        *op
	shared    *Memories // of the transaction, for all of its operations
	lasting   *Memories // of the writer; an empty one for InTx, whose calls can be rolled back
	writer    *writer
	wrote     bool // a statement has changed something
	scattered int  // see Scatter
	failed    bool // a statement has failed: the transaction may be gone
	own       bool // it is not the writer's, but one of InTx
}

var errFailed = errors.New("sqlite: an earlier statement of the transaction has failed")

// Exec runs a statement and returns how many rows it changed.
func (t *Tx) Exec(text string, args ...any) (changed int64, err error) {
	if t.failed { // outside of a transaction that has ended, the statement would be committed by itself
		return 0, errFailed
	}
	changed, err = t.conn.Exec(unbounded, text, args...)
	t.wrote = t.wrote || changed > 0
	t.failed = t.failed || err != nil
	return changed, err
}

// Query calls each for every row.
func (t *Tx) Query(text string, args []any, each func(*Row) error) error {
	err := t.conn.Query(unbounded, text, args, each)
	t.failed = t.failed || err != nil
	return err
}

// Conn is the connection on which the transaction goes on.
func (t *Tx) Conn() *Conn { return t.conn }

// Shared are the memories of the transaction, for all of its operations.
func (t *Tx) Shared() *Memories { return t.shared }

// Lasting are the memories of the writer; empty ones if t is Hosted.
func (t *Tx) Lasting() *Memories { return t.lasting }

// Hosted reports whether the operation is part of a transaction of the host's, whose calls
// can be rolled back one by one.
func (t *Tx) Hosted() bool { return t.own }

// OnCommit calls f once the transaction is on the disk, unless this operation fails. f must
// not block.
func (t *Tx) OnCommit(f func()) { t.op.committed = append(t.op.committed, f) }

// Awaited reports whether another operation waits for this one's end.
func (t *Tx) Awaited() bool {
	if t.own {
		return false
	}
	return len(t.writer.ops) > 0 || t.writer.group[len(t.writer.group)-1] != t.op
}

// Host runs code of the caller's, unless the caller has left. Only here may an operation
// touch what belongs to the caller.
func (t *Tx) Host(f func() error) (err error) {
	t.op.mu.Lock()
	defer t.op.mu.Unlock()
	if t.op.gone {
		return errGone
	}
	defer t.op.catch(&err) // here, so that leave waits for it
	return f()
}

// CutOff reports whether err, of Host, says that the caller's code has not run to its end.
func (t *Tx) CutOff(err error) bool { return t.op.broken || errors.Is(err, errGone) }

// Settle calls s.Settle before the end of the transaction.
func (t *Tx) Settle(s settler) error {
	err := s.Settle(t.conn)
	t.failed = t.failed || err != nil
	return err
}

// Mark returns a function to be called if the operation has undone by statements of its own
// what it has changed since.
func (t *Tx) Mark() (undone func()) {
	wrote := t.wrote
	return func() { t.wrote = wrote }
}

// Change is a statement with its values, to be run later: they hold nothing that the caller
// could change meanwhile.
type Change struct {
	statement string
	args      []any
}

// Do returns a Change.
func Do(statement string, args ...any) Change { return Change{statement, args} }

// Apply makes changes in their order.
func (t *Tx) Apply(changes ...Change) error {
	for _, c := range changes {
		if _, err := t.Exec(c.statement, c.args...); err != nil {
			return err
		}
	}
	return nil
}

// Insert runs a statement that inserts one row ON CONFLICT DO NOTHING. It is ErrExists if
// there is such a row.
func (t *Tx) Insert(statement string, args ...any) error {
	inserted, err := t.Exec(statement, args...)
	if err == nil && inserted == 0 {
		err = mortise.ErrExists
	}
	return err
}

// Exists reports whether a query finds anything.
func (t *Tx) Exists(query string, args ...any) (found bool, err error) {
	err = t.Query(query, args, func(*Row) error {
		found = true
		return nil
	})
	return found, err
}
