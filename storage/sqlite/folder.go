package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
)

// MakeFolder makes a folder for a database, and those above it, for this user alone. One
// that is there stays as it is. What it made is on the disk when it returns; where that
// cannot be had, log is told (nil: slog.Default()).
func MakeFolder(path string, log *slog.Logger) error {
	path = filepath.Clean(path)
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fmt.Errorf("%s is not a folder", path)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	parent := filepath.Dir(path)
	if parent == path { // a drive that is not there
		return err
	}
	if err := MakeFolder(parent, log); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
			return nil // another process was faster
		}
		return err
	}
	if err := SyncFolder(parent); err != nil {
		if log == nil {
			log = slog.Default()
		}
		log.Warn("a power cut in the next seconds may take the data folder with it", "folder", path, "error", err)
	}
	return nil
}

// SyncFolder puts what was made in a folder on the disk, such as the file of a key. The
// database does that for its own files, not for the folder they are in.
func SyncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil // has no such thing
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
