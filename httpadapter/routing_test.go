package httpadapter_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/httpadapter"
)

// send asks a host's handler as the rig's organization.
func (r *rig) send(h http.Handler, method, target string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, "/", strings.NewReader(`{"instructions":"x"}`))
	req.URL.Path, req.URL.RawPath = target, ""
	req.Header.Set("Authorization", "Bearer "+r.key)
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

func TestMounts(t *testing.T) {
	r := newRig(t, nil)
	id := r.put(1, nil).ID.String()

	atRoot := http.NewServeMux()
	atRoot.Handle("/triggers", r.handler)
	atRoot.Handle("/triggers/", r.handler)

	prefixed := http.NewServeMux()
	prefixed.Handle("/docs-api/", http.StripPrefix("/docs-api", r.handler))

	besideHost := http.NewServeMux()
	besideHost.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("the host's own")) })
	for _, route := range r.handler.Routes() {
		besideHost.Handle(route.Method+" "+route.Pattern, route.Handler)
	}

	joined, err := httpadapter.Join("", r.handler)
	require.NoError(t, err)
	joinedPrefixed, err := httpadapter.Join("/docs-api/", r.handler)
	require.NoError(t, err)

	for name, c := range map[string]struct {
		h      http.Handler
		prefix string
	}{
		"root": {atRoot, ""}, "prefix": {prefixed, "/docs-api"}, "routes": {besideHost, ""},
		"bare": {r.handler, ""}, "joined": {joined, ""}, "joined with prefix": {joinedPrefixed, "/docs-api"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, http.StatusAccepted, r.send(c.h, http.MethodPost, c.prefix+"/triggers").Code)
			require.Equal(t, http.StatusOK, r.send(c.h, http.MethodGet, c.prefix+"/triggers").Code)
			got := r.send(c.h, http.MethodGet, c.prefix+"/triggers/"+id)
			require.Equal(t, http.StatusOK, got.Code)
			require.Contains(t, got.Body.String(), id)
			refused := r.send(c.h, http.MethodDelete, c.prefix+"/triggers")
			require.Equal(t, http.StatusMethodNotAllowed, refused.Code)
			require.Contains(t, refused.Header().Get("Allow"), "POST")
			require.Equal(t, http.StatusMethodNotAllowed, r.send(c.h, http.MethodPost, c.prefix+"/triggers/"+id).Code)
		})
	}
	require.Equal(t, "the host's own", r.send(besideHost, http.MethodGet, "/").Body.String())
	require.Equal(t, "the host's own", r.send(besideHost, http.MethodGet, "/elsewhere").Body.String())
}

func TestUnknownAndUncleanPaths(t *testing.T) {
	r := newRig(t, nil)
	joined, err := httpadapter.Join("/p", r.handler)
	require.NoError(t, err)
	for _, path := range []string{
		"/", "/trigger", "/triggers/", "/triggers/a/b", "//triggers", "/./triggers", "/x/../triggers", "/triggers/.", "/triggers/..",
		"/triggers//", "//", "/triggersx", "/p/triggers", "triggers", "",
	} {
		w := r.send(r.handler, http.MethodPost, path)
		requireError(t, w, http.StatusNotFound, "not_found")
		require.Empty(t, w.Header().Get("Location"))
		w = r.send(joined, http.MethodPost, path)
		if path == "/p/triggers" {
			require.Equal(t, http.StatusAccepted, w.Code)
			continue
		}
		requireError(t, w, http.StatusNotFound, "not_found")
	}
	for _, path := range []string{"/p", "/p/", "/p//triggers", "/p/../p/triggers", "/ptriggers", "/px/triggers"} {
		requireError(t, r.send(joined, http.MethodPost, path), http.StatusNotFound, "not_found")
	}
}

func TestJoinRefuses(t *testing.T) {
	r := newRig(t, nil)
	_, err := httpadapter.Join("")
	require.Error(t, err)
	_, err = httpadapter.Join("", r.handler, r.handler)
	require.ErrorContains(t, err, `two of the services answer "POST /triggers"`)
	_, err = httpadapter.Join("nope", r.handler)
	require.ErrorContains(t, err, "prefix")
	_, err = httpadapter.Join("/a/../b", r.handler)
	require.Error(t, err)
}

func TestNewTriggerRefuses(t *testing.T) {
	r := newRig(t, nil)
	_, err := httpadapter.NewTrigger(nil, httpadapter.Bearer(httpadapter.TriggerKeys(r.service)), nil)
	require.Error(t, err)
	_, err = httpadapter.NewTrigger(r.service, nil, nil)
	require.Error(t, err)
	_, err = httpadapter.NewTrigger(r.service, httpadapter.Bearer(httpadapter.TriggerKeys(r.service)), &httpadapter.TriggerOptions{
		Options: httpadapter.Options{Wrap: func(httpadapter.Operation, http.Handler) http.Handler { return nil }},
	})
	require.ErrorContains(t, err, "submitApiTrigger")
}

type requests []httpadapter.RequestObservation

func (o *requests) observe(_ context.Context, r httpadapter.RequestObservation) {
	r.Duration = 0
	*o = append(*o, r)
}

func TestWrapAndObserver(t *testing.T) {
	var seen requests
	var wrapped []string
	r := newRig(t, &httpadapter.TriggerOptions{History: true, Options: httpadapter.Options{
		Observer: seen.observe,
		Wrap: func(op httpadapter.Operation, next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				wrapped = append(wrapped, op.ID)
				w.Header().Set("X-Wrapped", op.Pattern)
				next.ServeHTTP(w, req)
			})
		},
	}})
	submit := httpadapter.Operation{Service: "trigger", ID: "submitApiTrigger", Method: "POST", Pattern: "/triggers"}
	list := httpadapter.Operation{Service: "trigger", ID: "listTriggers", Method: "GET", Pattern: "/triggers"}
	require.Equal(t, "/triggers", r.post(`{"instructions":"x"}`).Header().Get("X-Wrapped"))
	r.post(`{}`)
	r.get("/triggers", noHeader("Authorization"))
	require.Equal(t, []string{"submitApiTrigger", "submitApiTrigger", "listTriggers"}, wrapped, "outside authentication")
	require.Equal(t, requests{
		{Operation: submit, Organization: "acme", Status: 202},
		{Operation: submit, Organization: "acme", Status: 422},
		{Operation: list, Status: 401},
	}, seen)
}
