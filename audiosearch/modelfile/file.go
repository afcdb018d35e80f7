package modelfile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// File is a model that was read whole: what runs is what was digested, whatever happens
// to the file on disk.
type File struct {
	Data   []byte   // read once; the caller's
	Digest [32]byte // SHA-256 of Data
	Path   string   // where it was read from; for a fetched one, where it is kept

	// Sidecar is the content of the file beside it whose name has .json added
	// (model.onnx.json for model.onnx), at most 1 MiB; nil without one. Digest does not
	// cover it.
	Sidecar []byte
}

// maxSidecarBytes bounds a sidecar.
const maxSidecarBytes = 1 << 20

// Open reads a local file. It refuses a folder, a pipe or a device, a file of more than
// 2 GiB, and a file that cannot be a model: an empty file, a web page, or the pointer that
// Git LFS leaves in place of a file.
//
// A model whose weights are in a second file (model.onnx_data) is not read whole: export
// it as one file.
func Open(ctx context.Context, path string) (*File, error) { return open(ctx, path, nil) }

func open(ctx context.Context, path string, opts *Options) (*File, error) {
	o := opts.filled()
	file, err := readFile(ctx, path, o.maxBytes)
	if err == nil {
		err = noModel(file.Data)
	}
	if err == nil {
		err = file.addSidecar(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("modelfile: open %s: %w", path, err)
	}
	return file, nil
}

var (
	errNoFile     = errors.New("there is no such file: correct the path, or put the model there")
	errNoAccess   = errors.New("this program may not read it: give it the right to")
	errNotRegular = errors.New("it is no plain file: give the path of the model itself")
	errChanged    = errors.New("it grew or shrank while it was read: try again when it is complete")
)

// readFile reads a whole file with its digest, in one allocation.
func readFile(ctx context.Context, path string, most int64) (*File, error) {
	data, err := readBounded(ctx, path, most)
	if err != nil {
		return nil, err
	}
	file := &File{Data: data, Path: path}
	hash := sha256.New()
	for rest := data; len(rest) > 0; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n := min(len(rest), 4<<20)
		_, _ = hash.Write(rest[:n]) // never fails
		rest = rest[n:]
	}
	hash.Sum(file.Digest[:0])
	return file, nil
}

// readBounded reads a regular file of at most so many bytes.
func readBounded(ctx context.Context, path string, most int64) ([]byte, error) {
	// Without the flag to open a named pipe would wait for a writer.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, readError(err)
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, readError(err)
	case !info.Mode().IsRegular():
		return nil, errNotRegular
	case info.Size() > most:
		return nil, tooLarge(info.Size(), most)
	}
	data := make([]byte, info.Size())
	for got := 0; got < len(data); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := file.Read(data[got:min(len(data), got+4<<20)])
		got += n
		if err == io.EOF && got < len(data) {
			return nil, errChanged
		}
		if err != nil && err != io.EOF {
			return nil, readError(err)
		}
	}
	if n, _ := file.Read(make([]byte, 1)); n > 0 {
		return nil, errChanged
	}
	return data, nil
}

// readError says what a failure to read means. The path is said by the caller.
func readError(err error) error {
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errNoFile
	case errors.Is(err, fs.ErrPermission):
		return errNoAccess
	case errors.As(err, &path):
		return fmt.Errorf("it cannot be read: %w", path.Err)
	}
	return err
}

// addSidecar reads the JSON file beside the model, if there is one.
func (f *File) addSidecar(ctx context.Context) error {
	data, err := readBounded(ctx, f.Path+".json", maxSidecarBytes)
	switch {
	case errors.Is(err, errNoFile):
		return nil
	case err != nil:
		return fmt.Errorf("the JSON file beside it (.json): %w", err)
	}
	f.Sidecar = data
	return nil
}

func tooLarge(size, most int64) error {
	return fmt.Errorf("it has %d bytes, and at most %d are allowed: check that it is the model, or take a smaller one",
		size, most)
}

const onHuggingFace = "on Hugging Face the file itself is behind /resolve/main/, not /blob/main/ or /raw/main/"

var (
	errEmpty   = errors.New("the file is empty: get the model again")
	errWebPage = errors.New("this is a web page, not a model; " + onHuggingFace)
	errPointer = errors.New("this is a Git LFS pointer, not the model itself: in a clone run git lfs pull; " + onHuggingFace)
)

// noModel returns an error for what people get in place of a model. What it lets through
// may be none either.
func noModel(data []byte) error {
	head := bytes.ToLower(bytes.TrimLeft(data[:min(len(data), 512)], "\xef\xbb\xbf \t\r\n"))
	switch {
	case len(data) == 0:
		return errEmpty
	case bytes.HasPrefix(head, []byte("<!doctype html")), bytes.HasPrefix(head, []byte("<html")):
		return errWebPage
	case bytes.HasPrefix(head, []byte("version https://git-lfs.github.com/spec/")):
		return errPointer
	}
	return nil
}
