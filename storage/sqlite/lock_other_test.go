//go:build !linux

package sqlite_test

import "testing"

// lockFile needs locks of open files, which only Linux has.
func lockFile(t *testing.T, _ string) (heal func()) {
	t.Skip("needs F_OFD_SETLK, which only Linux has")
	return func() {}
}
