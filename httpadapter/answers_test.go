package httpadapter_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// ask sends a request of method and path, with the service's credentials.
func (s *anyService) ask(start, mediaType, body string) *httptest.ResponseRecorder {
	method, path, _ := strings.Cut(start, " ")
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+s.bearer)
	req.Header.Set("Content-Type", mediaType)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, req)
	return w
}

// withoutID are the headers of an answer but for its ID, which is new each time.
func withoutID(w *httptest.ResponseRecorder) http.Header {
	header := w.Header().Clone()
	header.Del("X-Request-Id")
	return header
}

// TestUnavailableSaysWhenToRetry in every service, whoever is to blame, and the log says
// which request it was.
func TestUnavailableSaysWhenToRetry(t *testing.T) {
	down := errors.New("connection refused")
	for cause, opts := range map[string]httpadapter.Options{
		"store": {},
		"authorization": {Authorize: func(context.Context, httpadapter.Principal, access.Action, access.Resource) error {
			return down
		}},
	} {
		for _, s := range everyService(t, opts) {
			if cause == "store" {
				s.fail()
			}
			for _, start := range []string{s.fine, s.change} {
				msg := s.name + ", " + cause + ", " + start
				w := s.ask(start, "application/json", s.body)
				require.Equal(t, http.StatusServiceUnavailable, w.Code, msg)
				require.Equal(t, []string{"5"}, w.Header()["Retry-After"], msg)
				require.Contains(t, s.log(), fmt.Sprintf("%q:%q", "request_id", w.Header().Get("X-Request-Id")), msg)
			}
		}
	}
}

// TestUnavailableAuthenticatorSaysWhenToRetry, if the host has not said it.
func TestUnavailableAuthenticatorSaysWhenToRetry(t *testing.T) {
	r := newRig(t, nil)
	h, err := httpadapter.NewTrigger(r.service, httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) {
		return httpadapter.Principal{}, errors.New("connection refused")
	}), nil)
	require.NoError(t, err)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/triggers", nil))
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Equal(t, []string{"5"}, w.Header()["Retry-After"])

	w = httptest.NewRecorder()
	w.Header().Set("Retry-After", "60")
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/triggers", nil))
	require.Equal(t, []string{"60"}, w.Header()["Retry-After"], "the host's own")
}

// TestEveryServiceHasRequestIDs on each of its answers.
func TestEveryServiceHasRequestIDs(t *testing.T) {
	for _, s := range everyService(t, httpadapter.Options{}) {
		for _, e := range s.unread() {
			method, path, _ := strings.Cut(e.start, " ")
			for _, given := range []string{"", "mine-1", "not one"} {
				req := httptest.NewRequest(method, path, nil)
				if given != "" {
					req.Header["X-Request-Id"] = []string{given}
				}
				for line := range strings.SplitSeq(e.headers, "\r\n") {
					if name, value, ok := strings.Cut(line, ": "); ok {
						req.Header.Set(name, value)
					}
				}
				w := httptest.NewRecorder()
				s.handler.ServeHTTP(w, req)
				require.Equal(t, e.status, w.Code, e.start)
				if given == "mine-1" {
					require.Equal(t, []string{given}, w.Header()["X-Request-Id"], e.start)
				} else {
					_, err := uuid.Parse(w.Header().Get("X-Request-Id"))
					require.NoError(t, err, e.start)
				}
				require.Equal(t, w.Code == http.StatusServiceUnavailable, w.Header()["Retry-After"] != nil)
			}
		}
	}
}

// TestJSONByAnotherName: a type whose structure is JSON (RFC 6839) is read as JSON, and
// nothing else is.
func TestJSONByAnotherName(t *testing.T) {
	services := everyService(t, httpadapter.Options{})
	for mediaType, taken := range map[string]bool{
		"application/json": true, "application/vnd.api+json": true, "application/problem+json": true, "Application/Problem+JSON": true,
		"application/merge-patch+json; charset=utf-8": true, "application/ld+json;profile=x": true,
		"application/ld+json; charset=latin1": false, "text/x+json": false, "image/svg+xml": false, "application/jsonx": false,
		"application/xjson": false, "application/json+xml": false, "application/json-seq": false, "+json": false, "application+json": false,
		"application/+json/x": false, "application/vnd.api+json, application/json": false,
	} {
		for _, s := range services {
			w := s.ask(s.read, mediaType, "{}")
			require.Equal(t, taken, w.Code != http.StatusUnsupportedMediaType, "%s, %s: %d", s.name, mediaType, w.Code)
		}
	}
}
