package httpadapter_test

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/httpadapter"
)

// askedHeader comes back with each answer, so that everybody can tell theirs.
const askedHeader = "X-Asked"

func named(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(askedHeader, r.Header.Get(askedHeader))
		h.ServeHTTP(w, r)
	})
}

// attacks are the ways to send a body that goes on as a request, after the beginning of a
// request that is answered at once.
func (s *anyService) attacks() map[string]struct{ length, body string } {
	request := strings.Replace(s.smuggled(), "\r\n", "\r\n"+askedHeader+": attacker\r\n", 1)
	return map[string]struct{ length, body string }{
		"late":            {"Content-Length: " + strconv.Itoa(len(request)), request},
		"late and broken": {chunked, "ZZ\r\n" + request},
	}
}

// TestReverseProxyKeepsCallersApart behind the proxy of the standard library, all of
// whose requests go over one connection.
func TestReverseProxyKeepsCallersApart(t *testing.T) {
	t.Parallel()
	for _, s := range everyService(t, httpadapter.Options{BodyTimeout: 20 * time.Millisecond}) {
		for host, wrap := range hosts {
			t.Run(s.name+" "+host, func(t *testing.T) {
				t.Parallel() // they wait most of the time
				backend, err := url.Parse("http://" + serveBehind(t, wrap, named(s.handler)))
				require.NoError(t, err)
				proxy := httputil.NewSingleHostReverseProxy(backend)
				transport := &http.Transport{MaxConnsPerHost: 1}
				t.Cleanup(transport.CloseIdleConnections)
				proxy.Transport, proxy.ErrorLog = transport, log.New(io.Discard, "", 0)
				front := httptest.NewServer(proxy)
				t.Cleanup(front.Close)
				victim := dial(t, strings.TrimPrefix(front.URL, "http://"))
				for _, e := range s.early {
					for name, attack := range s.attacks() {
						msg := s.name + ", " + host + ", " + e.start + ", " + name
						attacker := dial(t, strings.TrimPrefix(front.URL, "http://"))
						attacker.send(e.head(askedHeader + ": attacker\r\n" + attack.length))
						victim.requireOwn(s, msg)
						attacker.send(attack.body)
						_, err := http.ReadResponse(attacker.r, nil) // or the end
						if err != nil {
							require.ErrorIs(t, err, io.ErrUnexpectedEOF, msg)
						}
						victim.requireOwn(s, msg)
						require.NoError(t, attacker.conn.Close())
					}
				}
				require.False(t, s.changed())
			})
		}
	}
}

// requireOwn asks as somebody else, and checks that the answer is theirs.
func (w *wire) requireOwn(s *anyService, msg string) {
	w.t.Helper()
	w.send(s.fine + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + s.bearer + "\r\n" + askedHeader + ": victim\r\n\r\n")
	resp := w.answer(msg)
	require.Equal(w.t, "victim", resp.Header.Get(askedHeader), msg)
	require.Equal(w.t, s.status, resp.StatusCode, msg)
}

// TestPoolingProxyKeepsCallersApart behind a proxy that hands on what it gets as it gets
// it, and keeps a connection that was answered.
func TestPoolingProxyKeepsCallersApart(t *testing.T) {
	t.Parallel()
	for _, s := range everyService(t, httpadapter.Options{BodyTimeout: 20 * time.Millisecond}) {
		for host, wrap := range hosts {
			if host == "without Unwrap" {
				continue // there the answer says that the connection ends, or the body was read
			}
			t.Run(s.name+" "+host, func(t *testing.T) {
				t.Parallel() // they wait most of the time
				address := serveBehind(t, wrap, named(s.handler))
				for _, e := range s.early {
					for name, attack := range s.attacks() {
						msg := s.name + ", " + host + ", " + e.start + ", " + name
						pooled := dial(t, address)
						pooled.send(e.head(askedHeader + ": attacker\r\n" + attack.length))
						resp := pooled.answer(msg)
						require.Equal(t, "attacker", resp.Header.Get(askedHeader), msg)
						if !resp.Close && strings.HasSuffix(name, "broken") {
							pooled.send(attack.body)
						}
						ended := resp.Close
						if !ended {
							_, err := pooled.r.Peek(1)
							ended = err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
						}
						if ended {
							pooled = dial(t, address)
						} else if !strings.HasSuffix(name, "broken") {
							// It comes late, and is taken to have been the body.
							pooled.send(attack.body)
						}
						pooled.requireOwn(s, msg)
						require.NoError(t, pooled.conn.Close())
					}
				}
				require.False(t, s.changed())
			})
		}
	}
}
