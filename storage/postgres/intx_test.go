package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest"
	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

// TestInTx: a job that is added in the host's transaction comes after COMMIT, not before,
// and not at all after ROLLBACK. What fails within it leaves the host's work alive.
func TestInTx(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := newDatabase(t)
	pool := d.pool(t)
	_, err := pool.Exec(ctx, "CREATE TABLE orders (id int PRIMARY KEY)")
	require.NoError(t, err)
	db := d.open(t, nil)
	queue := db.Queue(nil)
	claim := func() []mortise.Lease {
		leases, err := db.Jobs().Claim(ctx, mortise.Claim{Token: uuid.New(), Kinds: []string{"order"}, Limit: 10, TTL: time.Minute})
		require.NoError(t, err)
		return leases
	}
	woken := make(chan string, 10)
	defer db.Jobs().(leases.JobNotifier).NotifyJobs(func(kind string) { woken <- kind })()
	d.awaitListen(t)
	for i, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
		order := func(id string, fail error) error {
			return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: level}, func(tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, "INSERT INTO orders VALUES ($1)", i); err != nil {
					return err
				}
				within := postgres.InTx(ctx, tx)
				if err := queue.Enqueue(within, mortise.Job{Kind: "order", Organization: "acme", ID: id}); err != nil {
					return err
				}
				require.Empty(t, claim(), "a job came before COMMIT")

				ended, cancel := context.WithCancel(within)
				cancel()
				require.ErrorIs(t, queue.Enqueue(ended, mortise.Job{Kind: "order", Organization: "acme", ID: "x"}), context.Canceled)
				var one int
				require.NoError(t, tx.QueryRow(ctx, "SELECT 1").Scan(&one), "the host's work ended with a call")
				return fail
			})
		}
		undone := errors.New("no money")
		require.ErrorIs(t, order("rolled-back", undone), undone)
		require.Empty(t, claim(), "a job came after ROLLBACK")
		require.NoError(t, order("committed", nil))
		select {
		case kind := <-woken:
			require.Equal(t, "order", kind)
		case <-time.After(time.Minute):
			t.Fatal("nobody was told of the job")
		}
		leases := claim()
		require.Len(t, leases, 1)
		require.Equal(t, "committed", leases[0].Job.ID)
		require.NoError(t, db.Jobs().Remove(ctx, leases[0], false))
	}
}

// TestInTxOtherQueue: with a queue elsewhere, the job of an event that was stored in the host's
// transaction is queued once that is committed, without a sweeper.
func TestInTxOtherQueue(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := newDatabase(t)
	pool, db := d.pool(t), d.open(t, nil)
	elsewhere, err := memory.Open(ctx, nil)
	require.NoError(t, err)
	backend := db.Trigger()
	backend.Queue = elsewhere.Queue(nil)
	events, err := trigger.New(backend, nil)
	require.NoError(t, err)
	added := make(chan string, 100)
	defer elsewhere.Jobs().NotifyJobs(func(kind string) { added <- kind })()
	var queued []string
	claim := func() []string {
		leases, err := elsewhere.Jobs().Claim(ctx, mortise.Claim{Token: uuid.New(), Kinds: []string{trigger.JobKind}, Limit: 10, TTL: time.Minute})
		require.NoError(t, err)
		for _, l := range leases {
			queued = append(queued, l.Job.ID)
		}
		return queued
	}
	order := func(end error) (e trigger.Event) {
		require.ErrorIs(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) (err error) {
			e, err = events.Submit(postgres.InTx(ctx, tx), "acme", "ann", trigger.Submission{Instructions: "Describe it."})
			require.NoError(t, err)
			require.False(t, e.WakeAt.IsZero())
			require.NotContains(t, claim(), e.Job().ID, "it is queued before COMMIT")
			return end
		}), end)
		return e
	}
	order(errors.New("no money"))
	var committed []string
	var last time.Time
	for range 2 {
		e := order(nil)
		committed = append(committed, e.Job().ID)
		last = time.Now()
	}
	for range committed {
		select {
		case kind := <-added:
			require.Equal(t, trigger.JobKind, kind)
		case <-time.After(time.Minute):
			t.Fatal("an event was committed and is not queued")
		}
	}
	t.Logf("queued %v after the last commit", time.Since(last))
	require.ElementsMatch(t, committed, claim())
	require.Eventually(t, func() bool {
		page, err := events.ListEvents(ctx, "acme", trigger.EventQuery{Limit: 10})
		require.NoError(t, err)
		require.Len(t, page.Items, 2)
		queued := func(e *trigger.Event) bool { return e.WakeAt.After(e.SubmittedAt.Add(time.Minute)) }
		return queued(&page.Items[0]) && queued(&page.Items[1])
	}, time.Minute, time.Millisecond)
	require.Len(t, claim(), 2, "an event was queued that was rolled back, or one twice")
}

// TestInTxCannotListen: where LISTEN cannot connect, a transaction of the host's is not held up:
// the event is left to the sweeper.
func TestInTxCannotListen(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	d := newDatabase(t)
	pool := d.pool(t)
	nowhere := pool.Config().ConnConfig
	nowhere.Database = "nowhere"
	db := d.open(t, &postgres.Options{Listen: nowhere, Timeout: time.Hour})
	elsewhere, err := memory.Open(ctx, nil)
	require.NoError(t, err)
	backend := db.Trigger()
	backend.Queue = elsewhere.Queue(nil)
	events, err := trigger.New(backend, nil)
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			e, err := events.Submit(postgres.InTx(ctx, tx), "acme", "ann", trigger.Submission{Instructions: "Describe it."})
			require.False(t, e.WakeAt.IsZero())
			return err
		}))
	}
}

// TestNotify: a job that one process adds wakes the consumers of another one, and so does
// one that is added after the connection for that was cut off.
func TestNotify(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := newDatabase(t)
	one, other := d.open(t, nil), d.open(t, nil)
	woken := make(chan string, 1000)
	defer other.Jobs().(leases.JobNotifier).NotifyJobs(func(kind string) {
		select {
		case woken <- kind:
		default:
		}
	})()
	told := func(kind string) {
		t.Helper()
		// LISTEN may not have begun yet: then the notice is lost, as promised.
		require.Eventually(t, func() bool {
			require.NoError(t, one.Jobs().Add(ctx, mortise.Job{Kind: kind, Organization: "acme", ID: uuid.NewString()}))
			select {
			case k := <-woken:
				return k == kind
			case <-time.After(100 * time.Millisecond):
				return false
			}
		}, time.Minute, time.Millisecond)
	}
	told("first")
	require.NoError(t, admin(d.server, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND query LIKE 'LISTEN%'", d.name)
		return err
	}))
	told("second")
}

// TestNotifyAtClose: notices of jobs that were added shortly before Close are sent, too: else
// such a job would wait for the next poll.
func TestNotifyAtClose(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := newDatabase(t)
	one, other := d.open(t, nil), d.open(t, nil)
	woken := make(chan string, 10)
	defer other.Jobs().(leases.JobNotifier).NotifyJobs(func(kind string) { woken <- kind })()
	d.awaitListen(t)
	kinds := []string{"a", "b", "c", "d"} // a is told of at once, and the others wait a little
	for _, kind := range kinds {
		require.NoError(t, one.Jobs().Add(ctx, mortise.Job{Kind: kind, Organization: "acme", ID: uuid.NewString()}))
	}
	require.NoError(t, one.Close())
	var told []string // kinds that wait are told of together
	for range kinds {
		select {
		case kind := <-woken:
			told = append(told, kind)
		case <-time.After(time.Minute):
			t.Fatalf("of jobs of the kinds %q only %q were told of", kinds, told)
		}
	}
	require.ElementsMatch(t, kinds, told)
}

// TestGather: a group waits for callers of the latest one that come again, until a time.
func TestGather(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := newDatabase(t).open(t, nil)
	// made returns the sizes of the groups that so many calls become.
	made := func(calls, expected int, until time.Time) (sizes []int) {
		var mu sync.Mutex
		db.ExpectGroup(expected, until, func(size int) {
			mu.Lock()
			defer mu.Unlock()
			sizes = append(sizes, size)
		})
		var all sync.WaitGroup
		for range calls {
			all.Go(func() {
				assert.NoError(t, db.Jobs().Add(ctx, mortise.Job{Kind: "k", Organization: "acme", ID: uuid.NewString()}))
			})
		}
		all.Wait()
		return sizes
	}
	for range 10 {
		assert.Equal(t, []int{3}, made(3, 3, time.Now().Add(time.Hour)), "as many as before")
	}
	assert.Equal(t, []int{1}, made(1, 3, time.Now()), "none comes again")
	assert.Equal(t, []int{1}, made(1, 3, time.Now().Add(50*time.Millisecond)), "none comes again in time")
	assert.Equal(t, []int{1}, made(1, 1, time.Now().Add(time.Hour)), "one caller")
}

// TestGroupPlaces: calls of one organization that wait for a lock leave connections to others,
// however many they are.
func TestGroupPlaces(t *testing.T) {
	t.Parallel()
	ctx, d := t.Context(), newDatabase(t)
	pool := d.pool(t)
	db, err := postgres.New(ctx, pool, &postgres.Options{Timeout: time.Minute})
	require.NoError(t, err)
	taken := mortise.Job{Kind: "k", Organization: "acme", ID: "taken"}
	host, err := pgx.Connect(ctx, d.server.DSN(d.name))
	require.NoError(t, err)
	defer func() { _ = host.Close(context.WithoutCancel(ctx)) }()
	tx, err := host.Begin(ctx)
	require.NoError(t, err)
	require.NoError(t, db.Jobs().Add(postgres.InTx(ctx, tx), taken))

	size := int(pool.Config().MaxConns)
	waiting := make(chan error, 2*size)
	for range cap(waiting) {
		go func() { waiting <- db.Jobs().Add(ctx, taken) }()
	}
	d.awaitLocks(t, size/2)
	for range 100 { // meanwhile those that wait could have all connections
		require.NoError(t, db.Jobs().Add(ctx, mortise.Job{Kind: "k", Organization: "other", ID: uuid.NewString()}))
	}
	require.Empty(t, waiting, "the host's job was not waited for")
	require.NoError(t, tx.Rollback(ctx))
	for range cap(waiting) {
		require.NoError(t, <-waiting)
	}
	require.NoError(t, db.Close())
}

// TestSuitesInTx runs the conformance suites with each call in a transaction of the host's.
func TestSuitesInTx(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	t.Run("trigger", func(t *testing.T) {
		t.Parallel()
		h := events(inTxDatabase)
		h.Skip = map[string]string{
			"txstore/create-and-add-wakes": "a notification of a commit needs a listener, and to begin to listen takes a moment",
		}
		triggertest.Run(t, h)
	})
	t.Run("vault", func(t *testing.T) {
		t.Parallel()
		vaulttest.Run(t, vaults(inTxDatabase))
	})
	t.Run("authmgmt", func(t *testing.T) {
		t.Parallel()
		authmgmttest.Run(t, authMgmt(inTxDatabase))
	})
	t.Run("audiosearch", func(t *testing.T) {
		t.Parallel()
		h := sounds(inTxDatabase)
		const several = "a search is several statements, and at READ COMMITTED each sees the latest commits, as the host's own do"
		h.Skip = map[string]string{
			"txstore/notifies":               "as txstore/create-and-add-wakes",
			"scores/reads-are-whole":         several,
			"scores/path-change-is-one-step": several,
		}
		audiosearchtest.Run(t, h)
	})
}

// TestGroup: of calls that share a transaction, one that waits for a lock of somebody else's
// holds up no other; nor does one that shares its transaction with none.
func TestGroup(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{false, true} {
		t.Run(fmt.Sprint("alone=", alone), func(t *testing.T) {
			t.Parallel()
			ctx, d := t.Context(), newDatabase(t)
			db := d.open(t, &postgres.Options{Timeout: time.Minute})
			pool := d.pool(t)
			taken := mortise.Job{Kind: "k", Organization: "acme", ID: "taken"}
			tx, err := pool.Begin(ctx)
			require.NoError(t, err)
			defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
			require.NoError(t, db.Queue(nil).Enqueue(postgres.InTx(ctx, tx), taken))

			waiting := make(chan error, 1)
			go func() { waiting <- db.Jobs().Add(ctx, taken) }() // until the host decides
			if alone {
				d.awaitLock(t)
			}
			others := make(chan error, 200)
			for range cap(others) {
				go func() {
					others <- db.Jobs().Add(ctx, mortise.Job{Kind: "k", Organization: "other", ID: uuid.NewString()})
				}()
			}
			for range cap(others) {
				require.NoError(t, <-others)
			}
			select {
			case err := <-waiting:
				t.Fatalf("the host's job was not waited for: %v", err)
			default:
			}
			require.NoError(t, tx.Rollback(ctx))
			require.NoError(t, <-waiting)
		})
	}
}

// TestBulkInTx: the actions on many events work in a transaction of the host's.
func TestBulkInTx(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	pool, db := d.pool(t), d.open(t, nil)
	s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil)}, nil)
	require.NoError(t, err)
	const events = 100
	for range events {
		_, err := s.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "a"})
		require.NoError(t, err)
	}
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		n, _, err := s.CancelEvents(postgres.InTx(t.Context(), tx), "acme", "", trigger.EventQuery{})
		assert.Equal(t, events, n)
		return err
	}))
	counts, err := s.Counts(t.Context(), "acme")
	require.NoError(t, err)
	assert.Equal(t, events, counts.Cancelled.N)
}

// TestErrorsOfTheHost: an error of a host's statement, or of an update function, comes back
// unchanged, though the same error of our own statements means ErrNotFound.
func TestErrorsOfTheHost(t *testing.T) {
	t.Parallel()
	ctx, d := t.Context(), newDatabase(t)
	store := d.open(t, nil).Trigger().Store
	e := trigger.Event{ID: uuid.New(), Organization: "acme", Status: trigger.StatusReceived, Source: "api", Instructions: "x", SubmittedAt: time.Now()}
	_, _, err := store.CreateEvent(ctx, e, time.Time{})
	require.NoError(t, err)
	none := &pgconn.PgError{Code: "22021", Message: "the host's", SeverityUnlocalized: "ERROR"}
	for name, call := range map[string]func() error{
		"its statement": func() error {
			return store.(mortise.Transactor).Transact(ctx, "acme", func(ctx context.Context) error {
				tx, _ := postgres.HostTx(ctx)
				_, err := tx.Exec(ctx, "SELECT $1::text", "a\x00b")
				return err
			})
		},
		"its update function": func() error {
			return store.UpdateEvent(ctx, "acme", e.ID, func(*trigger.Event) error { return none })
		},
	} {
		var pg *pgconn.PgError
		err := call()
		require.ErrorAs(t, err, &pg, name)
		require.Equal(t, "22021", pg.Code, name)
		require.NotErrorIs(t, err, mortise.ErrNotFound, name)
	}
	_, err = store.Event(ctx, "ac\x00me", e.ID)
	require.ErrorIs(t, err, mortise.ErrNotFound)
}
