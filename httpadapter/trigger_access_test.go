package httpadapter_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/trigger"
)

// triggerRequest is a request that succeeds if it may.
type triggerRequest struct{ operation, method, path, body string }

// triggerRequests has one of each operation, on an event that there is and waits. After all
// of them, or after none that changes it, it waits again.
func triggerRequests(id string) []triggerRequest {
	return []triggerRequest{
		{"submitApiTrigger", "POST", "/triggers", `{"instructions":"x"}`},
		{"listTriggers", "GET", "/triggers", ""},
		{"getTrigger", "GET", "/triggers/" + id, ""},
		{"runTrigger", "POST", "/triggers/" + id + "/run", ""},
		{"cancelTrigger", "POST", "/triggers/" + id + "/cancel", ""},
		{"retryTrigger", "POST", "/triggers/" + id + "/retry", ""},
		{"cancelTriggers", "POST", "/triggers/cancel", ""},
		{"retryTriggers", "POST", "/triggers/retry", ""},
	}
}

func (q triggerRequest) send(h http.Handler, token string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(q.method, q.path, strings.NewReader(q.body))
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

// What each role may do, where a host mounts the triggers with access tokens.
func TestTriggerRoles(t *testing.T) {
	r, credentials := newRig(t, nil), newAuthRig(t, nil, nil)
	h := r.everything(httpadapter.Bearer(httpadapter.AccessTokens(credentials.service)), httpadapter.Options{})
	id := r.submit(`{"instructions":"secret"}`).String()
	const one = "getTrigger runTrigger cancelTrigger retryTrigger "
	viewer := "listTriggers getTrigger "
	editor := "submitApiTrigger listTriggers " + one
	admin := editor + "cancelTriggers retryTriggers "
	for _, c := range []struct {
		allowed string
		role    access.Role
	}{
		{viewer, access.Role{ID: "viewer"}},
		{editor, access.Role{ID: "editor"}},
		{admin, access.Role{ID: "admin"}},
		{viewer, access.Role{ID: "viewer", Resource: "trigger"}},
		{editor, access.Role{ID: "editor", Resource: "trigger"}},
		{admin, access.Role{ID: "admin", Resource: "trigger"}},
		{one, access.Role{ID: "editor", Resource: "trigger", ResourceInstance: id}},
		{one, access.Role{ID: "admin", Resource: "trigger", ResourceInstance: id}},
		{"", access.Role{ID: "admin", Resource: "trigger", ResourceInstance: "d1"}},
		{"", access.Role{ID: "admin", Resource: "vault"}},
	} {
		_, token, err := credentials.service.IssueToken(t.Context(), "acme", root,
			authmgmt.NewToken{Subject: "client:ci", Roles: []access.Role{c.role}})
		require.NoError(t, err)
		requireTriggerRights(t, h, token.Reveal(), id, c.allowed)
	}
}

// requireTriggerRights checks that the bearer of the token can do what is allowed, and
// nothing else.
func requireTriggerRights(t *testing.T, h http.Handler, token, id, allowed string) {
	t.Helper()
	for _, q := range triggerRequests(id) {
		w := q.send(h, token)
		if strings.Contains(allowed, q.operation+" ") {
			require.Less(t, w.Code, 300, "%s: %s", q.operation, w.Body)
			continue
		}
		requireError(t, w, http.StatusForbidden, "forbidden")
		require.NotContains(t, w.Body.String(), "secret")
	}
}

// A principal with the zero Access may do nothing; an API key may do everything with one
// event; a host's policy replaces both.
func TestTriggerAccess(t *testing.T) {
	r := newRig(t, nil)
	id := r.submit(`{"instructions":"secret"}`).String()
	requireTriggerRights(t, r.everything(httpadapter.Bearer(httpadapter.TriggerKeys(r.service)), httpadapter.Options{}), r.key, id,
		"submitApiTrigger listTriggers getTrigger runTrigger cancelTrigger retryTrigger ")

	bare := httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) {
		return httpadapter.Principal{Organization: "acme", Subject: "somebody"}, nil
	})
	requireTriggerRights(t, r.everything(bare, httpadapter.Options{}), "", id, "")

	but := httpadapter.Options{Authorize: func(_ context.Context, _ httpadapter.Principal, action access.Action, _ access.Resource) error {
		if action == access.GetTrigger {
			return httpadapter.ErrForbidden
		}
		return nil
	}}
	requireTriggerRights(t, r.everything(bare, but), "", id,
		"submitApiTrigger listTriggers runTrigger cancelTrigger retryTrigger cancelTriggers retryTriggers ")
}

// The service is told who submits, cancels, retries and runs.
func TestTriggerActor(t *testing.T) {
	r := newRig(t, nil)
	var mu sync.Mutex
	var actors []mortise.Actor
	s, err := trigger.New(trigger.Backend{Store: r.store, Queue: r.queue}, &trigger.Options{
		Env: mortise.Env{Observer: func(_ context.Context, o mortise.Observation) {
			mu.Lock()
			defer mu.Unlock()
			actors = append(actors, o.Actor)
		}},
	})
	require.NoError(t, err)
	auth := httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) {
		return httpadapter.Principal{Organization: "acme", Subject: "somebody", Access: access.Full()}, nil
	})
	r.service = s
	h := r.everything(auth, httpadapter.Options{})
	e, err := s.Submit(t.Context(), "acme", "somebody", trigger.Submission{Instructions: "x", NotBefore: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	requireTriggerRights(t, h, "", e.ID.String(), "submitApiTrigger listTriggers getTrigger runTrigger cancelTrigger retryTrigger cancelTriggers retryTriggers ")
	require.Equal(t, slices.Repeat([]mortise.Actor{"somebody"}, 9), actors, "two events are cancelled and retried at last")
}

// A request for a deleted organization is answered like one with an unknown API key. If the
// host vouches for the caller, a submission is forbidden.
func TestTriggerDeletedOrganization(t *testing.T) {
	r := newRig(t, nil)
	r.submit(`{"instructions":"x"}`)
	for more := true; more; {
		var err error
		more, err = r.service.DeleteOrganization(t.Context(), "acme", "ann")
		require.NoError(t, err)
	}
	unknown := triggerRequests("")[0].send(r.handler, "unknown")
	require.Equal(t, http.StatusUnauthorized, unknown.Code)
	for _, q := range triggerRequests("00000000-0000-0000-0000-000000000001") {
		w := q.send(r.handler, r.key)
		require.Equal(t, http.StatusUnauthorized, w.Code, q.operation)
		require.Equal(t, unknown.Body.String(), w.Body.String(), q.operation)
	}

	// A host may authenticate by itself, and not know of the deletion.
	own := httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) {
		return httpadapter.Principal{Organization: "acme", Subject: "somebody", Access: access.Full()}, nil
	})
	h, err := httpadapter.NewTrigger(r.service, own, &httpadapter.TriggerOptions{History: true})
	require.NoError(t, err)
	w := triggerRequests("")[0].send(h, "")
	require.Equal(t, http.StatusForbidden, w.Code)
	require.Equal(t, `{"error":"forbidden","message":"The organization was deleted, and its ID is never reused. Use another organization."}`, w.Body.String())
	require.Empty(t, w.Header().Get("WWW-Authenticate"))
	require.NotContains(t, r.log.String(), "request failed")
}
