package httpadapter_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/trigger"
)

// TestHooksDoNotSpeakForTheDomain: an error of the domain means nothing when it comes
// from a host's hook.
func TestHooksDoNotSpeakForTheDomain(t *testing.T) {
	for _, e := range []error{mortise.ErrNotFound, trigger.ErrNotConfigured, trigger.ErrEnqueueFailed, trigger.ErrIdempotencyKeyReused, &mortise.ValidationError{}} {
		r := newRig(t, nil)
		h, err := httpadapter.NewTrigger(r.service, httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) {
			return httpadapter.Principal{}, fmt.Errorf("host: %w", e)
		}), nil)
		require.NoError(t, err)
		req := httptest.NewRequest("POST", "/triggers", strings.NewReader(`{"instructions":"a"}`))
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		assert.Equal(t, http.StatusServiceUnavailable, w.Code, "%v -> %s", e, w.Body)
	}
}

// TestAuthorizeGetsTheCanonicalID: however the caller spells it.
func TestAuthorizeGetsTheCanonicalID(t *testing.T) {
	var seen []string
	r := newRig(t, &httpadapter.TriggerOptions{History: true, Options: httpadapter.Options{
		Authorize: func(_ context.Context, _ httpadapter.Principal, a access.Action, res access.Resource) error {
			if a == access.GetTrigger {
				seen = append(seen, res.ID)
			}
			return nil
		}}})
	id := r.submit(`{"instructions":"secret"}`).String()
	for _, form := range []string{id, strings.ToUpper(id), strings.ReplaceAll(id, "-", ""), "%7B" + id + "%7D", "urn:uuid:" + id} {
		w := r.get("/triggers/" + form)
		assert.Equal(t, 200, w.Code, form)
	}
	for _, s := range seen {
		assert.Equal(t, id, s, "what Authorize was asked about")
	}
}

// TestJoinWithAnEncodedPrefix: the path is the same, however it is written.
func TestJoinWithAnEncodedPrefix(t *testing.T) {
	r := newRig(t, nil)
	j, err := httpadapter.Join("/internal", r.handler)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/internal/", j)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/%69nternal/triggers", nil))
	requireError(t, w, http.StatusUnauthorized, "authentication_failed")
}

// TestServersReadTimeoutHolds: a host's tighter limit is not loosened.
func TestServersReadTimeoutHolds(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	srv := httptest.NewUnstartedServer(r.handler)
	srv.Config.ReadTimeout = 300 * time.Millisecond
	srv.Start()
	defer srv.Close()
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	require.NoError(t, err)
	body := `{"instructions":"a"}`
	fmt.Fprintf(c, "POST /triggers HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", r.key, len(body))
	for i := range body {
		time.Sleep(100 * time.Millisecond)
		fmt.Fprint(c, body[i:i+1])
	}
	c.SetReadDeadline(time.Now().Add(3 * time.Second))
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err == nil {
		assert.NotEqual(t, 202, resp.StatusCode, "a body of 2 s under ReadTimeout 300 ms")
	}
}
