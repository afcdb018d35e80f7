package httpadapter_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/httpadapter"
)

// What comes after an answer that was sent before its request's body is no request,
// unless the body came to its end. Otherwise whoever shares a connection with others, as
// everybody does behind a proxy, could ask in their name, or get their answers.

// plainWriter is what the usual logging middleware puts in place of a
// http.ResponseWriter. It hides whatever else the writer can do.
type plainWriter struct {
	http.ResponseWriter
	status int
}

func (w *plainWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// openWriter is the same, with the method that lets others through.
type openWriter struct{ plainWriter }

func (w *openWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// reluctantWriter gives no connection away once something was written, as the writers of
// some frameworks do.
type reluctantWriter struct{ openWriter }

func (*reluctantWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return nil, nil, http.ErrNotSupported
}

// hosts are what a service may stand behind. Each of them lives on after a panic.
var hosts = map[string]func(http.ResponseWriter) http.ResponseWriter{
	"bare":        func(w http.ResponseWriter) http.ResponseWriter { return w },
	"with Unwrap": func(w http.ResponseWriter) http.ResponseWriter { return &openWriter{plainWriter{ResponseWriter: w}} },
	"reluctant": func(w http.ResponseWriter) http.ResponseWriter {
		return &reluctantWriter{openWriter{plainWriter{ResponseWriter: w}}}
	},
	"without Unwrap": func(w http.ResponseWriter) http.ResponseWriter { return &plainWriter{ResponseWriter: w} },
}

// serveBehind serves a service as a host would, and returns the address.
func serveBehind(t *testing.T, wrap func(http.ResponseWriter) http.ResponseWriter, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { _ = recover() }() // as the recovering middleware of many a host
		h.ServeHTTP(wrap(w), r)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// wire is a client that writes what it likes.
type wire struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
}

func dial(t *testing.T, address string) *wire {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	return &wire{t: t, conn: conn, r: bufio.NewReader(conn)}
}

// send writes. That the other side is gone is no failure of the test.
func (w *wire) send(text string) { _, _ = io.WriteString(w.conn, text) }

// answer reads one answer.
func (w *wire) answer(msg string) *http.Response {
	w.t.Helper()
	resp, err := http.ReadResponse(w.r, nil)
	require.NoError(w.t, err, msg)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(w.t, err, msg)
	return resp
}

// requireEnd checks that nothing comes any more but the end.
func (w *wire) requireEnd(msg string) {
	w.t.Helper()
	rest, err := io.ReadAll(w.r)
	require.Empty(w.t, string(rest), msg)
	if err != nil { // what was sent after the end is answered so by the system
		require.ErrorContains(w.t, err, "reset", msg)
	}
	_ = w.conn.Close()
}

// smuggled is a whole request that changes what is stored, if it is taken for one.
func (s *anyService) smuggled() string {
	return s.change + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + s.bearer + "\r\nContent-Type: application/json\r\nContent-Length: " +
		strconv.Itoa(len(s.body)) + "\r\n\r\n" + s.body
}

// unread are the beginnings of all requests whose body is not read, or not to its end.
func (s *anyService) unread() []earlyRequest {
	readable := earlyRequest{s.read, "Content-Type: application/json\r\nAuthorization: Bearer " + s.bearer + "\r\n", s.broken, false}
	return append([]earlyRequest{readable}, s.early...)
}

func (e earlyRequest) head(length string) string {
	return e.start + " HTTP/1.1\r\nHost: x\r\n" + e.headers + length + "\r\n\r\n"
}

const chunked = "Transfer-Encoding: chunked"

// brokenChunks are bodies that end where their sender says, not where they should.
var brokenChunks = map[string]string{
	"no length":         "ZZ\r\n",
	"bad length":        "1x\r\n",
	"negative length":   "-1\r\n",
	"length too long":   "10000000000000001\r\n",
	"no CRLF after":     "2\r\n{}",
	"other after":       "2\r\n{}XX",
	"bad trailer":       "0\r\nfoo bar\r\n\r\n",
	"bad trailer after": "2\r\n{}\r\n0\r\nfoo bar\r\n\r\n",
	"long trailer":      "0\r\nX: " + strings.Repeat("x", 8<<10) + "\r\n\r\n",
	"empty line":        "\r\n",
}

// TestBrokenChunksEndTheConnection: what comes after them is not carried out.
func TestBrokenChunksEndTheConnection(t *testing.T) {
	for _, s := range everyService(t, httpadapter.Options{}) {
		for host, wrap := range hosts {
			address := serveBehind(t, wrap, s.handler)
			for _, e := range s.unread() {
				for name, chunks := range brokenChunks {
					msg := s.name + ", " + host + ", " + e.start + ", " + name
					c := dial(t, address)
					c.send(e.head(chunked) + chunks + s.smuggled())
					require.Equal(t, e.status, c.answer(msg).StatusCode, msg)
					c.requireEnd(msg)
					require.False(t, s.changed(), msg)
				}
			}
		}
	}
}

// TestLateBodyEndsTheConnection: a body that has not come in time will not be waited for,
// and is no request when it does come.
func TestLateBodyEndsTheConnection(t *testing.T) {
	for _, s := range everyService(t, httpadapter.Options{BodyTimeout: 20 * time.Millisecond, MaxBody: 1000}) {
		for host, wrap := range hosts {
			address := serveBehind(t, wrap, s.handler)
			t.Run(s.name+" "+host, func(t *testing.T) {
				t.Parallel() // they wait most of the time
				for _, e := range s.unread() {
					if e.status == s.broken {
						e.status = http.StatusRequestTimeout
					}
					requireLateEnd(t, s, address, host, e, "Content-Length: 500", "")
					requireLateEnd(t, s, address, host, e, "Content-Length: 500", "{")
					requireLateEnd(t, s, address, host, e, chunked, "")
					requireLateEnd(t, s, address, host, e, chunked, "5\r\n{")
				}
				tooLong := s.unread()[0]
				tooLong.status = http.StatusRequestEntityTooLarge
				requireLateEnd(t, s, address, host, tooLong, "Content-Length: 1001", "")
				requireLateEnd(t, s, address, host, tooLong, chunked, "3ea\r\n"+strings.Repeat(" ", 1002)+"\r\n")
			})
		}
	}
}

// requireLateEnd sends a request without the rest of its body, and the rest once it is too
// late.
func requireLateEnd(t *testing.T, s *anyService, address, host string, e earlyRequest, length, begun string) {
	t.Helper()
	msg := e.start + ", " + length + ", " + begun
	c := dial(t, address)
	c.send(e.head(length) + begun)
	require.Equal(t, e.status, c.answer(msg).StatusCode, msg)
	// Without Unwrap net/http waits for the client to end, after an answer that says so.
	if host != "without Unwrap" {
		_, err := c.r.Peek(1)
		require.ErrorIs(t, err, io.EOF, msg)
	}
	c.send(s.smuggled())
	_ = c.conn.(*net.TCPConn).CloseWrite()
	c.requireEnd(msg)
	require.False(t, s.changed(), msg)
}

// TestCompleteBodyKeepsTheConnection, whether it was read before the answer or after it,
// and the requests after it live.
func TestCompleteBodyKeepsTheConnection(t *testing.T) {
	for _, s := range everyService(t, httpadapter.Options{}) {
		for host, wrap := range hosts {
			c := dial(t, serveBehind(t, wrap, s.handler))
			next := earlyRequest{s.fine, "Authorization: Bearer " + s.bearer + "\r\n", s.status, false}
			for _, e := range s.early {
				msg := s.name + ", " + host + ", " + e.start
				for length, body := range map[string]string{
					"Content-Length: 5": "[1,2]", "Content-Length: 200000": strings.Repeat("x", 200_000),
				} {
					c.send(e.head(length))
					if host != "without Unwrap" && !e.streams { // else the body is read first
						require.Equal(t, e.status, c.answer(msg).StatusCode, msg)
						c.send(body + next.head("A: b"))
					} else {
						c.send(body + next.head("A: b"))
						require.Equal(t, e.status, c.answer(msg).StatusCode, msg)
					}
					require.Equal(t, next.status, c.answer(msg).StatusCode, msg)
				}
			}
		}
		require.False(t, s.changed())
	}
}

// TestChunksEndTheConnection, complete ones too, whether the body is read or not: a host's
// reader may hide the rest, and a proxy in front may go by a Content-Length.
func TestChunksEndTheConnection(t *testing.T) {
	limited := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Body = io.NopCloser(io.LimitReader(r.Body, 1000))
			h.ServeHTTP(w, r)
		})
	}
	for _, s := range everyService(t, httpadapter.Options{}) {
		for host, wrap := range hosts {
			for name, body := range map[string]string{
				"complete": "2\r\n[1\r\n3;x=y\r\n,2]\r\n0\r\nA: b\r\n\r\n",
				"hidden":   "5dc\r\n" + strings.Repeat("x", 1500) + "\r\nZZ\r\n",
			} {
				for _, e := range s.unread() {
					for _, length := range []string{chunked, "Content-Length: 5\r\n" + chunked} {
						msg := s.name + ", " + host + ", " + e.start + ", " + name + ", " + length
						c := dial(t, serveBehind(t, wrap, limited(s.handler)))
						c.send(e.head(length) + body + s.smuggled())
						require.Equal(t, e.status, c.answer(msg).StatusCode, msg)
						c.requireEnd(msg)
					}
				}
			}
		}
		require.False(t, s.changed())
	}
}

// TestOldRequestsEndTheConnection: of an HTTP/1.0 request's Transfer-Encoding net/http
// knows nothing.
func TestOldRequestsEndTheConnection(t *testing.T) {
	for _, s := range everyService(t, httpadapter.Options{}) {
		joined, err := httpadapter.Join("", s.handler)
		require.NoError(t, err)
		for _, h := range []http.Handler{s.handler, joined} {
			for _, e := range append([]earlyRequest{{start: s.fine, headers: "Authorization: Bearer " + s.bearer + "\r\n", status: s.status}}, s.early...) {
				msg := s.name + ", " + e.start
				c := dial(t, serveBehind(t, hosts["bare"], h))
				head := strings.Replace(e.head("Connection: keep-alive\r\n"+chunked), "HTTP/1.1", "HTTP/1.0", 1)
				c.send(head + s.smuggled())
				require.Equal(t, e.status, c.answer(msg).StatusCode, msg)
				c.requireEnd(msg)
			}
		}
		require.False(t, s.changed())
	}
}

// TestEndWithoutTheBody: a client that asks whether it may send the body is told no, and
// one that sends more than is taken in still learns why.
func TestEndWithoutTheBody(t *testing.T) {
	t.Parallel()
	for _, s := range everyService(t, httpadapter.Options{}) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel() // they wait most of the time
			address := serveBehind(t, hosts["with Unwrap"], s.handler)
			for _, e := range s.early {
				msg := s.name + ", " + e.start
				c := dial(t, address)
				c.send(e.head("Expect: 100-continue\r\n"+chunked) + "ZZ\r\n" + s.smuggled())
				require.Equal(t, e.status, c.answer(msg).StatusCode, msg)
				c.requireEnd(msg)
			}
			c := dial(t, address)
			const more = 16<<20 + 1
			c.send(s.early[0].head("Content-Length: " + strconv.Itoa(more)))
			require.Equal(t, s.early[0].status, c.answer(s.name).StatusCode)
			c.send(strings.Repeat("x", more) + s.smuggled())
			c.requireEnd(s.name)
			require.False(t, s.changed())
		})
	}
}
