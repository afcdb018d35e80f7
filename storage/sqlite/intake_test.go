package sqlite_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/audiosearchdb"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/triggerdb"
)

// places is how many operations that bring work are under way beside workers; one less of an
// organization.
const places = 64

// intakeBeside calls do in a transaction, during which no other operation comes to its end, of
// a database with a worker beside it. submit begins submissions of an organization, which leave
// when do has returned.
func intakeBeside(t *testing.T, do func(t *testing.T, ctx context.Context, db *sqlite.DB, submit func(org string, n int))) {
	t.Parallel()
	path := filetest.EmptyFile(t)
	synctest.Test(t, func(t *testing.T) {
		db := openAt(t, path, nil)
		defer db.Jobs().(leases.JobNotifier).NotifyJobs(func(string) {})()
		waiting, leave := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		defer calls.Wait()
		defer leave()
		submit := func(org string, n int) {
			for range n {
				e := newEvent()
				e.Organization = org
				calls.Go(func() {
					_, _, err := db.Trigger().Store.CreateEvent(waiting, e, time.Time{})
					assert.ErrorIs(t, err, context.Canceled)
				})
			}
			synctest.Wait()
		}
		require.NoError(t, db.InTx(t.Context(), func(ctx context.Context, _ *sqlite.Tx) error {
			do(t, ctx, db, submit)
			leave()
			calls.Wait()
			return nil
		}))
	})
}

// TestIntakeOf: all that brings work takes turns.
func TestIntakeOf(t *testing.T) {
	intakeBeside(t, func(t *testing.T, ctx context.Context, db *sqlite.DB, submit func(string, int)) {
		probe := db.File().Probe()
		submit("acme", 2*places)
		require.Equal(t, places-1, probe.Waiting())
		submit("globex", 1)
		require.Equal(t, places, probe.Waiting())

		events, runs := db.Trigger().Store.(*triggerdb.Store), db.AudioSearch().Store.(*audiosearchdb.Store)
		e, r := newEvent(), audiosearch.Run{Organization: "initech", ID: 1, State: audiosearch.StateQueued}
		e.Organization = "initech"
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
			outside, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- bring(outside) }()
			synctest.Wait()
			require.Equal(t, places, probe.Waiting(), "%s took no turn", name)
			require.Empty(t, ended, name)
			cancel()
			require.ErrorIs(t, <-ended, context.Canceled, name)
		}
	})
}

// TestIntakeInTx: those who have a place may wait for the end of a transaction of the
// host's. So a submission in it needs none.
func TestIntakeInTx(t *testing.T) {
	intakeBeside(t, func(t *testing.T, ctx context.Context, db *sqlite.DB, submit func(string, int)) {
		submit("acme", places-1)
		submit("globex", 1)
		events, e := db.Trigger().Store.(*triggerdb.Store), newEvent()
		_, created, err := events.CreateEventAndAdd(ctx, e, time.Time{}, e.Job())
		require.NoError(t, err)
		require.True(t, created)

		submit("initech", 1)
		require.Equal(t, places, db.File().Probe().Waiting(), "one outside of it waits for its turn")
	})
}

// TestIntakeAfterWorkers: when the last worker has gone, nobody takes turns.
func TestIntakeAfterWorkers(t *testing.T) {
	t.Parallel()
	path := filetest.EmptyFile(t)
	synctest.Test(t, func(t *testing.T) {
		db := openAt(t, path, nil)
		db.Jobs().(leases.JobNotifier).NotifyJobs(func(string) {})()
		var calls sync.WaitGroup
		require.NoError(t, db.InTx(t.Context(), func(context.Context, *sqlite.Tx) error {
			for range 3 * places {
				calls.Go(func() { create(t, db, newEvent()) })
			}
			synctest.Wait()
			require.Equal(t, 3*places, db.File().Probe().Waiting())
			return nil
		}))
		calls.Wait()
	})
}
