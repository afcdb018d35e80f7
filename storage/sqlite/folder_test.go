package sqlite_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/seed-6363c74e/mortise/storage/sqlite"
)

// TestMakeFolder: what is missing is made for this user alone, and what is there stays.
func TestMakeFolder(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	dangling := filepath.Join(dir, "dangling")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink("nowhere", dangling)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	deep := filepath.Join(dir, "a", "b", "c")
	for range 2 {
		if err := sqlite.MakeFolder(deep, nil); err != nil {
			t.Fatal(err)
		}
	}
	for path := deep; path != dir; path = filepath.Dir(path) {
		if info, err := os.Stat(path); err != nil || info.Mode() != fs.ModeDir|0o700 {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	for _, path := range []string{file, filepath.Join(file, "x"), dangling, filepath.Join(dir, "n\x00l")} {
		if err := sqlite.MakeFolder(path, nil); err == nil {
			t.Errorf("%q was made", path)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("made by way of a link that leads nowhere: %v", err)
	}

	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := sqlite.MakeFolder(file, nil); err == nil || err.Error() != file+" is not a folder" {
		t.Error(err)
	}

	// Several at once all succeed.
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if err := sqlite.MakeFolder(filepath.Join(dir, "x", "y"), nil); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}
