//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package modelfile

import "errors"

// tryLock fails: without a lock two processes could write into one file.
func tryLock(string) (release func(), busy bool, err error) {
	return nil, false, errors.New("this system has no file locks: download the file yourself and give its path")
}
