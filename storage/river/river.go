package river

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	riverqueue "github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/seed-6363c74e/mortise"
)

// Options are the settings of a queue, and of a worker. The zero value means the defaults.
// A job that is done is kept for 24 h, for River's UI, and a dead one for 30 days.
type Options struct {
	// Schema is where River's tables are, which all clients in it share: "mortise_river",
	// or that of the host's client. 1 to 46 of A-Z, a-z, 0-9 and '_'.
	Schema string

	// RescueAfter is how long a job may be handled: 1 h, as is River's default. A handler
	// that takes longer loses the job shortly before. A job whose worker died comes again
	// after that time, and not before. All programs of a schema must agree on it.
	RescueAfter time.Duration

	// Timeout bounds Enqueue and Cancel, unless their context ends before: 3 s. What an
	// event waits for in a transaction of storage/postgres does not count.
	Timeout time.Duration

	// Tx returns the host's transaction that calls under ctx are part of, if there is one:
	// postgres.HostTx of storage/postgres, or a function of the host's. Then the job of
	// Enqueue is there, and that of Cancel gone, once it is committed. Nil: there is none.
	Tx func(ctx context.Context) (tx pgx.Tx, ok bool)

	Logger *slog.Logger // slog.Default()
}

func (o *Options) withDefaults() Options {
	var s Options
	if o != nil {
		s = *o
	}
	if s.Schema == "" {
		s.Schema = "mortise_river"
	}
	if s.RescueAfter <= 0 {
		s.RescueAfter = time.Hour
	}
	if s.Timeout <= 0 {
		s.Timeout = 3 * time.Second
	}
	if s.Logger == nil {
		s.Logger = slog.Default()
	}
	return s
}

// Queue is a [mortise.Queue] on River. It is safe for concurrent use. It has nothing to
// close: the pool is the host's.
type Queue struct {
	pool   *pgxpool.Pool              // nil: the client is the host's
	client *riverqueue.Client[pgx.Tx] // adds jobs, and works none
	opts   Options
}

var (
	_ mortise.Queue  = (*Queue)(nil)
	_ mortise.Sharer = (*Queue)(nil)
)

// Migrate makes or updates River's tables in the schema of opts, which it makes, too, or
// changes nothing. River's own program does the same with "river migrate-up --schema". The
// pool must have two connections or more. Options may be nil.
func Migrate(ctx context.Context, pool *pgxpool.Pool, opts *Options) error {
	o := opts.withDefaults()
	if pool == nil || pool.Config().MaxConns < 2 {
		return errors.New("river: Migrate needs a pool of two connections or more")
	}
	driver := riverpgxv5.New(pool)
	m, err := rivermigrate.New(driver, &rivermigrate.Config{Schema: o.Schema, Logger: o.Logger})
	if err != nil {
		return fmt.Errorf("river: %w", err)
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		// Programs that start at the same time take turns.
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", "mortise river "+o.Schema); err != nil {
			return fmt.Errorf("river: migrate: %w", err)
		}
		if _, err := pool.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+pgx.Identifier{o.Schema}.Sanitize()); err != nil {
			return fmt.Errorf("river: make the schema %s: %w", o.Schema, err)
		}
		// Beside this transaction, for each version needs what the last one has committed.
		if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
			return fmt.Errorf("river: migrate: %w", err)
		}
		return nil
	})
}

// New returns a queue over River's tables in a schema of its own, which [Migrate] has made.
// Each call of Consume runs a client of River's until it ends. Options may be nil.
func New(pool *pgxpool.Pool, opts *Options) (*Queue, error) {
	if pool == nil {
		return nil, errors.New("river: New needs a pool")
	}
	q := &Queue{pool: pool, opts: opts.withDefaults()}
	client, err := riverqueue.NewClient(riverpgxv5.New(pool), q.config())
	if err != nil {
		return nil, fmt.Errorf("river: %w", err)
	}
	q.client = client
	return q, nil
}

// NewOver returns a queue that adds its jobs by the host's own client, into its schema, and
// takes them out. The host's client works them too: it has the worker of [NewWorker], and
// the queues of [QueueName]. So Consume is not for this queue: its error is
// errors.ErrUnsupported. Of Options, which may be nil, Tx and Timeout count. With the stores
// of storage/postgres, Tx is postgres.HostTx: without it event and job are two steps.
func NewOver(client *riverqueue.Client[pgx.Tx], opts *Options) (*Queue, error) {
	if client == nil {
		return nil, errors.New("river: NewOver needs a client")
	}
	return &Queue{client: client, opts: opts.withDefaults()}, nil
}

// config is what all clients of a queue have in common.
func (q *Queue) config() *riverqueue.Config {
	return &riverqueue.Config{
		Schema: q.opts.Schema,
		Logger: q.opts.Logger,
		// A consumer looks for jobs at most this often. River's default, 100 ms, would let
		// one worker handle ten jobs a second.
		FetchCooldown: 5 * time.Millisecond,
	}
}

const (
	maxQueueName = 64
	queueEscaped = "kind-"
)

var queueName = regexp.MustCompile(`^[a-z0-9]+([_-]?[a-z0-9]+)*$`)

// QueueName returns the name of River's queue that has the jobs of a kind: the kind, or, if
// River does not allow that as a name, "kind-" and a digest.
func QueueName(kind string) string {
	if len(kind) <= maxQueueName && queueName.MatchString(kind) && !strings.HasPrefix(kind, queueEscaped) {
		return kind
	}
	sum := sha256.Sum256([]byte(kind))
	return queueEscaped + hex.EncodeToString(sum[:16])
}

// unfinished are the states in which a job is in the queue. River's default has completed,
// too: then a job that was done could not be added anew for as long as it is kept.
var (
	waiting = []rivertype.JobState{rivertype.JobStateAvailable, rivertype.JobStatePending,
		rivertype.JobStateRetryable, rivertype.JobStateScheduled}
	unfinished = append(slices.Clone(waiting), rivertype.JobStateRunning)
)

func insertOpts(j *mortise.Job) *riverqueue.InsertOpts {
	at := j.At
	if !at.After(time.Now()) {
		at = time.Time{} // a time that has passed would wait for River's scheduler, too
	}
	return &riverqueue.InsertOpts{
		Queue:       QueueName(j.Kind),
		ScheduledAt: at,
		// Attempts are the domain's business. Here they count what was rescued, and panics.
		MaxAttempts: math.MaxInt16,
		UniqueOpts:  riverqueue.UniqueOpts{ByArgs: true, ByState: unfinished},
	}
}

// Enqueue implements [mortise.Queue].
func (q *Queue) Enqueue(ctx context.Context, j mortise.Job) error {
	if tx, ok := q.hostTx(ctx); ok {
		return q.within(ctx, tx, func(ctx context.Context) error { return q.insertTx(ctx, tx, &j) })
	}
	ctx, cancel := context.WithTimeout(ctx, q.opts.Timeout)
	defer cancel()
	return q.insert(ctx, &j, q.client.Insert)
}

// EnqueueTx does Enqueue in a transaction: the job is there once that is committed, and never
// if it is rolled back. After an error, roll back, to a savepoint at least. tx must be one of
// the database that has River's tables. The stores of storage/postgres call it in their own
// transactions, if the queue is their Options.Queue, and a host calls it in one of its own.
func (q *Queue) EnqueueTx(ctx context.Context, tx pgx.Tx, j mortise.Job) error {
	return q.bounded(ctx, tx, func(ctx context.Context) error { return q.insertTx(ctx, tx, &j) })
}

func (q *Queue) insertTx(ctx context.Context, tx pgx.Tx, j *mortise.Job) error {
	return q.insert(ctx, j, func(ctx context.Context, args riverqueue.JobArgs, opts *riverqueue.InsertOpts) (*rivertype.JobInsertResult, error) {
		return q.client.InsertTx(ctx, tx, args, opts)
	})
}

// EnqueueManyTx does EnqueueTx for many jobs by one statement of River's. After an error none
// of them is there once tx is rolled back. The stores of storage/postgres call it for what
// many callers submit at a time.
func (q *Queue) EnqueueManyTx(ctx context.Context, tx pgx.Tx, jobs []mortise.Job) error {
	var many []riverqueue.InsertManyParams
	type key struct{ kind, org, id string }
	is := make(map[key]bool)
	for i := range jobs {
		j := &jobs[i]
		if err := j.Check(); err != nil {
			return err
		}
		k := key{j.Kind, j.Organization, j.ID}
		if !is[k] { // River refuses two that are the same
			many = append(many, riverqueue.InsertManyParams{Args: argsOf(j), InsertOpts: insertOpts(j)})
		}
		is[k] = true
	}
	if len(many) == 0 {
		return nil
	}
	return q.bounded(ctx, tx, func(ctx context.Context) error {
		if _, err := q.client.InsertManyTx(ctx, tx, many); err != nil {
			return fmt.Errorf("river: add %d jobs: %w", len(many), advised(err))
		}
		return nil
	})
}

func (q *Queue) insert(
	ctx context.Context, j *mortise.Job,
	insert func(context.Context, riverqueue.JobArgs, *riverqueue.InsertOpts) (*rivertype.JobInsertResult, error),
) error {
	if err := j.Check(); err != nil {
		return err
	}
	if _, err := insert(ctx, argsOf(j), insertOpts(j)); err != nil {
		return fmt.Errorf("river: add %s: %w", j, advised(err))
	}
	return nil
}

// advised adds to an error what to do about it, where that is known.
func advised(err error) error {
	var pg *pgconn.PgError
	var kind *riverqueue.UnknownJobKindError
	switch {
	case errors.As(err, &pg) && (pg.Code == "42P01" || pg.Code == "3F000"): // undefined_table, invalid_schema_name
		return fmt.Errorf("%w: make River's tables by river.Migrate, or name their schema", err)
	case errors.As(err, &kind):
		return fmt.Errorf("%w: add that of river.NewWorker, as the client has workers", err)
	}
	return err
}

func (q *Queue) hostTx(ctx context.Context) (pgx.Tx, bool) {
	if q.opts.Tx == nil {
		return nil, false
	}
	return q.opts.Tx(ctx)
}

// Shares implements [mortise.Sharer], for a store that adds its jobs by [Queue.EnqueueTx]:
// one of storage/postgres whose Options.Queue this is. It is false without Options.Tx: then
// a job could be cancelled in a transaction of the host's that is rolled back, and its work
// would wait for ever.
func (q *Queue) Shares(store any) bool {
	s, ok := store.(interface{ SharesWith(q mortise.Queue) bool })
	return ok && q.opts.Tx != nil && s.SharesWith(q)
}
