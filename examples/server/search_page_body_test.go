package main

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// countingListener knows how much the connection took in that took in most. Several may
// take at a time: an answer comes before the server has ended what it was sent.
type countingListener struct {
	net.Listener
	most atomic.Int64
}

func (l *countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &countingConn{Conn: c, l: l}, err
}

type countingConn struct {
	net.Conn
	l     *countingListener
	taken atomic.Int64
}

func (c *countingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	taken := c.taken.Add(int64(n))
	for most := c.l.most.Load(); taken > most && !c.l.most.CompareAndSwap(most, taken); most = c.l.most.Load() {
	}
	return n, err
}

// pageServer is the program's handler behind a connection, with a session of a full
// access token. Its folder for temporary files is empty.
type pageServer struct {
	url      string
	listener *countingListener
	cookie   string
	temp     string
	pages    []string // of the program: all but what the services answer
}

func servePages(t *testing.T) *pageServer {
	t.Helper()
	s, _ := open(t)
	if err := apply(t, s, tokenDocument(docToken, "")); err != nil {
		t.Fatal(err)
	}
	settings := testSettings()
	settings.docs = true
	handler, err := routes(t.Context(), settings, s, discard())
	if err != nil {
		t.Fatal(err)
	}
	p := &pageServer{temp: t.TempDir(), pages: []string{"/docs", "/openapi.json", "/healthz", "/readyz"}}
	t.Setenv("TMPDIR", p.temp)
	for path := range s.site.routes {
		p.pages = append(p.pages, path)
	}
	p.pages = append(p.pages, searchPath+"/nothing")
	slices.Sort(p.pages)
	server := httptest.NewUnstartedServer(handler)
	server.Config = newServer(handler, discard())
	p.listener = &countingListener{Listener: server.Listener}
	server.Listener = p.listener
	server.Start()
	t.Cleanup(server.Close)
	p.url = server.URL
	login := p.send(t, http.MethodPost, searchPath+"/login", "", strings.NewReader(url.Values{"token": {docToken}}.Encode()), formType)
	p.cookie, _, _ = strings.Cut(login.Header.Get("Set-Cookie"), ";")
	if login.StatusCode != http.StatusSeeOther || p.cookie == "" {
		t.Fatalf("no login: %d", login.StatusCode)
	}
	return p
}

const formType = "application/x-www-form-urlencoded"

// send sends a request on a connection of its own. It does not ask for its end: a server
// that closes it at once may cut off its answer while the body is still being sent.
func (p *pageServer) send(t *testing.T, method, path, cookie string, body io.Reader, mediaType string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, p.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", mediaType)
	if cookie != "" {
		r.Header.Set("Cookie", cookie)
	}
	var transport http.Transport
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	t.Cleanup(func() {
		_ = resp.Body.Close()
		transport.CloseIdleConnections()
	})
	return resp
}

const boundary = "b0undary"

// file is a form with a file of that size.
func file(size int64) io.Reader {
	head := "--" + boundary + "\r\nContent-Disposition: form-data; name=\"dataset\"; filename=\"f\"\r\n\r\n"
	return io.MultiReader(strings.NewReader(head), io.LimitReader(endlessZeros{}, size), strings.NewReader("\r\n--"+boundary+"--\r\n"))
}

type endlessZeros struct{}

func (endlessZeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// TestPagesReadNoBody: a form with a file of 64 MB fills neither memory nor disk,
// whatever page it is sent to and by whom. What net/http takes of a body before it ends
// the connection is all that is taken.
func TestPagesReadNoBody(t *testing.T) {
	const (
		size = 64 << 20
		most = 1 << 20 // net/http takes 256 KiB, twice at most, and what its buffers hold
	)
	p := servePages(t)
	for _, path := range p.pages {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			for name, cookie := range map[string]string{"nobody": "", "a visitor": p.cookie} {
				resp := p.send(t, method, path, cookie, file(size), "multipart/form-data; boundary="+boundary)
				if took := p.listener.most.Load(); took > most || resp.StatusCode == http.StatusServiceUnavailable {
					t.Errorf("%s %s by %s: %d, %d bytes were taken", method, path, name, resp.StatusCode, took)
				}
				if left, err := os.ReadDir(p.temp); err != nil || len(left) > 0 {
					t.Fatalf("%s %s by %s: on the disk: %v, %v", method, path, name, left, err)
				}
			}
		}
	}
}

// TestFormsAreBounded: what the forms of the search page take, and that nothing is read
// of what is sent in another way, or before it is known who sends it.
func TestFormsAreBounded(t *testing.T) {
	p := servePages(t)
	long := func(size int) string { return "class=" + strings.Repeat("x", size) }
	for _, test := range []struct {
		path, cookie, mediaType, body string
		want                          int
	}{
		{"/login", "", formType, long(maxLogin), http.StatusRequestEntityTooLarge},
		{"/login", "", formType + "; charset=utf-8", "token=x", http.StatusUnauthorized},
		{"/login", "", "multipart/form-data; boundary=" + boundary, "x", http.StatusUnsupportedMediaType},
		{"/login", "", "text/plain", "token=" + docToken, http.StatusUnsupportedMediaType},
		{"/login", "", "", "token=" + docToken, http.StatusUnsupportedMediaType},
		{"/login", "", "", "", http.StatusUnauthorized},
		{"/start", "", formType, long(maxForm), http.StatusUnauthorized},
		{"/start", "", "text/plain", "x", http.StatusUnauthorized},
		{"/start", p.cookie, formType, long(maxForm), http.StatusRequestEntityTooLarge},
		{"/start", p.cookie, formType, long(maxForm / 2), http.StatusUnprocessableEntity},
		{"/start", p.cookie, formType, strings.Repeat("key=k&", maxRows), http.StatusUnprocessableEntity},
		{"/start", p.cookie, formType, strings.Repeat("key=k&", maxRows+1), http.StatusRequestEntityTooLarge},
		{"/start", p.cookie, "multipart/form-data; boundary=" + boundary, "x", http.StatusUnsupportedMediaType},
		{"/cancel", "", formType, long(maxForm), http.StatusUnauthorized},
		{"/cancel", p.cookie, formType, long(maxForm), http.StatusRequestEntityTooLarge},
		{"/cancel", p.cookie, "multipart/form-data; boundary=" + boundary, "x", http.StatusUnsupportedMediaType},
		{"/cancel", p.cookie, formType, "dataset=d&run=1", http.StatusNotFound},
		{"/logout", p.cookie, formType, long(maxForm), http.StatusSeeOther},
	} {
		resp := p.send(t, http.MethodPost, searchPath+test.path, test.cookie, strings.NewReader(test.body), test.mediaType)
		if resp.StatusCode != test.want {
			t.Errorf("%s %q of %d bytes: %d, want %d", test.path, test.mediaType, len(test.body), resp.StatusCode, test.want)
		}
	}
}

// TestBrokenFormsEndTheConnection: the bytes after a body in chunks are no request, whatever
// page the body was sent to, and whether it can be read to its end or not.
func TestBrokenFormsEndTheConnection(t *testing.T) {
	p := servePages(t)
	for _, path := range p.pages {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			for _, cookie := range []string{"", p.cookie} {
				for name, body := range map[string]string{
					"whole": "5\r\nclass\r\n0\r\n\r\n", "no length": "ZZ\r\n", "cut off": "5\r\nclass\r\n1x\r\n",
					"bad trailer": "0\r\nfoo bar\r\n\r\n", "bad trailer after": "5\r\nclass\r\n0\r\nfoo bar\r\n\r\n",
				} {
					answers := p.sendRaw(t, method+" "+path+" HTTP/1.1\r\nHost: x\r\nCookie: "+cookie+"\r\nContent-Type: "+formType+
						"\r\nTransfer-Encoding: chunked\r\n\r\n"+body+"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
					if n := strings.Count(answers, "HTTP/1.1 "); n != 1 {
						t.Errorf("%s %s, %s: %d answers", method, path, name, n)
					}
				}
			}
		}
	}
}

// TestOldRequestsEndTheConnection: of an HTTP/1.0 request's Transfer-Encoding net/http
// knows nothing.
func TestOldRequestsEndTheConnection(t *testing.T) {
	p := servePages(t)
	starts := []string{"OPTIONS *"}
	for _, path := range append(p.pages, "/triggers", sandboxPrefix+"/x") {
		starts = append(starts, "GET "+path, "POST "+path, "OPTIONS "+path)
	}
	for _, start := range starts {
		answers := p.sendRaw(t, start+" HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"+
			"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
		if n := strings.Count(answers, "HTTP/1."); n != 1 {
			t.Errorf("%s: %d answers", start, n)
		}
	}
}

// sendRaw sends a text on a connection of its own, and returns all that comes.
func (p *pageServer) sendRaw(t *testing.T, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second)) // an error shows below
	_, _ = io.WriteString(c, text)
	_ = c.(*net.TCPConn).CloseWrite()
	answers, err := io.ReadAll(c)
	if errors.Is(err, os.ErrDeadlineExceeded) { // a reset is an end, too
		t.Fatal(err)
	}
	return string(answers)
}

// TestBodyless: a handler that needs no body gets none, whatever it calls.
func TestBodyless(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/x?dataset=d", strings.NewReader("dataset=e"))
	r.Header.Set("Content-Type", formType)
	r = bodyless(r)
	if got := r.FormValue("dataset"); got != "d" || r.ContentLength != 0 {
		t.Errorf("%q, %d", got, r.ContentLength)
	}
}
