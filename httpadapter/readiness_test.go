package httpadapter_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/httpadapter"
)

// ready asks whether a program is ready, and returns the answer's status and body.
func ready(t *testing.T, r *httpadapter.Readiness) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	later := map[int]string{http.StatusServiceUnavailable: "5"}
	require.Equal(t, later[w.Code], w.Header().Get("Retry-After"))
	return w.Code, w.Body.String()
}

// TestReadiness: a part that fails, panics or hangs is away, and the answer comes in time.
func TestReadiness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		failing, leaving := errors.New("disk full, host=db"), false
		hangs, end := make(chan struct{}), make(chan struct{})
		defer close(end)
		fine := func(context.Context) error { return nil }
		parts := []httpadapter.Part{
			{Name: "a", Ping: fine}, {Name: "b", Ping: func(context.Context) error { return failing }}, {Name: "c", Ping: fine},
		}
		opts := &httpadapter.ReadinessOptions{Leaving: func() bool { return leaving }, Logger: slog.New(slog.NewJSONHandler(&log, nil))}
		r := httpadapter.NewReadiness(parts, opts)

		status, body := ready(t, r)
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.JSONEq(t, `{"status":"unavailable","away":"b"}`, body)
		require.Contains(t, log.String(), `"msg":"not ready","service":"b","error":"disk full, host=db"`)

		for range 120 { // as a proxy asks
			time.Sleep(time.Second)
			_, _ = ready(t, r)
		}
		require.Equal(t, 3, strings.Count(log.String(), "not ready"), "one a minute:\n%s", &log)

		failing = nil
		for range 2 {
			status, body = ready(t, r)
			require.Equal(t, http.StatusOK, status)
			require.JSONEq(t, `{"status":"ok"}`, body)
		}
		require.Equal(t, 1, strings.Count(log.String(), `"msg":"ready again","service":"b"`), "%s", &log)

		parts[2].Ping = func(context.Context) error { panic("a mistake") }
		parts = append(parts, httpadapter.Part{Name: "d", Ping: func(context.Context) error {
			close(hangs)
			<-end // whatever its context says
			return nil
		}})
		require.Empty(t, r.Away(t.Context()), "the parts are those that there were")
		r = httpadapter.NewReadiness(parts, opts)
		begun := time.Now()
		_, body = ready(t, r)
		require.JSONEq(t, `{"status":"unavailable","away":"c, d"}`, body)
		require.Equal(t, 2*time.Second, time.Since(begun))
		<-hangs

		leaving = true
		status, body = ready(t, r)
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.JSONEq(t, `{"status":"shutting down"}`, body)
	})
}

// TestReadinessOfNamesakes: a part that answers does not answer for one of the same name, nor
// one that panics for one without a name.
func TestReadinessOfNamesakes(t *testing.T) {
	r := httpadapter.NewReadiness([]httpadapter.Part{
		{Name: "db", Ping: func(context.Context) error { return nil }},
		{Name: "db", Ping: func(context.Context) error { return errors.New("away") }},
		{Ping: func(context.Context) error { panic("a mistake") }},
	}, &httpadapter.ReadinessOptions{Logger: slog.New(slog.DiscardHandler)})
	require.Equal(t, []string{"db", ""}, r.Away(t.Context()))
}

// TestReadinessShared: however many ask, also of a part that hangs for ever, one ping of a part
// is under way. Who leaves does not end it for the others, and the next one is made afresh.
func TestReadinessShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end, pings := make(chan error), 0
		r := httpadapter.NewReadiness([]httpadapter.Part{{Name: "disk", Ping: func(context.Context) error {
			pings++
			return <-end
		}}}, &httpadapter.ReadinessOptions{Logger: slog.New(slog.DiscardHandler)})
		first, leave := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		for i := range 1000 {
			ctx := t.Context()
			if i == 0 {
				ctx = first
			}
			callers.Go(func() { assert.Equal(t, []string{"disk"}, r.Away(ctx)) })
			synctest.Wait()
		}
		leave()
		callers.Wait()
		require.Equal(t, []string{"disk"}, r.Away(t.Context()))
		require.Equal(t, 1, pings)

		for range 2 {
			callers.Go(func() { assert.Empty(t, r.Away(t.Context())) })
		}
		synctest.Wait()
		end <- nil
		callers.Wait()
		require.Equal(t, 1, pings)
		callers.Go(func() { assert.Equal(t, []string{"disk"}, r.Away(t.Context())) })
		synctest.Wait()
		end <- errors.New("read-only")
		callers.Wait()
		require.Equal(t, 2, pings)
	})
}

func ExampleNewReadiness() {
	r := httpadapter.NewReadiness([]httpadapter.Part{
		{Name: "trigger", Ping: func(context.Context) error { return nil }}, // service.Ping
		{Name: "disk", Ping: func(context.Context) error { return errors.New("read-only") }},
	}, &httpadapter.ReadinessOptions{Logger: slog.New(slog.DiscardHandler)})
	mux := http.NewServeMux()
	mux.Handle("GET /readyz", r)

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	fmt.Print(w.Code, " ", w.Body)
	// Output:
	// 503 {"away":"disk","status":"unavailable"}
}
