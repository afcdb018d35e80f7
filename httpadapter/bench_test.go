package httpadapter_test

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/trigger"
)

const benchBody = `{"instructions":"Update the API reference: the endpoint /v2/orders now takes a currency field.","context":{"repo":"acme/shop","commit":"9f0e0c9a4a3f2b11","author":{"name":"Ada","id":17},"labels":["api","docs"],"urgent":false,"ratio":0.25}}`

// sink is a store and a queue that take everything, keep nothing and count nothing, so
// that only the way to them is measured.
type sink struct {
	trigger.Counter
	trigger.Deletion
}

func (sink) CreateEvent(_ context.Context, e trigger.Event, _ time.Time) (trigger.Event, bool, error) {
	return e, true, nil
}
func (sink) Event(context.Context, string, uuid.UUID) (trigger.Event, error) {
	return trigger.Event{}, mortise.ErrNotFound
}
func (sink) UpdateEvent(context.Context, string, uuid.UUID, func(*trigger.Event) error) error {
	return nil
}
func (sink) ListEvents(context.Context, string, trigger.EventQuery) (mortise.Page[trigger.Event], error) {
	return mortise.Page[trigger.Event]{}, nil
}
func (sink) Progress(context.Context, []uuid.UUID) (map[uuid.UUID]trigger.Progress, error) {
	return nil, nil
}
func (sink) Overdue(context.Context, time.Time, int) ([]trigger.Event, error) { return nil, nil }
func (sink) AllEvents(context.Context, trigger.AllQuery) (mortise.Page[trigger.Event], error) {
	return mortise.Page[trigger.Event]{}, nil
}
func (sink) Enqueue(context.Context, mortise.Job) error { return nil }
func (sink) Cancel(context.Context, mortise.Job) error  { return nil }
func (sink) Consume(context.Context, mortise.ConsumeOptions, mortise.Handler) error {
	return nil
}
func (sink) Shares(any) bool { return true }
func (sink) CreateEventAndAdd(_ context.Context, e trigger.Event, _ time.Time, _ mortise.Job) (trigger.Event, bool, error) {
	return e, true, nil
}
func (sink) CreateEvents(context.Context, []trigger.Event, []mortise.Job) error { return nil }

func (sink) UpdateEventAndJobs(
	context.Context, string, uuid.UUID, func(*trigger.Event) ([]mortise.Job, error), mortise.Lease, bool,
) error {
	return nil
}

// keyTable is the same table of key digests for both sides.
type keyTable map[[32]byte]string

func (k keyTable) verify(token string) (org string, ok bool) {
	digest := sha256.Sum256([]byte(token))
	org, ok = k[digest]
	return org, ok && subtle.ConstantTimeCompare(digest[:], digest[:]) == 1
}

const benchKey = "sk-0123456789abcdef0123456789abcdef0123456789abcdef"

// BenchmarkTriggerRoute measures POST /triggers beside a bare net/http handler that
// authenticates alike, decodes with encoding/json, validates, submits to the same service
// and answers the same. The two take turns within one run, and the ratio of their times
// is reported: run it with -benchtime=200000x or more.
func BenchmarkTriggerRoute(b *testing.B) {
	service, err := trigger.New(trigger.Backend{Store: sink{}, Queue: sink{}}, nil)
	if err != nil {
		b.Fatal(err)
	}
	keys := keyTable{sha256.Sum256([]byte(benchKey)): "acme"}
	adapter, err := httpadapter.NewTrigger(service, httpadapter.Bearer(func(_ context.Context, token string) (httpadapter.Principal, error) {
		if org, ok := keys.verify(token); ok {
			return httpadapter.Principal{Organization: org, Access: access.Full()}, nil
		}
		return httpadapter.Principal{}, httpadapter.ErrUnauthenticated
	}), nil)
	if err != nil {
		b.Fatal(err)
	}
	bare := http.NewServeMux()
	bare.Handle("POST /triggers", bareHandler(service, keys))

	var adapterTime, bareTime time.Duration
	for b.Loop() {
		// Short turns: what slows the machine for a moment slows both.
		adapterTime += turn(b, adapter)
		bareTime += turn(b, bare)
	}
	n := float64(b.N * turnLength)
	b.ReportMetric(float64(adapterTime.Nanoseconds())/n, "adapter-ns")
	b.ReportMetric(float64(bareTime.Nanoseconds())/n, "bare-ns")
	b.ReportMetric(float64(adapterTime)/float64(bareTime), "time-ratio")
	adapterAllocs := testing.AllocsPerRun(100, func() { turn(b, adapter) }) / turnLength
	bareAllocs := testing.AllocsPerRun(100, func() { turn(b, bare) }) / turnLength
	b.ReportMetric(adapterAllocs, "adapter-allocs")
	b.ReportMetric(bareAllocs, "bare-allocs")
	b.ReportMetric(adapterAllocs/bareAllocs, "alloc-ratio")
	b.ReportMetric(0, "ns/op")
}

const turnLength = 50

func turn(b *testing.B, h http.Handler) time.Duration {
	var spent time.Duration
	for range turnLength {
		r := httptest.NewRequest(http.MethodPost, "/triggers", strings.NewReader(benchBody))
		r.Header.Set("Authorization", "Bearer "+benchKey)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		start := time.Now()
		h.ServeHTTP(w, r)
		spent += time.Since(start)
		if w.Code != http.StatusAccepted {
			b.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	return spent
}

type bareRequest struct {
	Instructions string          `json:"instructions"`
	Context      json.RawMessage `json:"context"`
}

// bareHandler is what a Go service writes by hand for the same operation.
func bareHandler(service *trigger.Service, keys keyTable) http.HandlerFunc {
	answer := func(w http.ResponseWriter, status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		org, known := keys.verify(token)
		if !ok || !known {
			w.Header().Set("WWW-Authenticate", "Bearer")
			answer(w, http.StatusUnauthorized, map[string]string{"error": "authentication_failed", "message": "invalid key"})
			return
		}
		if r.Header.Get("Content-Type") != "application/json" {
			answer(w, http.StatusUnsupportedMediaType, map[string]string{"error": "unsupported_media_type", "message": "send JSON"})
			return
		}
		dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
		dec.DisallowUnknownFields()
		var body bareRequest
		if err := dec.Decode(&body); err != nil {
			answer(w, http.StatusUnprocessableEntity, map[string]string{"detail": err.Error()})
			return
		}
		if _, err := dec.Token(); !errors.Is(err, io.EOF) || body.Instructions == "" || len(body.Context) > 0 && body.Context[0] != '{' {
			answer(w, http.StatusUnprocessableEntity, map[string]string{"detail": "invalid body"})
			return
		}
		e, err := service.Submit(r.Context(), org, "", trigger.Submission{Instructions: body.Instructions, Context: body.Context})
		if err != nil {
			answer(w, http.StatusServiceUnavailable, map[string]string{"error": "runtime_store_unavailable", "message": "try again"})
			return
		}
		answer(w, http.StatusAccepted, map[string]string{"trigger_event_id": e.ID.String()})
	}
}
