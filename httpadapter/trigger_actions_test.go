package httpadapter_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/trigger"
)

// Each action on an event in each state: the status of the event then, or a code.
func TestTriggerActions(t *testing.T) {
	r := newRig(t, nil)
	n := 0
	for action, want := range map[string]map[trigger.Status]string{
		"cancel": {"received": "cancelled", "processing": "cancelled", "completed": "not_cancellable", "failed": "not_cancellable",
			"cancelled": "cancelled", "superseded": "not_cancellable"},
		"retry": {"received": "not_retryable", "processing": "not_retryable", "completed": "not_retryable", "failed": "received",
			"cancelled": "received", "superseded": "received"},
		"run": {"received": "received", "processing": "processing", "completed": "not_runnable", "failed": "not_runnable",
			"cancelled": "not_runnable", "superseded": "not_runnable"},
	} {
		for _, status := range trigger.Statuses() {
			n++
			e := r.put(n, func(e *trigger.Event) {
				if e.Status = status; !status.Finished() {
					e.DueAt = time.Now().Add(time.Hour)
				}
			})
			path := "/triggers/" + e.ID.String()
			w := r.do(http.MethodPost, path+"/"+action, nil)
			if strings.HasPrefix(want[status], "not_") {
				requireError(t, w, http.StatusConflict, want[status])
				continue
			}
			require.Equal(t, http.StatusOK, w.Code, "%s: %s", path, w.Body)
			require.Equal(t, r.get(path).Body.String(), w.Body.String())
			require.Contains(t, w.Body.String(), `"status":"`+want[status]+`"`)
		}
	}

	fine := "/triggers/" + r.submit(`{"instructions":"x"}`).String()
	foreign := r.put(100, func(e *trigger.Event) { e.Organization = "other" })
	for _, action := range []string{"/cancel", "/retry", "/run"} {
		unknown := r.do(http.MethodPost, "/triggers/00000000-0000-4000-8000-000000000000"+action, nil)
		requireError(t, unknown, http.StatusNotFound, "not_found")
		require.Equal(t, unknown.Body.String(), r.do(http.MethodPost, "/triggers/"+foreign.ID.String()+action, nil).Body.String())
		requireDetails(t, r.do(http.MethodPost, "/triggers/xyz"+action, nil), detail{"path.id", "uuid_parsing",
			"Input should be a valid UUID, invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found `x` at 1"})
		requireError(t, r.get(fine+action), http.StatusMethodNotAllowed, "method_not_allowed")
		requireError(t, r.do(http.MethodPost, fine+action, nil, noHeader("Authorization")), http.StatusUnauthorized, "authentication_failed")
	}
	require.Equal(t, http.StatusOK, r.do(http.MethodPost, fine+"/run", strings.NewReader("no JSON"), header("Content-Type", "text/plain")).Code, "no body is read")

	few := newRig(t, &httpadapter.TriggerOptions{History: true})
	id := few.submit(`{"instructions":"x"}`).String()
	requireError(t, few.do(http.MethodPost, "/triggers/"+id+"/cancel", nil), http.StatusNotFound, "not_found")
}

// Many events are changed by the filters of the list.
func TestTriggerBulk(t *testing.T) {
	r := newRig(t, nil)
	h := r.everything(httpadapter.AuthenticatorFunc(func(req *http.Request) (httpadapter.Principal, error) {
		if req.Header.Get("Authorization") == "" {
			return httpadapter.Principal{}, httpadapter.ErrUnauthenticated
		}
		return httpadapter.Principal{Organization: "acme", Access: access.Full()}, nil
	}), httpadapter.Options{})
	ask := func(target string) *httptest.ResponseRecorder {
		return triggerRequest{method: "POST", path: "/triggers/" + target}.send(h, "x")
	}
	change := func(target string, changed int, more bool) {
		t.Helper()
		w := ask(target)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		want, err := json.Marshal(map[string]any{"changed": changed, "more": more})
		require.NoError(t, err)
		require.Equal(t, string(want), w.Body.String(), target)
	}
	for n := range 1003 {
		r.put(n, nil)
	}
	r.put(2000, func(e *trigger.Event) { e.Source = "nightly" })
	r.put(2001, func(e *trigger.Event) { e.Status = trigger.StatusCompleted })
	r.put(2002, func(e *trigger.Event) { e.Status = trigger.StatusFailed })
	r.put(2003, func(e *trigger.Event) { e.Organization = "other" })
	change("cancel?source=nightly", 1, false)
	w := ask("cancel?stauts=failed&limit=1")
	require.Equal(t, http.StatusUnprocessableEntity, w.Code, "a misspelt filter would select everything")
	require.JSONEq(t, `{"detail":[
		{"loc":["query","limit"],"msg":"Extra inputs are not permitted","type":"extra_forbidden"},
		{"loc":["query","stauts"],"msg":"Extra inputs are not permitted","type":"extra_forbidden"}]}`, w.Body.String())
	w = triggerRequest{method: "POST", path: "/triggers/cancel", body: `{"status":"failed"}`}.send(h, "x")
	require.Equal(t, http.StatusUnprocessableEntity, w.Code, "filters in a body would select everything")
	change("cancel?to=2026-11-01T00:00:02Z&status=received", 2, false)
	change("cancel?status=completed", 0, false)
	change("cancel", 1000, true)
	change("cancel", 1, false)
	change("cancel", 0, false)
	change("retry?status=failed", 1, false)
	change("retry?from=2026-11-01T00:33:20Z", 1, false)
	other, err := r.service.ListEvents(t.Context(), "other", trigger.EventQuery{})
	require.NoError(t, err)
	require.Equal(t, trigger.StatusReceived, other.Items[0].Status)

	for _, target := range []string{"cancel", "retry"} {
		requireDetails(t, ask(target+"?status=done&from=monday"),
			detail{"query.status", "enum", "Input should be 'received', 'processing', 'completed', 'failed', 'cancelled' or 'superseded'"},
			detail{"query.from", "datetime_parsing", "Input should be a valid datetime, in the form 2006-01-02T15:04:05Z of RFC 3339"})
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", "/triggers/"+target, nil))
		requireError(t, w, http.StatusUnauthorized, "authentication_failed")
		require.Contains(t, w.Body.String(), "The access token is missing")
		w = triggerRequest{method: "PUT", path: "/triggers/" + target}.send(h, "x")
		requireError(t, w, http.StatusMethodNotAllowed, "method_not_allowed")
	}
	r.store.err = errors.New("down")
	requireError(t, ask("cancel"), http.StatusServiceUnavailable, "runtime_store_unavailable")
	_, err = httpadapter.NewTriggerBulk(nil, nil, nil)
	require.Error(t, err)
	_, err = httpadapter.NewTriggerBulk(r.service, nil, nil)
	require.Error(t, err)
}

// Trigger-Not-Before is a part of the request, and says when an event is due.
func TestNotBefore(t *testing.T) {
	r := newRig(t, nil)
	const name, body = "Trigger-Not-Before", `{"instructions":"x"}`
	in := func(d time.Duration) string { return time.Now().Add(d).Format(time.RFC3339Nano) }
	due := func(edits ...func(*http.Request)) time.Duration {
		t.Helper()
		e, err := r.service.Event(t.Context(), "acme", r.submit(body, edits...))
		require.NoError(t, err)
		return e.DueAt.Sub(e.SubmittedAt)
	}
	require.Zero(t, due())
	require.Zero(t, due(header(name, "0001-01-01T00:00:00Z")))
	require.Zero(t, due(header(name, "2020-02-29t12:00:00.5+02:00")), "it has passed")
	require.InDelta(t, time.Hour, due(header(name, in(time.Hour))), float64(time.Minute))
	require.InDelta(t, 364*24*time.Hour, due(header(name, in(364*24*time.Hour))), float64(time.Minute))

	at := func(typ, msg string) detail { return detail{"header." + name, typ, msg} }
	malformed := at("datetime_parsing", "Input should be a valid datetime, in the form 2006-01-02T15:04:05Z of RFC 3339")
	empty := detail{"body.instructions", "string_too_short", "String should have at least 1 character"}
	for value, want := range map[string]detail{
		"": malformed, "tomorrow": malformed, "1793491200": malformed, "2026-11-01": malformed, "2026-11-01T00:00:00": malformed,
		"2026-02-30T00:00:00Z": malformed, "2026-11-01T00:00:00Z, 2026-11-01T00:00:00Z": malformed, "2026-11-01T00:00:00 02:00": malformed,
		in(366 * 24 * time.Hour): at("value_error", "Value error, must be at most a year ahead"),
	} {
		requireDetails(t, r.post(body, header(name, value)), want)
		requireDetails(t, r.post(`{"instructions":""}`, header(name, value)), want, empty)
	}
	twice := func(req *http.Request) { req.Header[name] = []string{in(time.Hour), in(time.Hour)} }
	requireDetails(t, r.post(body, twice), at("string_type", "Input should be a valid string, given once"))

	extra := func(name string) detail {
		return detail{"header." + name, "extra_forbidden", "Extra inputs are not permitted"}
	}
	requireDetails(t, r.post(`{"instructions":""}`, header("Idempotency-Key", ""), header(name, ""), header("Supersede-Key", "x")),
		detail{"header.idempotency-key", "string_too_short", "String should have at least 1 character"}, malformed, extra("Supersede-Key"), empty)
	without := newRig(t, &httpadapter.TriggerOptions{})
	requireDetails(t, without.post(body, header(name, "x"), header("Supersede-Key", "")), extra(name), extra("Supersede-Key"))

	key, hour := header("Idempotency-Key", "k"), header(name, in(time.Hour))
	id := r.submit(body, key, hour)
	require.Equal(t, id, r.submit(body, key, hour))
	requireError(t, r.post(body, key), http.StatusConflict, "idempotency_key_reused")
	requireError(t, r.post(body, key, header(name, in(time.Hour))), http.StatusConflict, "idempotency_key_reused")
}
