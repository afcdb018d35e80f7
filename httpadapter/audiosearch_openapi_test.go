package httpadapter

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audioset"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

var everySearchOption = AudioSearchOptions{Cancel: true, MinScore: true}

// describedScorer has the model of the document's examples.
type describedScorer struct{}

func (describedScorer) Model(context.Context) (sound.Model, error) {
	return sound.Model{
		ID: "described/1", Family: "described", SampleRate: 16000, Window: 10 * time.Second, Hop: 2 * time.Second,
		Classes: []sound.Class{"Dial tone", "Silence"},
	}, nil
}

func (describedScorer) Score(context.Context, [][]float32) ([]sound.Scores, error) {
	return nil, errors.New("nothing is scored")
}

// describedAudioSearch has a dataset, with a video that has one key.
func describedAudioSearch(t testing.TB, opts AudioSearchOptions) *Handler {
	t.Helper()
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	s, err := audiosearch.New(db.AudioSearch(), &audiosearch.Options{Scorers: []sound.Scorer{describedScorer{}}, Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
	require.NoError(t, err)
	_, err = s.CreateDataset(t.Context(), "acme", "", "calls")
	require.NoError(t, err)
	video := audiosearch.Video{ID: "call-0017", Path: "call-0017.mp4", Metadata: metadata.Map{"year": metadata.Int(2024)}}
	require.NoError(t, s.PutVideos(t.Context(), "acme", "", "calls", video))
	h, err := NewAudioSearch(s, AuthenticatorFunc(func(*http.Request) (Principal, error) {
		return Principal{Organization: "acme", Subject: "somebody", Access: access.Full()}, nil
	}), &opts)
	require.NoError(t, err)
	return h
}

func TestOpenAPIOfAudioSearchDescribesWhatIsMounted(t *testing.T) {
	schemas := []string{"AudioSoundSearch", "MetadataFilter", "SoundClass", "SearchRun", "SearchRunID", "RunState", "SearchRunStatus", "SearchProgress",
		"SearchRunResult", "SoundResult", "FoundVideo", "Keyframe", "DetailError", "HTTPValidationError", "ValidationError"}
	three := []string{"searchAudioSound", "getSearchRunStatus", "getSearchRunResult"}
	for name, c := range map[string]struct {
		opts AudioSearchOptions
		ids  []string
	}{
		"as the spec has it": {AudioSearchOptions{}, three}, "everything": {everySearchOption, append(slices.Clone(three), "cancelSearchRun")},
	} {
		t.Run(name, func(t *testing.T) {
			h := describedAudioSearch(t, c.opts)
			root := parsedAuthMgmt(t, h)
			require.Equal(t, schemas, keys(at(root, "components", "schemas")))
			require.Equal(t, []string{"accessToken"}, keys(at(root, "components", "securitySchemes")))
			var ids []string
			for i, op := range describedOperations(root) {
				require.Equal(t, h.Routes()[i].Operation, Operation{"audiosearch", op.ID, op.Method, op.Pattern})
				ids = append(ids, op.ID)
				described := at(root, "paths", op.Pattern, strings.ToLower(op.Method))
				require.JSONEq(t, `["Audio search"]`, string(at(described, "tags").Raw()))
				require.JSONEq(t, `[{"accessToken":[]}]`, string(at(described, "security").Raw()))
				require.NotEmpty(t, at(described, "summary").Text())
				require.NotEmpty(t, at(described, "description").Text())
			}
			require.Equal(t, c.ids, ids)
			fields := keys(at(root, "components", "schemas", "AudioSoundSearch", "properties"))
			require.Equal(t, c.opts.MinScore, slices.Contains(fields, "min_score"))
			examples := keys(at(root, "paths", soundPath, "post", "requestBody", "content", "application/json", "examples"))
			require.Equal(t, c.opts.MinScore, slices.Contains(examples, "score"))
		})
	}
}

// The enums of the document are those of package audiosearch, in its order.
func TestOpenAPIOfAudioSearchEnums(t *testing.T) {
	root := parsedAuthMgmt(t, describedAudioSearch(t, everySearchOption))
	values := func(path ...string) (list []string) {
		for _, v := range at(root, append([]string{"components", "schemas"}, path...)...).Elements() {
			list = append(list, v.Text())
		}
		return list
	}
	a, err := newAudioSearchAdapter(nil, nil)
	require.NoError(t, err)
	require.Len(t, a.classes, audioset.NumClasses)
	require.Equal(t, a.names(), values("SoundClass", "enum"))
	require.Equal(t, a.ops, values("MetadataFilter", "properties", "op", "enum"))
	states := []audiosearch.State{audiosearch.StatePending, audiosearch.StateQueued, audiosearch.StateRunning, audiosearch.StateTerminating,
		audiosearch.StateTerminated}
	ends := []audiosearch.Termination{audiosearch.Success, audiosearch.ClientError, audiosearch.InternalError}
	var stateNames, endNames []string
	for _, s := range states {
		stateNames = append(stateNames, string(s))
	}
	for _, e := range ends {
		endNames = append(endNames, string(e))
	}
	require.Equal(t, stateNames, values("RunState", "enum"))
	require.Equal(t, append(slices.Clone(endNames), ""), values("SearchRunStatus", "properties", "termination_type", "enum"), "the last is null")
	require.Equal(t, slices.Concat(stateNames[:4], endNames), values("SearchRunResult", "properties", "status", "enum"))
	most := strconv.Itoa(1<<53 - 1)
	require.Equal(t, most, string(at(root, "components", "schemas", "SearchRunID", "maximum").Raw()))
	require.Equal(t, most, string(at(root, "components", "parameters", "RunID", "schema", "maximum").Raw()))
	limit := at(root, "components", "schemas", "AudioSoundSearch", "properties", "limit", "default")
	require.Equal(t, "40", string(limit.Raw()))
	require.Equal(t, append(slices.Clone(searchFields), "min_score"), keys(at(root, "components", "schemas", "AudioSoundSearch", "properties")))
}

// All services in one document: what they share is the same, and nothing else has the
// same name.
func TestOpenAPIOfAllServices(t *testing.T) {
	vault, _ := describedVault(t, everyVaultOption)
	all := append(describedTriggers(t, everyOption), vault, describedAuthMgmt(t, everyAuthMgmtOption), describedAudioSearch(t, everySearchOption))
	root := parsedAuthMgmt(t, all...)
	routes := 0
	for _, h := range all {
		routes += len(h.Routes())
	}
	require.Len(t, describedOperations(root), routes)
	require.Equal(t, []string{"bearerAuth", "accessToken", "clientBasic"}, keys(at(root, "components", "securitySchemes")))
}

// Every example of an error is what a request is answered with.
func TestOpenAPIOfAudioSearchErrorExamplesAreReal(t *testing.T) {
	h := describedAudioSearch(t, everySearchOption)
	root := parsedAuthMgmt(t, h)
	send := func(method, target, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, target, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	const calls = "?dataset_id=calls"
	var started struct {
		ID int64 `json:"run_id"`
	}
	require.NoError(t, json.Unmarshal(send("POST", soundPath, `{"dataset_id":"calls","audio_class":"Silence"}`).Body.Bytes(), &started))
	ended := strings.Replace(runCancelPath, "{run_id}", strconv.FormatInt(started.ID, 10), 1) + calls
	require.Equal(t, http.StatusOK, send("POST", ended, "").Code)
	seen := make(map[string]bool)
	for _, c := range []struct {
		pattern, target, body string
		status                int
		name                  string
	}{
		{soundPath, "", `{"audio_class":"Silence","limit":1001,"metadata_filters":[{"key":"a","value":"x","op":">="},{"key":"a","value":"x","op":"<>"}]}`,
			422, "fields"},
		{soundPath, "", `{"dataset_id":"calls","audio_class":"Dog"}`, 422, "class"},
		{soundPath, "", `{"dataset_id":"calls","audio_class":"Silence","metadata_filters":[{"key":"year","value":"x"},{"key":"Year","value":"x"}]}`, 422, "key"},
		{soundPath, "", `{"dataset_id": calls}`, 422, "not_json"},
		{soundPath, "", `{"dataset_id":"none","audio_class":"Silence"}`, 404, ""},
		{runStatusPath, "1?dataset_id=none", "", 404, "dataset"},
		{runStatusPath, "1" + calls, "", 404, "run"},
		{runResultPath, "1", "", 404, "dataset"},
		{runResultPath, "x" + calls, "", 404, "run"},
		{runCancelPath, "1?dataset_id=", "", 404, "dataset"},
		{runCancelPath, "0" + calls, "", 404, "run"},
		{runCancelPath, ended, "", 409, ""},
	} {
		method := "GET"
		if c.pattern == soundPath || c.pattern == runCancelPath {
			method = "POST"
		}
		target := c.target
		if target != ended {
			target = strings.Replace(c.pattern, "{run_id}", c.target, 1)
		}
		w := send(method, target, c.body)
		require.Equal(t, c.status, w.Code, w.Body.String())
		resp, _ := followRef(t, root, at(root, "paths", c.pattern, strings.ToLower(method), "responses", strconv.Itoa(c.status)))
		media := at(resp, "content", "application/json")
		example := at(media, "example")
		if c.name != "" {
			example = at(media, "examples", c.name, "value")
		}
		require.JSONEq(t, string(example.Raw()), w.Body.String(), target+c.body)
		seen[w.Body.String()] = true
	}
	// As many as may wait, and one more.
	for range 1000 {
		w := send("POST", soundPath, `{"dataset_id":"calls","audio_class":"Silence"}`)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	}
	w := send("POST", soundPath, `{"dataset_id":"calls","audio_class":"Silence"}`)
	require.Equal(t, http.StatusTooManyRequests, w.Code)
	refused := at(root, "paths", soundPath, "post", "responses", "429")
	require.JSONEq(t, string(at(refused, "content", "application/json", "example").Raw()), w.Body.String())
	require.Equal(t, string(at(refused, "headers", "Retry-After", "example").Raw()), w.Header().Get("Retry-After"))
	seen[w.Body.String()] = true

	described := make(map[string]bool)
	for _, item := range at(root, "paths").Members() {
		for _, op := range item.Members() {
			for status, r := range at(op, "responses").Members() {
				r, ref := followRef(t, root, r)
				if status.Text() < "400" || strings.Contains(ref, "/Detail") {
					continue
				}
				for _, e := range describedExamples(t, root, at(r, "content"), "") {
					var body any
					require.NoError(t, json.Unmarshal(e.value.Raw(), &body))
					described[string(mustJSON(body))] = true
				}
			}
		}
	}
	require.Len(t, seen, len(described))
}

// The examples that operations share are what the table answers.
func TestOpenAPIOfAudioSearchSharedErrorsAreTheTable(t *testing.T) {
	root := parsedAuthMgmt(t, describedAudioSearch(t, everySearchOption))
	for name, kind := range map[string]kind{
		"DetailUnauthorized": unauthenticated, "DetailForbidden": forbidden, "DetailTimeout": requestTimeout,
		"DetailUnsupportedMediaType": unsupportedMediaType, "DetailUnavailable": unavailable, "DetailTooManyRequests": tooManyRequests,
	} {
		r := at(root, "components", "responses", name)
		require.JSONEq(t, string(replyDetail(problem{kind: kind}).body), string(at(r, "content", "application/json", "example").Raw()), name)
	}
	unsupported := at(root, "components", "responses", "DetailKeyUnsupported", "content", "application/json", "example")
	require.JSONEq(t, string(replyDetail(keyUnsupported).body), string(unsupported.Raw()))
	large := at(root, "components", "responses", "DetailTooLarge", "content", "application/json", "example")
	require.JSONEq(t, string(replyDetail(bodyTooLarge(1<<20)).body), string(large.Raw()))
	require.Len(t, keys(at(root, "components", "responses")), 9)
}
