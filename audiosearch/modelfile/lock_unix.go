//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package modelfile

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock of a file, which it makes, or says that somebody has it. The
// system ends it with the process.
func tryLock(path string) (release func(), busy bool, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, false, err
	}
	for {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		_ = file.Close() // nothing was written
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, true, nil
		}
		return nil, false, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return func() { _ = file.Close() }, false, nil // nothing was written
}
