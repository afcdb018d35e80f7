package httpadapter_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/httpadapter"
)

// hostileSearches are bodies that have broken JSON services, with the fields of this one.
func hostileSearches() map[string]string {
	list := hostileBodies()
	fill := func(piece string) string { return strings.Repeat(piece, (bodyLimit-256)/len(piece)) }
	cut := func(text string) string { return strings.TrimSuffix(text, ",") }
	var keys strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&keys, `"k%d":0,`, i)
	}
	for name, filters := range map[string]string{
		"many filters":        cut(fill(`{"key":"site","value":"x"},`)),
		"many empty filters":  cut(fill(`{},`)),
		"many nulls":          cut(fill(`null,`)),
		"100 wrong filters":   cut(strings.Repeat(`{"key":1,"value":1,"op":1},`, 100)),
		"100 unknown keys":    cut(strings.Repeat(`{"key":"`+strings.Repeat("k", 10_000)+`","value":""},`, 100)),
		"filter of many keys": `{` + keys.String() + `"key":"none","value":"x"}`,
		"long key":            `{"key":"` + fill("k") + `","value":"x"}`,
		"long escaped key":    `{"key":"` + fill(`\u0000`) + `","value":"x"}`,
		"long number":         `{"key":"year","value":"` + fill("9") + `","op":">"}`,
		"long operator":       `{"key":"year","value":"1","op":"` + fill(">") + `"}`,
		"deep value":          `{"key":"site","value":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`,
		"nested filters":      strings.Repeat(`{"metadata_filters":[`, 200) + strings.Repeat(`]}`, 200),
		"lone surrogate":      `{"key":"site","value":"\ud800"}`,
		"duplicate key":       `{"key":"site","value":"a","v\u0061lue":"b"}`,
	} {
		list[name] = aSearch(`"metadata_filters":[` + filters + `]`)
	}
	list["long dataset"] = `{"dataset_id":"` + fill("d") + `","audio_class":"Silence"}`
	list["NUL in the dataset"] = `{"dataset_id":"calls\u0000","audio_class":"Silence"}`
	list["long class"] = `{"dataset_id":"calls","audio_class":"` + fill("Silence") + `"}`
	list["long limit"] = aSearch(`"limit":` + fill("9"))
	list["huge exponent of an offset"] = aSearch(`"offset":1e` + strings.Repeat("9", 5000))
	list["bad UTF-8 in a key"] = aSearch("\"metadata_filters\":[{\"k\xffy\":\"site\"}]")
	return list
}

// None of them succeeds, breaks the server, or is repeated.
func TestHostileSearches(t *testing.T) {
	r := newSoundRig(t, nil, nil)
	for name, body := range hostileSearches() {
		require.LessOrEqual(t, len(body), bodyLimit, name)
		for _, chunked := range []bool{false, true} {
			w := r.post(body, header("Content-Type", "application/json"), func(req *http.Request) {
				if chunked {
					req.ContentLength = -1
				}
			})
			require.Contains(t, []int{http.StatusNotFound, http.StatusUnprocessableEntity}, w.Code, "%s: %s", name, w.Body)
			if w.Code == http.StatusUnprocessableEntity {
				require.NotEmpty(t, details(t, w.Body.Bytes()), name)
			}
			require.Less(t, w.Body.Len(), 64<<10, name)
		}
	}
	require.Empty(t, r.log.String())
	more, err := r.worker.RunOnce(t.Context())
	require.NoError(t, err)
	require.False(t, more, "no run was begun")
}

// The longest values that are allowed are no reason to fail.
func TestLongFilters(t *testing.T) {
	r := newSoundRig(t, nil, nil)
	long := strings.Repeat("x", 4096)
	id := r.start(aSearch(`"metadata_filters":[` + strings.TrimSuffix(strings.Repeat(`{"key":"site","value":"`+long+`","op":"contains"},`, 100), ",") + `]`))
	r.work()
	requireBody(t, r.get(jobResult+id+of("calls")), http.StatusOK, `{"status":"SUCCESS","search_target":"sound","results":[]}`)
}

// A request allocates a few times its body at most, whatever is in it.
func TestHostileSearchesMemory(t *testing.T) {
	r := newSoundRig(t, nil, nil)
	for name, body := range hostileSearches() {
		measure := func() uint64 {
			req := httptest.NewRequest(http.MethodPost, soundURL, strings.NewReader(body))
			req.Header.Set("Authorization", "Bearer full")
			req.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			w.Body = nil // the recorder's own copy does not count
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r.handler.ServeHTTP(w, req)
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		// Other goroutines of the test binary allocate too, and the race detector empties
		// pools at random: the least is ours.
		spent := measure()
		for range 9 {
			if spent <= 8*bodyLimit {
				break
			}
			spent = min(spent, measure())
		}
		t.Logf("%.2f times the limit: %s", float64(spent)/bodyLimit, name)
		require.LessOrEqual(t, spent, uint64(8*bodyLimit), "%s: %d bytes", name, spent)
	}
}

func TestSearchBodyThatDoesNotArrive(t *testing.T) {
	r := newSoundRig(t, &httpadapter.AudioSearchOptions{Options: httpadapter.Options{BodyTimeout: 50 * time.Millisecond}}, nil)
	server := httptest.NewServer(r.handler)
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	head := "POST " + soundURL + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer full\r\nContent-Type: application/json\r\n"
	require.Equal(t, "HTTP/1.1 408 Request Timeout", raw(t, address, head+"Content-Length: 100\r\n\r\n{", false))
	require.Equal(t, "HTTP/1.1 413 Request Entity Too Large", raw(t, address, head+"Content-Length: 1048577\r\n\r\n", false))

	patient := newSoundRig(t, nil, nil)
	broken := io.MultiReader(strings.NewReader(`{"datase`), iotest.ErrReader(io.ErrUnexpectedEOF))
	w := patient.post("x", func(req *http.Request) { req.Body, req.ContentLength = io.NopCloser(broken), 100 })
	requireDetails(t, w, detail{"body.8", "json_invalid", "JSON decode error"})
}
