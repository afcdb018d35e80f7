package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audioset"
)

func TestOpenAPIOfAudioSearchIsValid(t *testing.T) {
	require.NoError(t, newSearchAPI(t).described.Valid())
}

const (
	soundAt     = "/api/v0/search/metadata-filters/audio-sound"
	jobStatusAt = "/api/v0/search/metadata-filters/job/status/"
	jobResultAt = "/api/v0/search/metadata-filters/job/result/"
	jobCancelAt = "/api/v0/search/metadata-filters/job/cancel/"
	inCalls     = "?dataset_id=calls"
)

func TestOpenAPIOfAudioSearchHoldsForRealRequests(t *testing.T) {
	t.Parallel() // it waits for bodies that do not arrive
	r := newSearchAPI(t)
	var list []exchange
	list = append(list, r.searches()...)
	list = append(list, r.readings("getSearchRunStatus", jobStatusAt)...)
	list = append(list, r.readings("getSearchRunResult", jobResultAt)...)
	for _, x := range append(list, r.cancellations()...) {
		t.Run(x.operation+"/"+x.name, func(t *testing.T) {
			r.t = t
			r.run(x)
		})
	}
	t.Run("searchAudioSound/slow body", func(t *testing.T) {
		r.t = t
		r.slow(exchange{method: "POST", path: soundAt, body: "{", operation: "searchAudioSound", status: http.StatusRequestTimeout})
	})
	r.t = t
	r.requireEveryStatus()
}

// forBody are the exchanges that differ by their bodies alone.
func forBody(status int, undocumented bool, bodies ...string) []exchange {
	var list []exchange
	for _, body := range bodies {
		list = append(list, exchange{name: body, body: body, status: status, undocumented: undocumented})
	}
	return list
}

func (r *searchAPI) searches() []exchange {
	const fine = `{"dataset_id":"calls","audio_class":"Silence"}`
	with := func(more string) string { return strings.TrimSuffix(fine, "}") + "," + more + "}" }
	filter := func(items string) string { return with(`"metadata_filters":[` + items + `]`) }
	list := forBody(200, false, fine, with(`"limit":1,"offset":0,"skip_moderation":true,"metadata_filters":[]`),
		with(`"limit":1000,"offset":9223372036854775807`), with(`"min_score":0.25`), with(`"min_score":1`),
		filter(`{"key":"site","value":"north"},{"key":"year","value":"2e3","op":">="},{"key":"note","value":"","op":"contains"}`))
	// ignored; the strict validator wants to know of it
	list = append(list, forBody(200, true, with(`"x":1`), filter(`{"key":"site","value":"north","x":1}`))...)
	list = append(list, forBody(422, true, `{`, `[]`, `{}`, `{"dataset_id":"calls"}`, `{"dataset_id":"calls","audio_class":"silence"}`,
		`{"dataset_id":null,"audio_class":"Silence"}`,
		with(`"limit":0`), with(`"limit":"1"`), with(`"limit":1.5`), with(`"limit":null`), with(`"offset":-1`), with(`"skip_moderation":1`),
		with(`"min_score":-0.1`), with(`"min_score":1.1`), with(`"min_score":"0.5"`), with(`"min_score":null`),
		with(`"metadata_filters":{}`), with(`"metadata_filters":null`), filter(`{}`), filter(`1`), filter(`{"key":"site","value":1}`), filter(`{"key":"site","value":"x","op":"=="}`))...)
	list = append(list, forBody(422, false, with(`"limit":1001`), filter(strings.TrimSuffix(strings.Repeat(`{"key":"site","value":""},`, 101), ",")),
		filter(`{"key":"none","value":"x"}`), filter(`{"key":"year","value":"x","op":">"}`),
		`{"dataset_id":"calls","audio_class":"Dental drill, dentist's drill"}`)...)
	list = append(list, forBody(404, false, `{"dataset_id":"none","audio_class":"Silence"}`, `{"dataset_id":"","audio_class":"Silence"}`)...)
	list = append(list,
		exchange{name: "no credentials", header: map[string]string{"Authorization": ""}, body: fine, status: 401, undocumented: true},
		exchange{name: "unknown token", header: bearer("unknown"), body: fine, status: 401},
		exchange{name: "forbidden", header: bearer("nobody"), body: fine, status: 403},
		exchange{name: "key", header: map[string]string{"Idempotency-Key": "7"}, body: fine, status: 400, undocumented: true},
		exchange{name: "too many", broken: "room", body: fine, status: 429},
		exchange{name: "store down", broken: "Dataset", body: fine, status: 503},
		exchange{name: "large", body: with(`"x":"` + strings.Repeat("a", 4096) + `"`), status: 413, undocumented: true},
		exchange{name: "text", body: fine, header: map[string]string{"Content-Type": "text/plain"}, status: 415, undocumented: true},
		exchange{name: "compressed", body: fine, header: map[string]string{"Content-Encoding": "gzip"}, status: 415, undocumented: true})
	for i := range list {
		list[i].operation, list[i].method, list[i].path = "searchAudioSound", http.MethodPost, soundAt
	}
	return list
}

// onRun are the failures that all operations on runs have.
func onRun(operation, method, path, run string) []exchange {
	at := path + run + inCalls
	list := []exchange{
		{name: "no credentials", path: at, header: map[string]string{"Authorization": ""}, status: 401, undocumented: true},
		{name: "unknown token", path: at, header: bearer("unknown"), status: 401},
		{name: "forbidden", path: at, header: bearer("nobody"), status: 403},
		{name: "unknown dataset", path: path + run + "?dataset_id=none", status: 404},
		{name: "no dataset", path: path + run, status: 404, undocumented: true},
		{name: "unknown run", path: path + "1" + inCalls, status: 404},
		{name: "no number", path: path + "x" + inCalls, status: 404, undocumented: true},
		{name: "zero", path: path + "0" + inCalls, status: 404, undocumented: true},
		{name: "too large", path: path + "9007199254740992" + inCalls, status: 404, undocumented: true},
		{name: "store down", path: at, broken: "Dataset", status: 503},
	}
	for i := range list {
		list[i].operation, list[i].method = operation, method
	}
	return list
}

func (r *searchAPI) readings(operation, path string) []exchange {
	const fine = `{"dataset_id":"calls","audio_class":"Silence"`
	queued, done := r.start(fine+`}`), r.start(fine+`,"limit":1}`)
	plain, cancelled, running := r.start(fine+`,"skip_moderation":true}`), r.start(fine+`}`), r.start(fine+`}`)
	r.run(exchange{method: http.MethodPost, path: jobCancelAt + cancelled + inCalls, operation: "cancelSearchRun", status: 200})
	reading := func(name, run string, before func()) exchange {
		return exchange{name: name, operation: operation, method: http.MethodGet, path: path + run + inCalls, status: 200, before: before}
	}
	viewed := reading("viewer", done, nil)
	viewed.header = bearer("viewer")
	return append(onRun(operation, http.MethodGet, path, done),
		reading("queued", queued, nil), reading("running", running, func() { r.set(running, audiosearch.StateRunning) }), reading("cancelled", cancelled, nil),
		reading("done", done, r.work), reading("without moderation", plain, nil), viewed)
}

func (r *searchAPI) cancellations() []exchange {
	const operation, fine = "cancelSearchRun", `{"dataset_id":"calls","audio_class":"Silence"}`
	waiting, running := r.start(fine), r.start(fine)
	cancel := func(name, run string, status int, before func()) exchange {
		return exchange{name: name, operation: operation, method: http.MethodPost, path: jobCancelAt + run + inCalls, status: status, before: before}
	}
	viewed := cancel("viewer", waiting, 403, nil)
	viewed.header = bearer("viewer")
	return append(onRun(operation, http.MethodPost, jobCancelAt, waiting), viewed,
		cancel("waiting", waiting, 200, func() { r.set(waiting, audiosearch.StateQueued) }), cancel("again", waiting, 409, nil),
		cancel("running", running, 200, func() { r.set(running, audiosearch.StateRunning) }))
}

// What belongs to no operation is answered with the examples that the document gives for it.
func TestOpenAPIOfAudioSearchOutsideTheOperations(t *testing.T) {
	r := newSearchAPI(t)
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Examples []json.RawMessage
				Enum     []string
			}
		}
	}
	require.NoError(t, json.Unmarshal(r.document, &doc))
	described := doc.Components.Schemas["DetailError"].Examples
	require.Len(t, described, 2)
	require.JSONEq(t, string(described[0]), string(r.run(exchange{method: "GET", path: "/api/v0/search", status: 404, undocumented: true})))
	require.JSONEq(t, string(described[1]), string(r.run(exchange{method: "PUT", path: soundAt, status: 405, undocumented: true})))
	require.Len(t, doc.Components.Schemas["SoundClass"].Enum, audioset.NumClasses)
}
