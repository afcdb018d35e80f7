package httpadapter_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/trigger"
)

// triggerRequest is a request that succeeds if it may.
type triggerRequest struct{ operation, method, path, body string }

// triggerRequests has one of each operation, on an event that there is.
func triggerRequests(id string) []triggerRequest {
	return []triggerRequest{
		{"submitApiTrigger", "POST", "/triggers", `{"instructions":"x"}`},
		{"listTriggers", "GET", "/triggers", ""},
		{"getTrigger", "GET", "/triggers/" + id, ""},
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
	h, err := httpadapter.NewTrigger(r.service, httpadapter.Bearer(httpadapter.AccessTokens(credentials.service)),
		&httpadapter.TriggerOptions{History: true})
	require.NoError(t, err)
	id := r.submit(`{"instructions":"secret"}`).String()
	viewer := "listTriggers getTrigger "
	editor := viewer + "submitApiTrigger "
	for _, c := range []struct {
		allowed string
		role    access.Role
	}{
		{viewer, access.Role{ID: "viewer"}},
		{editor, access.Role{ID: "editor"}},
		{editor, access.Role{ID: "admin"}},
		{viewer, access.Role{ID: "viewer", Resource: "trigger"}},
		{editor, access.Role{ID: "editor", Resource: "trigger"}},
		{"getTrigger ", access.Role{ID: "admin", Resource: "trigger", ResourceInstance: id}},
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

// A principal whose access nobody has set may do nothing; an API key may do everything; a
// host's policy replaces both.
func TestTriggerAccess(t *testing.T) {
	const all = "submitApiTrigger listTriggers getTrigger "
	r := newRig(t, nil)
	id := r.submit(`{"instructions":"secret"}`).String()
	requireTriggerRights(t, r.handler, r.key, id, all)

	bare := httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) {
		return httpadapter.Principal{Organization: "acme", Subject: "somebody"}, nil
	})
	opts := &httpadapter.TriggerOptions{History: true}
	h, err := httpadapter.NewTrigger(r.service, bare, opts)
	require.NoError(t, err)
	requireTriggerRights(t, h, "", id, "")

	opts.Authorize = func(_ context.Context, _ httpadapter.Principal, action access.Action, _ access.Resource) error {
		if action == access.GetTrigger {
			return httpadapter.ErrForbidden
		}
		return nil
	}
	h, err = httpadapter.NewTrigger(r.service, bare, opts)
	require.NoError(t, err)
	requireTriggerRights(t, h, "", id, "submitApiTrigger listTriggers ")
}

// The service is told who submits.
func TestTriggerActor(t *testing.T) {
	r := newRig(t, nil)
	var actors []mortise.Actor
	s, err := trigger.New(trigger.Backend{Store: r.store, Queue: r.queue}, &trigger.Options{
		Env: mortise.Env{Observer: func(_ context.Context, o mortise.Observation) { actors = append(actors, o.Actor) }},
	})
	require.NoError(t, err)
	auth := httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) {
		return httpadapter.Principal{Organization: "acme", Subject: "somebody", Access: access.Full()}, nil
	})
	h, err := httpadapter.NewTrigger(s, auth, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, triggerRequests("")[0].send(h, "").Code)
	require.Equal(t, []mortise.Actor{"somebody"}, actors)
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
