package httpadapter

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeService is a handler with the given operations, whose errors name it.
func fakeService(t *testing.T, name string, ops ...string) *Handler {
	t.Helper()
	errs := errorTable{
		classify: commonFailures.classify,
		reply: func(p problem) response {
			return response{status: kinds[p.kind].status, body: []byte(`"` + name + `"`)}
		},
	}
	auth := AuthenticatorFunc(func(*http.Request) (Principal, error) { return Principal{Organization: "acme"}, nil })
	var rows []*operation
	for i := 0; i < len(ops); i += 2 {
		rows = append(rows, &operation{
			Operation: Operation{ID: ops[i+1], Method: ops[i], Pattern: ops[i+1]},
			handle: func(c *call) response {
				return response{status: http.StatusOK, body: []byte(`"` + name + " " + c.r.PathValue("id") + `"`)}
			},
		})
	}
	h, err := newHandler(name, auth, errs, Options{}, rows)
	require.NoError(t, err)
	return h
}

func TestJoinSeveralServices(t *testing.T) {
	joined, err := Join("/api",
		fakeService(t, "triggers", "POST", "/triggers", "GET", "/triggers/{id}"),
		fakeService(t, "vault", "POST", "/v1/vaults/{id}/tokenize"),
		fakeService(t, "auth", "PUT", "/api/v1/auth-management/clients/{id}"),
		fakeService(t, "search", "POST", "/api/v0/search/metadata-filters/audio-sound"),
	)
	require.NoError(t, err)
	for _, c := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/api/triggers/7", 200, `"triggers 7"`},
		{"GET", "/api/triggers/a%2Fb", 200, `"triggers a/b"`},
		{"POST", "/api/v1/vaults/v1/tokenize", 200, `"vault v1"`},
		{"PUT", "/api/api/v1/auth-management/clients/c1", 200, `"auth c1"`},
		{"POST", "/api/api/v0/search/metadata-filters/audio-sound", 200, `"search "`},

		// What nobody answers is refused by the service that it is nearest to.
		{"GET", "/api/v1/vaults/v1/tokenize", 405, `"vault"`},
		{"GET", "/api/v1/vaults/v1", 404, `"vault"`},
		{"GET", "/api/v1/elsewhere", 404, `"vault"`},
		{"GET", "/api/api/v1/auth-management/nothing", 404, `"auth"`},
		{"GET", "/api/api/v0/search/nothing", 404, `"search"`},
		{"GET", "/api/triggers/7/8", 404, `"triggers"`},
		{"GET", "/api/unknown", 404, `"triggers"`},
		{"GET", "/elsewhere", 404, `"triggers"`},
	} {
		w := httptest.NewRecorder()
		joined.ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
		require.Equal(t, c.status, w.Code, c.path)
		require.Equal(t, c.body, w.Body.String(), c.path)
	}
}

func TestJoinRefusesOverlaps(t *testing.T) {
	_, err := Join("", fakeService(t, "a", "GET", "/x/{id}"), fakeService(t, "b", "GET", "/x/{name}"))
	require.ErrorContains(t, err, "two of the services answer")
	_, err = Join("", fakeService(t, "a", "GET", "/x/{id}/y"), fakeService(t, "b", "GET", "/x/z/{name}"))
	require.ErrorContains(t, err, "two of the services answer")
}
