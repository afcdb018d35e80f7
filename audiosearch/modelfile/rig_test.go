package modelfile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// secretQuery stands in URLs of these tests, and must be nowhere else.
const secretQuery = "X-Amz-Signature=s3cr3t"

// randomModel is a file of so many bytes that is like no other.
func randomModel(seed uint64, size int) []byte {
	data := make([]byte, size)
	var key [32]byte
	key[0] = byte(seed)
	_, _ = rand.NewChaCha8(key).Read(data)
	data[0] = 8 // as ONNX files begin
	return data
}

// site is a TLS server with one file at every path, and a list of what went on.
type site struct {
	*httptest.Server
	mu     sync.Mutex
	data   []byte
	etag   string // with its quotes
	ranges []string
	seen   []http.Header
	sent   int
	// serve answers the n-th request, from 0, or leaves it to the site by returning
	// false.
	serve func(n int, w http.ResponseWriter, r *http.Request) bool
}

// written counts what a handler sends.
type written struct {
	http.ResponseWriter
	s *site
}

func (w written) Write(b []byte) (int, error) {
	w.s.mu.Lock()
	w.s.sent += len(b) // before: the other side may be ahead of what follows
	w.s.mu.Unlock()
	return w.ResponseWriter.Write(b)
}

func (w written) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func newSite(t testing.TB, data []byte) *site {
	s := &site{data: data, etag: `"one"`}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	n, serve := len(s.ranges), s.serve
	s.ranges = append(s.ranges, r.Header.Get("Range"))
	s.seen = append(s.seen, r.Header.Clone())
	s.mu.Unlock()
	if serve != nil && serve(n, w, r) {
		return
	}
	s.whole(written{w, s}, r)
}

// whole serves the file as a good server does, with ranges.
func (s *site) whole(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	data, etag := s.data, s.etag
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/octet-stream")
	if etag != "" {
		w.Header().Set("ETag", etag)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// cutAfter serves the file well until so many bytes are sent, and then cuts the
// connection.
func (s *site) cutAfter(bytes int, w http.ResponseWriter, r *http.Request) {
	s.whole(&short{written{w, s}, bytes}, r)
}

// short cuts the connection when so many bytes are sent.
type short struct {
	written
	left int
}

func (s *short) Write(b []byte) (int, error) {
	n, err := s.written.Write(b[:min(len(b), s.left)])
	if s.left -= n; s.left == 0 {
		_ = http.NewResponseController(s.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

// raw answers with bytes as they are and closes the connection in order.
func raw(t testing.TB, w http.ResponseWriter, answer string, body []byte) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	_, _ = conn.Write(append([]byte(answer), body...))
	_ = conn.(*tls.Conn).CloseWrite()
	_ = conn.Close()
}

// options are for this site, without waiting between attempts.
func (s *site) options() *Options {
	return &Options{Client: s.Client(), wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
}

// asked are the Range headers of all requests.
func (s *site) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ranges)
}

func (s *site) headers() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// total is how many bytes of files were sent.
func (s *site) total() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

func (s *site) requests() int { return len(s.asked()) }

// forget begins a new list of requests.
func (s *site) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ranges, s.seen, s.sent = nil, nil, 0
}

// mustFetch fetches and compares.
func mustFetch(t testing.TB, dir, url string, o *Options, want []byte) *File {
	t.Helper()
	file, err := Fetch(t.Context(), dir, url, o)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, file.Data), "%d bytes, not the %d of the server", len(file.Data), len(want))
	require.Equal(t, sha256.Sum256(want), file.Digest)
	kept, err := os.ReadFile(file.Path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, kept))
	require.Equal(t, dir, filepath.Dir(file.Path))
	require.Empty(t, names(t, dir, ".part", ".resume", ".new"))
	return file
}

// refused fetches and returns the sentence of the error, which holds no secret.
func refused(t testing.TB, dir, url string, o *Options, want string) string {
	t.Helper()
	file, err := Fetch(t.Context(), dir, url, o)
	require.Nil(t, file)
	require.ErrorContains(t, err, want)
	for _, secret := range []string{"s3cr3t", "X-Amz", "hunter2", "\n"} {
		require.NotContains(t, err.Error(), secret)
	}
	require.Empty(t, names(t, dir, ".onnx"), "something is kept")
	return err.Error()
}

// names are the files in a folder whose names end so, or all. No file holds a secret.
func names(t testing.TB, dir string, ends ...string) (found []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err == nil && len(content) < 4096 {
			require.NotContains(t, string(content), "s3cr3t")
		}
		for _, end := range ends {
			if strings.HasSuffix(entry.Name(), end) {
				found = append(found, entry.Name())
			}
		}
	}
	return found
}

// Helper processes: the test binary runs Fetch when these are set.
const (
	envURL   = "MODELFILE_TEST_URL"
	envDir   = "MODELFILE_TEST_DIR"
	envCert  = "MODELFILE_TEST_CERT"  // a PEM file; without it the system's certificates count
	envUser  = "MODELFILE_TEST_USER"  // a user to become
	envStall = "MODELFILE_TEST_STALL" // as a duration
)

// outcome is what a helper process prints.
type outcome struct{ Path, Digest, Error string }

func TestMain(m *testing.M) {
	if os.Getenv(envURL) == "" {
		os.Exit(m.Run())
	}
	if user, err := strconv.Atoi(os.Getenv(envUser)); err == nil {
		if err := become(user); err != nil {
			panic(err)
		}
	}
	o := &Options{wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
	if cert := os.Getenv(envCert); cert != "" {
		o.Client = clientOf(cert)
	}
	o.stall, _ = time.ParseDuration(os.Getenv(envStall))
	file, err := Fetch(context.Background(), os.Getenv(envDir), os.Getenv(envURL), o)
	var out outcome
	if err != nil {
		out.Error = err.Error()
	} else {
		out.Path, out.Digest = file.Path, fmt.Sprintf("%x", file.Digest)
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		panic(err)
	}
}
