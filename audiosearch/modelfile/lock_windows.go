package modelfile

import (
	"errors"
	"os"
	"syscall"
)

// sharingViolation is what Windows answers when somebody has a file for themselves alone.
const sharingViolation = syscall.Errno(32)

// tryLock opens a file, which it makes, for this process alone, or says that somebody has
// it. The system closes it with the process.
func tryLock(path string) (release func(), busy bool, err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, false, err
	}
	const alone = 0
	handle, err := syscall.CreateFile(name, syscall.GENERIC_WRITE, alone, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	switch {
	case errors.Is(err, sharingViolation):
		return nil, true, nil
	case err != nil:
		return nil, false, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return func() { _ = syscall.CloseHandle(handle) }, false, nil // nothing was written
}
