package modelfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/seed-6363c74e/mortise/internal/durable"
)

// record says what a kept file is. It stands beside it.
type record struct {
	URL          string    `json:"url"` // without its query
	SHA256       string    `json:"sha256"`
	Size         int64     `json:"size"`
	ETag         string    `json:"etag,omitempty"`
	LastModified string    `json:"last_modified,omitempty"`
	Fetched      time.Time `json:"fetched"`
}

// maxRecordBytes bounds a file of our own that is read back.
const maxRecordBytes = 64 << 10

// writeJSON writes a small file in one step. If synced it is on the disk afterwards.
func writeJSON(path string, v any, synced bool) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return diskError(filepath.Dir(path), err)
	}
	_, err = file.Write(append(data, '\n'))
	if err == nil && synced {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return diskError(filepath.Dir(path), err)
	}
	return nil
}

// syncDir makes what was renamed in a folder outlive a loss of power.
func syncDir(dir string) error {
	if err := durable.Names(dir); err != nil {
		return diskError(dir, err)
	}
	return nil
}

// diskError says what a failure to write in the folder means.
func diskError(dir string, err error) error {
	var path *fs.PathError
	var link *os.LinkError
	cause := err
	if errors.As(err, &path) {
		cause = path.Err
	} else if errors.As(err, &link) {
		cause = link.Err
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("the disk of the folder %s is full (%w): make room, the next start goes on where this one was", dir, cause)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("nothing can be written into the folder %s (%w): let this program write there, "+
			"or download the file yourself and give its path", dir, cause)
	}
	return fmt.Errorf("the folder %s cannot be used (%w): take another one, or download the file yourself and give its path", dir, cause)
}
