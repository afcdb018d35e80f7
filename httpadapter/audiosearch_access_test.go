package httpadapter_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// soundRequest is a request that succeeds if it may.
type soundRequest struct{ operation, method, path, body string }

// soundRequests has one of each operation, on a dataset that has the run. The last one
// ends the run.
func soundRequests(dataset, run string) []soundRequest {
	return []soundRequest{
		{"searchAudioSound", "POST", soundURL, `{"dataset_id":"` + dataset + `","audio_class":"Silence"}`},
		{"getSearchRunStatus", "GET", jobStatus + run + of(dataset), ""},
		{"getSearchRunResult", "GET", jobResult + run + of(dataset), ""},
		{"cancelSearchRun", "POST", jobCancel + run + of(dataset), ""},
	}
}

func (q soundRequest) send(r *soundRig, caller string) *httptest.ResponseRecorder {
	return r.as(caller, q.method, q.path, q.body)
}

// What each role may do, and where.
func TestSearchRoles(t *testing.T) {
	viewer := "searchAudioSound getSearchRunStatus getSearchRunResult "
	editor := viewer + "cancelSearchRun "
	for caller, allowed := range map[string][2]string{ // on calls, on bells
		"full": {editor, editor}, "admin": {editor, editor}, "editor": {editor, editor}, "viewer": {viewer, viewer}, "none": {"", ""}, "vault admin": {"", ""},
		"dataset editor": {editor, editor}, "calls editor": {editor, ""}, "bells viewer": {"", viewer},
	} {
		t.Run(caller, func(t *testing.T) {
			r := newSoundRig(t, nil, nil)
			for i, dataset := range []string{"calls", "bells"} {
				run := r.start(`{"dataset_id":"` + dataset + `","audio_class":"Silence"}`)
				for _, q := range soundRequests(dataset, run) {
					w := q.send(r, caller)
					if strings.Contains(allowed[i], q.operation+" ") {
						require.Equal(t, http.StatusOK, w.Code, "%s: %s", q.operation, w.Body)
					} else {
						requireSentence(t, w, http.StatusForbidden, "These credentials do not allow this operation.")
					}
				}
			}
		})
	}
}

// Another organization's dataset and run are answered just like those that there are not.
func TestSearchOfAnotherOrganization(t *testing.T) {
	r := newSoundRig(t, nil, nil)
	start := func(caller, dataset string) string {
		w := r.as(caller, "POST", soundURL, `{"dataset_id":"`+dataset+`","audio_class":"Silence"}`)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		return strings.Trim(strings.TrimPrefix(w.Body.String(), `{"run_id":`), "}")
	}
	theirs, sameName := start("rival", "theirs"), start("rival", "calls")
	for _, q := range soundRequests("theirs", theirs) {
		requireSentence(t, q.send(r, "full"), http.StatusNotFound, "Dataset not found")
	}
	for _, run := range []string{theirs, sameName} {
		for _, q := range soundRequests("calls", run)[1:] {
			requireSentence(t, q.send(r, "full"), http.StatusNotFound, "Run not found")
		}
	}
	for _, q := range soundRequests("calls", sameName) {
		require.Equal(t, http.StatusOK, q.send(r, "rival").Code)
	}
	// Keys of other videos are no keys.
	const key = `{"dataset_id":"calls","audio_class":"Silence","metadata_filters":[{"key":"site","value":"north"}]}`
	require.Equal(t, http.StatusOK, r.as("full", "POST", soundURL, key).Code)
	require.Equal(t, "unknown_key", details(t, r.as("rival", "POST", soundURL, key).Body.Bytes())[0].typ)
	// A run is of its dataset.
	ours := start("full", "calls")
	for _, q := range soundRequests("bells", ours)[1:] {
		requireSentence(t, q.send(r, "full"), http.StatusNotFound, "Run not found")
	}
	// Who may not is told that first, whatever there is.
	for _, dataset := range []string{"calls", "none", "theirs", "", "%00"} {
		for _, q := range soundRequests(dataset, ours)[1:] {
			requireDetail(t, q.send(r, "none"), http.StatusForbidden)
			if dataset != "calls" {
				requireDetail(t, q.send(r, "calls editor"), http.StatusForbidden)
			}
		}
	}
	for _, dataset := range []string{"calls", "none", "theirs", "", `\u0000`, strings.Repeat("d", 256)} {
		requireDetail(t, soundRequests(dataset, "")[0].send(r, "bells viewer"), http.StatusForbidden)
		if dataset != "calls" {
			requireSentence(t, soundRequests(dataset, "")[0].send(r, "viewer"), http.StatusNotFound, "Dataset not found")
		}
	}
}

// A dataset is gone with its runs.
func TestSearchOfADeletedDataset(t *testing.T) {
	r := newSoundRig(t, nil, nil)
	run := r.start(aSearch(``))
	require.NoError(t, r.service.DeleteDataset(t.Context(), "acme", "", "calls"))
	for _, q := range soundRequests("calls", run) {
		requireSentence(t, q.send(r, "full"), http.StatusNotFound, "Dataset not found")
	}
}

func TestSearchOrderOfChecks(t *testing.T) {
	r := newSoundRig(t, nil, nil)
	text, large := header("Content-Type", "text/plain"), strings.Repeat(" ", bodyLimit+1)
	const bad, shape = `{`, `{"dataset_id":"none","audio_class":"Dog","limit":0}`
	const none = `{"dataset_id":"none","audio_class":"Dog","metadata_filters":[{"key":"x","value":"x"}]}`
	wrong := strings.Replace(none, "none", "calls", 1)
	invalid := detail{"body.limit", "greater_than_equal", "Input should be greater than or equal to 1"}
	requireDetail(t, r.as("", "GET", "/api/v0/search/nothing", ""), http.StatusNotFound)
	requireDetail(t, r.as("", "GET", soundURL, ""), http.StatusUnauthorized)
	requireDetail(t, r.as("", "POST", soundURL, bad, text), http.StatusUnauthorized)
	requireDetail(t, r.as("none", "GET", soundURL, bad, text), http.StatusMethodNotAllowed)
	requireDetail(t, r.as("none", "POST", soundURL, large, text), http.StatusUnsupportedMediaType)
	requireDetail(t, r.as("none", "POST", soundURL, ""), http.StatusUnsupportedMediaType)
	requireDetail(t, r.as("none", "POST", soundURL, large), http.StatusRequestEntityTooLarge)
	requireDetails(t, r.as("none", "POST", soundURL, bad), detail{"body.1", "json_invalid", "JSON decode error"})
	requireDetails(t, r.as("none", "POST", soundURL, shape), invalid)
	requireDetail(t, r.as("none", "POST", soundURL, none), http.StatusForbidden)
	requireDetails(t, r.as("full", "POST", soundURL, shape), invalid)
	requireSentence(t, r.as("full", "POST", soundURL, none), http.StatusNotFound, "Dataset not found")
	require.Len(t, details(t, r.post(wrong).Body.Bytes()), 2)
	r.faults("Dataset", "CreateRun")
	requireDetail(t, r.as("none", "POST", soundURL, none), http.StatusForbidden)
	requireDetails(t, r.as("full", "POST", soundURL, shape), invalid)
	requireDetail(t, r.as("full", "POST", soundURL, none), http.StatusServiceUnavailable)
	r.faults("CreateRun")
	require.Len(t, details(t, r.post(wrong).Body.Bytes()), 2, "what is wrong comes before what is broken")
	requireDetail(t, r.post(aSearch(``)), http.StatusServiceUnavailable)
	require.Equal(t, "Bearer", r.as("", "POST", soundURL, "").Header().Get("Www-Authenticate"))
	for _, form := range []string{"application/x-www-form-urlencoded", "application/json; charset=latin1", "application/jsonx", ""} {
		requireDetail(t, r.post(aSearch(``), header("Content-Type", form)), http.StatusUnsupportedMediaType)
	}
	requireDetail(t, r.post(aSearch(``), header("Content-Encoding", "gzip")), http.StatusUnsupportedMediaType)
}

func TestSearchRoutes(t *testing.T) {
	r := newSoundRig(t, nil, nil)
	run := r.start(aSearch(``))
	for path, allow := range map[string]string{soundURL: "POST", jobStatus + run: "GET, HEAD", jobResult + run: "GET, HEAD", jobCancel + run: "POST"} {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			if strings.Contains(allow, method) {
				continue
			}
			w := r.as("full", method, path+of("calls"), "")
			requireDetail(t, w, http.StatusMethodNotAllowed)
			require.Equal(t, allow, w.Header().Get("Allow"))
		}
	}
	for _, path := range []string{
		"/", "/api", "/api/v0/search", "/api/v0/search/metadata-filters/", soundURL + "/", "/api/v1/search/metadata-filters/audio-sound", strings.ToUpper(soundURL),
		jobStatus, jobResult,
		jobStatus + run + "/", jobStatus + run + "/x", "/api/v0/search/metadata-filters/job/" + run, "/" + soundURL, "/api/v0/search/./metadata-filters/audio-sound",
	} {
		requireSentence(t, r.as("full", "POST", path+of("calls"), ""), http.StatusNotFound, "There is nothing at this address.")
	}
	head := r.as("full", "HEAD", jobStatus+run+of("calls"), "")
	require.Equal(t, http.StatusOK, head.Code)
	// By default there are the operation of the document, and those that it refers to.
	plain := newSoundRig(t, &httpadapter.AudioSearchOptions{}, nil)
	require.Len(t, plain.handler.Routes(), 3)
	requireDetail(t, plain.as("full", "POST", jobCancel+"1"+of("calls"), ""), http.StatusNotFound)
}

func TestSearchUnavailable(t *testing.T) {
	r := newSoundRig(t, nil, nil)
	run := r.start(aSearch(``))
	r.work()
	waiting := r.start(aSearch(``))
	broken := map[string][]string{
		"searchAudioSound": {"Dataset", "CreateRun"}, "getSearchRunStatus": {"Dataset", "Run"}, "getSearchRunResult": {"Dataset", "Run", "RunResults"},
		"cancelSearchRun": {"Dataset", "Run", "UpdateRun"},
	}
	for _, q := range soundRequests("calls", run) {
		if q.operation == "cancelSearchRun" {
			q.path = jobCancel + waiting + of("calls")
		}
		for _, method := range broken[q.operation] {
			r.faults(method)
			logged := len(r.log.String())
			w := q.send(r, "full")
			requireSentence(t, w, http.StatusServiceUnavailable, "The service is temporarily unavailable. Send the request again later.")
			line := r.log.String()[logged:]
			require.Contains(t, line, method+": connection refused")
			require.Contains(t, line, q.method+" /api/v0/search/metadata-filters/")
		}
	}
	r.faults("MissingKeys")
	requireDetail(t, r.post(aSearch(`"metadata_filters":[{"key":"site","value":"x"}]`)), http.StatusServiceUnavailable)
	r.faults()
	for _, q := range soundRequests("calls", waiting) {
		require.Equal(t, http.StatusOK, q.send(r, "full").Code)
	}
}

// A caller who has gone is nobody's fault: nothing is logged, and no run is begun that
// they do not know of.
func TestSearchOfACallerWhoHasGone(t *testing.T) {
	r := newSoundRig(t, nil, nil)
	run := r.start(aSearch(``))
	r.work()
	gone := func(req *http.Request) {
		ctx, cancel := context.WithCancel(req.Context())
		cancel()
		*req = *req.WithContext(ctx)
	}
	for _, q := range soundRequests("calls", run) {
		requireDetail(t, r.as("full", q.method, q.path, q.body, gone), http.StatusServiceUnavailable)
	}
	require.Empty(t, r.log.String())
	more, err := r.worker.RunOnce(t.Context())
	require.NoError(t, err)
	require.False(t, more)
}

func TestSearchAuthorize(t *testing.T) {
	var asked []string
	answer := error(nil)
	all := everySearchOption
	all.Authorize = func(_ context.Context, p httpadapter.Principal, action access.Action, resource access.Resource) error {
		asked = append(asked, p.Subject+" "+string(action)+" "+string(resource.Type)+" "+resource.ID)
		return answer
	}
	r := newSoundRig(t, &all, nil)
	run := r.start(aSearch(``))
	asked = nil
	for _, q := range soundRequests("calls", run) {
		require.Equal(t, http.StatusOK, q.send(r, "none").Code, q.operation)
	}
	const who = "client:none "
	require.Equal(t, []string{who + "searchAudioSound dataset calls", who + "getSearchRunStatus dataset calls", who + "getSearchRunResult dataset calls",
		who + "cancelSearchRun dataset calls"}, asked)
	// A policy never sees what can be no ID, and is asked for the type instead.
	for _, dataset := range []string{"", "%00", "%ff", strings.Repeat("d", 256)} {
		asked = nil
		requireSentence(t, r.get(jobStatus+run+of(dataset)), http.StatusNotFound, "Dataset not found")
		require.Equal(t, []string{"client:full getSearchRunStatus dataset "}, asked)
	}
	for err, status := range map[error]int{
		&httpadapter.RateLimitError{RetryAfter: time.Second}: 429,
		httpadapter.ErrForbidden:                             403, httpadapter.ErrUnauthenticated: 401, errors.New("policy server down"): 503,
		audiosearch.ErrDatasetNotFound: 503, audiosearch.ErrFinished: 503, // the domain's errors mean nothing in a host's hook
	} {
		answer = err
		for _, q := range soundRequests("calls", run) {
			requireDetail(t, q.send(r, "full"), status)
		}
	}
}

// The actor of a run is the caller, and observers hear of the requests.
func TestSearchTellsWhoItWas(t *testing.T) {
	var actors []string
	r := newSoundRig(t, nil, &audiosearch.Options{Env: mortise.Env{Observer: func(_ context.Context, o mortise.Observation) {
		actors = append(actors, string(o.Kind)+" "+string(o.Actor))
	}}})
	w := r.as("calls editor", "POST", soundURL, aSearch(``))
	require.Equal(t, http.StatusOK, w.Code)
	run := r.run(strings.Trim(strings.TrimPrefix(w.Body.String(), `{"run_id":`), "}"))
	require.Equal(t, []any{"acme", mortise.Actor("client:calls editor")}, []any{run.Organization, run.Actor})
	require.Len(t, r.seen.list, 1)
	o := r.seen.list[0]
	require.Equal(t, httpadapter.Operation{Service: "audiosearch", ID: "searchAudioSound", Method: "POST", Pattern: soundURL}, o.Operation)
	require.Equal(t, []any{"acme", http.StatusOK}, []any{o.Organization, o.Status})
	require.Equal(t, http.StatusOK, r.as("editor", "POST", jobCancel+strconv.FormatInt(run.ID, 10)+of("calls"), "").Code)
	require.Contains(t, actors, string(mortise.KindSubmitted)+" client:calls editor")
	require.Contains(t, actors, string(mortise.KindCancelled)+" client:editor")
}

// Beside the credentials service, which has the same shapes, under one prefix.
func TestSearchJoined(t *testing.T) {
	r, auth := newSoundRig(t, nil, nil), newAuthRig(t, nil, nil)
	joined, err := httpadapter.Join("/internal", auth.handler, r.handler)
	require.NoError(t, err)
	send := func(method, path string) *httptest.ResponseRecorder {
		req := httptest.NewRequest(method, "/internal"+path, nil)
		req.Header.Set("Authorization", "Bearer full")
		w := httptest.NewRecorder()
		joined.ServeHTTP(w, req)
		return w
	}
	requireSentence(t, send("GET", jobStatus+"1"+of("calls")), http.StatusNotFound, "Run not found")
	requireSentence(t, send("POST", jobCancel+"1"), http.StatusNotFound, "Dataset not found")
	requireDetail(t, send("DELETE", jobStatus+"1"), http.StatusMethodNotAllowed)
	requireDetail(t, send("GET", soundURL), http.StatusMethodNotAllowed)
}

func TestNewAudioSearchRefuses(t *testing.T) {
	r := newSoundRig(t, nil, nil)
	auth := httpadapter.Bearer(verifySoundCaller)
	_, err := httpadapter.NewAudioSearch(nil, auth, nil)
	require.ErrorContains(t, err, "needs a service")
	_, err = httpadapter.NewAudioSearch(r.service, nil, nil)
	require.ErrorContains(t, err, "authenticator")
	_, err = httpadapter.NewAudioSearch(r.service, auth, &httpadapter.AudioSearchOptions{Options: httpadapter.Options{
		Wrap: func(httpadapter.Operation, http.Handler) http.Handler { return nil },
	}})
	require.ErrorContains(t, err, "Options.Wrap")
	h, err := httpadapter.NewAudioSearch(r.service, auth, nil)
	require.NoError(t, err)
	require.Len(t, h.Routes(), 3)
}
