package httpadapter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/trigger"
)

// put stores an event directly, with chosen times and state.
func (r *rig) put(n int, edit func(*trigger.Event)) trigger.Event {
	r.t.Helper()
	e := trigger.Event{
		ID: uuid.UUID{15: byte(n), 14: byte(n >> 8), 6: 0x70, 8: 0x80}, Organization: "acme", Status: trigger.StatusReceived, Source: "api",
		Instructions: "event " + strconv.Itoa(n), SubmittedAt: time.Date(2026, 11, 1, 0, 0, n, 0, time.UTC),
	}
	if edit != nil {
		edit(&e)
	}
	_, created, err := r.store.CreateEvent(r.t.Context(), e, time.Time{})
	require.NoError(r.t, err)
	require.True(r.t, created)
	return e
}

func TestGetTrigger(t *testing.T) {
	r := newRig(t, nil)
	fresh := r.put(1, func(e *trigger.Event) { e.Context = json.RawMessage(`{"a":1.50, "b":"<&>"}`) })
	w := r.get("/triggers/" + fresh.ID.String())
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, `{"trigger_event_id":"`+fresh.ID.String()+`","status":"received","source":"api","instructions":"event 1",`+
		`"context":{"a":1.50,"b":"<&>"},"submitted_at":"2026-11-01T00:00:01.000000Z","started_at":null,"finished_at":null,`+
		`"attempts":0,"last_error":null,"outcome":null,"due_at":null,"submitted_by":null,"generation":0,"superseded_by":null,"attempts_log":[]}`, w.Body.String())

	done := r.put(2, func(e *trigger.Event) {
		e.Status = trigger.StatusCompleted
		e.StartedAt = e.SubmittedAt.Add(time.Microsecond)
		e.FinishedAt = e.SubmittedAt.Add(time.Second)
		e.Attempts, e.LastError, e.Actor, e.Generation = 2, "first try failed", "ann", 3
		e.Failures = []trigger.Attempt{{Number: 1, StartedAt: e.SubmittedAt, EndedAt: e.SubmittedAt, Error: "first try failed"}}
		e.Outcome = &trigger.Outcome{Summary: "done", Data: json.RawMessage(`[1]`)}
	})
	w = r.get("/triggers/" + done.ID.String())
	require.Equal(t, `{"trigger_event_id":"`+done.ID.String()+`","status":"completed","source":"api","instructions":"event 2",`+
		`"context":null,"submitted_at":"2026-11-01T00:00:02.000000Z","started_at":"2026-11-01T00:00:02.000001Z","finished_at":"2026-11-01T00:00:03.000000Z",`+
		`"attempts":2,"last_error":"first try failed","outcome":{"summary":"done","data":[1]},"due_at":null,"submitted_by":"ann","generation":3,"superseded_by":null,"attempts_log":[`+
		`{"attempt":1,"started_at":"2026-11-01T00:00:02.000000Z","ended_at":"2026-11-01T00:00:02.000000Z","error":"first try failed"},`+
		`{"attempt":2,"started_at":"2026-11-01T00:00:02.000001Z","ended_at":"2026-11-01T00:00:03.000000Z","error":null}]}`, w.Body.String())

	running := r.put(4, func(e *trigger.Event) {
		e.Status, e.Attempts, e.StartedAt, e.DueAt = trigger.StatusProcessing, 1, e.SubmittedAt, e.SubmittedAt.Add(time.Minute)
	})
	require.Contains(t, r.get("/triggers/"+running.ID.String()).Body.String(), `"due_at":"2026-11-01T00:01:04.000000Z","submitted_by":null,"generation":0,`+
		`"superseded_by":null,"attempts_log":[{"attempt":1,"started_at":"2026-11-01T00:00:04.000000Z","ended_at":null,"error":null}]}`)
	ended := r.put(5, func(e *trigger.Event) { e.Status, e.SupersededBy = trigger.StatusSuperseded, done.ID })
	require.Contains(t, r.get("/triggers/"+ended.ID.String()).Body.String(), `"superseded_by":"`+done.ID.String()+`"`)

	foreign := r.put(3, func(e *trigger.Event) { e.Organization = "other" })
	unknown := r.get("/triggers/00000000-0000-4000-8000-000000000000")
	requireError(t, unknown, http.StatusNotFound, "not_found")
	got := r.get("/triggers/" + foreign.ID.String())
	require.Equal(t, unknown.Code, got.Code)
	require.Equal(t, unknown.Body.String(), got.Body.String())
	require.Equal(t, withoutID(unknown), withoutID(got))

	requireDetails(t, r.get("/triggers/xyz"), detail{"path.id", "uuid_parsing",
		"Input should be a valid UUID, invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found `x` at 1"})
	require.Equal(t, http.StatusOK, r.do(http.MethodHead, "/triggers/"+fresh.ID.String(), nil).Code)
}

type page struct {
	Triggers []struct {
		ID     string `json:"trigger_event_id"`
		Status string `json:"status"`
	} `json:"triggers"`
	NextCursor *string `json:"next_cursor"`
}

func (r *rig) page(query string) page {
	r.t.Helper()
	w := r.get("/triggers?" + query)
	require.Equal(r.t, http.StatusOK, w.Code, w.Body.String())
	var p page
	require.NoError(r.t, json.Unmarshal(w.Body.Bytes(), &p), w.Body.String())
	require.NotNil(r.t, p.Triggers)
	return p
}

func TestListPagesNeitherRepeatNorSkip(t *testing.T) {
	r := newRig(t, nil)
	require.Empty(t, r.page("").Triggers)
	var want []string
	for i := range 230 {
		e := r.put(i, func(e *trigger.Event) { e.SubmittedAt = time.Date(2026, 11, 1, 0, 0, i/3, 0, time.UTC) })
		want = append([]string{e.ID.String()}, want...)
	}
	next := 230
	for _, limit := range []string{"1", "7", "50", "", "115", "230", "1000"} {
		var got []string
		query := url.Values{"to": {"2026-11-01T00:10:00Z"}}
		if limit != "" {
			query.Set("limit", limit)
		}
		for pages := 0; ; pages++ {
			p := r.page(query.Encode())
			for _, e := range p.Triggers {
				got = append(got, e.ID)
			}
			if p.NextCursor == nil {
				break
			}
			require.NotEmpty(t, p.Triggers)
			query.Set("cursor", *p.NextCursor)
			if pages%10 == 0 { // events arrive while the history is read
				next++
				r.put(next, func(e *trigger.Event) { e.SubmittedAt = time.Date(2026, 11, 1, 1, 0, next, 0, time.UTC) })
			}
		}
		require.Equal(t, want, got, "limit %q", limit)
	}
}

func TestListFilters(t *testing.T) {
	r := newRig(t, nil)
	for i, status := range trigger.Statuses() {
		r.put(i, func(e *trigger.Event) { e.Status = status })
	}
	r.put(9, func(e *trigger.Event) { e.Source = "schedule" })
	ids := func(query string) string {
		var b strings.Builder
		for _, e := range r.page(query).Triggers {
			b.WriteString(strings.TrimLeft(e.ID[len(e.ID)-2:], "0") + " ")
		}
		return b.String()
	}
	require.Equal(t, "9 5 4 3 2 1  ", ids(""))
	require.Equal(t, "4 ", ids("status=cancelled"))
	require.Equal(t, "5 ", ids("status=superseded"))
	require.Equal(t, "3 ", ids("status=failed"))
	require.Equal(t, "9  ", ids("status=received"))
	require.Equal(t, "9 ", ids("source=schedule"))
	require.Equal(t, "", ids("source=nobody"))
	require.Equal(t, "9 5 4 3 2 ", ids("from=2026-11-01T00:00:02Z"))
	require.Equal(t, "1  ", ids("to=2026-11-01T00:00:02Z"))
	require.Equal(t, "2 ", ids("from=2026-11-01T02:00:02%2B02:00&to=2026-11-01T00:00:02.000001Z"))
	require.Equal(t, "2 ", ids("from=2026-11-01T02:00:02+02:00&to=2026-11-01T00:00:02.000001Z"))
	require.Equal(t, "9 5 4 3 2 ", ids("from=2026-11-01t00:00:02z"))
	require.Equal(t, "9 ", ids("limit=3&limit=1&unknown=x"), "the last value counts, unknown parameters do not")
}

func TestListValidation(t *testing.T) {
	r := newRig(t, nil)
	for query, want := range map[string][]detail{
		"limit=0":                        {{"query.limit", "greater_than_equal", "Input should be greater than or equal to 1"}},
		"limit=1001":                     {{"query.limit", "less_than_equal", "Input should be less than or equal to 1000"}},
		"limit=":                         {{"query.limit", "int_parsing", "Input should be a valid integer, unable to parse string as an integer"}},
		"limit=1.5":                      {{"query.limit", "int_parsing", "Input should be a valid integer, unable to parse string as an integer"}},
		"limit=99999999999999999999":     {{"query.limit", "less_than_equal", "Input should be less than or equal to 1000"}},
		"limit=-99999999999999999999":    {{"query.limit", "greater_than_equal", "Input should be greater than or equal to 1"}},
		"limit=5;x":                      {{"query.limit", "int_parsing", "Input should be a valid integer, unable to parse string as an integer"}},
		"limit=%zz":                      {{"query.limit", "int_parsing", "Input should be a valid integer, unable to parse string as an integer"}},
		"status=failed;":                 {{"query.status", "enum", "Input should be 'received', 'processing', 'completed', 'failed', 'cancelled' or 'superseded'"}},
		"status=fail%zzed":               {{"query.status", "enum", "Input should be 'received', 'processing', 'completed', 'failed', 'cancelled' or 'superseded'"}},
		"status=done":                    {{"query.status", "enum", "Input should be 'received', 'processing', 'completed', 'failed', 'cancelled' or 'superseded'"}},
		"cursor=abc":                     {{"query.cursor", "value_error", "Value error, not a cursor that this service gave out"}},
		"from=monday":                    {{"query.from", "datetime_parsing", "Input should be a valid datetime, in the form 2006-01-02T15:04:05Z of RFC 3339"}},
		"from=2026-01-01T00:00:00-24:00": {{"query.from", "datetime_parsing", "Input should be a valid datetime, in the form 2006-01-02T15:04:05Z of RFC 3339"}},
		"to=2026-01-01T0:00:00,5Z":       {{"query.to", "datetime_parsing", "Input should be a valid datetime, in the form 2006-01-02T15:04:05Z of RFC 3339"}},
		"to=&limit=-1":                   {{"query.limit", "greater_than_equal", "Input should be greater than or equal to 1"}, {"query.to", "datetime_parsing", "Input should be a valid datetime, in the form 2006-01-02T15:04:05Z of RFC 3339"}},
	} {
		requireDetails(t, r.get("/triggers?"+query), want...)
	}
	r.store.err = errors.New("down")
	requireError(t, r.get("/triggers"), http.StatusServiceUnavailable, "runtime_store_unavailable")
	requireError(t, r.get("/triggers/00000000-0000-4000-8000-000000000000"), http.StatusServiceUnavailable, "runtime_store_unavailable")
}

func TestListLargeEventsEndsThePageEarly(t *testing.T) {
	r := newRig(t, nil)
	for i := range 12 {
		r.put(i, func(e *trigger.Event) { e.Instructions = strings.Repeat("x", 1<<20) })
	}
	seen, query := 0, "limit=1000"
	for {
		w := r.get("/triggers?" + query)
		require.Less(t, w.Body.Len(), 6<<20)
		var p page
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
		seen += len(p.Triggers)
		if p.NextCursor == nil {
			break
		}
		query = "limit=1000&cursor=" + *p.NextCursor
	}
	require.Equal(t, 12, seen)
}

func TestHistoryIsOptional(t *testing.T) {
	r := newRig(t, &httpadapter.TriggerOptions{})
	id := r.submit(`{"instructions":"x"}`)
	w := r.get("/triggers")
	requireError(t, w, http.StatusMethodNotAllowed, "method_not_allowed")
	require.Equal(t, "POST", w.Header().Get("Allow"))
	requireError(t, r.get("/triggers/"+id.String()), http.StatusNotFound, "not_found")
}

func TestWorkedEventInHistory(t *testing.T) {
	r := newRig(t, nil)
	id := r.submit(`{"instructions":"x"}`)
	ctx, stop := context.WithCancel(t.Context())
	worker, err := trigger.NewWorker(r.service, func(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
		defer stop()
		return trigger.Outcome{Summary: fmt.Sprintf("documented %q", e.Instructions)}, nil
	}, nil)
	require.NoError(t, err)
	require.NoError(t, worker.Run(ctx))
	var e struct {
		Status  string                     `json:"status"`
		Outcome map[string]json.RawMessage `json:"outcome"`
	}
	require.NoError(t, json.Unmarshal(r.get("/triggers/"+id.String()).Body.Bytes(), &e))
	require.Equal(t, "completed", e.Status)
	require.JSONEq(t, `"documented \"x\""`, string(e.Outcome["summary"]))
	require.JSONEq(t, `null`, string(e.Outcome["data"]))
}
