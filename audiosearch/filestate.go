package audiosearch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// errChanged: the file was written to while it was read.
var errChanged = errors.New("the file was changed while it was being read: search again when it is complete")

// statFile returns the part of a file's state that costs nothing.
func statFile(path string) (FileState, error) {
	info, err := os.Stat(path)
	if err != nil {
		return FileState{}, &videoError{err: fmt.Errorf("the file cannot be read, look at it and at who may: %w", withoutPath(err))}
	}
	return FileState{Size: info.Size(), ModTime: info.ModTime().UTC().Truncate(time.Microsecond)}, nil
}

// sameStat reports whether two states agree in what statFile returns.
func (f FileState) sameStat(other FileState) bool {
	return f.Size == other.Size && f.ModTime.Equal(other.ModTime)
}

// digestFile reads the whole file.
func digestFile(ctx context.Context, path string, beat func()) (digest [32]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return digest, &videoError{err: fmt.Errorf("the file cannot be read, look at it and at who may: %w", withoutPath(err))}
	}
	defer f.Close()
	h := sha256.New()
	for {
		if err := ctx.Err(); err != nil {
			return digest, err
		}
		const step = 4 << 20
		_, err := io.CopyN(h, f, step)
		beat()
		if errors.Is(err, io.EOF) {
			return [32]byte(h.Sum(nil)), nil
		}
		if err != nil {
			return digest, &videoError{err: fmt.Errorf("the file cannot be read, look at it and at who may: %w", withoutPath(err))}
		}
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
