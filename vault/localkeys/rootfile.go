package localkeys

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/seed-6363c74e/mortise/internal/durable"
)

// RootFile is a root key and the file that it is from.
type RootFile struct {
	Root    Root
	Path    string
	Exposed fs.FileMode // of the file, if others than its owner can read or write it; else 0

	// Unsynced says why a power cut in the next seconds may take the file away: the folder
	// that has its name could not be synced. Nil after [EnsureRootFile] has done so, and of
	// any other RootFile.
	Unsynced error

	made os.FileInfo // of the file, if it was made just now; else nil
}

// Made reports whether the file was made by [EnsureRootFile], and not found.
func (f *RootFile) Made() bool { return f.made != nil }

// RandomRoot returns a new root key.
func RandomRoot() Root {
	root, _ := randomRoot()
	return root
}

// randomRoot returns a new root key, also as it is written.
func randomRoot() (Root, string) {
	var random [RootSize]byte
	_, _ = rand.Read(random[:]) // never fails
	return newRoot(random), hex.EncodeToString(random[:])
}

// maxRootFile bounds what is read of a file, in bytes. Whoever names another file by
// mistake need not wait for all of it.
const maxRootFile = 4096

// OpenRootFile reads a root key from a file, as [ParseRoot] does. The error of one that
// is not there is [fs.ErrNotExist]. No error repeats what is in the file.
func OpenRootFile(path string) (*RootFile, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxRootFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxRootFile {
		text = nil // which is told as any other text that is no key
	}
	f := &RootFile{Path: path}
	if f.Root, err = ParseRoot(string(text)); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	// The mode of a pipe says nothing.
	if mode := info.Mode(); mode.IsRegular() && runtime.GOOS != "windows" && mode.Perm()&0o077 != 0 {
		f.Exposed = mode.Perm()
	}
	return f, nil
}

// EnsureRootFile reads a root key from a file, which is made with a random one if there
// is none, for its owner alone. Processes that do so at once get one key. The file is
// there as a whole or not at all, and never takes the place of another; one that is
// there and has no key is an error. Copies that a process left which died while it made
// the file are removed.
//
// The file is on the disk when EnsureRootFile returns, whoever made it, unless
// [RootFile.Unsynced] says why its name may not be.
func EnsureRootFile(path string) (*RootFile, error) {
	f, err := findRootFile(path)
	if err != nil {
		return nil, err
	}
	err = removeLeftovers(path)
	f.Unsynced = durable.Names(filepath.Dir(path))
	return f, err
}

// findRootFile reads a root key from a file, or makes it.
func findRootFile(path string) (f *RootFile, err error) {
	// Whoever finds no file, and then another process's in its place, looks again. That one
	// may be gone by then: see Discard.
	for range 100 {
		if f, err = OpenRootFile(path); err == nil {
			return f, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		root, text := randomRoot()
		f = &RootFile{Root: root, Path: path}
		if f.made, err = makeRootFile(path, text); err == nil {
			return f, nil
		}
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, err
}

// makeRootFile puts a key into a file, which is there as a whole or not at all.
func makeRootFile(path, key string) (os.FileInfo, error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+leftover) // with mode 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(key + "\n")
	made, statErr := f.Stat()
	if err := errors.Join(err, statErr, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	return made, os.Link(f.Name(), path)
}

// leftover is the end of the names that a key's file has while it is made.
const leftover = ".new-*"

// removeLeftovers removes what processes left that died while they made the file: each
// is a copy of a key that somebody may have moved to a safe place. One that is still at
// it finds its own file gone, and looks again.
func removeLeftovers(path string) error {
	folder := filepath.Dir(path)
	left, err := fs.Glob(os.DirFS(folder), filepath.Base(path)+leftover)
	if err != nil {
		return err
	}
	for _, name := range left {
		if err := os.Remove(filepath.Join(folder, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Discard removes a file that was made for nothing, such as one beside data that turn
// out to need another key: the right one may have been moved away. It removes no other
// file that has come into its place, and none that was found.
func (f *RootFile) Discard() error {
	if f.made == nil {
		return nil
	}
	info, err := os.Stat(f.Path)
	if err == nil && os.SameFile(info, f.made) {
		err = os.Remove(f.Path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
