package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
)

// InTx returns a context under which the calls of a [DB], and of its queues and of services
// over its stores, are part of tx, the host's own transaction of any isolation level: what
// they write is committed or rolled back with it. Each call is a savepoint, so that its error
// leaves the host's work alive. A serialization failure is the host's to retry.
//
// What a call has written is locked until tx ends. Its idempotency key is locked, too. An
// organization in which it has created something cannot be deleted until then. Others wait
// for that, and fail after Options.Timeout: so commit soon.
//
// tx must be one of the DB's database, whose role may use the schema's tables. A pgx.Tx is
// not safe for concurrent use, and so the context is not either: one call at a time. Give
// it to Enqueue and Cancel, and not to Consume.
//
// A host on database/sql, by itself or below GORM or ent, takes part if pgx is its driver
// (pgx/v5/stdlib). It begins its transaction on a sql.Conn, whose Raw gives it the connection:
//
//	err := conn.Raw(func(driver any) error {
//		tx, err := driver.(*stdlib.Conn).Conn().BeginTx(ctx, pgx.TxOptions{
//			BeginQuery: "SAVEPOINT host", CommitQuery: "RELEASE SAVEPOINT host",
//		})
//		if err != nil {
//			return err
//		}
//		if _, err := requests.Submit(postgres.InTx(ctx, tx), org, by, submission); err != nil {
//			return err // never tx.Rollback: that would end the host's transaction
//		}
//		return tx.Commit(ctx)
//	})
//
// After an error of Raw it rolls back the whole. The example databaseSQL has all of it.
//
// Consumers hear of a job that was added after COMMIT, and not at all after ROLLBACK. Where
// the queue is not in the database, a job is queued once this process hears of the COMMIT, by
// Options.Listen. If it dies before, or is not connected then, a sweeper queues the job. An
// Observer hears of a change in the same way, or never; that costs a statement in tx.
//
// At READ COMMITTED a read that is several statements, such as a search, or the read of a video's
// scores, may see half of another session's commit, as the host's own reads do.
//
// A snapshot of REPEATABLE READ or SERIALIZABLE that is older than what somebody else has
// committed does not see that. Where it would forbid the call (the organization or vault was
// deleted, a key retired, an address invited), PostgreSQL answers with a serialization failure.
// What goes by all that is stored is refused at these levels: RemoveDeleted, RequireKey and
// RetireKey, and a PutVault by which columns leave a vault.
func InTx(ctx context.Context, tx pgx.Tx) context.Context { return engine.InTx(ctx, tx) }

// HostTx returns the transaction that [InTx] has put into ctx; in a function that
// trigger.Outcome.Apply names, the transaction that ends the event, which the function must
// not end. It is also for a queue elsewhere in the database whose calls are to be part of the
// transaction: river.Options.Tx of storage/river.
func HostTx(ctx context.Context) (tx pgx.Tx, ok bool) {
	tx = engine.HostTx(ctx)
	return tx, tx != nil
}

// TxQueue is a queue that can add a job in a transaction on the database of the stores. Its
// Shares, as a [mortise.Sharer], asks the store: it has a method SharesWith(q mortise.Queue)
// bool, which reports whether it adds its jobs to q. If it has also
//
//	EnqueueManyTx(ctx context.Context, tx pgx.Tx, jobs []mortise.Job) error
//
// then events that many callers submit at a time, and their jobs, share a transaction. ctx is
// then none of the callers'; after an error each job comes once more by itself. The job of a
// caller who meets no others comes before its event is known to be new: the first
// statement of tx takes the event to the server with it, and fails if there is nothing to
// add a job for. If it cannot be sent at all, the job comes once more. So such a queue
// must go by the methods of tx, and leave tx.Conn() alone. The event may wait for other
// transactions: if tx has a method WhenReady(func()), that calls the function when the
// time of the queue's own statement begins, and never if it does not come to that.
type TxQueue interface {
	mortise.Queue

	// EnqueueTx does Enqueue in tx: the job is there once that is committed, and never if
	// it is rolled back.
	EnqueueTx(ctx context.Context, tx pgx.Tx, j mortise.Job) error
}
