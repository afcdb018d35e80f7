package sqlite_test

import (
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lockFile keeps a database from reading and writing, as another process would that has
// found the -shm file damaged and is rebuilding it: it holds the locks for that, and the
// file says that it is not valid (https://www.sqlite.org/walformat.html). heal gives the
// locks back; then the next one rebuilds the file.
//
// It takes locks of the open file (F_OFD_SETLK), which stand against those that this
// process has by itself.
func lockFile(t *testing.T, path string) (heal func()) {
	t.Helper()
	// Never closed: that would drop the locks which SQLite holds for this process.
	f, err := syscall.Open(path+"-shm", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	require.NoError(t, err)
	set := func(kind int16) error {
		const setOpenFileLock = 37 // F_OFD_SETLK of fcntl(2)
		const writeLock, recoverLock = 120, 122
		return syscall.FcntlFlock(uintptr(f), setOpenFileLock, &syscall.Flock_t{Type: kind, Start: writeLock, Len: recoverLock - writeLock + 1})
	}
	require.Eventually(t, func() bool { return set(syscall.F_WRLCK) == nil }, time.Minute, time.Millisecond)
	_, err = syscall.Pwrite(f, make([]byte, 96), 0) // both copies of the header
	require.NoError(t, err)
	return sync.OnceFunc(func() { require.NoError(t, set(syscall.F_UNLCK)) })
}
