package httpadapter_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// largeRun returns a run with 300 results, each of which shows 20 KB of metadata.
func largeRun(t *testing.T) (r *soundRig, run string) {
	t.Helper()
	r = newSoundRig(t, nil, nil)
	for i := range 100 {
		r.video(fmt.Sprint("large", i), "large.mp4", `{"k":"`+strings.Repeat("x", 20_000)+`"}`, 1, 1, 1)
	}
	run = r.start(aSearch(`"limit":300`))
	r.work()
	return r, run
}

// requestResult asks a server of the rig's for a result.
func (r *soundRig) requestResult(method, url, run string) *http.Response {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, url+jobResult+run+of("calls"), nil)
	require.NoError(r.t, err)
	req.Header.Set("Authorization", "Bearer full")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { require.NoError(r.t, resp.Body.Close()) })
	return resp
}

// TestResultIsStreamed: it arrives while most of it has not been read from the store.
func TestResultIsStreamed(t *testing.T) {
	r, run := largeRun(t)
	server := httptest.NewServer(r.handler)
	t.Cleanup(server.Close)
	resp := r.requestResult(http.MethodGet, server.URL, run)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
	require.EqualValues(t, -1, resp.ContentLength)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, 300, strings.Count(string(body), `"video_id"`))
	require.Equal(t, r.get(jobResult+run+of("calls")).Body.String(), string(body))

	head := r.requestResult(http.MethodHead, server.URL, run)
	require.Equal(t, http.StatusOK, head.StatusCode)
	require.Equal(t, "application/json", head.Header.Get("Content-Type"))
}

// TestResultIsCutOff: what cannot be read to its end is not taken for the whole.
func TestResultIsCutOff(t *testing.T) {
	r, run := largeRun(t)
	server := httptest.NewServer(r.handler)
	t.Cleanup(server.Close)
	r.faults("RunResults later")
	observed := len(r.seen.list)
	resp := r.requestResult(http.MethodGet, server.URL, run)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	body, err := io.ReadAll(resp.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Contains(t, string(body), `{"status":"SUCCESS","search_target":"sound","results":[{"video":`)
	server.Close() // waits for the request
	require.Contains(t, r.log.String(), "RunResults later: connection refused")
	require.Len(t, r.seen.list, observed+1)

	// The first part is read before anything is answered.
	r.faults("RunResults")
	requireDetail(t, r.get(jobResult+run+of("calls")), http.StatusServiceUnavailable)
}

// TestTooManySearches: one organization's are not another one's.
func TestTooManySearches(t *testing.T) {
	r := newSoundRig(t, nil, &audiosearch.Options{MaxWaiting: 2})
	r.start(aSearch(``))
	run := r.start(aSearch(``))
	for range 2 {
		w := r.post(aSearch(``))
		requireSentence(t, w, http.StatusTooManyRequests, "Too many searches of your organization have not ended. Start this one again when some have.")
		require.Equal(t, "10", w.Header().Get("Retry-After"))
	}
	require.Empty(t, r.log.String())
	require.Equal(t, http.StatusOK, r.as("rival", http.MethodPost, soundURL, aSearch(``)).Code)
	require.Equal(t, http.StatusOK, r.as("full", http.MethodPost, jobCancel+run+of("calls"), "").Code)
	r.start(aSearch(``))
}
