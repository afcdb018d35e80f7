package modelfile

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Fetch returns the file at an https URL, which it keeps in the folder dir. The folder is
// made if it does not exist. A file that is there already is returned without any
// request, after its digest was compared with the one that was written down when it came.
//
// If the URL ends in #sha256= and 64 hexadecimal digits, the file must have that digest:
// another one that is kept is fetched again, and replaced if the new one is right. Other
// fragments, plain http, and a user or password in the URL are refused before anything is
// requested.
//
// A download that fails is tried again, from where it was, until five attempts in a row
// have not brought 1 MiB. An attempt fails if the server sends nothing for 30 s, or less
// than 1 KiB a second for a minute. When the context ends, Fetch
// returns its error, and the next call goes on from there. Several processes and
// goroutines may fetch the same file: one downloads, the others wait for it.
//
// An error is [ErrUnavailable] if the server was away, slow or busy until Fetch gave up.
//
// A path is no URL, and refused: a local file is for [Open].
func Fetch(ctx context.Context, dir, rawURL string, opts *Options) (*File, error) {
	to, err := parseAddress(rawURL)
	if err != nil {
		return nil, fmt.Errorf("modelfile: %w", err)
	}
	o := opts.filled()
	transport, end := o.transport()
	defer end()
	f := &fetcher{
		Options: o, transport: transport, to: to, dir: dir,
		path: filepath.Join(dir, to.name), meter: meter{call: o.Progress},
	}
	file, err := f.fetch(ctx)
	if err == nil {
		err = file.addSidecar(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("modelfile: fetch %s: %w", shown(to.url), err)
	}
	return file, nil
}

// fetcher fetches one file.
type fetcher struct {
	Options
	transport http.RoundTripper
	to        address
	dir, path string
	meter     meter
}

// fetch returns the kept file, or downloads it.
func (f *fetcher) fetch(ctx context.Context) (*File, error) {
	// A folder in which nothing can be written will do if the file is there.
	if file, _, err := f.kept(ctx); file != nil || err != nil {
		return file, err
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return nil, diskError(f.dir, err)
	}
	release, err := f.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	// Whoever had the lock may have fetched it.
	file, damaged, err := f.kept(ctx)
	if file != nil || err != nil {
		return file, err
	}
	if damaged {
		_ = os.Remove(f.path) // if it stays, it is replaced
	}
	p, err := openPart(ctx, f.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.file.Close() }() // what was written is synced before it counts
	return f.download(ctx, p)
}

// kept returns the file of an earlier call, nil if there is none that can be used.
// Damaged means that there is one, which is not what was once fetched.
func (f *fetcher) kept(ctx context.Context) (file *File, damaged bool, err error) {
	known := f.recorded(ctx)
	switch {
	case f.to.want == nil && known == nil:
		return nil, false, nil
	case f.to.want != nil && known != nil && *known != *f.to.want:
		return nil, false, nil
	}
	file, err = readFile(ctx, f.path, f.maxBytes)
	switch {
	case errors.Is(err, errNoFile):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("%w (%s)", err, f.path)
	case known != nil && file.Digest != *known:
		return nil, true, nil
	case f.to.want != nil && file.Digest != *f.to.want:
		return nil, false, nil
	}
	return file, false, nil
}

// recorded returns the digest that the kept file should have, nil if it is not written
// down.
func (f *fetcher) recorded(ctx context.Context) *[32]byte {
	data, err := readBounded(ctx, f.path+".fetch", maxRecordBytes)
	var r record
	if err != nil || json.Unmarshal(data, &r) != nil {
		return nil
	}
	digest, err := parseDigest(r.SHA256)
	if err != nil {
		return nil
	}
	return digest
}

// lock waits until no other process downloads the same file.
func (f *fetcher) lock(ctx context.Context) (release func(), err error) {
	for {
		release, busy, err := tryLock(f.path + ".lock")
		if err != nil {
			return nil, diskError(f.dir, err)
		}
		if !busy {
			return release, nil
		}
		if there, ok := readResume(ctx, f.path); ok {
			f.meter.report(Progress{Done: there.Offset, Total: there.Total}, false)
		}
		if err := wait(ctx, reportEvery); err != nil {
			return nil, err
		}
	}
}

// download makes attempts until the file is here.
func (f *fetcher) download(ctx context.Context, p *part) (*File, error) {
	failures, best, anew := 0, p.at.Offset, false
	for {
		var err error
		if !p.complete() {
			err = f.attempt(ctx, p)
			if err := p.save(); err != nil {
				return nil, err
			}
		}
		if err == nil {
			file, err := f.finish(ctx, p, !anew)
			if !errors.Is(err, errMixed) {
				return file, err
			}
			if err := p.reset(); err != nil {
				return nil, err
			}
			anew = true
			continue
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("ended after %d bytes, the next start goes on there: %w", p.at.Offset, ctx.Err())
		}
		var trouble *again
		if !errors.As(err, &trouble) {
			return nil, err
		}
		if p.at.Offset >= best+enoughGained {
			failures, best = 0, p.at.Offset
		}
		if failures++; failures > f.retries {
			return nil, fmt.Errorf("%w: %w; given up after %d attempts without progress, %d bytes are kept: start again later",
				ErrUnavailable, trouble.err, failures, p.at.Offset)
		}
		f.meter.report(Progress{Done: p.at.Offset, Total: p.at.Total, Trouble: trouble.err}, true)
		if err := f.wait(ctx, trouble.pause(failures)); err != nil {
			return nil, err
		}
	}
}

// ErrUnavailable is in the error of a Fetch that was given up because the server is away,
// slow or busy: the same call may succeed at another time.
var ErrUnavailable = errors.New("unavailable")

// again is a failure after which another attempt may help.
type again struct {
	err   error
	after time.Duration // what the server asks for, or 0
}

func (a *again) Error() string { return a.err.Error() }

// pause is how long to wait after so many failures in a row. It is spread, so that many
// servers that were cut at one time do not come back at one time.
func (a *again) pause(failures int) time.Duration {
	if a.after > 0 {
		return a.after
	}
	pause := min(longestWait, firstWait<<min(failures-1, 10))
	return pause*3/4 + rand.N(pause/4)
}

// errMixed says that a file has not the digest that was asked for, perhaps because its
// parts do not fit together: a download from the beginning may help.
var errMixed = errors.New("the parts do not fit together")

// finish makes the part the kept file, and returns it. With retry the error may be
// errMixed.
func (f *fetcher) finish(ctx context.Context, p *part, retry bool) (*File, error) {
	digest := p.sum()
	if want := f.to.want; want != nil && digest != *want {
		if p.doubtful && retry {
			return nil, errMixed
		}
		p.discard()
		return nil, fmt.Errorf("the file has the SHA-256 %x, and the URL asks for %x: it was deleted; "+
			"find out which one is right", digest, *want)
	}
	if err := p.file.Sync(); err != nil {
		return nil, diskError(f.dir, err)
	}
	file, err := readFile(ctx, f.path+".part", f.maxBytes)
	if err != nil {
		return nil, err
	}
	if file.Digest != digest {
		p.discard()
		return nil, fmt.Errorf("the folder %s gives back other bytes than were written: check the disk", f.dir)
	}
	if err := noModel(file.Data); err != nil {
		p.discard()
		return nil, err
	}
	// The record comes first: a file that does not fit it is not used, one without it
	// neither.
	if err := writeJSON(f.path+".fetch", record{
		URL: shown(f.to.url), SHA256: hex.EncodeToString(digest[:]), Size: int64(len(file.Data)),
		ETag: p.at.ETag, LastModified: p.at.LastModified, Fetched: time.Now().UTC().Truncate(time.Second),
	}, true); err != nil {
		return nil, err
	}
	_ = p.file.Close() // synced; Windows renames no open file
	if err := os.Rename(f.path+".part", f.path); err != nil {
		return nil, diskError(f.dir, err)
	}
	if err := syncDir(f.dir); err != nil {
		return nil, err
	}
	_ = os.Remove(f.path + ".resume") // without a part it counts for nothing
	file.Path = f.path
	return file, nil
}
