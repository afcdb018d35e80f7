package main

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestExposedData: an operator is told of a data folder that others can write to, and of a
// database that others can read.
func TestExposedData(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	b, err := openSQLite(t.Context(), folder, 0, discard())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	}()
	file := filepath.Join(folder, databaseFile)
	for _, c := range []struct {
		folder, file fs.FileMode // 0: as the server makes it
		want         []string
	}{
		{0, 0, nil},
		{0o777, 0, []string{"others can write to the data folder; chmod 700 it", "mode=drwxrwxrwx"}},
		{0o700, 0o666, []string{"others can read or write the file of the database; chmod 600 it", "mode=-rw-rw-rw-"}},
		{0o730, 0o604, []string{"others can write to the data folder; chmod 700 it", "others can read or write the file of the database; chmod 600 it"}},
		{0o755, 0o600, nil},
		{0o700, 0o600, nil},
	} {
		for path, mode := range map[string]fs.FileMode{folder: c.folder, file: c.file} {
			if mode != 0 {
				err = errors.Join(err, os.Chmod(path, mode))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS == "windows" { // files have no such modes
			c.want = nil
		}
		var log bytes.Buffer
		warnOfExposedData(folder, slog.New(slog.NewTextHandler(&log, nil)))
		if warned := strings.Count(log.String(), "level=WARN"); warned != 0 != (c.want != nil) {
			t.Errorf("%o, %o: %s", c.folder, c.file, &log)
		}
		for _, want := range c.want {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%o, %o: %q is missing in %s", c.folder, c.file, want, &log)
			}
		}
	}
}
