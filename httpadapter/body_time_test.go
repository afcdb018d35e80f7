package httpadapter_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/httpadapter"
)

// watchedBody tells when a read of a body has failed.
type watchedBody struct {
	io.ReadCloser
	failed chan<- error
}

func (b watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		b.failed <- err
	}
	return n, err
}

// TestBodyTimeoutBehindAPlainWriter: a wrapper that hides the connection's deadlines does
// not lift the limit on a body's arrival. The answer goes out although the body is still
// being read, the read ends although the client stays, and the log says why, once.
func TestBodyTimeoutBehindAPlainWriter(t *testing.T) {
	for _, s := range everyService(t, httpadapter.Options{BodyTimeout: 50 * time.Millisecond}) {
		failed := make(chan error, 1)
		address := serveBehind(t, hosts["without Unwrap"], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Body = watchedBody{r.Body, failed}
			s.handler.ServeHTTP(w, r)
		}))
		for _, length := range []string{"Content-Length: 100", chunked} {
			c := dial(t, address)
			c.send(s.unread()[0].head(length))
			resp := c.answer(s.name)
			require.Equal(t, http.StatusRequestTimeout, resp.StatusCode, s.name)
			require.True(t, resp.Close, "the answer says that the connection ends")
			require.Error(t, <-failed)
			c.send(s.smuggled())
			require.NoError(t, c.conn.Close())
		}
		require.Equal(t, 1, strings.Count(s.log(), "hides its deadlines"), s.log())
		require.False(t, s.changed())
	}
}

// TestBodyBehindAPlainWriter: what comes in time is read, in pieces too, and the
// connection goes on.
func TestBodyBehindAPlainWriter(t *testing.T) {
	for _, s := range everyService(t, httpadapter.Options{}) {
		c := dial(t, serveBehind(t, hosts["without Unwrap"], s.handler))
		request := s.smuggled()
		c.send(request[:len(request)-len(s.body)])
		for _, b := range []byte(s.body) {
			c.send(string(b))
		}
		require.Less(t, c.answer(s.name).StatusCode, 300, s.name)
		require.True(t, s.changed(), s.name)
		c.send(earlyRequest{s.fine, "Authorization: Bearer " + s.bearer + "\r\n", s.status, false}.head("A: b"))
		require.Equal(t, s.status, c.answer(s.name).StatusCode, s.name)
	}
}

// TestReadTimeoutBehindAPlainWriter: where the server has a limit of its own, that one
// ends the body and the connection.
func TestReadTimeoutBehindAPlainWriter(t *testing.T) {
	s := triggerService(t, httpadapter.Options{BodyTimeout: time.Millisecond})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.handler.ServeHTTP(&plainWriter{ResponseWriter: w}, r)
	}))
	server.Config.ReadTimeout = 100 * time.Millisecond
	server.Start()
	defer server.Close()
	for range 2 {
		c := dial(t, strings.TrimPrefix(server.URL, "http://"))
		c.send(s.read + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer " + s.bearer + "\r\nContent-Length: 100\r\n\r\n{")
		require.Equal(t, http.StatusRequestTimeout, c.answer("").StatusCode)
		c.requireEnd("")
	}
}

// panickingBody is a host's reader with a fault.
type panickingBody struct{}

func (panickingBody) Read([]byte) (int, error) { panic("a host's fault") }
func (panickingBody) Close() error             { return nil }

// TestPanickingBodyBehindAPlainWriter: the panic is the request's, and not the process's.
func TestPanickingBodyBehindAPlainWriter(t *testing.T) {
	s := triggerService(t, httpadapter.Options{})
	panicked := make(chan any, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { panicked <- recover() }()
		r.Body = panickingBody{}
		s.handler.ServeHTTP(&plainWriter{ResponseWriter: w}, r)
	}))
	defer server.Close()
	c := dial(t, strings.TrimPrefix(server.URL, "http://"))
	c.send(s.smuggled())
	require.Equal(t, "a host's fault", <-panicked)
}

// TestBodyTimeoutOverHTTP2 behind a wrapper of the same kind.
func TestBodyTimeoutOverHTTP2(t *testing.T) {
	s := triggerService(t, httpadapter.Options{BodyTimeout: 50 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.handler.ServeHTTP(&plainWriter{ResponseWriter: w}, r)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	for range 2 {
		body, end := io.Pipe()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/triggers", body)
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+s.bearer)
		resp, err := server.Client().Do(req)
		require.NoError(t, err)
		require.Equal(t, 2, resp.ProtoMajor)
		require.Equal(t, http.StatusRequestTimeout, resp.StatusCode)
		require.NoError(t, resp.Body.Close())
		require.NoError(t, end.Close())
	}
}
