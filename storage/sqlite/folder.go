package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/seed-6363c74e/mortise/internal/durable"
)

// MakeFolder makes the folder of a database, and those above it that are missing, with mode
// 0700. One that is there stays as it is. What it made is on the disk when it returns, so
// that a power cut does not take it away, and the database with it. If the system does not
// sync folders, that is no error, and log is told (nil: slog.Default()).
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
	if err := durable.Names(parent); err != nil {
		if log == nil {
			log = slog.Default()
		}
		log.Warn("a power cut in the next seconds may take the data folder with it", "folder", path, "error", err)
	}
	return nil
}
