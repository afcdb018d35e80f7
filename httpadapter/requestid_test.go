package httpadapter_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/httpadapter"
)

func jsonLog(b *lockedBuffer) *slog.Logger { return slog.New(slog.NewJSONHandler(b, nil)) }

// Whatever the answer, it has an ID: the caller's own if that is one, else a new UUID.
func TestRequestID(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	token := r.insert("acme", "v1", "persons", "name", "Ada")
	joined, err := httpadapter.Join("/internal", r.handler, newRig(t, nil).handler)
	require.NoError(t, err)
	seen := make(map[string]bool)
	for _, q := range []struct {
		caller, method, path, body string
		status                     int
	}{
		{"full", "POST", tokenize, parameters(ofName("Ada")), 200}, {"full", "POST", tokenize, `{`, 400}, {"", "POST", tokenize, `{`, 401},
		{"none", "POST", tokenize, parameters(ofName("Ada")), 403}, {"full", "POST", tokenize, parameters(ofName("Eve")), 404},
		{"full", "GET", "/v1/nothing", "", 404}, {"full", "GET", "/v1//x", "", 404}, {"full", "PUT", tokenize, "", 405},
		{"full", "POST", detokenize, detokenization(ofToken(token, "")), 200}, {"full", "DELETE", tokens + token, "", 200},
	} {
		for given, kept := range map[string]bool{
			"": false, "a": true, "A-b_c.9": true, strings.Repeat("x", 128): true,
			strings.Repeat("x", 129): false, "a b": false, "a\r\nX-Evil: 1": false, "ü": false, "{}": false, "a,b": false, "a;b": false, "<script>": false, "\x00": false,
		} {
			if q.method == "DELETE" && given != "" {
				continue
			}
			if given == "a" { // twice is none
				require.NotEqual(t, "a", send(r.handler, q.caller, q.method, q.path, q.body, "a", "b").Header().Get("X-Request-Id"))
			}
			for _, mount := range []string{"", "/internal"} {
				var h http.Handler = r.handler
				if mount != "" {
					h = joined
				}
				if q.method == "DELETE" && mount != "" {
					continue
				}
				w := send(h, q.caller, q.method, mount+q.path, q.body, given)
				require.Equal(t, q.status, w.Code, w.Body.String())
				require.Empty(t, w.Header().Get("X-Evil"))
				ids := w.Header()["X-Request-Id"]
				require.Len(t, ids, 1)
				if kept {
					require.Equal(t, given, ids[0])
					continue
				}
				_, err := uuid.Parse(ids[0])
				require.NoError(t, err)
				require.False(t, seen[ids[0]], "it is a new one each time")
				seen[ids[0]] = true
			}
		}
	}
	require.NotEmpty(t, send(joined, "full", "GET", "/elsewhere", "").Header().Get("X-Request-Id"), "what is outside the prefix")
	require.NotEmpty(t, send(joined, "full", "GET", "/internal/triggers", "").Header().Get("X-Request-Id"))
}

// send asks any handler; ids are the headers of that name, "" for none.
func send(h http.Handler, caller, method, path, body string, ids ...string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	if caller != "" {
		req.Header.Set("Authorization", "Bearer "+strings.ReplaceAll(caller, " ", "-"))
	}
	if len(ids) > 0 && ids[0] != "" {
		req.Header["X-Request-Id"] = ids
	}
	h.ServeHTTP(w, req)
	return w
}

// A host that gives IDs of its own is not contradicted, and everybody learns the same one.
func TestRequestIDOfTheHost(t *testing.T) {
	var wrapped string
	all := everyVaultOption
	all.Wrap = func(_ httpadapter.Operation, next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			wrapped = httpadapter.RequestID(req.Context())
			next.ServeHTTP(w, req)
		})
	}
	r := newVaultRig(t, &all, nil)
	host := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("X-Request-ID", "host-1")
		r.handler.ServeHTTP(w, req)
	})
	r.faults("Vault")
	w := send(host, "full", "POST", tokenize, parameters(ofName("Ada")), "caller-1")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Equal(t, []string{"host-1"}, w.Header()["X-Request-Id"])
	require.Equal(t, "host-1", wrapped)
	require.Contains(t, r.log.String(), `"request_id":"host-1"`)
	require.Empty(t, httpadapter.RequestID(context.Background()))
}
