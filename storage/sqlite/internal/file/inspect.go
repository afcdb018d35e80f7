package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"time"

	modernc "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// inspect looks at the file before anything can change it: a connection that may write
// changes a file's journal mode, and folds the log of a crash into it when it is closed.
//
// It returns the tables that it had no time to check, or was told to skip. Of a file that
// was closed in peace it checks header, schema and freelist, and returns none.
func inspect(ctx context.Context, path string, o *Options, k checks) (left []string, err error) {
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return nil, err
	}
	if !inUse(path) {
		// Without locks, and without files beside it that would stay.
		left, err = inspectWith(ctx, path, url.Values{"mode": {"ro"}, "immutable": {"1"}}, o, checks{})
		if err == nil || !inUse(path) { // by somebody who came meanwhile
			return left, err
		}
	}
	left, err = inspectWith(ctx, path, url.Values{"mode": {"ro"}}, o, k)
	if hasCode(err, codes.SQLITE_READONLY_ROLLBACK) {
		// A process died while it made the database, before it was in WAL mode. What it
		// left is no database until it is rolled back, which whoever opens it has to do.
		left, err = inspectWith(ctx, path, url.Values{"mode": {"rw"}}, o, k)
	}
	return left, err
}

// hasCode reports whether the driver gave the error with an extended result code.
func hasCode(err error, code int) bool {
	var e *modernc.Error
	return errors.As(err, &e) && e.Code() == code
}

// inUse reports whether the file has a log: it is open, or was when a process died, or
// the one that closed it had found damage or not looked for it to the end.
func inUse(path string) bool {
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		if _, err := os.Stat(path + suffix); err == nil {
			return true
		}
	}
	return false
}

func inspectWith(ctx context.Context, path string, settings url.Values, o *Options, k checks) (left []string, err error) {
	s, err := newSource(path, settings)
	if err != nil {
		return nil, err
	}
	err = retryBusy(ctx, nil, time.Now().Add(o.BusyTimeout), func() (err error) {
		c, err := s.connect()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Close()) }()
		switch clean := settings.Has("immutable"); {
		case clean && !o.SkipCheck:
			err = checkTable(ctx, c, schemaTable)
		case !clean && !o.SkipCheck:
			left, err = k.now(ctx, c, s.file.Size())
		case !clean:
			left, err = allTables(ctx, c)
		}
		if err != nil {
			return err
		}
		_, err = of(o.Domains).check(ctx, c, o.Adopt)
		return err
	})
	return left, err
}

// explain adds to an error of Open what to do about it, and ErrUnusable if trying again
// is of no use.
func explain(err error) error {
	var e *modernc.Error
	code := 0
	if errors.As(err, &e) {
		code = e.Code()
	}
	switch {
	case isUntrusted(err):
		return fmt.Errorf("%w: %w. No connection of Mortise lets a schema call a function that the program registered:"+
			" take it out of the CHECK, index, view or trigger", ErrUnusable, err)
	case isDamage(err):
		return fmt.Errorf("%w: %w. Restore a backup (remove the files -wal and -shm beside the database first), or recover what is readable"+
			" with the sqlite3 program's .recover", ErrUnusable, err)
	case code&0xff == codes.SQLITE_CANTOPEN, code&0xff == codes.SQLITE_READONLY:
		return fmt.Errorf("%w: %w. Can this user write the file and its folder?", ErrUnusable, err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %w", ErrUnusable, err)
	case code == codes.SQLITE_IOERR_SHMSIZE, code == codes.SQLITE_IOERR_WRITE, code&0xff == codes.SQLITE_FULL:
		return fmt.Errorf("%w. Is the disk full?", err)
	}
	return err
}
