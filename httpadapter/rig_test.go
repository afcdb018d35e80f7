package httpadapter_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// rig is a trigger service on memory behind the adapter, with an organization that may
// submit.
type rig struct {
	t       *testing.T
	service *trigger.Service
	store   *flaky
	queue   *flakyQueue
	handler *httpadapter.Handler
	key     string
	log     *lockedBuffer
}

// flaky fails on demand.
type flaky struct {
	*memory.Trigger
	err    error // of every call
	keyErr error // of key lookups
	dirErr error // of the directory
}

func (f *flaky) Event(ctx context.Context, org string, id uuid.UUID) (trigger.Event, error) {
	if f.err != nil {
		return trigger.Event{}, f.err
	}
	return f.Trigger.Event(ctx, org, id)
}

func (f *flaky) CreateEvent(ctx context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error) {
	if f.err != nil {
		return trigger.Event{}, false, f.err
	}
	return f.Trigger.CreateEvent(ctx, e, since)
}

func (f *flaky) ListEvents(ctx context.Context, org string, q trigger.EventQuery) (mortise.Page[trigger.Event], error) {
	if f.err != nil {
		return mortise.Page[trigger.Event]{}, f.err
	}
	return f.Trigger.ListEvents(ctx, org, q)
}

func (f *flaky) KeyByDigest(ctx context.Context, d [32]byte) (trigger.APIKey, error) {
	if f.keyErr != nil {
		return trigger.APIKey{}, f.keyErr
	}
	return f.Trigger.KeyByDigest(ctx, d)
}

func (f *flaky) Setup(ctx context.Context, org string) (trigger.Organization, error) {
	if f.dirErr != nil {
		return trigger.Organization{}, f.dirErr
	}
	return f.Trigger.Setup(ctx, org)
}

// flakyQueue does not share the store's transaction, so that a failing enqueue is seen.
type flakyQueue struct {
	mortise.Queue
	err error
}

func (q *flakyQueue) Enqueue(ctx context.Context, j mortise.Job) error {
	if q.err != nil {
		return q.err
	}
	return q.Queue.Enqueue(ctx, j)
}

func newRig(t *testing.T, opts *httpadapter.TriggerOptions) *rig {
	t.Helper()
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	r := &rig{t: t, log: new(lockedBuffer)}
	r.store = &flaky{Trigger: db.Trigger().Store.(*memory.Trigger)}
	r.queue = &flakyQueue{Queue: db.Queue(nil)}
	logger := slog.New(slog.NewJSONHandler(r.log, nil))
	r.service, err = trigger.New(trigger.Backend{Store: r.store, Queue: r.queue, Directory: r.store, Keys: r.store}, &trigger.Options{Env: mortise.Env{Logger: logger}})
	require.NoError(t, err)
	r.organize("acme", true, true)
	_, key, err := r.service.IssueKey(t.Context(), "acme", "", "")
	require.NoError(t, err)
	r.key = key.Reveal()
	if opts == nil {
		opts = &httpadapter.TriggerOptions{History: true, Actions: true, NotBefore: true}
	}
	opts.Logger = logger
	r.handler, err = httpadapter.NewTrigger(r.service, httpadapter.Bearer(httpadapter.TriggerKeys(r.service)), opts)
	require.NoError(t, err)
	return r
}

// everything mounts all operations on triggers, bulk operations included, behind one authenticator.
func (r *rig) everything(auth httpadapter.Authenticator, opts httpadapter.Options) http.Handler {
	r.t.Helper()
	one, err := httpadapter.NewTrigger(r.service, auth, &httpadapter.TriggerOptions{Options: opts, History: true, Actions: true})
	require.NoError(r.t, err)
	many, err := httpadapter.NewTriggerBulk(r.service, auth, &opts)
	require.NoError(r.t, err)
	joined, err := httpadapter.Join("", one, many)
	require.NoError(r.t, err)
	return joined
}

var readyCollection = uuid.MustParse("7f1f3c1e-5a0e-4a52-9f0e-0c9a4a3f2b11")

func (r *rig) organize(org string, setUp, ready bool) {
	r.t.Helper()
	require.NoError(r.t, r.service.UpdateOrganization(r.t.Context(), org, "", func(o *trigger.Organization) error {
		o.SetupComplete = setUp
		o.SetCollection(readyCollection, ready)
		return nil
	}))
}

// post sends a body as it should be sent; edits change the request.
func (r *rig) post(body string, edits ...func(*http.Request)) *httptest.ResponseRecorder {
	return r.do(http.MethodPost, "/triggers", strings.NewReader(body), edits...)
}

func (r *rig) get(target string, edits ...func(*http.Request)) *httptest.ResponseRecorder {
	return r.do(http.MethodGet, target, nil, edits...)
}

func (r *rig) do(method, target string, body io.Reader, edits ...func(*http.Request)) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, target, body)
	req.Header.Set("Authorization", "Bearer "+r.key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, edit := range edits {
		edit(req)
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, req)
	return w
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header[http.CanonicalHeaderKey(name)] = []string{value} }
}

func noHeader(name string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Del(name) }
}

// submit posts a body that must be accepted, and returns the event's ID.
func (r *rig) submit(body string, edits ...func(*http.Request)) uuid.UUID {
	r.t.Helper()
	w := r.post(body, edits...)
	require.Equal(r.t, http.StatusAccepted, w.Code, w.Body.String())
	require.Equal(r.t, "application/json", w.Header().Get("Content-Type"))
	var answer map[string]string
	require.NoError(r.t, json.Unmarshal(w.Body.Bytes(), &answer))
	require.Len(r.t, answer, 1)
	id, err := uuid.Parse(answer["trigger_event_id"])
	require.NoError(r.t, err)
	return id
}

// requireError checks an error body: these two keys, this code, some message.
func requireError(t *testing.T, w *httptest.ResponseRecorder, status int, code string) {
	t.Helper()
	require.Equal(t, status, w.Code, w.Body.String())
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	var answer map[string]string
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer), w.Body.String())
	require.Len(t, answer, 2)
	require.Equal(t, code, answer["error"])
	require.NotEmpty(t, answer["message"])
}

// detail is the expected form of one problem: loc joined by dots, type, message.
type detail struct{ loc, typ, msg string }

// requireDetails checks a 422 body: just these problems in this order, and just the three
// keys in each.
func requireDetails(t *testing.T, w *httptest.ResponseRecorder, want ...detail) {
	t.Helper()
	require.Equal(t, http.StatusUnprocessableEntity, w.Code, w.Body.String())
	require.Equal(t, want, details(t, w.Body.Bytes()), w.Body.String())
}

func details(t *testing.T, body []byte) []detail {
	t.Helper()
	var answer struct {
		Detail []map[string]json.RawMessage `json:"detail"`
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&answer), string(body))
	var got []detail
	for _, item := range answer.Detail {
		require.Len(t, item, 3, string(body))
		var loc []json.RawMessage
		var d detail
		require.NoError(t, json.Unmarshal(item["loc"], &loc))
		require.NoError(t, json.Unmarshal(item["type"], &d.typ))
		require.NoError(t, json.Unmarshal(item["msg"], &d.msg))
		parts := make([]string, len(loc))
		for i, part := range loc {
			if json.Unmarshal(part, &parts[i]) != nil {
				parts[i] = string(part)
			}
		}
		d.loc = strings.Join(parts, ".")
		got = append(got, d)
	}
	return got
}
