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
	"github.com/seed-6363c74e/mortise/internal/turns"
)

// intakeOf returns a database without a file, whose operations wait to be gathered.
func intakeOf(t *testing.T) (*file, *jobNotifier) {
	w := &writer{ops: make(chan *op, 2*maxGroup), stopped: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(t.Context())
	added := new(jobNotifier)
	return &file{writer: w, working: added.heard, intake: turns.New(maxIntake, maxIntake-1)}, added
}

func nothing(*tx) error { return nil }

// TestIntake: however many callers bring work, what a worker of the process does comes
// behind a few of them, and in the same transaction.
func TestIntake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, added := intakeOf(t)
		defer added.listen(func(string) {})()
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
		free, _ := db.intake.State()
		require.Equal(t, maxIntake, free)
	})
}

// TestIntakeAlone: where no worker takes up what callers bring, they share transactions as
// they come.
func TestIntakeAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, added := intakeOf(t)
		added.listen(func(string) {})() // one that has gone
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
		db, added := intakeOf(t)
		defer added.listen(func(string) {})()
		for i := range maxIntake {
			require.NoError(t, db.intake.Take(t.Context(), nil, fmt.Sprint(i)))
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
		require.NoError(t, db.intake.Take(t.Context(), nil, fmt.Sprint(i)))
	}
	return db
}

// TestIntakeOf: all that brings work takes turns.
func TestIntakeOf(t *testing.T) {
	db := fullIntake(t)
	events, runs := db.trigger, db.audiosearch
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
			_, waiting := db.intake.State()
			return waiting == 1 || len(ended) > 0
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
		_, waiting := db.intake.State()
		return waiting == 1
	}, time.Minute, time.Millisecond, "one outside of it waits for its turn")
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}
