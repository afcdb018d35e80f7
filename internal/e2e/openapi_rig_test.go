package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/internal/e2e/openapi"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// openapiRig is a service that can be made to fail, behind a real server, and the
// document that describes it.
type openapiRig struct {
	t         testing.TB
	server    *httptest.Server
	base      string
	key       string
	described *openapi.Document
	document  []byte
	broken    atomic.Value // string: the method that fails
	forbidden atomic.Bool
	answered  map[string]map[string]bool // operationId to status
}

// fault is the error of a method if it is to fail.
func (r *openapiRig) fault(method string) error {
	if method == r.broken.Load() {
		return errors.New("broken by the test")
	}
	return nil
}

// options make what every operation can answer short: small bodies and little patience.
func (r *openapiRig) options() httpadapter.Options {
	return httpadapter.Options{MaxBody: 4096, BodyTimeout: time.Second, Logger: silent}
}

// authorize forbids what the test wants to be forbidden.
func (r *openapiRig) authorize(context.Context, httpadapter.Principal, access.Action, access.Resource) error {
	if r.forbidden.Load() {
		return httpadapter.ErrForbidden
	}
	return nil
}

var silent = slog.New(slog.NewTextHandler(io.Discard, nil))

// serve mounts the handlers of a service, and reads its document.
func (r *openapiRig) serve(handlers ...*httpadapter.Handler) {
	r.t.Helper()
	joined, err := httpadapter.Join("/internal", handlers...)
	require.NoError(r.t, err)
	r.server = httptest.NewServer(joined)
	r.t.Cleanup(r.server.Close)
	r.base = r.server.URL + "/internal"

	r.document, err = httpadapter.OpenAPI([]string{r.base}, handlers...)
	require.NoError(r.t, err)
	r.described, err = openapi.New(r.document)
	require.NoError(r.t, err)
}

// requireEveryStatus checks that every status which the document describes has been seen.
func (r *openapiRig) requireEveryStatus() {
	r.t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			Responses   map[string]any
		}
	}
	require.NoError(r.t, json.Unmarshal(r.document, &doc))
	for path, methods := range doc.Paths {
		for method, op := range methods {
			if op.Responses["429"] != nil && !r.answered[op.OperationID]["429"] {
				r.tooOften(op.OperationID, strings.ToUpper(method), path)
			}
			require.Equal(r.t, slices.Sorted(maps.Keys(op.Responses)), slices.Sorted(maps.Keys(r.answered[op.OperationID])), op.OperationID)
		}
	}
}

// tooOften sends a request that the authenticator refuses for the time being.
func (r *openapiRig) tooOften(operation, method, path string) {
	r.t.Helper()
	path = regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, "1")
	x := exchange{operation: operation, method: method, path: path, header: bearer("hasty"), status: http.StatusTooManyRequests}
	resp, err := r.server.Client().Do(r.request(x))
	require.NoError(r.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	require.Equal(r.t, x.status, resp.StatusCode, operation)
	r.checkAnswer(x, r.request(x), resp, body)
}

// unlessHasty refuses the token "hasty" for the time being.
func unlessHasty(auth httpadapter.Authenticator) httpadapter.Authenticator {
	return httpadapter.AuthenticatorFunc(func(r *http.Request) (httpadapter.Principal, error) {
		if r.Header.Get("Authorization") == "Bearer hasty" {
			return httpadapter.Principal{}, &httpadapter.RateLimitError{RetryAfter: time.Second}
		}
		return auth.Authenticate(r)
	})
}

// triggerRig is the trigger service.
type triggerRig struct {
	*openapiRig
	service *trigger.Service
	queue   mortise.Queue
}

const openapiCollection = "7f1f3c1e-5a0e-4a52-9f0e-0c9a4a3f2b11"

func newTriggerRig(t *testing.T) *triggerRig {
	t.Helper()
	r := &triggerRig{openapiRig: &openapiRig{t: t, answered: make(map[string]map[string]bool)}}
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	faults := &triggertest.Faults{Before: r.fault}
	// The queue is apart from the store, so that an enqueue can fail alone.
	r.queue = struct{ mortise.Queue }{faults.Queue(db.Queue(nil))}
	r.service, err = trigger.New(trigger.Backend{Store: faults.Store(db.Trigger().Store), Queue: r.queue, Directory: faults.Directory(db.Trigger().Store.(*memory.Trigger)), Keys: faults.Keys(db.Trigger().Store.(*memory.Trigger))}, &trigger.Options{
		Env: mortise.Env{Logger: silent},
	})
	require.NoError(t, err)
	r.organize(true, true)
	_, key, err := r.service.IssueKey(t.Context(), "acme", "", "")
	require.NoError(t, err)
	r.key = key.Reveal()

	opts := r.options()
	opts.Authorize = r.authorize
	auth := unlessHasty(httpadapter.Bearer(httpadapter.TriggerKeys(r.service)))
	one, err := httpadapter.NewTrigger(r.service, auth, &httpadapter.TriggerOptions{
		Options: opts, History: true, Actions: true, NotBefore: true, CollectionField: true,
	})
	require.NoError(t, err)
	many, err := httpadapter.NewTriggerBulk(r.service, auth, &opts)
	require.NoError(t, err)
	r.serve(one, many)
	return r
}

func (r *triggerRig) organize(setUp, ready bool) {
	r.t.Helper()
	require.NoError(r.t, r.service.UpdateOrganization(r.t.Context(), "acme", "", func(o *trigger.Organization) error {
		o.SetupComplete = setUp
		o.SetCollection(uuid.MustParse(openapiCollection), ready)
		return nil
	}))
}

// exchange is a request, the answer that is expected, and whether the document allows
// such a request.
type exchange struct {
	name          string
	method, path  string
	body          string
	header        map[string]string // "" as a value takes a header away
	operation     string
	status        int
	code          string // "error" of the body
	mediaType     string // "" for JSON, "none" for an answer without a body
	challenge     string // of a 401; "" for a bearer token
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
	if x.body != "" || x.method == http.MethodPost && x.path == "/triggers" {
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

	err = r.described.Request(r.request(x))
	require.Equal(r.t, x.undocumented, err != nil, "the document and the adapter disagree about the request: %v", err)
	if x.operation != "" {
		r.checkAnswer(x, r.request(x), resp, body)
	}
	return body
}

func (r *openapiRig) checkAnswer(x exchange, req *http.Request, resp *http.Response, body []byte) {
	r.t.Helper()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	require.NoError(r.t, r.described.Response(req, resp), string(body))
	mediaType := cmp.Or(x.mediaType, "application/json")
	if x.mediaType == "none" {
		mediaType = ""
		require.Empty(r.t, body)
	}
	require.Equal(r.t, mediaType, resp.Header.Get("Content-Type"))
	if r.answered[x.operation] == nil {
		r.answered[x.operation] = make(map[string]bool)
	}
	r.answered[x.operation][resp.Status[:3]] = true
	if x.status == http.StatusUnauthorized {
		challenge := "Bearer"
		if resp.Request.Header.Get("Authorization") != "" {
			challenge = `Bearer error="invalid_token"`
		}
		require.Equal(r.t, cmp.Or(x.challenge, challenge), resp.Header.Get("WWW-Authenticate"))
	}
}
