package file

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBoundArguments: SQLite reads its arguments from its own memory. A query that is at a
// row is not disturbed by what its connection binds meanwhile, of any size and more of it.
func TestBoundArguments(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	require.NoError(t, create(path))
	read, err := newSource(path, url.Values{"_query_only": {"1"}})
	require.NoError(t, err)
	c, err := read.connect()
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	// Its arguments are read at each row anew, the last one after the statements between.
	const outer = "WITH RECURSIVE n (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 20)" +
		" SELECT i, ?, ?, ?, ?, ?, substr(?, i + 1, 3) FROM n"
	text, blob := strings.Repeat("text", 16<<10), bytes.Repeat([]byte("blob"), 16<<10)
	letters := "abcdefghijklmnopqrstuvwxyz"
	wantText, wantBlob := strings.Clone(text), bytes.Clone(blob)
	rows := 0
	err = c.Query(unbounded, outer, []any{text, blob, nil, []byte(nil), 7, letters}, func(r *Row) error {
		i := r.Number(0)
		require.Equal(t, wantText, r.Text(1))
		require.Equal(t, wantBlob, Cell[[]byte](r, 2))
		require.True(t, r.Null(3))
		require.True(t, r.Null(4))
		require.Equal(t, 7, r.Number(5))
		require.Equal(t, letters[i:i+3], r.Text(6))
		rows++
		clear(blob) // the caller's own
		var args []any
		for n := range 10 + i {
			args = append(args, bytes.Repeat([]byte{byte(n + 1)}, 64<<10))
		}
		return c.Query(unbounded, "VALUES (?"+strings.Repeat(", ?", 9+i)+")", args, func(inner *Row) error {
			for n := range args {
				require.Equal(t, args[n], Cell[[]byte](inner, n), fmt.Sprint(n))
			}
			return nil
		})
	})
	require.NoError(t, err)
	require.Equal(t, 21, rows)
	for _, b := range c.bound[:cap(c.bound)] {
		require.Zero(t, b.Value, "it keeps nobody's arguments")
	}
}

// TestNoBareLimits: see stmt. It goes through the rooms, too.
func TestNoBareLimits(t *testing.T) {
	files := 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		files++
		if strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		require.NotRegexp(t, "LIMIT (\\?|\" \\+ bind)", string(text), "%s: SQLite compiles such a statement for each call", path)
		return nil
	}))
	require.Greater(t, files, 100)
}
