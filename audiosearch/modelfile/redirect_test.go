package modelfile

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A file behind redirects is one file: it resumes through new addresses, and none of them
// leaks.
func TestRedirects(t *testing.T) {
	s := newSite(t, randomModel(50, 1<<20))
	cdn := newSite(t, s.data)
	cdn.serve = func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n == 0 {
			cdn.cutAfter(1000, w, r)
		}
		return false
	}
	s.serve = func(n int, w http.ResponseWriter, r *http.Request) bool {
		codes := []int{301, 302, 303, 307, 308}
		step := len(strings.Split(r.URL.Path, "/")) - 2
		to := fmt.Sprintf("%s/x?step=%d&%s#fragment", r.URL.Path, n, secretQuery)
		if step == 9 {
			to = fmt.Sprintf("%s/blob?signed=%d&%s", cdn.URL, n, secretQuery)
		}
		w.Header().Set("Location", to)
		w.WriteHeader(codes[step%len(codes)])
		return true
	}
	o, dir := s.options(), t.TempDir()
	pool := s.Client().Transport.(*http.Transport).Clone()
	pool.TLSClientConfig.RootCAs.AddCert(cdn.Certificate())
	o.Client = &http.Client{Transport: pool, Timeout: time.Nanosecond, CheckRedirect: func(*http.Request, []*http.Request) error {
		t.Error("the client follows a redirect")
		return nil
	}}
	file := mustFetch(t, dir, s.URL+"/model.onnx?"+secretQuery, o, s.data)
	require.Contains(t, file.Path, "-model.onnx")
	require.Equal(t, 20, s.requests()) // ten redirects twice: signed addresses age
	require.Equal(t, []string{"", "bytes=1000-"}, cdn.asked())
	for _, header := range append(s.headers(), cdn.headers()...) {
		require.Empty(t, header.Get("Referer"))
	}
	names(t, dir)
}

// Redirects that lead nowhere, or to where nobody can be trusted.
func TestRedirectsRefused(t *testing.T) {
	for name, c := range map[string]struct{ location, want string }{
		"a loop":          {"/model.onnx?" + secretQuery, "redirects more than 10 times"},
		"plain http":      {"http://example.com/m?" + secretQuery, "only https is fetched"},
		"another scheme":  {"file:///etc/passwd?" + secretQuery, "is no URL"},
		"a password":      {"https://u:hunter2@example.com/m?" + secretQuery, "a user or a password"},
		"nonsense":        {"https://exa mple.com/%zz?" + secretQuery, "redirects to an address that is no URL"},
		"nothing":         {"", "redirects to an address that is no URL"},
		"no host":         {"https:///m?" + secretQuery, "is no URL"},
		"an endless path": {"https://example.com/" + strings.Repeat("x", 9000), "redirects to an address that is no URL"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, nil)
			s.serve = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
				w.Header()["Location"] = []string{c.location}
				w.WriteHeader(http.StatusFound)
				return true
			}
			refused(t, t.TempDir(), s.URL+"/model.onnx?"+secretQuery, s.options(), c.want)
			if name == "a loop" {
				require.Equal(t, 11, s.requests())
			} else {
				require.Equal(t, 1, s.requests())
			}
		})
	}
}

// What a status means, and whether it is worth another request.
func TestStatuses(t *testing.T) {
	for status, c := range map[int]struct {
		want  string
		tries int
	}{
		401: {"asks for credentials (401)", 1},
		403: {"refuses the file (403)", 1},
		404: {"has no such file (404): check the address", 1},
		410: {"has no such file (410)", 1},
		204: {"answers 204 in place of a file", 1},
		418: {"answers 418 in place of a file", 1},
		304: {"answers 304 in place of a file", 1},
		408: {"answers 408; given up after 3 attempts", 3},
		429: {"answers 429; given up after 3 attempts", 3},
		500: {"answers 500; given up after 3 attempts", 3},
		503: {"answers 503; given up after 3 attempts", 3},
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			s := newSite(t, nil)
			s.serve = func(_ int, w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(status); return true }
			o := s.options()
			o.retries = 2
			refused(t, t.TempDir(), s.URL+"/model.onnx?"+secretQuery, o, c.want)
			require.Equal(t, c.tries, s.requests())
		})
	}
}

func TestRetryAfter(t *testing.T) {
	s := newSite(t, randomModel(51, 1000))
	header := "90"
	s.serve = func(n int, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Retry-After", header)
		if n == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return n == 0
	}
	o := s.options()
	var waits []time.Duration
	o.wait = func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }
	mustFetch(t, t.TempDir(), s.URL+"/model.onnx", o, s.data)
	require.Equal(t, []time.Duration{90 * time.Second}, waits)

	s.forget()
	header = "3600"
	refused(t, t.TempDir(), s.URL+"/model.onnx", o, "answers 503 and asks to wait until 2")
	s.forget()
	_, err := Fetch(t.Context(), t.TempDir(), s.URL+"/model.onnx", o)
	require.ErrorIs(t, err, ErrUnavailable, "later it may work")
	require.Len(t, waits, 1)

	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "soon": 0, "18446744073709551615": 365 * 24 * time.Hour,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute, "Fri, 02 Jan 2026 03:03:05 GMT": 0,
	} {
		require.Equal(t, want, retryAfter(header, now), header)
	}
}

// Words of others are passed on without what could be an address.
func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"dial tcp 127.0.0.1:1: connection\nrefused": "dial tcp 127.0.0.1:1: connection refused",
		`parse "//cdn/s3cr3t": bad`:                 "parse ... bad",
		"get /a?b c=d u:p@h %2f &":                  "get ... ... ... ... ...",
		strings.Repeat("x", 300):                    strings.Repeat("x", 200),
	} {
		require.Equal(t, want, plain(errors.New(text)))
	}
}

// A server that is not there, and one that is not the one meant.
func TestUnreachable(t *testing.T) {
	s := newSite(t, nil)
	refused(t, t.TempDir(), s.URL+"/model.onnx?"+secretQuery, nil, "certificate is not trusted")
	o := s.options()
	for _, answer := range []string{
		"nonsense s3cr3t\r\n\r\n", "HTTP/1.1 s3cr3t\r\n\r\n", "HTTP/1.1 302 Found\r\nLocation: /\x01 s3cr3t\r\n\r\n",
	} {
		s.serve = func(_ int, w http.ResponseWriter, _ *http.Request) bool { raw(t, w, answer, nil); return true }
		refused(t, t.TempDir(), s.URL+"/model.onnx", o, "the server does not answer as HTTP says")
	}
	s.Close()
	refused(t, t.TempDir(), s.URL+"/model.onnx?"+secretQuery, o, "cannot be reached")
}
