// Package filetest has helpers for the tests of several rooms.
package filetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

// SomeTime is a time as SQLite gives it back.
var SomeTime = time.Date(2026, 11, 21, 12, 0, 0, 1000, time.UTC)

// Options are the settings of a file, nil for the defaults of sqlite.Open.
func Options(o *file.Options) *file.Options {
	var all file.Options
	if o != nil {
		all = *o
	}
	if all.BusyTimeout == 0 {
		all.BusyTimeout = 3 * time.Second
	}
	if all.TxTime == 0 {
		all.TxTime = 2 * time.Second
	}
	if all.Working == nil {
		all.Working = func() bool { return false }
	}
	if all.Forgets == nil {
		all.Forgets = func(string) bool { return false }
	}
	return &all
}

// emptyFile holds a database of which nothing has been made but the tables.
var emptyFile struct {
	once    sync.Once
	content []byte
	err     error
}

// EmptyFile returns the path of a database that has its tables already. To open it costs a
// fifth of what it costs to make one. Tests of new files begin without a file.
func EmptyFile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	emptyFile.once.Do(func() {
		var f *file.File
		if f, emptyFile.err = file.Open(context.Background(), path, Options(nil)); emptyFile.err != nil {
			return
		}
		if emptyFile.err = f.Close(); emptyFile.err == nil {
			emptyFile.content, emptyFile.err = os.ReadFile(path)
		}
	})
	require.NoError(t, emptyFile.err)
	require.NoError(t, os.WriteFile(path, emptyFile.content, 0o600))
	return path
}

// Numbers returns the first column of a query's rows.
func Numbers(t testing.TB, f *file.File, query string) (found []int) {
	t.Helper()
	require.NoError(t, f.Find(t.Context(), file.NoOrg, query, nil, func(r *file.Row) error {
		found = append(found, r.Number(0))
		return nil
	}))
	return found
}

// Run runs statements in one transaction.
func Run(t testing.TB, f *file.File, statements ...string) {
	t.Helper()
	require.NoError(t, f.Write(t.Context(), func(tx *file.Tx) error {
		for _, s := range statements {
			if _, err := tx.Exec(s); err != nil {
				return err
			}
		}
		return nil
	}))
}

// Recount gives the rows of vault_counts, counted by the tokens.
const Recount = "SELECT scope, deterministic, sealed, count(*) FROM vault_tokens WHERE sealed IS NOT NULL GROUP BY scope, deterministic, sealed"

// RequireCounts compares the counts of a vault's tokens with the tokens, unless the file is
// closed.
func RequireCounts(t testing.TB, f *file.File) {
	t.Helper()
	const differ = "SELECT * FROM (SELECT 'counted', * FROM vault_counts EXCEPT SELECT 'counted', * FROM (" + Recount + "))" +
		" UNION ALL SELECT * FROM (SELECT 'there', * FROM (" + Recount + ") EXCEPT SELECT 'there', * FROM vault_counts)"
	var wrong []string
	err := f.Find(context.Background(), file.NoOrg, differ, nil, func(r *file.Row) error {
		wrong = append(wrong, fmt.Sprint(file.Cell[any](r, 0), file.Cell[any](r, 1), file.Cell[any](r, 2), file.Cell[any](r, 3), file.Cell[any](r, 4)))
		return nil
	})
	if !errors.Is(err, file.ErrClosed) {
		require.NoError(t, err)
		require.Empty(t, wrong)
	}
}
