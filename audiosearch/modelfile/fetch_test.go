package modelfile

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The second call needs no server.
func TestFetchedOnce(t *testing.T) {
	s := newSite(t, randomModel(30, 2<<20))
	dir := filepath.Join(t.TempDir(), "data", "models")
	url := fmt.Sprintf("%s/a/model%%20int8.onnx?%s#sha256=%X", s.URL, secretQuery, sha256.Sum256(s.data))
	file := mustFetch(t, dir, url, s.options(), s.data)
	require.Nil(t, file.Sidecar)
	require.Regexp(t, `^[0-9a-f]{32}-model_int8\.onnx$`, filepath.Base(file.Path))
	require.Equal(t, "identity", s.headers()[0].Get("Accept-Encoding"))
	if runtime.GOOS != "windows" {
		for path, mode := range map[string]os.FileMode{file.Path: 0o600, dir: 0o700} {
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, mode, info.Mode().Perm())
		}
	}
	var r record
	data, err := os.ReadFile(file.Path + ".fetch")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &r))
	require.WithinDuration(t, time.Now(), r.Fetched, time.Hour)
	require.Equal(t, record{
		URL: s.URL + "/a/model%20int8.onnx", SHA256: fmt.Sprintf("%x", file.Digest), Size: int64(len(s.data)), ETag: `"one"`, Fetched: r.Fetched,
	}, r)

	require.NoError(t, os.WriteFile(file.Path+".json", []byte(`{"rate":16000}`), 0o600))
	s.Close()
	o := s.options()
	o.Progress = func(Progress) { t.Error("something is downloaded") }
	for _, u := range []string{url, strings.Split(url, "#")[0], strings.Replace(url, "https", "HTTPS", 1)} {
		again := mustFetch(t, dir, u, o, s.data)
		require.Equal(t, file.Path, again.Path)
		require.Equal(t, `{"rate":16000}`, string(again.Sidecar))
	}
}

// A wrong digest is said with the right one, and nothing of it stays.
func TestDigest(t *testing.T) {
	s := newSite(t, randomModel(31, 1<<20))
	dir := t.TempDir()
	url := s.URL + "/model.onnx"
	wrong := strings.Repeat("ab", 32)
	said := refused(t, dir, url+"#sha256="+wrong, s.options(), "SHA-256")
	require.Contains(t, said, fmt.Sprintf("%x", sha256.Sum256(s.data)))
	require.Contains(t, said, wrong)
	require.Empty(t, names(t, dir, ".part", ".resume", ".fetch"))
	require.Equal(t, 1, s.requests(), "a file that came in one piece is fetched twice")

	// What is kept stays until the right one is here.
	before := s.data
	mustFetch(t, dir, url, s.options(), before)
	_, err := Fetch(t.Context(), dir, url+"#sha256="+wrong, s.options())
	require.ErrorContains(t, err, wrong)
	mustFetch(t, dir, url, s.options(), before)
	require.Equal(t, 3, s.requests())

	s.data, s.etag = randomModel(32, 1<<20), `"two"`
	mustFetch(t, dir, url, s.options(), before)
	mustFetch(t, dir, fmt.Sprintf("%s#sha256=%x", url, sha256.Sum256(s.data)), s.options(), s.data)
	mustFetch(t, dir, url, s.options(), s.data)
	require.Equal(t, 4, s.requests())
}

// A kept file that was damaged, or whose record is, is fetched again.
func TestDamagedKept(t *testing.T) {
	s := newSite(t, randomModel(33, 1<<20))
	dir := t.TempDir()
	url := s.URL + "/model.onnx"
	for i, damage := range []func(path string) error{
		func(path string) error { return os.WriteFile(path, s.data[1:], 0o600) },
		func(path string) error { return os.Remove(path) },
		func(path string) error { return os.Remove(path + ".fetch") },
		func(path string) error { return os.WriteFile(path+".fetch", []byte(`{"sha256":"00"}`), 0o600) },
		func(path string) error { return os.WriteFile(path+".fetch", []byte("nonsense"), 0o600) },
		func(path string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		file := mustFetch(t, dir, url, s.options(), s.data)
		require.Equal(t, i+1, s.requests())
		require.NoError(t, damage(file.Path))
	}
	mustFetch(t, dir, url, s.options(), s.data)
	// With the digest in the URL no record is needed.
	file := mustFetch(t, dir, url, s.options(), s.data)
	require.NoError(t, os.Remove(file.Path+".fetch"))
	before := s.requests()
	asked := fmt.Sprintf("%s#sha256=%x", url, file.Digest)
	mustFetch(t, dir, asked, s.options(), s.data)
	require.Equal(t, before, s.requests())
	// And without one it is not taken for what the digest asks for.
	require.NoError(t, os.WriteFile(file.Path, randomModel(39, 1<<20), 0o600))
	mustFetch(t, dir, asked, s.options(), s.data)
	require.Equal(t, before+1, s.requests())
}

// What is returned is what was downloaded, or nothing, whoever writes to the folder.
func TestPartIsExchanged(t *testing.T) {
	s := newSite(t, randomModel(38, 1<<20))
	dir := t.TempDir()
	o := s.options()
	o.Progress = func(p Progress) {
		if p.Done == p.Total {
			parts, err := filepath.Glob(filepath.Join(dir, "*.part"))
			require.NoError(t, err)
			require.Len(t, parts, 1)
			require.NoError(t, os.WriteFile(parts[0], randomModel(37, 1<<20), 0o600))
		}
	}
	refused(t, dir, s.URL+"/model.onnx", o, "gives back other bytes than were written")
	mustFetch(t, dir, s.URL+"/model.onnx", s.options(), s.data)
}

// Parts of two files that claim to be one are found by the digest, and fetched once more.
func TestMixedParts(t *testing.T) {
	one, two := randomModel(34, 1<<20), randomModel(35, 1<<20)
	s := newSite(t, one)
	s.serve = func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n == 0 {
			defer func() { s.data = two }() // under the same ETag
			s.cutAfter(1000, w, r)
		}
		return false
	}
	mustFetch(t, t.TempDir(), fmt.Sprintf("%s/model.onnx#sha256=%x", s.URL, sha256.Sum256(two)), s.options(), two)
	require.Equal(t, []string{"", "bytes=1000-", ""}, s.asked())

	// Once, not for ever.
	s = newSite(t, one)
	s.serve = func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n%2 == 0 {
			s.cutAfter(len(one)/2, w, r)
		}
		return false
	}
	refused(t, t.TempDir(), s.URL+"/model.onnx#sha256="+strings.Repeat("0", 64), s.options(), "it was deleted")
	require.Equal(t, 4, s.requests())
}

// What is too large is refused before it is read, or while it is.
func TestTooLarge(t *testing.T) {
	s := newSite(t, randomModel(36, 1<<20))
	o := s.options()
	o.maxBytes = 1<<20 - 1
	refused(t, t.TempDir(), s.URL+"/model.onnx", o, "it has 1048576 bytes, and at most 1048575 are allowed")
	o.maxBytes = 1000
	refused(t, t.TempDir(), s.URL+"/model.onnx", o, "it has 1048576 bytes, and at most 1000 are allowed")
	o.maxBytes = 1<<20 - 1

	endless := func(_ int, w http.ResponseWriter, r *http.Request) bool {
		for r.Context().Err() == nil {
			if _, err := w.Write(s.data[:100_000]); err != nil {
				break
			}
		}
		return true
	}
	s.serve = endless
	dir := t.TempDir()
	refused(t, dir, s.URL+"/model.onnx", o, "at most 1048575 are allowed")
	require.Empty(t, names(t, dir, ".part", ".resume"))

	s.serve = nil
	o.maxBytes = 1 << 20
	file := mustFetch(t, dir, s.URL+"/model.onnx", o, s.data)
	o.maxBytes = 1<<20 - 1
	_, err := Fetch(t.Context(), dir, s.URL+"/model.onnx", o)
	require.ErrorContains(t, err, "at most 1048575 are allowed")
	require.FileExists(t, file.Path)
}

// What is no file of a model is refused in a sentence, without another request.
func TestNoModel(t *testing.T) {
	for name, c := range map[string]struct {
		kind, body, want string
	}{
		"a page":             {"text/html; charset=utf-8", "<p>Log in</p>", "this is a web page, not a model"},
		"a page, unlabelled": {"application/octet-stream", "\r\n <!DOCTYPE HTML><html>", "/resolve/main/, not /blob/main/"},
		"a pointer":          {"text/plain", "version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "this is a Git LFS pointer"},
		"nothing":            {"application/octet-stream", "", "the file is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, nil)
			s.serve = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Content-Type", c.kind)
				_, _ = w.Write([]byte(c.body))
				return true
			}
			dir := t.TempDir()
			refused(t, dir, s.URL+"/model.onnx?"+secretQuery, s.options(), c.want)
			require.Equal(t, 1, s.requests())
			s.serve, s.data = nil, randomModel(37, 1000)
			mustFetch(t, dir, s.URL+"/model.onnx?"+secretQuery, s.options(), s.data)
		})
	}
}

// A server that compresses although it was asked not to is not believed.
func TestCompressed(t *testing.T) {
	s := newSite(t, nil)
	s.serve = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write(randomModel(38, 1000))
		_ = z.Close()
		return true
	}
	refused(t, t.TempDir(), s.URL+"/model.onnx", s.options(), "compressed, though it was asked not to")
}

// A part that nobody asked for is not taken for the file.
func TestUnaskedPart(t *testing.T) {
	s := newSite(t, nil)
	s.serve = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Range", "bytes 0-9/10")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(make([]byte, 10))
		return true
	}
	refused(t, t.TempDir(), s.URL+"/model.onnx", s.options(), "sends a part of the file")
}

// Where the end cannot be told from a cut, only the digest tells.
func TestNoLength(t *testing.T) {
	s := newSite(t, randomModel(39, 1<<20))
	length := len(s.data)
	s.serve = func(n int, w http.ResponseWriter, _ *http.Request) bool {
		body := s.data
		if n == 1 {
			body = body[:length/2]
		}
		raw(t, w, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", body)
		return true
	}
	dir := t.TempDir()
	refused(t, dir, s.URL+"/model.onnx", s.options(), "does not say how long the file is")
	mustFetch(t, dir, fmt.Sprintf("%s/model.onnx#sha256=%x", s.URL, sha256.Sum256(s.data)), s.options(), s.data)
	require.Equal(t, 3, s.requests())

	t.Run("chunks have an end", func(t *testing.T) {
		s := newSite(t, randomModel(40, 1<<20))
		s.serve = func(n int, w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("ETag", `"one"`)
			if n == 0 {
				_, _ = w.Write(s.data[:1000])
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			r.Header.Del("Range")
			_, _ = w.Write(s.data)
			return true
		}
		mustFetch(t, t.TempDir(), s.URL+"/model.onnx", s.options(), s.data)
		require.Equal(t, 2, s.requests())
	})
	t.Run("less than was said", func(t *testing.T) {
		s := newSite(t, randomModel(41, 1<<20))
		s.serve = func(n int, w http.ResponseWriter, _ *http.Request) bool {
			if n == 0 {
				raw(t, w, fmt.Sprintf("HTTP/1.1 200 OK\r\nETag: \"one\"\r\nContent-Length: %d\r\n\r\n", len(s.data)), s.data[:4000])
			}
			return n == 0
		}
		mustFetch(t, t.TempDir(), s.URL+"/model.onnx", s.options(), s.data)
		require.Equal(t, []string{"", "bytes=4000-"}, s.asked())
	})
}
