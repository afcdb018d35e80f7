// Package durable makes files outlive a loss of power.
package durable

import (
	"errors"
	"os"
	"runtime"
)

// Names puts the names in a folder on the disk: those of files that were made, renamed or
// removed there. What the files hold is synced by themselves. Windows has no such call, and
// there it does nothing.
func Names(folder string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
