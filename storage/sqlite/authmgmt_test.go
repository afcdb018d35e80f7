package sqlite_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/authmgmtdb"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
)

// authMgmt is the harness of the domain's suites, with something done to each database.
func authMgmt(each ...func(*sqlite.DB)) authmgmttest.Harness {
	files := make(map[any]*opened)
	open := func(t *testing.T, path string) authmgmt.Backend {
		db := openAt(t, path, &sqlite.Options{BusyTimeout: 50 * time.Millisecond})
		for _, do := range each {
			do(db)
		}
		tables := db.AuthMgmt().Store.(*authmgmtdb.Store)
		files[tables] = &opened{db, path}
		return authmgmt.Backend{Store: tables, Directory: tables}
	}
	return authmgmttest.Harness{
		Open: func(t *testing.T) authmgmt.Backend {
			return open(t, filetest.EmptyFile(t))
		},
		Reopen: func(t *testing.T, b authmgmt.Backend) authmgmt.Backend {
			require.NoError(t, files[b.Store].db.Close())
			return open(t, files[b.Store].path)
		},
		InTx: func(t *testing.T, b authmgmt.Backend, do func(context.Context) error) error {
			return files[b.Store].db.InTx(t.Context(), func(ctx context.Context, _ *sqlite.Tx) error { return do(ctx) })
		},
		Break: func(t *testing.T, b authmgmt.Backend) (heal func()) { return lockFile(t, files[b.Store].path) },
	}
}

func TestAuthMgmt(t *testing.T) {
	t.Parallel()
	authmgmttest.Run(t, authMgmt())
}

func TestAuthMgmtModel(t *testing.T) {
	t.Parallel()
	authmgmttest.RunModel(t, authMgmt(), &authmgmttest.ModelOptions{Sequences: 5})
}
