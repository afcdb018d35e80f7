package file

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// maxGroup bounds how many operations share a transaction, and so for how long the file
// is locked.
const maxGroup = 256

// writer makes all changes of a DB, on one goroutine. Operations that wait at the same
// moment, and those that come before they are all done, become one transaction: its
// fsync, which costs more than everything else, is shared by all of them (group commit).
//
// One operation's failure is its caller's only. An operation that fails before it has
// written anything is left out of the group. If one fails later, or the commit does, the
// transaction is rolled back and each operation gets one of its own. (A savepoint round
// every operation would do the same, and costs a tenth of the throughput, always.)
type writer struct {
	source source
	busy   time.Duration
	check  *checker
	ops    chan *op
	tasks  chan func(*Conn) // to be done between two transactions

	hosted func(context.Context, func(*Tx) error) error // nil; or what makes an operation, in a test

	ctx     context.Context // ends when close is called
	cancel  context.CancelFunc
	stopped chan struct{} // closed when the goroutine has ended
	health  health

	// The rest belongs to the goroutine.
	conn    *Conn     // nil: the last one failed
	group   []*op     // under way
	now     *op       // whose code runs
	shared  Memories  // of the transaction under way
	lasting Memories  // of the writer
	held    time.Time // since when another process keeps transactions from beginning; zero: none does

	log     atomic.Pointer[fs.FileInfo] // the log that conn writes to; nil: not known yet
	logGone atomic.Bool                 // the checkpointer has not found it where it was
}

// op is one change.
type op struct {
	ctx       context.Context
	called    time.Time
	do        func(*Tx) error // may run twice
	err       error
	committed []func()   // to be called once this is committed, before the caller hears of it
	result    chan error // buffered

	panicked any  // what do panicked with
	broken   bool // do panicked or ended the goroutine: it must not run again

	mu   sync.Mutex // held while code of the caller's runs
	gone bool       // the caller has left: their code must not run any more
}

// The reasons why code of a caller's has not run to its end.
var (
	errPanicked = errors.New("sqlite: an update function panicked")
	errExited   = errors.New("sqlite: an update function ended its goroutine")
	errGone     = errors.New("sqlite: the caller has left")
)

// startWriter returns a writer that begins on c.
func startWriter(s source, c *Conn, busy time.Duration, k *checker) *writer {
	w := &writer{source: s, conn: c, busy: busy, check: k, ops: make(chan *op, maxGroup), tasks: make(chan func(*Conn)), stopped: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	go w.run()
	return w
}

// close ends the goroutine after the operations that are under way.
func (w *writer) close() {
	w.cancel()
	<-w.stopped
}

// Write is writer.write.
func (f *File) Write(ctx context.Context, do func(*Tx) error) error { return f.writer.write(ctx, do) }

// write runs do in a transaction and returns when that is on the disk. If ctx ends
// before, it returns ctx's error, and the change may still happen.
//
// do runs on the writer's goroutine, perhaps after write has returned, perhaps twice. So
// it must not touch what belongs to the caller, but inside Tx.Host.
func (w *writer) write(ctx context.Context, do func(*Tx) error) error {
	if h, _ := ctx.Value(hostTxKey{}).(*hostTx); h != nil && h.db.writer == w {
		return h.write(ctx, do)
	}
	return w.writeSince(ctx, time.Now(), do)
}

// writeSince is write in a transaction of the writer's own, for who called a while ago.
func (w *writer) writeSince(ctx context.Context, called time.Time, do func(*Tx) error) error {
	if w.hosted != nil {
		return w.hosted(ctx, do)
	}
	return w.queue(ctx, called, do)
}

// queue has the writer run do, and waits for that.
func (w *writer) queue(ctx context.Context, called time.Time, do func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o := &op{ctx: ctx, called: called, do: do, result: make(chan error, 1)}
	select {
	case w.ops <- o:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.ctx.Done():
		return ErrClosed
	}
	select {
	case err := <-o.result:
		return o.outcome(err)
	case <-ctx.Done():
	case <-w.stopped:
	}
	o.leave()
	select {
	case err := <-o.result:
		return o.outcome(err)
	default:
	}
	return o.outcome(cmp.Or(ctx.Err(), ErrClosed))
}

// outcome is what write returns, or a panic of the caller's own code.
func (o *op) outcome(err error) error {
	if o.panicked != nil {
		panic(o.panicked)
	}
	return err
}

// leave waits for code of the caller's that is running, and keeps it from running again.
func (o *op) leave() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.gone = true
}

// run is the writer's goroutine. Code of a caller's can end it by runtime.Goexit (FailNow
// of a test does); then the next one takes over.
func (w *writer) run() {
	defer func() {
		if w.now != nil {
			w.now.broken, w.now.err = true, errExited
			w.now = nil
			w.discard()
			go w.run()
			return
		}
		w.discard()
		close(w.stopped)
	}()
	w.oneByOne() // what a predecessor left
	for w.gather() {
		for len(w.group) > 0 {
			started, err := w.transact(true)
			switch {
			case err == nil:
				w.answer(len(w.group))
			case !started:
				w.refuse(err)
			case len(w.group) == 1:
				w.group[0].err = err
				w.answer(1)
			default:
				w.oneByOne()
			}
		}
	}
}

// answer ends the first n operations of the group. Those that were committed wake whom
// they concern first.
func (w *writer) answer(n int) {
	for _, o := range w.group[:n] {
		if o.err == nil {
			o.tell()
		}
	}
	for _, o := range w.group[:n] {
		o.result <- o.err
	}
	left := copy(w.group, w.group[n:])
	clear(w.group[left:])
	w.group = w.group[:left]
}

// refuse answers the operations that have waited for long enough for a transaction, or
// all of them if it is not a lock that stands in the way.
func (w *writer) refuse(err error) {
	n := len(w.group)
	if isBusy(err) {
		now := time.Now()
		var due, left []*op // they have not called in the order in which they came
		for _, o := range w.group {
			if w.due(o.called).After(now) {
				left = append(left, o)
			} else {
				due = append(due, o)
			}
		}
		n = max(len(due), 1)
		w.group = append(due, left...)
	}
	for _, o := range w.group[:n] {
		o.err = err
	}
	w.answer(n)
	select {
	case task := <-w.tasks: // it would wait for as long as operations come
		w.perform(task)
	default:
	}
}

// gather fills the group with what waits, or does a task. It returns false when the
// writer is closed and nothing waits.
func (w *writer) gather() bool {
	select {
	case o := <-w.ops:
		w.group = append(w.group, o)
	case task := <-w.tasks:
		w.perform(task)
		return true
	case <-w.ctx.Done():
		select {
		case o := <-w.ops:
			w.group = append(w.group, o)
		default:
			return false
		}
	}
	for w.take() {
	}
	return true
}

func (w *writer) perform(task func(*Conn)) {
	if w.conn == nil {
		w.conn, _ = w.source.connect()
	}
	task(w.conn)
}

// take adds an operation to the group if one waits and there is room.
func (w *writer) take() bool {
	if len(w.group) == maxGroup {
		return false
	}
	select {
	case o := <-w.ops:
		w.group = append(w.group, o)
		return true
	default:
		return false
	}
}

// more is take, with a moment for those whom the last group has just answered: they may
// be about to come back.
func (w *writer) more() bool {
	if w.take() {
		return true
	}
	runtime.Gosched()
	return w.take()
}

// oneByOne gives each operation of the group a transaction of its own, so that one which
// cannot succeed does not fail the others.
func (w *writer) oneByOne() {
	for len(w.group) > 0 {
		if w.group[0].broken {
			w.answer(1)
			continue
		}
		started, err := w.transact(false)
		if !started {
			w.refuse(err)
			continue
		}
		if err != nil {
			w.group[0].err = err
		}
		w.answer(1)
	}
}

// transact runs the first operation of the group in a transaction, or all of them, and
// then those that come while it goes on: who comes in time need not wait for another
// fsync. On an error nothing of it is stored; started tells whether the transaction began.
func (w *writer) transact(all bool) (started bool, err error) {
	if err := w.begin(); err != nil {
		if !errors.Is(err, ErrClosed) {
			w.fault(err)
		}
		return false, err
	}
	n := 1
	if all {
		n = len(w.group) // which may have grown meanwhile
	}
	wrote, scattered := false, 0
	w.shared.clear()
	for i := 0; i < n || all && w.more(); i++ {
		o := w.group[i]
		t := &Tx{conn: w.conn, op: o, shared: &w.shared, lasting: &w.lasting, writer: w}
		w.now = o
		o.err = o.run(t)
		w.now = nil
		wrote = wrote || t.wrote
		if o.err != nil && (t.wrote || t.failed || o.broken) {
			if isFault(o.err) {
				w.fault(o.err)
			}
			w.discard()
			return true, o.err
		}
		scattered += t.scattered
	}
	err = w.shared.settle(w.conn)
	if err == nil {
		err = w.conn.commit()
	}
	if err != nil {
		w.fault(err)
		w.discard()
		return true, err
	}
	if wrote { // or the disk was not asked
		w.health.note(time.Now(), nil)
	}
	if scattered >= manyPages {
		_, _ = w.conn.Exec(unbounded, giveBack) // which is about memory only
	}
	return true, nil
}

// fault takes note of an error of the file or the disk.
func (w *writer) fault(err error) {
	w.health.note(time.Now(), err)
	w.check.hear(err)
}

// due is when who has called at a time has waited for another process for as long as they
// may. Only that counts, but all of it, wherever they waited meanwhile.
func (w *writer) due(called time.Time) time.Time {
	if called.After(w.held) {
		return called.Add(w.busy)
	}
	return w.held.Add(w.busy)
}

// anyDue reports whether an operation of the group is to be refused, or one that has come
// meanwhile.
func (w *writer) anyDue() bool {
	for w.take() {
	}
	now := time.Now()
	return slices.ContainsFunc(w.group, func(o *op) bool { return now.After(w.due(o.called)) })
}

// begin connects if need be, and begins a transaction. While another process has the file,
// the group grows. Who has waited longest may come last, from behind the intake.
func (w *writer) begin() error {
	if err := w.check.err(); err != nil {
		return err
	}
	if w.held.IsZero() {
		w.held = time.Now() // or it begins at once
	}
	err := retryBusyUntil(unbounded, w.ctx.Done(), w.anyDue, func() (err error) {
		if err = w.source.inPlace(); err != nil {
			return err
		}
		if w.conn == nil {
			if w.conn, err = w.source.connect(); err != nil {
				return err
			}
		}
		if w.logGone.Load() {
			return errLogGone
		}
		_, err = w.conn.Exec(unbounded, "BEGIN IMMEDIATE")
		return err
	})
	if !isBusy(err) {
		w.held = time.Time{}
	}
	switch {
	case err == nil && w.log.Load() == nil:
		if log, err := os.Stat(w.source.path + "-wal"); err == nil { // the transaction has opened it
			w.log.Store(&log)
		}
	case err != nil && !isBusy(err) && !errors.Is(err, errLogGone):
		w.discard()
	}
	return err
}

// errLogGone: nobody would find what is acknowledged. The connection still has the log,
// and closing that folds it into the database, so the connection is kept.
var errLogGone = errors.New("sqlite: the write-ahead log has been removed while it was open. Stop the program in peace: that saves what is in it")

// discard closes the connection, which rolls back what has not been committed. A new one
// starts afresh, whatever went wrong with this: a connection that found the file
// read-only, say, would keep it for that.
func (w *writer) discard() {
	if w.conn != nil {
		w.log.Store(nil)
		w.logGone.Store(false)
		_ = w.conn.Close() // whatever it says, it is gone
		w.conn = nil
	}
}

// run calls do and keeps its panic.
func (o *op) run(t *Tx) (err error) {
	defer o.catch(&err)
	if err := o.ctx.Err(); err != nil {
		return err
	}
	o.committed = nil
	return o.do(t)
}

// tell calls what waits for the commit.
func (o *op) tell() {
	for _, f := range o.committed {
		f()
	}
}

// catch keeps a panic, for the goroutine of the caller.
func (o *op) catch(err *error) {
	if p := recover(); p != nil {
		o.panicked, o.broken, *err = p, true, errPanicked
	}
}
