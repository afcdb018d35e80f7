package audiosearch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/seed-6363c74e/mortise/internal/watch"
)

// errChanged: the file was written to while it was read.
var errChanged = errors.New("the file was changed while it was being read: search again when it is complete")

// fileState tells whether a file has changed.
type fileState struct {
	size    int64
	modTime time.Time // microseconds, UTC
	digest  [32]byte  // SHA-256 of the content
}

// statFile returns the part of a file's state that costs nothing.
func statFile(path string) (fileState, *outcome) {
	info, err := os.Stat(path)
	if err != nil {
		return fileState{}, unreadable(err)
	}
	return fileState{size: info.Size(), modTime: info.ModTime().UTC().Truncate(time.Microsecond)}, nil
}

// unreadable is the outcome of a file that the system does not let us read.
func unreadable(err error) *outcome {
	return failed(fmt.Errorf("the file cannot be read, look at it and at who may: %w", withoutPath(err)))
}

// sameStat reports whether two states agree in what statFile returns.
func (f fileState) sameStat(other fileState) bool {
	return f.size == other.size && f.modTime.Equal(other.modTime)
}

// digestFile reads the whole file.
func digestFile(ctx context.Context, path string, beat func()) (digest [32]byte, unread *outcome, err error) {
	f, err := os.Open(path)
	if err != nil {
		return digest, unreadable(err), nil
	}
	defer f.Close()
	h := sha256.New()
	switch err := watch.Copy(ctx, h, f, beat); {
	case err == nil:
		return [32]byte(h.Sum(nil)), nil, nil
	case errors.Is(err, ctx.Err()): // and not the file's, though ctx may have ended meanwhile
		return digest, nil, err
	default:
		return digest, unreadable(err), nil
	}
}

// withoutPath returns what an error of package os says, without the name of the file.
func withoutPath(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
