package modelfile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"os"
	"path/filepath"
	"time"
)

// resume says how far a download is, and of what file. It stands beside the part.
type resume struct {
	Offset       int64  `json:"offset"` // so many bytes of the part count
	SHA256       string `json:"sha256"` // of those
	Total        int64  `json:"total"`  // -1: not known
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"last_modified,omitempty"`
}

// validator is what If-Range takes, "" if the server gave nothing that says whether the
// file is still the same.
func (r *resume) validator() string {
	if r.ETag != "" {
		return r.ETag
	}
	return r.LastModified
}

// part is a download that has not ended: the file and what is beside it. Whoever has one
// holds the lock.
type part struct {
	path string // without .part and .resume
	file *os.File
	hash hash.Hash
	at   resume // SHA256 is set when it is saved
	// doubtful says that what is here came by several answers, or by one that does not
	// say where it ends.
	doubtful bool
	saved    struct {
		offset int64
		time   time.Time
	}
}

// How much is downloaded and how much time passes until it is said beside the part.
const (
	saveBytes = 16 << 20
	saveTime  = time.Second
)

// openPart opens what an earlier download left, or makes an empty one.
func openPart(ctx context.Context, path string) (*part, error) {
	file, err := os.OpenFile(path+".part", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, diskError(filepath.Dir(path), err)
	}
	p := &part{path: path, file: file, hash: sha256.New(), at: resume{Total: -1}}
	left, ok := readResume(ctx, path)
	if ok {
		ok, err = p.rehash(ctx, left)
	}
	if err == nil && !ok {
		err = p.reset()
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return p, nil
}

func readResume(ctx context.Context, path string) (r resume, ok bool) {
	data, err := readBounded(ctx, path+".resume", maxRecordBytes)
	if err != nil || json.Unmarshal(data, &r) != nil {
		return r, false
	}
	return r, r.Offset > 0 && (r.Total == -1 || r.Total >= r.Offset)
}

// rehash reads what is there and goes on behind it, if it is what was said beside it.
func (p *part) rehash(ctx context.Context, left resume) (bool, error) {
	buf := make([]byte, 1<<20)
	for rest := left.Offset; rest > 0; {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		n, err := p.file.Read(buf[:min(rest, int64(len(buf)))])
		_, _ = p.hash.Write(buf[:n]) // never fails
		rest -= int64(n)
		if err != nil && rest > 0 {
			return false, nil // shorter than it was, or not readable: it is fetched anew
		}
	}
	if hex.EncodeToString(p.hash.Sum(nil)) != left.SHA256 {
		return false, nil
	}
	if left.validator() == "" && left.Offset != left.Total {
		return false, nil
	}
	p.at, p.doubtful = left, true
	p.saved.offset, p.saved.time = left.Offset, time.Now()
	return true, p.cut(left.Offset)
}

// cut makes the file end at an offset and puts the next write there.
func (p *part) cut(offset int64) error {
	err := p.file.Truncate(offset)
	if err == nil {
		_, err = p.file.Seek(offset, io.SeekStart)
	}
	if err != nil {
		return diskError(filepath.Dir(p.path), err)
	}
	return nil
}

// reset begins anew.
func (p *part) reset() error {
	p.hash.Reset()
	p.at, p.doubtful = resume{Total: -1}, false
	p.saved.offset, p.saved.time = 0, time.Now()
	_ = os.Remove(p.path + ".resume") // without the bytes it counts for nothing
	return p.cut(0)
}

// complete reports whether all bytes are here.
func (p *part) complete() bool { return p.at.Total >= 0 && p.at.Offset == p.at.Total }

// write adds bytes.
func (p *part) write(b []byte) error {
	if _, err := p.file.Write(b); err != nil {
		return diskError(filepath.Dir(p.path), err)
	}
	_, _ = p.hash.Write(b) // never fails
	p.at.Offset += int64(len(b))
	if p.at.Offset-p.saved.offset >= saveBytes || time.Since(p.saved.time) >= saveTime {
		return p.save()
	}
	return nil
}

// save says beside the part how far it is. Nothing is synced: the digest tells whether
// the bytes are there.
func (p *part) save() error {
	if p.at.Offset == p.saved.offset && !p.complete() {
		return nil
	}
	p.at.SHA256 = hex.EncodeToString(p.hash.Sum(nil))
	p.saved.offset, p.saved.time = p.at.Offset, time.Now()
	return writeJSON(p.path+".resume", p.at, false)
}

// sum is the digest of what is here.
func (p *part) sum() (digest [32]byte) {
	p.hash.Sum(digest[:0])
	return digest
}

// discard removes the part.
func (p *part) discard() {
	_ = p.file.Close() // its content does not matter any more
	_ = os.Remove(p.path + ".resume")
	_ = os.Remove(p.path + ".part") // if it stays, it counts for nothing without the other
	p.at, p.saved.offset = resume{Total: -1}, 0
}
