package httpadapter_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// TestListThatFindsNoRoomEndsEarly: after its first step, with a cursor for the rest.
func TestListThatFindsNoRoomEndsEarly(t *testing.T) {
	r := newRig(t, nil)
	large := func(e *trigger.Event) { e.Instructions = strings.Repeat("x", 3<<20) }
	for i := range 4 {
		r.put(i, large)
	}
	for i := range 50 { // the first step of the list
		r.put(100+i, nil)
	}
	request := func(path string) *http.Request {
		request := httptest.NewRequest("GET", path, nil)
		request.Header.Set("Authorization", "Bearer "+r.key)
		return request
	}
	list := newCrowd(t, r.handler)
	n, _ := list.read(request("/triggers?limit=60"))
	require.NotZero(t, n)
	others := newCrowd(t, r.handler)
	for refused := (*slowReader)(nil); refused == nil; {
		_, refused = others.read(request("/triggers?to=2026-11-01T00:00:10Z&limit=2"))
	}
	list.release()
	var p page
	require.NoError(t, json.Unmarshal(list.readers[0].Body.Bytes(), &p))
	require.Len(t, p.Triggers, 50, "the first step")
	require.NotNil(t, p.NextCursor)
	others.release()
	got := len(p.Triggers)
	for p.NextCursor != nil {
		p = r.page("limit=60&cursor=" + *p.NextCursor)
		got += len(p.Triggers)
	}
	require.Equal(t, 54, got)
}

// TestLongListsAreStreamed: in steps, and to the last item.
func TestLongListsAreStreamed(t *testing.T) {
	r := newRig(t, nil)
	for i := range 120 {
		r.put(i, nil)
	}
	for limit, steps := range map[int]int{1: 1, 50: 1, 51: 2, 120: 3, 1000: 3} {
		w := &countedWriter{ResponseRecorder: *httptest.NewRecorder()}
		request := httptest.NewRequest("GET", fmt.Sprintf("/triggers?limit=%d", limit), nil)
		request.Header.Set("Authorization", "Bearer "+r.key)
		r.handler.ServeHTTP(w, request)
		require.Equal(t, steps, w.writes, "limit %d", limit)
		var p page
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
		require.Len(t, p.Triggers, min(limit, 120))
		require.Equal(t, limit < 120, p.NextCursor != nil)
	}
}

type countedWriter struct {
	httptest.ResponseRecorder
	writes int
}

func (w *countedWriter) Write(p []byte) (int, error) {
	w.writes++
	return w.ResponseRecorder.Write(p)
}

// TestListThatFailsLaterIsCutOff: it is never a shorter valid document.
func TestListThatFailsLaterIsCutOff(t *testing.T) {
	r := newRig(t, nil)
	for i := range 120 {
		r.put(i, nil)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.handler.ServeHTTP(&failingLater{w, r}, request)
	}))
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/triggers?limit=100", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+r.key)
	resp, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	got, err := io.ReadAll(resp.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.True(t, bytes.HasPrefix(got, []byte(`{"triggers":[{`)), "%.40s", got)
	require.Contains(t, r.log.String(), "request failed")
}

// failingLater takes the store away with the first step of an answer.
type failingLater struct {
	http.ResponseWriter
	r *rig
}

func (w *failingLater) Write(p []byte) (int, error) {
	w.r.store.err = errors.New("disk full")
	return w.ResponseWriter.Write(p)
}

// standing and standingClients are stores whose lists do not go on.
type (
	standing        struct{ trigger.Store }
	standingClients struct{ authmgmt.Store }
)

func (s standing) ListEvents(context.Context, string, trigger.EventQuery) (mortise.Page[trigger.Event], error) {
	return mortise.Page[trigger.Event]{Next: "next"}, nil
}

func (s standingClients) ListClients(context.Context, string, mortise.Cursor, int) (mortise.Page[authmgmt.Client], error) {
	return mortise.Page[authmgmt.Client]{Next: mortise.Position{ID: "a"}.Cursor()}, nil
}

// TestListThatDoesNotGoOn ends all the same.
func TestListThatDoesNotGoOn(t *testing.T) {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	events, err := trigger.New(trigger.Backend{Store: standing{db.Trigger().Store}, Queue: db.Queue(nil)}, nil)
	require.NoError(t, err)
	clients, err := authmgmt.New(authmgmt.Backend{Store: standingClients{db.AuthMgmt().Store}}, nil)
	require.NoError(t, err)
	anyone := httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) {
		return httpadapter.Principal{Organization: "acme", Access: access.Full()}, nil
	})
	quiet := httpadapter.Options{Logger: slog.New(slog.DiscardHandler)}
	triggers, err := httpadapter.NewTrigger(events, anyone, &httpadapter.TriggerOptions{History: true, Options: quiet})
	require.NoError(t, err)
	auth, err := httpadapter.NewAuthMgmt(clients, anyone, &httpadapter.AuthMgmtOptions{Clients: true, Options: quiet})
	require.NoError(t, err)
	for path, handler := range map[string]http.Handler{
		"/triggers": triggers, "/api/v1/auth-management/clients": auth, "/api/v1/auth-management/clients?offset=300": auth,
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		require.Equal(t, http.StatusServiceUnavailable, w.Code, path)
	}
}
