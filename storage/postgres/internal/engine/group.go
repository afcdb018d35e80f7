package engine

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-6363c74e/mortise"
)

const (
	maxGroup      = 256     // operations that share a transaction
	maxGroupBytes = 4 << 20 // of their arguments, about, unless one alone has more

	groupLockTimeout = 100 * time.Millisecond // then each operation waits by itself
	maxGather        = 5 * time.Millisecond   // how long a group waits for callers that come again
)

// groupSettings hold until a group ends: how long it waits for a lock, and that statements
// go by indexes. Else a plan that is made while a table is small would read it from end to
// end, and be kept while it grows.
const (
	groupSettings = "SELECT set_config('lock_timeout', $1, true), set_config('enable_seqscan', 'off', true)"
	byIndexes     = "SELECT set_config('enable_seqscan', 'off', true)"

	lockSharedAndSeek = lockShared + ", set_config('enable_seqscan', 'off', true)"
)

// group makes small writes of many callers in few transactions. What comes while one is
// under way shares the next one: one round trip, and one sync of the disk (group commit).
//
// An operation is a few statements that need nothing of each other's results: those of a
// group are sent at once, as one pipeline, which is one transaction. If that fails, each
// operation gets one of its own, so that one caller's failure is not another's.
type group struct {
	db   *DB
	send func(ctx context.Context, conn *pgxpool.Conn, ops []*op, alone bool) (committing bool, err error)

	mu      sync.Mutex
	waiting []*op
	running bool
	closed  bool
	idle    sync.WaitGroup

	// How many operations the latest group had, and until when the next one waits for as
	// many. gathered is told when they are there.
	latest   int
	until    time.Time
	gathered chan struct{} // buffered
}

func newGroup(db *DB, send func(ctx context.Context, conn *pgxpool.Conn, ops []*op, alone bool) (committing bool, err error)) *group {
	return &group{db: db, send: send, gathered: make(chan struct{}, 1)}
}

// op is an operation of a group.
type op struct {
	ctx    context.Context
	org    string // whose places it takes if it runs alone
	order  string // place in its group; "" before all others
	bytes  int
	queue  func(*Batch)
	job    *mortise.Job // for the host's queue; or nil
	result chan error   // buffered

	// Of the latest attempt:
	after  []func()
	stored bool  // of stored
	err    error // of reading an answer: the transaction is committed in spite of it
}

// Batch is what an operation adds its statements to. All of them run, in a transaction that
// is committed whatever is made of the answers: what must not be stored, the statements
// themselves leave out.
type Batch struct {
	db     *DB
	op     *op
	b      *pgx.Batch
	host   bool            // the transaction is the host's
	alone  bool            // the operation has no group, and so not groupSettings
	locked map[string]bool // by lockShared, in this pipeline
	shared *[]*sharing     // the statements at its end
}

// Seek has the statements behind it look for rows by indexes. A statement that inserts a row
// does so anyway.
func (b *Batch) Seek() {
	if b.alone && !b.host {
		b.b.Queue(byIndexes)
	}
}

// Exec adds a statement. each, which may be nil, is told how many rows it changed.
func (b *Batch) Exec(each func(changed int64), text string, args ...any) {
	b.b.Queue(b.db.sql(text), args...).Fn = func(r pgx.BatchResults) error {
		tag, err := r.Exec()
		if err == nil && each != nil {
			each(tag.RowsAffected())
		}
		return err
	}
}

// Query adds a statement, and calls each for every row. What it scans as bytes stays valid.
func (b *Batch) Query(each func(pgx.Rows) error, text string, args ...any) {
	o := b.op
	b.b.Queue(b.db.sql(text), args...).Fn = func(r pgx.BatchResults) error {
		rows, err := r.Query()
		if err != nil {
			return err
		}
		defer rows.Close()
		for o.err == nil && rows.Next() {
			o.err = each(rows)
		}
		rows.Close()
		return rows.Err()
	}
}

// LockShared adds the statement of Session.Lock for a shared lock. The statements behind it see
// the last holder's commit, and go by indexes, as behind Seek.
func (b *Batch) LockShared(of, name string) {
	name = b.db.LockName(of, name)
	if b.locked[name] {
		return
	}
	b.locked[name] = true
	if b.alone && !b.host {
		b.Exec(nil, lockSharedAndSeek, name)
	} else {
		b.LockAll(lockShared, name)
	}
}

// LockAll adds the statement of session.lockShared.
func (b *Batch) LockAll(text string, names ...any) {
	b.Exec(nil, text, names...)
	if b.host {
		b.db.noticeOthers(b.b, names...)
	}
}

// OnCommit has f called when the operation is committed, and not at all if it is not. In a
// transaction of the host's, whose end is not known here, it is not called either. f does not
// block.
func (b *Batch) OnCommit(f func()) { b.op.after = append(b.op.after, f) }

// Stored has the job of WithJob added. A function that reads an answer calls it.
func (b *Batch) Stored() { b.op.stored = true }

// Together makes an operation, in a group with others; or at once, within the host's
// transaction. bytes is about how large its arguments are.
//
// queue may run after Together has returned, because ctx has ended, and more than once. So
// it must not touch what belongs to the caller: what it and the functions that it adds
// read and write is the operation's own. If ctx ends, the change may still happen.
func (db *DB) Together(ctx context.Context, org string, bytes int, queue func(*Batch)) error {
	return db.group.together(ctx, &op{org: org, bytes: bytes, queue: queue})
}

// InOrder is Together for an operation that locks a row which others may want, too. It says
// which row, and the operations of a group go by that: so two groups of two processes never
// wait for each other.
func (db *DB) InOrder(ctx context.Context, org, order string, bytes int, queue func(*Batch)) error {
	return db.group.together(ctx, &op{org: org, order: order, bytes: bytes, queue: queue})
}

// WithJob is Together for an operation with a job for the host's queue, which is added in
// the transaction if the operation calls stored. The job is the operation's own.
func (db *DB) WithJob(ctx context.Context, org string, bytes int, j *mortise.Job, queue func(*Batch)) error {
	return db.withJobs.together(ctx, &op{org: org, bytes: bytes, queue: queue, job: j})
}

func (g *group) together(ctx context.Context, o *op) (err error) {
	defer func() {
		if o.job == nil { // which is for a queue of the host's, with errors of its own
			err = asName(err)
		}
	}()
	db := g.db
	if err := ctx.Err(); err != nil {
		return err
	}
	o.ctx, o.result = ctx, make(chan error, 1)
	if host := HostTx(ctx); host != nil {
		return db.within(ctx, host, func(s *Session) error {
			_, err := db.send(s.ctx, s.q, []*op{o}, true)
			return cmp.Or(err, o.err)
		})
	}
	if db.hosted != nil {
		return db.hosted(ctx, func(ctx context.Context) error { return g.together(ctx, o) })
	}
	ctx, cancel := context.WithTimeoutCause(ctx, db.timeout, errTimeout)
	defer cancel()
	o.ctx = ctx
	lead, err := g.add(o)
	if err != nil {
		return err
	}
	if lead {
		g.lead(o)
		return <-o.result
	}
	select {
	case err := <-o.result:
		return err
	case <-ctx.Done():
		select {
		case err := <-o.result:
			return err
		default:
			return context.Cause(ctx)
		}
	}
}

// add has an operation wait for its group, unless it is to lead.
func (g *group) add(o *op) (lead bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false, ErrClosed
	}
	if !g.running && (g.latest <= 1 || !time.Now().Before(g.until)) {
		g.running = true
		g.idle.Add(1) // until lead has ended
		return true, nil
	}
	g.waiting = append(g.waiting, o)
	if len(g.waiting) == g.latest {
		select {
		case g.gathered <- struct{}{}:
		default:
		}
	}
	if !g.running {
		g.running = true
		g.idle.Go(g.run)
	}
	return false, nil
}

// lead makes a transaction of an operation that has met no other, on the goroutine of its
// caller: to hand it to another one takes as long as a statement. If it has to wait for a
// lock, the next group does not wait for it.
func (g *group) lead(o *op) {
	defer g.idle.Done()
	began := time.Now()
	pass := sync.OnceFunc(func() {
		ended := time.Now()
		g.mu.Lock()
		defer g.mu.Unlock()
		g.latest, g.until = 1, ended.Add(min(ended.Sub(began), maxGather))
		if len(g.waiting) == 0 {
			g.running = false
			return
		}
		g.idle.Go(g.run)
	})
	late := time.AfterFunc(groupLockTimeout, pass)
	defer func() { // after a panic, too
		late.Stop()
		pass()
	}()
	o.answer(g.transact([]*op{o}, true))
}

// close waits for what is under way.
func (g *group) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.idle.Wait()
}

// run makes groups until nothing waits.
func (g *group) run() {
	for {
		g.gather()
		ops := g.next()
		if ops == nil {
			return
		}
		began := time.Now()
		g.do(ops)
		ended := time.Now()
		g.mu.Lock()
		g.latest, g.until = len(ops), ended.Add(min(ended.Sub(began), maxGather))
		g.mu.Unlock()
	}
}

// gather waits for as many operations as the latest group had, if that has just ended: its
// callers come again one by one, and the first of them would otherwise have a transaction
// of its own, for which the others wait. That is what the wait may cost at most.
func (g *group) gather() {
	g.mu.Lock()
	select {
	case <-g.gathered: // what an earlier group was told
	default:
	}
	waiting, wait := len(g.waiting), time.Until(g.until)
	enough := waiting == 0 || waiting >= g.latest || g.closed
	g.mu.Unlock()
	if enough || wait <= 0 {
		return
	}
	late := time.NewTimer(wait)
	defer late.Stop()
	select {
	case <-g.gathered:
	case <-late.C:
	}
}

// next returns the operations of the next group, or nil if none waits.
func (g *group) next() []*op {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, bytes := 0, 0
	for n < min(len(g.waiting), maxGroup) && (n == 0 || bytes+g.waiting[n].bytes <= maxGroupBytes) {
		bytes += g.waiting[n].bytes
		n++
	}
	if n == 0 {
		g.running, g.waiting = false, nil
		return nil
	}
	ops := append([]*op(nil), g.waiting[:n]...)
	left := copy(g.waiting, g.waiting[n:])
	clear(g.waiting[left:])
	g.waiting = g.waiting[:left]
	return ops
}

// do makes one transaction of a group, or one of each operation if that fails.
func (g *group) do(ops []*op) {
	live := ops[:0]
	for _, o := range ops {
		if o.ctx.Err() != nil {
			o.result <- context.Cause(o.ctx)
			continue
		}
		live = append(live, o)
	}
	if len(live) == 0 {
		return
	}
	if len(live) == 1 {
		g.alone(live[0])
		return
	}
	err := g.transact(live, false)
	if err == nil || !isRolledBack(err) {
		for _, o := range live {
			o.answer(err)
		}
		return
	}
	// Beside the next group: one of them may have to wait for a lock that a host's
	// transaction holds.
	for _, o := range live {
		g.idle.Go(func() { o.answer(g.transact([]*op{o}, true)) })
	}
}

// alone makes a transaction of an operation that waited without others, as lead does.
func (g *group) alone(o *op) {
	done := make(chan struct{})
	g.idle.Go(func() {
		defer close(done)
		o.answer(g.transact([]*op{o}, true))
	})
	late := time.NewTimer(groupLockTimeout)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	}
}

// transact sends a group on a connection of its own, within Options.Timeout. An operation
// that is not alone does not wait for locks for long.
func (g *group) transact(ops []*op, alone bool) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), g.db.timeout, errTimeout)
	connecting := ctx
	if alone {
		cancel()
		// A lock of one organization's can keep many of its operations waiting, each with a
		// connection.
		org := ops[0].org
		if err := g.db.places.Take(ops[0].ctx, nil, org); err != nil {
			return err
		}
		defer g.db.places.Give(org)
		connecting = ops[0].ctx
		ctx, cancel = later(connecting)
	}
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		sent, err := g.once(connecting, ctx, ops, alone)
		switch {
		case err == nil:
			return unsure(ctx)
		case connecting.Err() != nil:
			return errors.Join(context.Cause(connecting), err)
		case !mayRetry(err, sent), isRolledBack(err) && !alone:
			return err
		}
		select {
		case <-connecting.Done():
			return errors.Join(context.Cause(connecting), err)
		case <-time.After(pause):
		}
	}
}

func (g *group) once(connecting, ctx context.Context, ops []*op, alone bool) (sent bool, err error) {
	conn, err := g.db.pool.Acquire(connecting)
	if err != nil {
		return false, err
	}
	defer conn.Release()
	if sent, err = g.send(ctx, conn, ops, alone); isReadOnly(err) {
		_ = conn.Conn().Close(ctx)
	}
	return sent, err
}

// answer ends the operation: the transaction was committed if err is nil.
func (o *op) answer(err error) {
	if err == nil {
		for _, f := range o.after {
			f()
		}
		err = o.err
	}
	o.result <- err
}

// Hosted reports whether the operation is part of the host's transaction.
func (b *Batch) Hosted() bool { return b.host }
