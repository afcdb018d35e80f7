package sqlite_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest"
	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

// TestSuitesInTx runs the conformance suites with each call in a transaction of InTx.
func TestSuitesInTx(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	t.Run("trigger", func(t *testing.T) {
		t.Parallel()
		h := triggers(callsInTx)
		h.Skip = map[string]string{"transactor/commits": "it looks from outside of an open transaction, and waits here for a second one until the first is rolled back"}
		triggertest.Run(t, h)
	})
	t.Run("vault", func(t *testing.T) {
		t.Parallel()
		vaulttest.Run(t, vaults(callsInTx))
	})
	t.Run("authmgmt", func(t *testing.T) {
		t.Parallel()
		h := authMgmt(callsInTx)
		h.Skip = map[string]string{"hosttx/tokens": "it looks from outside of an open transaction, and waits here for a second one until the first is rolled back"}
		authmgmttest.Run(t, h)
	})
	t.Run("audiosearch", func(t *testing.T) {
		t.Parallel()
		audiosearchtest.Run(t, sounds(callsInTx))
	})
}

// shop is a file with a table of the host's, an order for each job to send it.
type shop struct {
	db     *sqlite.DB
	queue  *leases.Queue
	events *trigger.Service
	path   string
}

func newShop(t testing.TB, opts *sqlite.Options) *shop {
	t.Helper()
	s := &shop{path: filetest.EmptyFile(t)}
	s.db = openAt(t, s.path, opts)
	require.NoError(t, s.db.InTx(t.Context(), func(ctx context.Context, tx *sqlite.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)")
		return err
	}))
	backend := s.db.Trigger()
	s.queue = s.db.Queue(nil)
	backend.Queue = s.queue
	var err error
	s.events, err = trigger.New(backend, nil)
	require.NoError(t, err)
	return s
}

// order inserts an order by tx, and submits an event for it.
func (s *shop) order(ctx context.Context, tx *sqlite.Tx, id int) (trigger.Event, error) {
	if _, err := tx.ExecContext(ctx, "INSERT INTO orders (id) VALUES (?)", id); err != nil {
		return trigger.Event{}, err
	}
	return s.events.Submit(ctx, "acme", "ann", trigger.Submission{Instructions: fmt.Sprint("Describe order ", id)})
}

// stored returns how many orders and events there are.
func (s *shop) stored(t testing.TB) (orders, events int) {
	t.Helper()
	require.NoError(t, s.db.InTx(t.Context(), func(ctx context.Context, tx *sqlite.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT count(*) FROM orders").Scan(&orders)
	}))
	page, err := s.events.ListEvents(t.Context(), "acme", trigger.EventQuery{Limit: 1000})
	require.NoError(t, err)
	return orders, len(page.Items)
}

var errNoMoney = errors.New("no money")

// TestInTx: an order and its event are stored together or not at all, and the job comes
// when they are.
func TestInTx(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := newShop(t, nil)
	woken := make(chan string, 10)
	defer s.db.Jobs().(leases.JobNotifier).NotifyJobs(func(kind string) { woken <- kind })()

	require.ErrorIs(t, s.db.InTx(ctx, func(ctx context.Context, tx *sqlite.Tx) error {
		e, err := s.order(ctx, tx, 1)
		require.NoError(t, err)
		_, err = s.events.Event(ctx, "acme", e.ID)
		require.NoError(t, err, "the transaction does not see its own rows")
		_, err = s.events.Event(t.Context(), "acme", e.ID)
		require.ErrorIs(t, err, mortise.ErrNotFound, "somebody sees what is not committed")
		return errNoMoney
	}), errNoMoney)
	require.PanicsWithValue(t, "no", func() {
		_ = s.db.InTx(ctx, func(ctx context.Context, tx *sqlite.Tx) error {
			_, err := s.order(ctx, tx, 2)
			require.NoError(t, err)
			panic("no")
		})
	})
	orders, events := s.stored(t)
	require.Zero(t, orders+events)
	require.Empty(t, woken)

	var e trigger.Event
	require.NoError(t, s.db.InTx(ctx, func(ctx context.Context, tx *sqlite.Tx) (err error) {
		e, err = s.order(ctx, tx, 3)
		require.NoError(t, err)
		require.Empty(t, woken)
		// What fails leaves the host's work alive.
		refused := errors.New("not now")
		require.ErrorIs(t, s.db.Trigger().Store.UpdateEvent(ctx, "acme", e.ID, func(e *trigger.Event) error {
			_, err := tx.ExecContext(ctx, "SELECT 1")
			require.ErrorContains(t, err, "within another call")
			_, err = s.events.Event(ctx, "acme", e.ID)
			require.ErrorContains(t, err, "within another call")
			return refused
		}), refused)
		require.ErrorContains(t, s.db.InTx(ctx, nil), "InTx within InTx")
		return nil
	}))
	require.Equal(t, trigger.JobKind, <-woken)
	leases, err := s.db.Jobs().Claim(ctx, mortise.Claim{Token: uuid.New(), Kinds: []string{trigger.JobKind}, Limit: 10, TTL: time.Minute})
	require.NoError(t, err)
	require.Len(t, leases, 1)
	require.Equal(t, e.Job().ID, leases[0].Job.ID)
}

// TestInTxOtherQueue: with a queue elsewhere, the job is queued once its event is committed.
func TestInTxOtherQueue(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	elsewhere, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	backend := s.db.Trigger()
	backend.Queue = elsewhere.Queue(nil)
	s.events, err = trigger.New(backend, nil)
	require.NoError(t, err)
	claim := func() []mortise.Lease {
		leases, err := elsewhere.Jobs().Claim(t.Context(), mortise.Claim{Token: uuid.New(), Kinds: []string{trigger.JobKind}, Limit: 10, TTL: time.Minute})
		require.NoError(t, err)
		return leases
	}
	for i, end := range []error{errNoMoney, nil} {
		require.ErrorIs(t, s.db.InTx(t.Context(), func(ctx context.Context, tx *sqlite.Tx) error {
			_, err := s.order(ctx, tx, i)
			require.NoError(t, err)
			require.Empty(t, claim())
			return end
		}), end)
	}
	leases := claim()
	require.Len(t, leases, 1)
	page, err := s.events.ListEvents(t.Context(), "acme", trigger.EventQuery{Limit: 10})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	require.Equal(t, page.Items[0].Job().ID, leases[0].Job.ID)
	require.Greater(t, page.Items[0].WakeAt, page.Items[0].SubmittedAt.Add(time.Minute), "it is queued")
}

// TestInTxSearch: a search in a transaction finds what it has stored, and others do not.
func TestInTxSearch(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := openAt(t, filetest.EmptyFile(t), nil)
	sounds := db.AudioSearch().Store
	require.NoError(t, sounds.CreateDataset(ctx, audiosearch.Dataset{Organization: "acme", ID: "d", CreatedAt: time.Now()}))
	put := func(ctx context.Context, id string) {
		require.NoError(t, sounds.PutVideos(ctx, "acme", "d", []audiosearch.Video{{ID: id, Path: "p"}}))
		scoring := audiosearch.Scoring{Model: "m", Window: time.Second, Hop: time.Second, Windows: 1, Classes: []sound.Class{"rain"}}
		require.NoError(t, sounds.PutScoring(ctx, "acme", "d", id, "p", scoring, [][]uint16{{7}}))
	}
	found := func(ctx context.Context) (ids []string) {
		hits, err := sounds.Search(ctx, "acme", "d", audiosearch.ScoreQuery{Model: "m", Class: "rain", Limit: 10})
		require.NoError(t, err)
		for _, hit := range hits {
			ids = append(ids, hit.Video)
		}
		slices.Sort(ids)
		return ids
	}
	put(ctx, "a")
	require.Equal(t, []string{"a"}, found(ctx))
	require.ErrorIs(t, db.InTx(ctx, func(ctx context.Context, _ *sqlite.Tx) error {
		put(ctx, "b")
		require.Equal(t, []string{"a", "b"}, found(ctx))
		require.Equal(t, []string{"a"}, found(t.Context()))
		return errNoMoney
	}), errNoMoney)
	put(ctx, "c") // with the numbers that b had
	require.Equal(t, []string{"a", "c"}, found(ctx))
}

// TestInTxTime: a transaction that waits for a write of its own goroutine, which waits for the
// transaction, is rolled back, and the write goes on.
func TestInTxTime(t *testing.T) {
	t.Parallel()
	s := newShop(t, &sqlite.Options{TxTime: 100 * time.Millisecond})
	err := s.db.InTx(t.Context(), func(ctx context.Context, tx *sqlite.Tx) error {
		_, err := s.order(ctx, tx, 1)
		require.NoError(t, err)
		rows, err := tx.QueryContext(ctx, "SELECT id FROM orders UNION ALL VALUES (2), (3)")
		require.NoError(t, err)
		require.True(t, rows.Next())
		_, err = s.events.Submit(t.Context(), "acme", "bob", trigger.Submission{Instructions: "Describe it."})
		require.NoError(t, err, "a call that is not of the transaction")
		require.ErrorIs(t, context.Cause(ctx), sqlite.ErrTxTime)
		_, err = tx.ExecContext(ctx, "INSERT INTO orders (id) VALUES (4)")
		require.ErrorIs(t, err, sqlite.ErrTxTime)
		_, err = s.order(ctx, tx, 5)
		require.ErrorIs(t, err, sqlite.ErrTxTime)
		require.ErrorIs(t, tx.QueryRowContext(ctx, "SELECT 1").Scan(new(int)), sqlite.ErrTxTime)
		return nil
	})
	require.ErrorIs(t, err, sqlite.ErrTxTime)
	require.ErrorContains(t, err, "give its context to all calls in it")
	orders, events := s.stored(t)
	require.Equal(t, []int{0, 1}, []int{orders, events})
}

// TestInTxEndedBySQLite: once SQLite itself has ended the transaction, nothing of what follows
// is stored.
func TestInTxEndedBySQLite(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	for _, swallow := range []bool{true, false} {
		err := s.db.InTx(t.Context(), func(ctx context.Context, tx *sqlite.Tx) error {
			_, err := s.order(ctx, tx, 1)
			require.NoError(t, err)
			_, err = tx.ExecContext(ctx, "INSERT OR ROLLBACK INTO orders (id) VALUES (1)")
			require.ErrorContains(t, err, "UNIQUE")
			_, err = tx.ExecContext(ctx, "INSERT INTO orders (id) VALUES (2)")
			require.Error(t, err)
			_, err = s.order(ctx, tx, 3)
			require.Error(t, err)
			if swallow {
				return nil
			}
			return err
		})
		require.Error(t, err)
	}
	orders, events := s.stored(t)
	require.Zero(t, orders+events)
	require.NoError(t, s.db.InTx(t.Context(), func(ctx context.Context, tx *sqlite.Tx) error {
		_, err := s.order(ctx, tx, 1)
		return err
	}))
}

// TestInTxLongStatement: a statement of the host's that does not end is cut off.
func TestInTxLongStatement(t *testing.T) {
	t.Parallel()
	s := newShop(t, &sqlite.Options{TxTime: 50 * time.Millisecond})
	for range 3 {
		require.ErrorIs(t, s.db.InTx(t.Context(), func(ctx context.Context, tx *sqlite.Tx) error {
			_, err := s.order(ctx, tx, 1)
			require.NoError(t, err)
			_, err = tx.ExecContext(ctx, "UPDATE orders SET note = (WITH RECURSIVE c (x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c)")
			require.Error(t, err)
			return nil
		}), sqlite.ErrTxTime)
	}
	orders, events := s.stored(t)
	require.Zero(t, orders+events)
}

// TestTxRefuses: what would end the transaction does not reach the database, wherever in a
// text it stands.
func TestTxRefuses(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	var kept *sqlite.Tx
	var stmt *sql.Stmt
	require.NoError(t, s.db.InTx(t.Context(), func(ctx context.Context, tx *sqlite.Tx) (err error) {
		for _, text := range []string{
			"COMMIT", " commit;", " \vCOMMIT", "\n\vATTACH 'x' AS y", "\ufeffEND", "-- x\nROLLBACK", "/* ; */ ROLLBACK TO mortise", "SELECT 1; RELEASE mortise", "SELECT ';'; PRAGMA user_version",
			"BEGIN", "SAVEPOINT x", "ATTACH 'x' AS y", "DETACH y", "VACUUM", "SELECT \"a;b\" ;;COMMIT", "SELECT [a;b];\nCOMMIT",
			"CREATE TRIGGER x AFTER INSERT ON orders BEGIN SELECT 1; END; COMMIT", "/* a */;PRAGMA query_only=1", "SELECT 'it''s; ' ; COMMIT",
		} {
			_, err := tx.ExecContext(ctx, text)
			require.ErrorContains(t, err, "is not for a transaction of InTx", text)
			_, err = tx.QueryContext(ctx, text)
			require.ErrorContains(t, err, "is not for a transaction of InTx", text)
			_, err = tx.PrepareContext(ctx, text)
			require.ErrorContains(t, err, "is not for a transaction of InTx", text)
			require.ErrorContains(t, tx.QueryRowContext(ctx, text).Scan(), "is not for a transaction of InTx", text)
		}
		for _, text := range []string{
			"CREATE TEMP TRIGGER x AFTER INSERT ON orders BEGIN UPDATE orders SET note = 'commit'; SELECT 1; END;",
			"INSERT INTO orders (id, note) VALUES (1, '; COMMIT')", "-- COMMIT", "", "CREATE TABLE \"end\" (\"begin\")", "INSERT INTO [end] VALUES (1);",
		} {
			_, err := tx.ExecContext(ctx, text)
			require.NoError(t, err, text)
		}
		rows, err := tx.QueryContext(ctx, "INSERT INTO orders (id) VALUES (2), (3) RETURNING id") // and never closed
		require.NoError(t, err)
		require.True(t, rows.Next())
		kept = tx
		stmt, err = tx.PrepareContext(ctx, "INSERT INTO orders (id) VALUES (?)")
		return err
	}))
	orders, _ := s.stored(t)
	require.Equal(t, 3, orders)
	_, err := kept.ExecContext(t.Context(), "INSERT INTO orders (id) VALUES (4)")
	require.ErrorContains(t, err, "has ended")
	_, err = stmt.ExecContext(t.Context(), 5)
	require.Error(t, err, "a statement outlived its transaction")
	orders, _ = s.stored(t)
	require.Equal(t, 3, orders)
}

// TestAdopt: a file with tables of the host's is opened only if that is wanted.
func TestAdopt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "host.db")
	host, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = host.Exec("CREATE TABLE orders (id INTEGER PRIMARY KEY); INSERT INTO orders VALUES (7)")
	require.NoError(t, err)
	require.NoError(t, host.Close())
	_, err = sqlite.Open(t.Context(), path, nil)
	require.ErrorIs(t, err, sqlite.ErrUnusable)
	require.ErrorContains(t, err, "Options.Adopt")
	for _, opts := range []*sqlite.Options{{Adopt: true}, {Adopt: true}, nil} {
		db, err := sqlite.Open(t.Context(), path, opts)
		require.NoError(t, err)
		require.NoError(t, db.InTx(t.Context(), func(ctx context.Context, tx *sqlite.Tx) error {
			var id int
			require.NoError(t, tx.QueryRowContext(ctx, "SELECT id FROM orders").Scan(&id))
			require.Equal(t, 7, id)
			return nil
		}))
		require.NoError(t, db.Close())
	}
}

// TestInTxBusy: many transactions beside many other writes all come to their end.
func TestInTxBusy(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	const each = 20
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range each {
				err := s.db.InTx(t.Context(), func(ctx context.Context, tx *sqlite.Tx) error {
					_, err := s.order(ctx, tx, worker*each+i)
					return err
				})
				assert.NoError(t, err)
				_, err = s.events.Submit(t.Context(), "acme", "bob", trigger.Submission{Instructions: "x"})
				assert.NoError(t, err)
			}
		})
	}
	all.Wait()
	orders, events := s.stored(t)
	require.Equal(t, []int{8 * each, 16 * each}, []int{orders, events})
}

// TestInTxKilled: a process is killed, again and again, while it stores orders with their
// events. There is an event for each order, and an order for each event.
func TestInTxKilled(t *testing.T) {
	if path := os.Getenv(orderFile); path != "" { // the process
		db, err := sqlite.Open(t.Context(), path, nil)
		require.NoError(t, err)
		s := &shop{db: db}
		s.events, err = trigger.New(db.Trigger(), nil)
		require.NoError(t, err)
		for first := true; ; first = false {
			_ = db.InTx(t.Context(), func(ctx context.Context, tx *sqlite.Tx) error {
				if _, err := tx.ExecContext(ctx, "INSERT INTO orders (note) VALUES ('x')"); err != nil {
					return err
				}
				_, err := s.events.Submit(ctx, "acme", "ann", trigger.Submission{Instructions: "x"})
				return err
			})
			if first {
				fmt.Println("begun")
			}
		}
	}
	t.Parallel()
	s := newShop(t, nil)
	for range 20 {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInTxKilled$", "-test.count=1")
		child.Env = append(os.Environ(), orderFile+"="+s.path)
		output, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		line, err := bufio.NewReader(output).ReadString('\n')
		require.NoError(t, err, line)
		time.Sleep(time.Duration(rand.IntN(10_000)) * time.Microsecond)
		require.NoError(t, child.Process.Kill())
		_ = child.Wait()
	}
	var orders, events, jobs int
	require.NoError(t, s.db.InTx(t.Context(), func(ctx context.Context, tx *sqlite.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM trigger_events),"+
			" (SELECT count(*) FROM mortise_jobs)").Scan(&orders, &events, &jobs)
	}))
	require.Positive(t, orders)
	require.Equal(t, []int{orders, orders}, []int{events, jobs})
}

const orderFile = "MORTISE_SQLITE_ORDER_FILE"

// callsInTx has each call of the stores and queues made in a transaction of InTx, of its own.
// So the suites find out what does not work there.
func callsInTx(db *sqlite.DB) { db.File().Probe().CallsInTx() }

// TestBulkInTx: the actions on many events work in a transaction of the host's.
func TestBulkInTx(t *testing.T) {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "db"), nil)
	require.NoError(t, err)
	defer db.Close()
	s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil)}, nil)
	require.NoError(t, err)
	const events = 100
	for range events {
		_, err := s.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "a"})
		require.NoError(t, err)
	}
	require.NoError(t, db.InTx(t.Context(), func(ctx context.Context, _ *sqlite.Tx) error {
		n, _, err := s.CancelEvents(ctx, "acme", "", trigger.EventQuery{})
		assert.Equal(t, events, n)
		return err
	}))
	counts, err := s.Counts(t.Context(), "acme")
	require.NoError(t, err)
	assert.Equal(t, events, counts.Cancelled.N)
}
