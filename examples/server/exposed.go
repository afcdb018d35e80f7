package main

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
)

// warnOfExposedData tells an operator of a data folder that others can write to, for they can
// replace the database, and of a database that others can read or write.
func warnOfExposedData(folder string, log *slog.Logger) {
	file := filepath.Join(folder, databaseFile)
	warnOfMode(log, "others can write to the data folder; chmod 700 it", folder, exposedMode(folder, 0o022))
	warnOfMode(log, "others can read or write the file of the database; chmod 600 it", file, exposedMode(file, 0o066))
}

// exposedMode returns the mode of a file or folder if it has one of some bits, else 0.
func exposedMode(path string, bits fs.FileMode) fs.FileMode {
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" || info.Mode()&bits == 0 {
		return 0
	}
	return info.Mode()
}

// warnOfMode warns of a file or folder that is exposed, unless its mode is 0.
func warnOfMode(log *slog.Logger, text, path string, mode fs.FileMode) {
	if mode != 0 {
		log.Warn(text, "file", path, "mode", mode.String())
	}
}
