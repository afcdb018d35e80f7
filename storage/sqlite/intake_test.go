package sqlite

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// intakeOf returns a database without a file, whose operations wait to be gathered.
func intakeOf(t *testing.T) *DB {
	w := &writer{ops: make(chan *op, 2*maxGroup), stopped: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(t.Context())
	return &DB{writer: w, added: new(jobNotifier), intake: newTurns(maxIntake)}
}

func nothing(*tx) error { return nil }

// TestIntake: however many callers bring work, what a worker of the process does comes
// behind a few of them, and in the same transaction.
func TestIntake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := intakeOf(t)
		defer db.added.listen(func(string) {})()
		var calls sync.WaitGroup
		bring := func(org string) {
			calls.Go(func() { assert.NoError(t, db.bring(t.Context(), org, nothing)) })
		}
		const many = 3 * maxIntake
		for range many {
			bring("acme")
		}
		synctest.Wait()
		require.Len(t, db.writer.ops, maxIntake-1)
		bring("globex")
		synctest.Wait()
		require.Len(t, db.writer.ops, maxIntake, "another organization waits for none of them")
		for range many {
			calls.Go(func() { assert.NoError(t, db.writer.write(t.Context(), nothing)) })
		}
		synctest.Wait()
		require.Len(t, db.writer.ops, maxIntake+many, "a worker waits for nobody")

		called := time.Now()
		time.Sleep(time.Second)
		for range 2*many + 1 {
			o := <-db.writer.ops
			require.Equal(t, called, o.called, "who waits for a turn has called before that")
			o.result <- nil
			synctest.Wait() // who has waited comes now
		}
		require.Empty(t, db.writer.ops)
		calls.Wait()
		require.Equal(t, db.intake.places, db.intake.free)
	})
}

// TestIntakeLocked: who has waited for a turn, however long, waits for another process as
// long as anybody: for the busy timeout from when that has the file, and no longer.
func TestIntakeLocked(t *testing.T) {
	path := EmptyFile(t)
	synctest.Test(t, func(t *testing.T) {
		const busy = 100 * time.Millisecond // SQLite itself sleeps by another clock, for longer
		db, err := Open(t.Context(), path, &Options{BusyTimeout: busy})
		require.NoError(t, err)
		defer func() { require.NoError(t, db.Close()) }()
		defer db.added.listen(func(string) {})()
		other, err := db.writer.source.connect()
		require.NoError(t, err)
		defer func() { require.NoError(t, other.close()) }()
		exec := func(text string) {
			_, err := other.exec(t.Context(), text)
			require.NoError(t, err)
		}
		take := func() {
			for i := range maxIntake {
				require.NoError(t, db.intake.take(t.Context(), nil, fmt.Sprint(i)))
			}
		}
		give := func() {
			for i := range maxIntake {
				db.intake.give(fmt.Sprint(i))
			}
		}
		for _, held := range []time.Duration{busy / 2, 3 * busy} {
			take()
			ended := make(chan error, maxGroup)
			bring := func() { ended <- db.bring(t.Context(), "acme", nothing) }
			go bring()
			time.Sleep(10 * busy)
			exec("BEGIN IMMEDIATE")
			began := time.Now()
			give()
			time.Sleep(held)
			if held < busy {
				require.Empty(t, ended)
				exec("COMMIT")
				require.NoError(t, <-ended)
				continue
			}
			require.True(t, isBusy(<-ended))

			take()
			go bring() // while it is held
			time.Sleep(busy)
			give()
			asked := time.Now()
			require.True(t, isBusy(<-ended))
			require.Less(t, time.Since(asked), busy/2, "the time of waiting for a turn counts while the file is held")
			require.Greater(t, time.Since(began), held)
			exec("COMMIT")
		}
	})
}

// TestIntakeLockedByTurns: while another process has the file, many of one organization
// wait for turns beside another one that comes again and again. None of them waits for
// those who have called later and stand before them: all are answered at the same moment.
func TestIntakeLockedByTurns(t *testing.T) {
	path := EmptyFile(t)
	synctest.Test(t, func(t *testing.T) {
		const busy = 100 * time.Millisecond
		db, err := Open(t.Context(), path, &Options{BusyTimeout: busy})
		require.NoError(t, err)
		defer func() { require.NoError(t, db.Close()) }()
		defer db.added.listen(func(string) {})()
		other, err := db.writer.source.connect()
		require.NoError(t, err)
		defer func() { require.NoError(t, other.close()) }()
		_, err = other.exec(t.Context(), "BEGIN IMMEDIATE") // until it is closed
		require.NoError(t, err)
		began := time.Now()
		var many, again sync.WaitGroup
		bring := func() { assert.True(t, isBusy(db.bring(t.Context(), "acme", nothing))) }
		for range 3 * maxIntake {
			many.Go(bring)
		}
		time.Sleep(busy * 8 / 10)
		ctx, cancel := context.WithCancel(t.Context())
		defer again.Wait()
		defer cancel()
		for range 2 {
			again.Go(func() {
				for ctx.Err() == nil {
					_ = db.bring(ctx, "globex", nothing)
				}
			})
		}
		many.Wait()
		require.Less(t, time.Since(began), busy+busy/2)

		for i := range 4 { // so that there is always one in the group
			again.Go(func() {
				time.Sleep(time.Duration(i) * busy / 4)
				for ctx.Err() == nil {
					_ = db.writer.write(ctx, nothing)
				}
			})
		}
		time.Sleep(busy)
		began = time.Now()
		require.True(t, isBusy(db.InTx(t.Context(), func(context.Context, *Tx) error { return nil })))
		require.Less(t, time.Since(began), 3*busy)
	})
}

// TestIntakeAlone: where no worker takes up what callers bring, they share transactions as
// they come.
func TestIntakeAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := intakeOf(t)
		db.added.listen(func(string) {})() // one that has gone
		var calls sync.WaitGroup
		for range maxGroup {
			calls.Go(func() { assert.NoError(t, db.bring(t.Context(), "acme", nothing)) })
		}
		synctest.Wait()
		require.True(t, db.writer.gather())
		require.Len(t, db.writer.group, maxGroup)
		db.writer.answer(maxGroup)
		calls.Wait()
	})
}

// TestIntakeLeft: a caller who waits for a turn leaves with the context, or at the end of
// the database.
func TestIntakeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := intakeOf(t)
		defer db.added.listen(func(string) {})()
		for i := range maxIntake {
			require.NoError(t, db.intake.take(t.Context(), nil, fmt.Sprint(i)))
		}
		ctx, cancel := context.WithCancel(t.Context())
		left, closed := make(chan error), make(chan error)
		go func() { left <- db.bring(ctx, "acme", nothing) }()
		go func() { closed <- db.bring(t.Context(), "acme", nothing) }()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-left, context.Canceled)
		db.writer.cancel()
		require.ErrorIs(t, <-closed, ErrClosed)
		require.Empty(t, db.writer.ops)
	})
}

// fullIntake returns a database with a worker beside it, all of whose places are taken.
func fullIntake(t *testing.T) *DB {
	t.Helper()
	db, err := Open(t.Context(), EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	t.Cleanup(db.Jobs().NotifyJobs(func(string) {}))
	for i := range maxIntake {
		require.NoError(t, db.intake.take(t.Context(), nil, fmt.Sprint(i)))
	}
	return db
}

// TestIntakeOf: all that brings work takes turns.
func TestIntakeOf(t *testing.T) {
	db := fullIntake(t)
	events, runs := &Trigger{db: db}, &AudioSearch{db: db}
	e, r := someEvent(), audiosearch.Run{Organization: "acme", ID: 1, State: audiosearch.StateQueued}
	for name, bring := range map[string]func(context.Context) error{
		"CreateEvent": func(ctx context.Context) error {
			_, _, err := events.CreateEvent(ctx, e, time.Time{})
			return err
		},
		"CreateEventAndAdd": func(ctx context.Context) error {
			_, _, err := events.CreateEventAndAdd(ctx, e, time.Time{}, e.Job())
			return err
		},
		"CreateRun":       func(ctx context.Context) error { return runs.CreateRun(ctx, r, 10) },
		"CreateRunAndAdd": func(ctx context.Context) error { return runs.CreateRunAndAdd(ctx, r, 10, r.Job()) },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- bring(ctx) }()
		require.Eventually(t, func() bool {
			db.intake.mu.Lock()
			defer db.intake.mu.Unlock()
			return len(db.intake.queue) == 1 || len(ended) > 0
		}, time.Minute, time.Millisecond)
		require.Empty(t, ended, "%s took no turn", name)
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled, name)
	}
}

// TestIntakeInTx: those who have a place may wait for the end of a transaction of the
// host's. So a submission in it needs none.
func TestIntakeInTx(t *testing.T) {
	db := fullIntake(t)
	tables, e := db.Trigger().Store.(*Trigger), someEvent()
	require.NoError(t, db.InTx(t.Context(), func(ctx context.Context, _ *Tx) error {
		_, created, err := tables.CreateEventAndAdd(ctx, e, time.Time{}, e.Job())
		require.True(t, created)
		return err
	}))

	waiting, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		other := someEvent()
		_, _, err := tables.CreateEventAndAdd(waiting, other, time.Time{}, other.Job())
		ended <- err
	}()
	require.Eventually(t, func() bool {
		db.intake.mu.Lock()
		defer db.intake.mu.Unlock()
		return len(db.intake.queue) == 1
	}, time.Minute, time.Millisecond, "one outside of it waits for its turn")
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}
