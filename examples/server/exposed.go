package main

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
)

// warnOfExposedData tells an operator of a data folder and of a database that others can
// read or write. Others who can write to the folder can replace the database.
func warnOfExposedData(folder string, log *slog.Logger) {
	file := filepath.Join(folder, databaseFile)
	warnOfMode(log, "the data folder; chmod 700 it", folder, exposedMode(folder))
	warnOfMode(log, "the file of the database; chmod 600 it", file, exposedMode(file))
}

// exposedMode returns the mode of a file or folder if others than its owner can read or
// write it, else 0.
func exposedMode(path string) fs.FileMode {
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0 {
		return 0
	}
	return info.Mode().Perm()
}

// warnOfMode warns of a file or folder that others can read, unless its mode is 0.
func warnOfMode(log *slog.Logger, what, path string, mode fs.FileMode) {
	if mode != 0 {
		log.Warn("others can read "+what, "file", path, "mode", mode.String())
	}
}
