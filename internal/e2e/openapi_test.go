package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	validation "github.com/pb33f/libopenapi-validator/errors"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// openapiRig is a trigger service that can be made to fail, behind a real server, and the document that describes it.
type openapiRig struct {
	t         *testing.T
	service   *trigger.Service
	queue     trigger.Queue
	server    *httptest.Server
	base      string
	key       string
	validator validator.Validator
	document  []byte
	broken    atomic.Value // string: the op that fails, as triggertest names it
	forbidden atomic.Bool
	answered  map[string]map[string]bool // operationId to status
}

const openapiCollection = "7f1f3c1e-5a0e-4a52-9f0e-0c9a4a3f2b11"

func newOpenAPIRig(t *testing.T) *openapiRig {
	t.Helper()
	r := &openapiRig{t: t, answered: make(map[string]map[string]bool)}
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	faults := &triggertest.Faults{Before: func(op string) error {
		if op == r.broken.Load() {
			return errors.New("broken by the test")
		}
		return nil
	}}
	silent := slog.New(slog.NewTextHandler(io.Discard, nil))
	// The queue is apart from the store, so that an enqueue can fail alone.
	r.queue = struct{ trigger.Queue }{faults.Queue(db.Trigger().Queue(nil))}
	r.service, err = trigger.New(faults.Store(db.Trigger()), r.queue, &trigger.Options{
		Directory: faults.Directory(db.Trigger()), Keys: faults.Keys(db.Trigger()), Logger: silent,
	})
	require.NoError(t, err)
	r.organize(true, true)
	r.key, _, err = r.service.IssueKey(t.Context(), "acme", "")
	require.NoError(t, err)

	h, err := httpadapter.NewTrigger(r.service, httpadapter.Bearer(httpadapter.TriggerKeys(r.service)), &httpadapter.TriggerOptions{
		Options: httpadapter.Options{
			Authorize: func(context.Context, httpadapter.Principal, authmgmt.Action, authmgmt.Resource) error {
				if r.forbidden.Load() {
					return httpadapter.ErrForbidden
				}
				return nil
			},
			MaxBody: 4096, BodyTimeout: 200 * time.Millisecond, Logger: silent,
		},
		History: true, CollectionField: true,
	})
	require.NoError(t, err)
	joined, err := httpadapter.Join("/internal", h)
	require.NoError(t, err)
	r.server = httptest.NewServer(joined)
	t.Cleanup(r.server.Close)
	r.base = r.server.URL + "/internal"

	r.document, err = httpadapter.OpenAPI([]string{r.base}, h)
	require.NoError(t, err)
	parsed, err := libopenapi.NewDocument(r.document)
	require.NoError(t, err)
	v, errs := validator.NewValidator(parsed, config.WithStrictMode(), config.WithFormatAssertions(),
		config.WithStrictIgnorePaths("$.body.context.**", "$.body.triggers[*].context.**", "$.body.outcome.data.**", "$.body.triggers[*].outcome.data.**"))
	require.Empty(t, errs)
	t.Cleanup(v.Release)
	r.validator = v
	return r
}

func (r *openapiRig) organize(setUp, ready bool) {
	r.t.Helper()
	require.NoError(r.t, r.service.UpdateOrganization(r.t.Context(), "acme", func(o *trigger.Organization) error {
		o.SetupComplete = setUp
		o.SetCollection(uuid.MustParse(openapiCollection), ready)
		return nil
	}))
}

// exchange is a request, the answer that is expected, and whether the document allows such a request.
type exchange struct {
	name          string
	method, path  string
	body          string
	header        map[string]string // "" as a value takes a header away
	operation     string
	status        int
	code          string // of an Error
	undocumented  bool   // the document refuses the request, or has no such operation
	broken        string
	forbidden     bool
	before, after func()
}

func (r *openapiRig) request(x exchange) *http.Request {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), x.method, r.base+x.path, strings.NewReader(x.body))
	require.NoError(r.t, err)
	req.Header.Set("Authorization", "Bearer "+r.key)
	if x.method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range x.header {
		if req.Header.Del(name); value != "" {
			req.Header.Set(name, value)
		}
	}
	return req
}

// run sends the request, and holds request and answer against the document.
func (r *openapiRig) run(x exchange) []byte {
	r.t.Helper()
	if x.before != nil {
		x.before()
	}
	r.broken.Store(x.broken)
	r.forbidden.Store(x.forbidden)
	resp, err := r.server.Client().Do(r.request(x))
	r.broken.Store("")
	r.forbidden.Store(false)
	require.NoError(r.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	if x.after != nil {
		x.after()
	}
	require.Equal(r.t, x.status, resp.StatusCode, string(body))
	if x.code != "" {
		var e struct{ Error string }
		require.NoError(r.t, json.Unmarshal(body, &e))
		require.Equal(r.t, x.code, e.Error)
	}

	ok, errs := r.validator.ValidateHttpRequestSync(r.request(x))
	require.Equal(r.t, !x.undocumented, ok, "the document and the adapter disagree about the request: %s", openapiErrors(errs))
	if x.operation != "" {
		r.checkAnswer(x, r.request(x), resp, body)
	}
	return body
}

func (r *openapiRig) checkAnswer(x exchange, req *http.Request, resp *http.Response, body []byte) {
	r.t.Helper()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	ok, errs := r.validator.ValidateHttpResponse(req, resp)
	require.True(r.t, ok, "the answer is not as described: %s\n%s", openapiErrors(errs), body)
	require.Equal(r.t, "application/json", resp.Header.Get("Content-Type"))
	if r.answered[x.operation] == nil {
		r.answered[x.operation] = make(map[string]bool)
	}
	r.answered[x.operation][resp.Status[:3]] = true
	if x.status == http.StatusUnauthorized {
		require.Equal(r.t, "Bearer", resp.Header.Get("WWW-Authenticate"))
	}
}

func openapiErrors(errs []*validation.ValidationError) string {
	var b strings.Builder
	for _, e := range errs {
		b.WriteString("\n" + e.Message + ": " + e.Reason)
		for _, s := range e.SchemaValidationErrors {
			b.WriteString("\n  " + s.Reason)
		}
	}
	return b.String()
}

func TestOpenAPIDocumentIsValid(t *testing.T) {
	ok, errs := newOpenAPIRig(t).validator.ValidateDocument()
	require.True(t, ok, openapiErrors(errs))
}

// Every operation is asked in every way that gives another status. What the adapter accepts the document allows, what the
// document refuses the adapter refuses, and every answer is one that the document describes. In the end, every status that the
// document describes has been seen.
func TestOpenAPIHoldsForRealRequests(t *testing.T) {
	r := newOpenAPIRig(t)
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

	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			Responses   map[string]any
		}
	}
	require.NoError(t, json.Unmarshal(r.document, &doc))
	for _, methods := range doc.Paths {
		for _, op := range methods {
			require.Equal(t, slices.Sorted(maps.Keys(op.Responses)), slices.Sorted(maps.Keys(r.answered[op.OperationID])), op.OperationID)
		}
	}
}

func (r *openapiRig) submissions() []exchange {
	const fine = `{"instructions":"Describe the export button"}`
	key := map[string]string{"Idempotency-Key": "build-1742"}
	list := []exchange{
		{name: "instructions", body: fine, status: 202},
		{name: "context", body: `{"instructions":"a","context":{"any":[1,null,{"x":1.5e3}],"":true}}`, status: 202},
		{name: "collection", body: `{"instructions":"a","doc_collection_id":"` + openapiCollection + `"}`, status: 202},
		{name: "key", body: fine, header: key, status: 202},
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
		{name: "store down", body: fine, broken: "Store.Create", status: 503, code: "runtime_store_unavailable"},
		{name: "directory down", body: fine, broken: "Directory.Organization", status: 503, code: "runtime_store_unavailable"},
		{name: "keys down", body: fine, broken: "Keys.KeyByDigest", status: 503, code: "runtime_store_unavailable"},
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
	return list
}

// history works through what was submitted. One event is completed, with an outcome, and the others fail.
func (r *openapiRig) history() (completed, failed string) {
	r.t.Helper()
	done := false
	worker, err := trigger.NewWorker(r.service, trigger.ProcessorFunc(func(context.Context, trigger.Event) (trigger.Outcome, error) {
		if done {
			return trigger.Outcome{}, trigger.Permanent(errors.New("the guide is locked"))
		}
		done = true
		return trigger.Outcome{Summary: "Changed 2 pages.", Data: json.RawMessage(`{"pages":["a",2]}`)}, nil
	}), nil)
	require.NoError(r.t, err)
	ctx, cancel := context.WithCancel(r.t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- worker.Run(ctx) }()
	require.Eventually(r.t, func() bool {
		for e, err := range r.service.All(ctx, "acme", trigger.Query{}) {
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
	}, 20*time.Second, 10*time.Millisecond)
	cancel()
	<-stopped
	require.NotEmpty(r.t, completed)
	require.NotEmpty(r.t, failed)
	_, err = r.service.Submit(r.t.Context(), "acme", trigger.Submission{Instructions: "waits", Context: json.RawMessage(`{"a":1}`), Source: "nightly"})
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
		{operation: list, name: "store down", path: "/triggers", broken: "Store.List", status: 503, code: "runtime_store_unavailable"},
		{operation: get, name: "completed", path: "/triggers/" + completed, status: 200},
		{operation: get, name: "failed", path: "/triggers/" + failed, status: 200},
		{operation: get, name: "no credentials", path: "/triggers/" + completed, header: noKey, status: 401, code: "authentication_failed", undocumented: true},
		{operation: get, name: "forbidden", path: "/triggers/" + completed, forbidden: true, status: 403, code: "forbidden"},
		{operation: get, name: "unknown", path: "/triggers/0199f2c4-5b1e-7c3a-9d52-6a1f0e8b7c44", status: 404, code: "not_found"},
		{operation: get, name: "no UUID", path: "/triggers/17", status: 422, undocumented: true},
		{operation: get, name: "store down", path: "/triggers/" + completed, broken: "Store.Get", status: 503, code: "runtime_store_unavailable"},
	}
}

// What belongs to no operation is answered with the examples that the document gives for it.
func TestOpenAPIOutsideTheOperations(t *testing.T) {
	r := newOpenAPIRig(t)
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
