package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// Folder is a [sound.Files] over a folder of this machine: a video's path is
// relative to it, with slashes, and cannot lead out of it, by .. or by a symbolic link
// either (see [os.Root]). All organizations share it, so whoever fills the catalog decides
// what an organization may name. It is safe for concurrent use.
type Folder struct {
	root *os.Root
}

// Open returns a Folder. Close it in the end.
func Open(dir string) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("audiosearch: open the folder of the videos: %w", err)
	}
	return &Folder{root}, nil
}

// Close closes the folder. Files that are in use stay readable until they are released.
func (f *Folder) Close() error { return f.root.Close() }

var (
	errNoFile     = sound.BadMedia(errors.New("there is no such file: put it there, or correct the path in the catalog"))
	errOutside    = sound.BadMedia(errors.New("the path leads out of the folder of the videos: correct it in the catalog"))
	errNotRegular = sound.BadMedia(errors.New("the path does not name a plain file: correct it in the catalog"))
	errNoAccess   = sound.BadMedia(errors.New("the file cannot be opened: let the server read it"))
)

// Local implements [sound.Files]. On Linux the name that it returns stands for the
// opened file, whatever happens to the path meanwhile.
func (f *Folder) Local(ctx context.Context, _ string, path string) (string, func(), error) {
	nothing := func() {}
	if err := ctx.Err(); err != nil {
		return "", nothing, err
	}
	name := filepath.FromSlash(path)
	if !filepath.IsLocal(name) {
		return "", nothing, errOutside
	}
	// Opening a named pipe would wait for a writer, so neither the look before nor the flag
	// may be left out.
	if info, err := f.root.Stat(name); err != nil {
		return "", nothing, fileError(err)
	} else if !info.Mode().IsRegular() {
		return "", nothing, errNotRegular
	}
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", nothing, fileError(err)
	}
	release := func() { _ = file.Close() } // it was only read
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		release()
		return "", nothing, errNotRegular
	}
	if runtime.GOOS == "linux" {
		opened := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), file.Fd())
		if _, err := os.Stat(opened); err == nil {
			return opened, release, nil
		}
	}
	return filepath.Join(f.root.Name(), name), release, nil
}

// Same implements [sound.SameFiles].
func (f *Folder) Same(_, path, file string) bool {
	there, err := f.root.Stat(filepath.FromSlash(path))
	if err != nil {
		return false
	}
	had, err := os.Stat(file)
	return err == nil && os.SameFile(there, had)
}

// fileError says what a failure to open means, without the name of the folder.
func fileError(err error) error {
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errNoFile
	case errors.Is(err, fs.ErrPermission):
		return errNoAccess
	case errors.As(err, &path):
		// os.Root has no exported error for a link that leads out.
		if path.Err.Error() == "path escapes from parent" {
			return errOutside
		}
		return sound.BadMedia(fmt.Errorf("the file cannot be opened: %w", path.Err))
	}
	return err
}
