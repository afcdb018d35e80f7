package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// meteredRoutes is a server with metrics, and its storage.
func meteredRoutes(t *testing.T) (http.Handler, *backends) {
	s := testSettings()
	s.data, s.meters = filepath.Join(t.TempDir(), "data"), newMeters()
	b := openStorageFor(t, s)
	all, err := wire(s, b, testKey(), discard())
	require.NoError(t, err)
	handler, err := routes(t.Context(), s, all, discard())
	require.NoError(t, err)
	return handler, b
}

// scrape returns the lines of our own metrics, and that of the goroutines.
func scrape(t *testing.T, handler http.Handler) string {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.True(t, strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain"), w.Header())
	lines := strings.SplitAfter(w.Body.String(), "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool {
		return !strings.HasPrefix(l, "mortise_") && !strings.HasPrefix(l, "go_goroutines ") || strings.Contains(l, "_bucket{")
	}), "")
}

func TestMetrics(t *testing.T) {
	handler, _ := meteredRoutes(t)
	const secret = "sk-somebody-elses-0123456789abcdef0123456789"
	for range 3 {
		r := httptest.NewRequest("POST", "/triggers", strings.NewReader("{}"))
		r.Header.Set("Authorization", "Bearer "+secret)
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	text := scrape(t, handler)
	for _, line := range []string{
		`mortise_http_request_duration_seconds_count{code="401",operation="submitApiTrigger",service="trigger"} 3`,
		`mortise_up{part="trigger"} 1`, `mortise_up{part="vault"} 1`, `mortise_up{part="authmgmt"} 1`, `mortise_up{part="audiosearch"} 1`,
		`mortise_trigger_events{state="waiting"} 0`, `mortise_audiosearch_runs{state="running"} 0`,
		`mortise_late_seconds{service="trigger"} 0`, "go_goroutines ", `mortise_build_info{goversion="` + runtime.Version() + `",modified="`,
	} {
		require.Contains(t, "\n"+text, "\n"+line)
	}
	require.NotContains(t, text, secret)

	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("POST", "/metrics", nil))
	require.Equal(t, http.StatusMethodNotAllowed, w.Code)
}

// TestMetricsOff: without -metrics there is nothing at the address.
func TestMetricsOff(t *testing.T) {
	s := testSettings()
	s.memory = true
	all, err := wire(s, openStorageFor(t, s), testKey(), discard())
	require.NoError(t, err)
	handler, err := routes(t.Context(), s, all, discard())
	require.NoError(t, err)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	require.Equal(t, http.StatusNotFound, w.Code)
}

// TestMetricsAway: a part that is away is told, and what it would count is left out.
func TestMetricsAway(t *testing.T) {
	handler, b := meteredRoutes(t)
	require.NoError(t, b.close())
	text := scrape(t, handler)
	require.Contains(t, text, `mortise_up{part="vault"} 0`)
	require.NotContains(t, text, "mortise_trigger_events")
}
