package file

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/turns"
)

// intakeOf returns a database without a file, whose operations wait to be gathered. working is
// whether workers of this process take work up.
func intakeOf(t *testing.T, working bool) *File {
	w := &writer{ops: make(chan *op, 2*maxGroup), stopped: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(t.Context())
	return &File{writer: w, working: func() bool { return working }, intake: turns.New(maxIntake, maxIntake-1)}
}

func nothing(*Tx) error { return nil }

// TestIntake: however many callers bring work, what a worker of the process does comes
// behind a few of them, and in the same transaction.
func TestIntake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := intakeOf(t, true)
		var calls sync.WaitGroup
		bring := func(org string) {
			calls.Go(func() { assert.NoError(t, db.Bring(t.Context(), org, nothing)) })
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
			calls.Go(func() { assert.NoError(t, db.Write(t.Context(), nothing)) })
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
		db := intakeOf(t, false)
		var calls sync.WaitGroup
		for range maxGroup {
			calls.Go(func() { assert.NoError(t, db.Bring(t.Context(), "acme", nothing)) })
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
		db := intakeOf(t, true)
		for i := range maxIntake {
			require.NoError(t, db.intake.Take(t.Context(), nil, fmt.Sprint(i)))
		}
		ctx, cancel := context.WithCancel(t.Context())
		left, closed := make(chan error), make(chan error)
		go func() { left <- db.Bring(ctx, "acme", nothing) }()
		go func() { closed <- db.Bring(t.Context(), "acme", nothing) }()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-left, context.Canceled)
		db.writer.cancel()
		require.ErrorIs(t, <-closed, ErrClosed)
		require.Empty(t, db.writer.ops)
	})
}

// fullIntake returns a database beside workers, all of whose places are taken.
func fullIntake(t *testing.T) *File {
	t.Helper()
	db, err := Open(t.Context(), EmptyFile(t), settingsOf(Options{Working: func() bool { return true }}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for i := range maxIntake {
		require.NoError(t, db.intake.Take(t.Context(), nil, fmt.Sprint(i)))
	}
	return db
}

// TestIntakeInTx: those who have a place may wait for the end of a transaction of the
// host's. So what is brought in it needs none.
func TestIntakeInTx(t *testing.T) {
	db := fullIntake(t)
	bring := func(ctx context.Context) error {
		i := newItem()
		return db.Bring(ctx, "acme", func(tx *Tx) error { return tx.Insert(insertItem, i.id, i.text) })
	}
	require.NoError(t, db.InTx(t.Context(), func(ctx context.Context, _ *HostTx) error { return bring(ctx) }))
	require.Equal(t, []int{1}, numbers(t, db, "SELECT count(*) FROM mortise_jobs"))

	waiting, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- bring(waiting) }()
	require.Eventually(t, func() bool {
		_, waiting := db.intake.State()
		return waiting == 1
	}, time.Minute, time.Millisecond, "one outside of it waits for its turn")
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}
