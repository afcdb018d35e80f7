package httpadapter_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/httpadapter"
)

// A created resource can be read at its Location, under any prefix.
func TestLocation(t *testing.T) {
	triggers, management := newRig(t, nil), newAuthRig(t, nil, nil)
	joined, err := httpadapter.Join("/joined", triggers.handler, management.handler)
	require.NoError(t, err)
	mounts := map[string]http.Handler{
		"/joined":          joined,
		"/a%20b/c":         http.StripPrefix("/a b/c", triggers.handler),
		"/a%20b/c/managed": http.StripPrefix("/a b/c/managed", management.handler),
	}
	for _, c := range []struct {
		prefix, path, token, body string
		status                    int
	}{
		{"/joined", "/triggers", triggers.key, `{"instructions":"Describe it."}`, 202},
		{"/a%20b/c", "/triggers", triggers.key, `{"instructions":"Describe it."}`, 202},
		{"/joined", clients, management.tokens["full"], `{"name":"CI"}`, 201},
		{"/a%20b/c/managed", clients, management.tokens["full"], `{"name":"CI"}`, 201},
		{"/joined", invitations, management.tokens["full"], `{"email":"a@example.com","name":"A"}`, 201},
		{"/a%20b/c/managed", invitations, management.tokens["full"], `{"email":"b@example.com","name":"B"}`, 201},
	} {
		send := func(method, target, body string) *httptest.ResponseRecorder {
			r, w := httptest.NewRequest(method, target, strings.NewReader(body)), httptest.NewRecorder()
			r.Header.Set("Authorization", "Bearer "+c.token)
			r.Header.Set("Content-Type", "application/json")
			mounts[c.prefix].ServeHTTP(w, r)
			return w
		}
		w := send(http.MethodPost, c.prefix+c.path+"?x=1", c.body)
		require.Equal(t, c.status, w.Code, w.Body.String())
		at := w.Header().Get("Location")
		require.True(t, strings.HasPrefix(at, c.prefix+c.path+"/"), at)
		require.Equal(t, http.StatusOK, send(http.MethodGet, at, "").Code, at)
	}
	require.Empty(t, triggers.get("/triggers").Header().Values("Location"))
}

// There is no Location without a GET of the resource, or if the prefix is not known.
func TestNoLocation(t *testing.T) {
	r := newRig(t, &httpadapter.TriggerOptions{})
	const body = `{"instructions":"Describe it."}`
	require.Empty(t, r.post(body).Header().Values("Location"), "the history is not mounted")

	r = newRig(t, nil)
	require.Len(t, r.post(body).Header().Values("Location"), 1)
	for _, asked := range []string{"", "/renamed", "http://example.com/triggers", "//example.com/triggers", "/../triggers", "/triggers/"} {
		w := r.post(body, func(r *http.Request) { r.RequestURI = asked })
		require.Equal(t, http.StatusAccepted, w.Code)
		require.Empty(t, w.Header().Values("Location"), asked)
	}
	require.Empty(t, r.post(`{}`).Header().Values("Location"))
}
