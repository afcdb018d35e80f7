package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/trigger"
)

func TestOpenAPIDocumentIsValid(t *testing.T) {
	require.NoError(t, newTriggerRig(t).described.Valid())
}

// Every operation is asked in every way that gives another status. What the adapter
// accepts the document allows, what the document refuses the adapter refuses, and every
// answer is one that the document describes. In the end, every status that the document
// describes has been seen.
func TestOpenAPIHoldsForRealRequests(t *testing.T) {
	t.Parallel() // it waits for bodies that do not arrive
	r := newTriggerRig(t)
	for _, x := range r.submissions() {
		t.Run("submit/"+x.name, func(t *testing.T) {
			r.t = t
			x.method, x.path = http.MethodPost, "/triggers"
			x.operation = "submitApiTrigger"
			r.run(x)
		})
	}
	t.Run("submit/slow body", func(t *testing.T) {
		r.t = t
		x := exchange{method: http.MethodPost, path: "/triggers", operation: "submitApiTrigger", status: http.StatusRequestTimeout}
		req := r.request(x)
		slow, hold := io.Pipe()
		defer hold.Close()
		req.Body, req.ContentLength = slow, 100
		resp, err := r.server.Client().Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, x.status, resp.StatusCode)
		r.checkAnswer(x, r.request(x), resp, body)
	})
	r.t = t
	completed, failed := r.history()
	for _, x := range openapiReads(completed, failed) {
		t.Run(x.operation+"/"+x.name, func(t *testing.T) {
			r.t = t
			x.method = http.MethodGet
			r.run(x)
		})
	}

	for _, x := range openapiActions(completed, failed) {
		t.Run(x.operation+"/"+x.name, func(t *testing.T) {
			r.t = t
			x.method = http.MethodPost
			r.run(x)
		})
	}

	r.t = t
	r.requireEveryStatus()
}

func (r *triggerRig) submissions() []exchange {
	const fine = `{"instructions":"Describe the export button"}`
	key := map[string]string{"Idempotency-Key": "build-1742"}
	list := []exchange{
		{name: "instructions", body: fine, status: 202},
		{name: "context", body: `{"instructions":"a","context":{"any":[1,null,{"x":1.5e3}],"":true}}`, status: 202},
		{name: "collection", body: `{"instructions":"a","doc_collection_id":"` + openapiCollection + `"}`, status: 202},
		{name: "key", body: fine, header: key, status: 202},
		{name: "not before", body: fine, header: map[string]string{"Trigger-Not-Before": "2020-02-29T12:00:00+01:00"}, status: 202},
		{name: "repeat", body: fine, header: key, status: 202},
		{name: "key reused", body: `{"instructions":"other"}`, header: key, status: 409, code: "idempotency_key_reused"},
		{name: "not set up", body: fine, status: 409, code: "org_not_configured",
			before: func() { r.organize(false, true) }, after: func() { r.organize(true, true) }},
		{name: "no collection", body: fine, status: 409, code: "no_eligible_doc_collection",
			before: func() { r.organize(true, false) }, after: func() { r.organize(true, true) }},
		{name: "other collection", body: `{"instructions":"a","doc_collection_id":"00000000-5a0e-4a52-9f0e-0c9a4a3f2b11"}`, status: 409,
			code: "no_eligible_doc_collection"},
		{name: "no credentials", body: fine, header: map[string]string{"Authorization": ""}, status: 401, code: "authentication_failed", undocumented: true},
		{name: "unknown key", body: fine, header: map[string]string{"Authorization": "Bearer sk-unknown"}, status: 401, code: "authentication_failed"},
		{name: "forbidden", body: fine, forbidden: true, status: 403, code: "forbidden"},
		{name: "large", body: `{"instructions":"` + strings.Repeat("a", 4096) + `"}`, status: 413, code: "payload_too_large"},
		{name: "text", body: fine, header: map[string]string{"Content-Type": "text/plain"}, status: 415, code: "unsupported_media_type", undocumented: true},
		{name: "queue down", body: fine, broken: "Queue.Enqueue", status: 500, code: "enqueue_failed"},
		{name: "store down", body: fine, broken: "Store.CreateEvent", status: 503, code: "runtime_store_unavailable"},
		{name: "directory down", body: fine, broken: "Directory.Setup", status: 503, code: "runtime_store_unavailable"},
		{name: "keys down", body: fine, broken: "APIKeys.KeyByDigest", status: 503, code: "runtime_store_unavailable"},
	}
	for name, body := range map[string]string{
		"empty instructions": `{"instructions":""}`, "no instructions": `{}`, "null instructions": `{"instructions":null}`,
		"number": `{"instructions":1}`, "unknown field": `{"instructions":"a","priority":1}`, "context list": `{"instructions":"a","context":[]}`,
		"null context": `{"instructions":"a","context":null}`, "malformed UUID": `{"instructions":"a","doc_collection_id":"7f1f"}`,
		"null UUID": `{"instructions":"a","doc_collection_id":null}`, "list": `[]`, "no JSON": `{"instructions":`, "no body": ``,
	} {
		list = append(list, exchange{name: "invalid, " + name, body: body, status: 422, undocumented: true})
	}
	for name, value := range map[string]string{"space": "a b", "long": strings.Repeat("k", 256)} {
		list = append(list, exchange{name: "invalid key, " + name, body: fine, header: map[string]string{"Idempotency-Key": value}, status: 422, undocumented: true})
	}
	for _, value := range []string{"2026-11-01", "2026-11-01T00:00:00", "tomorrow"} {
		list = append(list, exchange{name: "invalid time, " + value, body: fine, header: map[string]string{"Trigger-Not-Before": value}, status: 422, undocumented: true})
	}
	return list
}

// history works through what was submitted. One event is completed, with an outcome, and
// the others fail.
func (r *triggerRig) history() (completed, failed string) {
	r.t.Helper()
	var done atomic.Bool
	worker, err := trigger.NewWorker(r.service, func(context.Context, trigger.Event) (trigger.Outcome, error) {
		if done.Swap(true) {
			return trigger.Outcome{}, trigger.Permanent(errors.New("the guide is locked"))
		}
		return trigger.Outcome{Summary: "Changed 2 pages.", Data: json.RawMessage(`{"pages":["a",2]}`)}, nil
	}, nil)
	require.NoError(r.t, err)
	ctx, cancel := context.WithCancel(r.t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- worker.Run(ctx) }()
	require.Eventually(r.t, func() bool {
		for e, err := range r.service.Events(ctx, "acme", trigger.EventQuery{}) {
			if err != nil || !e.Status.Finished() {
				return false
			}
			if e.Status == trigger.StatusCompleted {
				completed = e.ID.String()
			} else if e.Attempts > 0 {
				failed = e.ID.String()
			}
		}
		return true
	}, patience, 10*time.Millisecond)
	cancel()
	<-stopped
	require.NotEmpty(r.t, completed)
	require.NotEmpty(r.t, failed)
	_, err = r.service.Submit(r.t.Context(), "acme", "", trigger.Submission{Instructions: "waits", Context: json.RawMessage(`{"a":1}`), Source: "nightly"})
	require.NoError(r.t, err)
	return completed, failed
}

func openapiReads(completed, failed string) []exchange {
	noKey := map[string]string{"Authorization": ""}
	const list, get = "listTriggers", "getTrigger"
	return []exchange{
		{operation: list, name: "first page", path: "/triggers", status: 200},
		{operation: list, name: "all parameters", path: "/triggers?limit=2&status=failed&source=api&from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00.5%2B02:00", status: 200},
		{operation: list, name: "nothing", path: "/triggers?source=none", status: 200},
		{operation: list, name: "no credentials", path: "/triggers", header: noKey, status: 401, code: "authentication_failed", undocumented: true},
		{operation: list, name: "forbidden", path: "/triggers", forbidden: true, status: 403, code: "forbidden"},
		{operation: list, name: "limit 0", path: "/triggers?limit=0", status: 422, undocumented: true},
		{operation: list, name: "limit 1001", path: "/triggers?limit=1001", status: 422, undocumented: true},
		{operation: list, name: "limit no number", path: "/triggers?limit=many", status: 422, undocumented: true},
		{operation: list, name: "status", path: "/triggers?status=done", status: 422, undocumented: true},
		{operation: list, name: "cursor", path: "/triggers?cursor=x", status: 422}, // only the service knows its cursors
		{operation: list, name: "store down", path: "/triggers", broken: "Store.ListEvents", status: 503, code: "runtime_store_unavailable"},
		{operation: get, name: "completed", path: "/triggers/" + completed, status: 200},
		{operation: get, name: "failed", path: "/triggers/" + failed, status: 200},
		{operation: get, name: "no credentials", path: "/triggers/" + completed, header: noKey, status: 401, code: "authentication_failed", undocumented: true},
		{operation: get, name: "forbidden", path: "/triggers/" + completed, forbidden: true, status: 403, code: "forbidden"},
		{operation: get, name: "unknown", path: "/triggers/0199f2c4-5b1e-7c3a-9d52-6a1f0e8b7c44", status: 404, code: "not_found"},
		{operation: get, name: "no UUID", path: "/triggers/17", status: 422, undocumented: true},
		{operation: get, name: "store down", path: "/triggers/" + completed, broken: "Store.Event", status: 503, code: "runtime_store_unavailable"},
	}
}

// openapiActions change events, and the last of them all that there are.
func openapiActions(completed, failed string) (list []exchange) {
	for _, action := range []struct{ operation, name, conflict string }{
		{"retryTrigger", "retry", "not_retryable"}, {"runTrigger", "run", "not_runnable"}, {"cancelTrigger", "cancel", "not_cancellable"},
	} {
		at := func(id string) string { return "/triggers/" + id + "/" + action.name }
		list = append(list, []exchange{
			{name: "fine", path: at(failed), status: 200},
			{name: "completed", path: at(completed), status: 409, code: action.conflict},
			{name: "no credentials", path: at(failed), header: map[string]string{"Authorization": ""}, status: 401, code: "authentication_failed", undocumented: true},
			{name: "forbidden", path: at(failed), forbidden: true, status: 403, code: "forbidden"},
			{name: "unknown", path: at("0199f2c4-5b1e-7c3a-9d52-6a1f0e8b7c44"), status: 404, code: "not_found"},
			{name: "no UUID", path: at("17"), status: 422, undocumented: true},
			{name: "store down", path: at(failed), broken: "Store.UpdateEvent", status: 503, code: "runtime_store_unavailable"},
		}...)
		for i := len(list) - 7; i < len(list); i++ {
			list[i].operation = action.operation
		}
	}
	for operation, path := range map[string]string{"cancelTriggers": "/triggers/cancel", "retryTriggers": "/triggers/retry"} {
		list = append(list, []exchange{
			{operation: operation, name: "all", path: path, status: 200},
			{operation: operation, name: "all parameters", path: path + "?status=superseded&source=api&from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00.5%2B02:00", status: 200},
			{operation: operation, name: "no credentials", path: path, header: map[string]string{"Authorization": ""}, status: 401, code: "authentication_failed", undocumented: true},
			{operation: operation, name: "forbidden", path: path, forbidden: true, status: 403, code: "forbidden"},
			{operation: operation, name: "status", path: path + "?status=done", status: 422, undocumented: true},
			{operation: operation, name: "store down", path: path, broken: "Store.ListEvents", status: 503, code: "runtime_store_unavailable"},
		}...)
	}
	return list
}

// What belongs to no operation is answered with the examples that the document gives for
// it.
func TestOpenAPIOutsideTheOperations(t *testing.T) {
	r := newTriggerRig(t)
	var doc struct {
		Components struct {
			Schemas map[string]struct{ Examples []json.RawMessage }
		}
	}
	require.NoError(t, json.Unmarshal(r.document, &doc))
	described := doc.Components.Schemas["Error"].Examples
	require.Len(t, described, 2)
	missing := r.run(exchange{method: "GET", path: "/nowhere", status: 404, code: "not_found", undocumented: true})
	require.JSONEq(t, string(described[0]), string(missing))
	wrong := r.run(exchange{method: "DELETE", path: "/triggers", status: 405, code: "method_not_allowed", undocumented: true})
	require.JSONEq(t, string(described[1]), string(wrong))
}
