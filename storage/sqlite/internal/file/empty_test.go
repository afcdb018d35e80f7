package file

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// emptyFile holds a database of which nothing has been made but the tables.
var emptyFile struct {
	once    sync.Once
	content []byte
	err     error
}

// EmptyFile returns the path of a database that has its tables already. To open it costs a
// fifth of what it costs to make one. What is about new files begins without a file.
func EmptyFile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	emptyFile.once.Do(func() {
		var db *File
		if db, emptyFile.err = Open(unbounded, path, defaults); emptyFile.err != nil {
			return
		}
		if emptyFile.err = db.Close(); emptyFile.err == nil {
			emptyFile.content, emptyFile.err = os.ReadFile(path)
		}
	})
	require.NoError(t, emptyFile.err)
	require.NoError(t, os.WriteFile(path, emptyFile.content, 0o600))
	return path
}
