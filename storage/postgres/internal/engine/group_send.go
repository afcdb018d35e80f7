package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-6363c74e/mortise"
)

// TxQueue is postgres.TxQueue.
type TxQueue interface {
	mortise.Queue
	EnqueueTx(ctx context.Context, tx pgx.Tx, j mortise.Job) error
}

// manyTxQueue is a TxQueue that can add many jobs at once.
type manyTxQueue interface {
	EnqueueManyTx(ctx context.Context, tx pgx.Tx, jobs []mortise.Job) error
}

// sendPipeline makes one pipeline of a group.
func (db *DB) sendPipeline(ctx context.Context, conn *pgxpool.Conn, ops []*op, alone bool) (committing bool, err error) {
	answered, err := db.send(ctx, conn, ops, alone)
	// What the server says instead of an answer, it says before it comes to the commit.
	return answered || code(err) == "", err
}

// errRefused is of a queue that has not taken the jobs of a group.
var errRefused = errors.New("postgres: the queue has refused a job")

// errNothingStored is of an operation that has left nothing to add its job for.
var errNothingStored = errors.New("postgres: nothing is stored")

// sendWithJobs makes a transaction of a group, with its jobs for the host's queue.
//
// An operation that is alone goes to the server together with what the queue asks there first.
// If it stores nothing, which is seldom, all of that is rolled back. So it is if pgx
// cannot encode a statement, or the server not prepare it: it may be the queue's own, who
// is told in the transaction in which the caller looks again.
func (db *DB) sendWithJobs(ctx context.Context, conn *pgxpool.Conn, ops []*op, alone bool) (committing bool, err error) {
	first, _ := db.pipeline(ops, alone, true)
	tx := beginLate(ctx, conn, first, func() error {
		if alone && !ops[0].stored {
			return errNothingStored
		}
		return nil
	})
	defer func() { _ = tx.Rollback(ctx) }()
	if !alone && tx.flush(ctx) != nil {
		return false, tx.err
	}
	var jobs []mortise.Job
	for _, o := range ops {
		if alone || o.stored {
			jobs = append(jobs, *o.job)
		}
	}
	var refused error
	if len(jobs) > 0 {
		refused = db.queue.(manyTxQueue).EnqueueManyTx(ctx, tx, jobs)
	}
	switch err := tx.flush(ctx); {
	case errors.Is(err, errNothingStored):
		return false, nil
	case alone && err != nil && !tx.begun && !mayRetry(err, false):
		return false, nil // of a server that is silent it is an error in Transact
	case err != nil: // it is not the queue's, whatever that makes of it
		return false, err
	case refused != nil:
		return false, fmt.Errorf("%w: %w", errRefused, refused)
	}
	return true, tx.Commit(ctx)
}

// send sends a pipeline of the operations: one transaction, unless there is one already.
// answered: the last statement has been.
func (db *DB) send(ctx context.Context, q querier, ops []*op, alone bool) (answered bool, err error) {
	b, last := db.pipeline(ops, alone, false)
	if last != nil {
		read := last.Fn
		if read == nil {
			read = func(r pgx.BatchResults) error {
				_, err := r.Exec()
				return err
			}
		}
		last.Fn = func(r pgx.BatchResults) error {
			err := read(r)
			answered = err == nil
			return err
		}
	}
	err = q.SendBatch(ctx, b).Close()
	return answered, err
}

// pipeline returns the statements of the operations, behind a BEGIN if they need one, and the
// last of them.
func (db *DB) pipeline(ops []*op, alone, begin bool) (b *pgx.Batch, last *pgx.QueuedQuery) {
	b = new(pgx.Batch)
	if begin {
		b.BeginTx(pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	}
	if !alone {
		b.Queue(groupSettings, strconv.FormatInt(groupLockTimeout.Milliseconds(), 10))
	}
	slices.SortStableFunc(ops, func(x, y *op) int { return strings.Compare(x.order, y.order) })
	locked := make(map[string]bool)
	var shared []*sharing
	for _, o := range ops {
		o.after, o.stored, o.err = nil, false, nil
		o.queue(&Batch{db: db, op: o, b: b, host: HostTx(o.ctx) != nil, alone: alone, locked: locked, shared: &shared})
	}
	for _, s := range shared {
		s.add(db, b)
	}
	if n := len(b.QueuedQueries); n > 0 {
		last = b.QueuedQueries[n-1]
	}
	return b, last
}
