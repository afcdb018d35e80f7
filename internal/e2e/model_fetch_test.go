//go:build cgo

package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// modelSite serves a model over TLS.
type modelSite struct {
	*httptest.Server
	t     testing.TB
	env   []string // in which a server trusts it
	model []byte

	mu     sync.Mutex
	ranges []string // of the requests
	serve  answerer // in place of the site
}

// answerer answers a request, or leaves it to the site by returning false.
type answerer func(w http.ResponseWriter, r *http.Request) bool

// secretToken stands in the query of the model's address.
const secretToken = "tok-5f0c2ab49e"

func newModelSite(t *testing.T) *modelSite {
	t.Helper()
	s := &modelSite{t: t, model: onnxData(t, "ast_tiny_random.onnx")}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	certificate := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	require.NoError(t, os.WriteFile(certificate, block, 0o600))
	s.env = append(withONNXRuntime(t), "SSL_CERT_FILE="+certificate, "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
	return s
}

func (s *modelSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	serve := s.serve
	s.ranges = append(s.ranges, r.Header.Get("Range"))
	s.mu.Unlock()
	if serve == nil || !serve(w, r) {
		s.whole(w, r)
	}
}

// answer has requests answered otherwise from now on; nil: by the site.
func (s *modelSite) answer(by answerer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serve = by
}

func (s *modelSite) whole(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", `"one"`)
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.model))
}

// requests returns the ranges that were asked for since the last call.
func (s *modelSite) requests() (ranges []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ranges, s.ranges = s.ranges, nil
	return ranges
}

func (s *modelSite) address(fragment string) string {
	return s.URL + "/org/resolve/main/model.onnx?token=" + secretToken + fragment
}

// untold requires that the token is in no name and no content of a file of a folder, in which
// a server may be writing.
func untold(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		assert.NotContains(t, path, secretToken)
		if entry.Type().IsRegular() {
			content, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			require.NoError(t, err)
			assert.NotContains(t, string(content), secretToken, path)
		}
		return nil
	}))
}

// fetched returns the models that a server has kept.
func fetched(t *testing.T, dir string) (names []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "mortise-data", "models", "*.onnx"))
	require.NoError(t, err)
	return names
}

// TestModelFetched: a model at an address is fetched once.
func TestModelFetched(t *testing.T) {
	t.Parallel()
	site := newModelSite(t)
	p := buildServer(t)
	digest := fmt.Sprintf("%x", sha256.Sum256(site.model))
	dir := t.TempDir()
	for i, fragment := range []string{"", "", "#sha256=" + digest} {
		s := p.startIn(t, dir, site.env, "-model", site.address(fragment))
		s.guard(secretToken)
		want := []string{""}
		if i > 0 {
			want = nil
		}
		require.Equal(t, want, site.requests(), "start %d", i)
		require.Contains(t, s.stderr.String(), `"sha256":"`+digest+`"`)
		require.Equal(t, i == 0, strings.Contains(s.stderr.String(), fmt.Sprintf(`"msg":"fetching the model","bytes":%d,"of":%[1]d`, len(site.model))))
		require.Equal(t, fragment == "", strings.Contains(s.stderr.String(), `"fragment":"#sha256=`+digest+`"`))
		s.stop()
	}
	require.Len(t, fetched(t, dir), 1)
	untold(t, dir)
}

// TestModelFetchKilled: a server that is killed in the middle of a download goes on there.
func TestModelFetchKilled(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	site := newModelSite(t)
	p := buildServer(t)
	dir := t.TempDir()
	site.answer(func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("ETag", `"one"`)
		w.Header().Set("Content-Length", fmt.Sprint(len(site.model)))
		// Slowly, since the other side notes once a second how far it is.
		pace := time.NewTicker(50 * time.Millisecond)
		defer pace.Stop()
		for rest := site.model; len(rest) > 1000; rest = rest[1000:] {
			_, _ = w.Write(rest[:1000])
			_ = http.NewResponseController(w).Flush()
			select {
			case <-pace.C:
			case <-r.Context().Done():
				return true
			}
		}
		return true // and is cut
	})
	s := p.run(t, dir, site.env, "-model", site.address(""))
	s.guard(secretToken)
	s.await("a part of the model", func() bool {
		notes, _ := filepath.Glob(filepath.Join(dir, "mortise-data", "models", "*.resume"))
		return len(notes) == 1
	})
	s.kill()
	require.Empty(t, fetched(t, dir), "nothing under the name")
	require.Equal(t, []string{""}, site.requests())
	site.answer(nil)

	s = p.startIn(t, dir, site.env, "-model", site.address(""))
	s.guard(secretToken)
	require.Contains(t, s.stderr.String(), fmt.Sprintf(`"sha256":"%x"`, sha256.Sum256(site.model)))
	again := site.requests()
	require.Len(t, again, 1)
	require.Regexp(t, `^bytes=[1-9][0-9]*-$`, again[0])
	require.Len(t, fetched(t, dir), 1)
	untold(t, dir)
}

// TestModelFetchRefused: what comes in place of a model.
func TestModelFetchRefused(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	site := newModelSite(t)
	p := buildServer(t)
	other := sha256.Sum256([]byte("another model"))
	digest := sha256.Sum256(site.model)
	always := func(answer http.HandlerFunc) answerer {
		return func(w http.ResponseWriter, r *http.Request) bool { answer(w, r); return true }
	}
	for _, c := range []struct {
		name, fragment string
		serve          answerer
		status         int
		say            []string
	}{
		{"digest", fmt.Sprintf("#sha256=%x", other), nil, 2, []string{fmt.Sprintf("%x", other), fmt.Sprintf("%x", digest), "deleted"}},
		{"page", "", always(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<!DOCTYPE html><html>Sign in</html>")
		}), 2, []string{"web page", "/resolve/main/"}},
		{"page without a type", "", always(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/octet-stream")
			_, _ = io.WriteString(w, "\n<html>Sign in</html>")
		}), 2, []string{"web page"}},
		{"no model", "", always(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/octet-stream")
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader("GGUF and so on"))
		}), 2, []string{"no ONNX file"}},
		{"missing", "", always(http.NotFound), 2, []string{"no such file (404)"}},
		{"to http", "", always(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1/model.onnx?token="+secretToken, http.StatusFound)
		}), 2, []string{"redirects", "only https"}},
		{"in a circle", "", always(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.String()+"&again="+secretToken, http.StatusFound)
		}), 2, []string{"redirects more than 10 times"}},
		{"too large", "", always(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(int64(3)<<30))
			_ = http.NewResponseController(w).Flush()
		}), 2, []string{"3221225472 bytes", "at most"}},
		{"away", "", always(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		}), 1, []string{"503", "start again later"}},
		{"busy for long", "", always(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7200")
			w.WriteHeader(http.StatusServiceUnavailable)
		}), 1, []string{"503", "start again then"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			site.answer(c.serve)
			dir := t.TempDir()
			said := p.refusalIn(t, dir, c.status, site.env, "-model", site.address(c.fragment))
			for _, say := range c.say {
				assert.Contains(t, said, say)
			}
			assert.NotContains(t, said, secretToken)
			if c.name != "no model" { // which ONNX Runtime says of what was fetched
				assert.Empty(t, fetched(t, dir))
			}
			untold(t, dir)
		})
	}
	t.Run("redirected well", func(t *testing.T) {
		site.answer(func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/cdn/x" {
				return false
			}
			http.Redirect(w, r, "/cdn/x?signature="+secretToken, http.StatusFound)
			return true
		})
		s := p.start(t, site.env, "-model", site.address(""))
		s.guard(secretToken)
		require.Contains(t, s.stderr.String(), fmt.Sprintf(`"sha256":"%x"`, digest))
		untold(t, s.dir)
	})
	t.Run("not trusted", func(t *testing.T) {
		env := append(withONNXRuntime(t), "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
		said := p.refusal(t, 2, env, "-model", site.address(""))
		assert.Contains(t, said, "SSL_CERT_FILE")
		assert.NotContains(t, said, secretToken)
	})
}
