package sqlite_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// TestTrigger is the conformance suite.
func TestTrigger(t *testing.T) {
	t.Parallel()
	triggertest.Run(t, triggers())
}

// triggers is the harness of the domain's suite, with something done to each database.
func triggers(each ...func(*sqlite.DB)) triggertest.Harness {
	files := make(map[any]*opened)
	open := func(t *testing.T, path string) trigger.Backend {
		db := openAt(t, path, &sqlite.Options{BusyTimeout: 50 * time.Millisecond})
		for _, do := range each {
			do(db)
		}
		b := db.Trigger()
		b.Directory = b.Store.(trigger.Organizations)
		files[b.Store] = &opened{db, path}
		return b
	}
	return triggertest.Harness{
		Open: func(t *testing.T) trigger.Backend { return open(t, filetest.EmptyFile(t)) },
		Reopen: func(t *testing.T, b trigger.Backend) trigger.Backend {
			require.NoError(t, files[b.Store].db.Close())
			return open(t, files[b.Store].path)
		},
		Leases: func(b trigger.Backend) mortise.Leases { return files[b.Store].db.Jobs() },
		Break:  func(t *testing.T, b trigger.Backend) (heal func()) { return lockFile(t, files[b.Store].path) },
	}
}

// opened is a database with its file.
type opened struct {
	db   *sqlite.DB
	path string
}

// openAt opens a database that the test's end closes.
func openAt(t testing.TB, path string, opts *sqlite.Options) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}
