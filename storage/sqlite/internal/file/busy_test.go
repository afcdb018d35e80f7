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
)

// busyTimeout is the busy timeout of besideAnother. SQLite itself sleeps by another clock, for
// longer.
const busyTimeout = 100 * time.Millisecond

// besideAnother opens a database whose file another process may hold, by the statements
// that exec is given. Workers of this process take work up. Time is that of the test.
func besideAnother(t *testing.T, do func(t *testing.T, db *File, exec func(text string))) {
	t.Parallel()
	path := EmptyFile(t)
	synctest.Test(t, func(t *testing.T) {
		db, err := Open(t.Context(), path, settingsOf(Options{BusyTimeout: busyTimeout, Working: func() bool { return true }}))
		require.NoError(t, err)
		defer func() { require.NoError(t, db.Close()) }()
		other, err := db.writer.source.connect()
		require.NoError(t, err)
		defer func() { require.NoError(t, other.Close()) }()
		do(t, db, func(text string) {
			_, err := other.Exec(t.Context(), text)
			require.NoError(t, err)
		})
	})
}

// TestBusyBehindTurns: who has waited for a turn, however long, waits for another process as
// long as anybody: for the busy timeout from when that has the file, and no longer.
func TestBusyBehindTurns(t *testing.T) {
	besideAnother(t, func(t *testing.T, db *File, exec func(string)) {
		take := func() {
			for i := range maxIntake {
				require.NoError(t, db.intake.Take(t.Context(), nil, fmt.Sprint(i)))
			}
		}
		give := func() {
			for i := range maxIntake {
				db.intake.Give(fmt.Sprint(i))
			}
		}
		for _, held := range []time.Duration{busyTimeout / 2, 3 * busyTimeout} {
			take()
			ended := make(chan error, maxGroup)
			bring := func() { ended <- db.Bring(t.Context(), "acme", nothing) }
			go bring()
			time.Sleep(10 * busyTimeout)
			exec("BEGIN IMMEDIATE")
			began := time.Now()
			give()
			time.Sleep(held)
			if held < busyTimeout {
				require.Empty(t, ended)
				exec("COMMIT")
				require.NoError(t, <-ended)
				continue
			}
			require.True(t, isBusy(<-ended))

			take()
			go bring() // while it is held
			time.Sleep(busyTimeout)
			give()
			asked := time.Now()
			require.True(t, isBusy(<-ended))
			require.Less(t, time.Since(asked), busyTimeout/2, "the time of waiting for a turn counts while the file is held")
			require.Greater(t, time.Since(began), held)
			exec("COMMIT")
		}
	})
}

// TestBusyByTurns: while another process has the file, many of one organization
// wait for turns beside another one that comes again and again. None of them waits for
// those who have called later and stand before them: all are answered at the same moment.
func TestBusyByTurns(t *testing.T) {
	besideAnother(t, func(t *testing.T, db *File, exec func(string)) {
		exec("BEGIN IMMEDIATE") // until the connection is closed
		began := time.Now()
		var many, again sync.WaitGroup
		bring := func() { assert.True(t, isBusy(db.Bring(t.Context(), "acme", nothing))) }
		for range 3 * maxIntake {
			many.Go(bring)
		}
		time.Sleep(busyTimeout * 8 / 10)
		ctx, cancel := context.WithCancel(t.Context())
		defer again.Wait()
		defer cancel()
		for range 2 {
			again.Go(func() {
				for ctx.Err() == nil {
					_ = db.Bring(ctx, "globex", nothing)
				}
			})
		}
		many.Wait()
		require.Less(t, time.Since(began), busyTimeout+busyTimeout/2)

		for i := range 4 { // so that there is always one in the group
			again.Go(func() {
				time.Sleep(time.Duration(i) * busyTimeout / 4)
				for ctx.Err() == nil {
					_ = db.Write(ctx, nothing)
				}
			})
		}
		time.Sleep(busyTimeout)
		began = time.Now()
		require.True(t, isBusy(db.InTx(t.Context(), func(context.Context, *HostTx) error { return nil })))
		require.Less(t, time.Since(began), 3*busyTimeout)
	})
}

// TestBusyBehindInTx: an operation that has waited for a transaction of the host's waits
// for another process as long as anybody, though that has had the file before.
func TestBusyBehindInTx(t *testing.T) {
	besideAnother(t, func(t *testing.T, db *File, exec func(string)) {
		exec("BEGIN IMMEDIATE")
		require.True(t, isBusy(db.Write(t.Context(), nothing)))
		exec("COMMIT")
		ended := make(chan error, 1)
		require.NoError(t, db.InTx(t.Context(), func(ctx context.Context, _ *HostTx) error {
			hostTxOf(ctx, db).committed = []func(){func() { exec("BEGIN IMMEDIATE") }} // before the writer goes on
			go func() { ended <- db.Write(t.Context(), nothing) }()
			time.Sleep(10 * busyTimeout)
			return nil
		}))
		time.Sleep(busyTimeout / 2)
		require.Empty(t, ended, "what it waited for in this process does not count")
		exec("COMMIT")
		require.NoError(t, <-ended)
	})
}

// TestBusyInTx: an operation that waits behind a transaction of the host's, and that for
// another process, is answered when that is. So is a transaction behind an operation.
func TestBusyInTx(t *testing.T) {
	besideAnother(t, func(t *testing.T, db *File, exec func(string)) {
		exec("BEGIN IMMEDIATE")
		began := time.Now()
		inTx := make(chan error, 1)
		go func() { inTx <- db.InTx(t.Context(), func(context.Context, *HostTx) error { return nil }) }()
		time.Sleep(busyTimeout / 10)
		require.True(t, isBusy(db.Write(t.Context(), nothing)))
		require.Less(t, time.Since(began), busyTimeout+busyTimeout/2)
		require.True(t, isBusy(<-inTx))

		began = time.Now() // the other way round
		ended := make(chan error, 1)
		go func() { ended <- db.Write(t.Context(), nothing) }()
		time.Sleep(busyTimeout / 10)
		require.True(t, isBusy(db.InTx(t.Context(), func(context.Context, *HostTx) error { return nil })))
		require.Less(t, time.Since(began), busyTimeout+busyTimeout/2)
		require.True(t, isBusy(<-ended))
		exec("COMMIT")
	})
}
