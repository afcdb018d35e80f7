package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"

	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// The purposes of what is derived from the root key. Each must be given out once: two keys
// of the same purpose are the same key.
const (
	purposeInvitations = "mortise invitation key v1"
	purposeVault       = "mortise vault key v1"
)

// newRootKey returns a random key, also as it is written.
func newRootKey() (key localkeys.Root, text string) {
	var random [localkeys.RootSize]byte
	_, _ = rand.Read(random[:]) // never fails
	text = hex.EncodeToString(random[:])
	key, _ = localkeys.ParseRoot(text) // it is one
	return key, text
}

// maxKeyFile bounds what is read of a key file, in bytes. Whoever names another file by
// mistake need not wait for all of it.
const maxKeyFile = 4096

// readKeyFile reads a root key from a file. It returns the file's mode if others than its
// owner can read it, else 0.
func readKeyFile(path string) (key localkeys.Root, exposed fs.FileMode, err error) {
	text, exposed, err := readFile(path, maxKeyFile)
	if errors.Is(err, errTooLarge) {
		text, err = nil, nil // which is told as any other text that is no key
	}
	if err != nil {
		return key, 0, err
	}
	if key, err = localkeys.ParseRoot(string(text)); err != nil {
		return key, 0, fmt.Errorf("%s: %w", path, err)
	}
	return key, exposed, nil
}

// errTooLarge is what readBounded says of a file that has more than it may.
var errTooLarge = errors.New("the file is too large")

// readFile is readBounded of a file by its name.
func readFile(path string, most int64) (data []byte, exposed fs.FileMode, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	return readBounded(f, most)
}

// readBounded reads a whole file, of so many bytes at most, and closes it. It returns the
// file's mode if others than its owner can read it, else 0.
func readBounded(f *os.File, most int64) (data []byte, exposed fs.FileMode, err error) {
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	data, err = io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%w: it may have %d bytes", errTooLarge, most)
	}
	return data, exposedMode(info), err
}

// exposedMode is the mode of a file that others than its owner can read or write, else 0.
// A pipe's says nothing.
func exposedMode(info fs.FileInfo) fs.FileMode {
	if mode := info.Mode(); mode.IsRegular() && runtime.GOOS != "windows" && mode.Perm()&0o077 != 0 {
		return mode.Perm()
	}
	return 0
}
