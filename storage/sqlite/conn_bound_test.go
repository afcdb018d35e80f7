package sqlite

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBoundArguments: SQLite reads its arguments from its own memory. A query that is at a
// row is not disturbed by what its connection binds meanwhile, of any size and more of it.
func TestBoundArguments(t *testing.T) {
	db, _ := openVault(t)
	// Its arguments are read at each row anew, the last one after the statements between.
	const outer = "WITH RECURSIVE n (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 20)" +
		" SELECT i, ?, ?, ?, ?, ?, substr(?, i + 1, 3) FROM n"
	text, blob := strings.Repeat("text", 16<<10), bytes.Repeat([]byte("blob"), 16<<10)
	letters := "abcdefghijklmnopqrstuvwxyz"
	wantText, wantBlob := strings.Clone(text), bytes.Clone(blob)
	require.NoError(t, db.finder.use(t.Context(), db.busy, noOrg, func(c *conn) error {
		rows := 0
		err := c.query(unbounded, outer, []any{text, blob, nil, []byte(nil), 7, letters}, func(r *row) error {
			i := r.number(0)
			require.Equal(t, wantText, r.text(1))
			require.Equal(t, wantBlob, cell[[]byte](r, 2))
			require.True(t, r.null(3))
			require.True(t, r.null(4))
			require.Equal(t, 7, r.number(5))
			require.Equal(t, letters[i:i+3], r.text(6))
			rows++
			clear(blob) // the caller's own
			var args []any
			for n := range 10 + i {
				args = append(args, bytes.Repeat([]byte{byte(n + 1)}, 64<<10))
			}
			return c.query(unbounded, "VALUES (?"+strings.Repeat(", ?", 9+i)+")", args, func(inner *row) error {
				for n := range args {
					require.Equal(t, args[n], cell[[]byte](inner, n), fmt.Sprint(n))
				}
				return nil
			})
		})
		require.Equal(t, 21, rows)
		for _, b := range c.bound[:cap(c.bound)] {
			require.Zero(t, b.Value, "it keeps nobody's arguments")
		}
		return err
	}))
}

// TestNoBareLimits: see stmt.
func TestNoBareLimits(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	require.Greater(t, len(files), 100)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NotRegexp(t, "LIMIT (\\?|\" \\+ bind)", string(text), "%s: SQLite compiles such a statement for each call", file)
	}
}
