package httpadapter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// moderator scores results by their place, or fails.
type moderator struct{ err error }

func (m *moderator) Moderate(_ context.Context, _ string, results []audiosearch.Result) ([]float64, error) {
	scores := make([]float64, len(results))
	for i := range scores {
		scores[i] = []float64{0, 1, 0.1, 1e-7}[i%4]
	}
	return scores, m.err
}

// A run from its beginning to its result, to the byte.
func TestRunOfASearch(t *testing.T) {
	r := newSoundRig(t, nil, &audiosearch.Options{Moderate: new(moderator).Moderate})
	r.video("ü/\"1\"", "<a & b>.mp4",
		`{"n":-0.10e+2,"big":123456789012345678901234567890,"yes":true,"no":false,"nil":null,"<&>\u0001":"\u0000\"<&>\\é"}`, 0.125)
	id := r.start(aSearch(`"limit":3`))
	status := func(state, termination string, done, total int) string {
		return fmt.Sprintf(`{"run_id":%s,"state":"%s","termination_type":%s,"termination_message":null,"progress":{"done":%d,"total":%d}}`,
			id, state, termination, done, total)
	}
	requireBody(t, r.get(jobStatus+id+of("calls")), http.StatusOK, status("QUEUED", "null", 0, 0))
	requireBody(t, r.get(jobResult+id+of("calls")), http.StatusOK, `{"status":"QUEUED"}`)
	r.work()
	requireBody(t, r.get(jobStatus+id+of("calls")), http.StatusOK, status("TERMINATED", `"SUCCESS"`, 3, 3))
	a := func(start, end, score, moderation string) string {
		return `{"video":{"video_id":"a","path":"2024/a.mp4","metadata":{"site":"north","year":2024}},"start_time_ms":` + start + `,"end_time_ms":` + end +
			`,"keyframe":{"image_id":"a@2500","timestamp_ms":2500},"score":` + score + `,"moderation_score":` + moderation + `}`
	}
	b := `{"video":{"video_id":"b","path":"b.wav","metadata":{"note":null,"site":"south","year":2025.50},"start_ms":7250},"start_time_ms":0,"end_time_ms":10000,` +
		`"keyframe":{"image_id":"b@0","timestamp_ms":0},"score":0.2500038147554742,"moderation_score":0.1}`
	success := func(results ...string) string {
		return `{"status":"SUCCESS","search_target":"sound","results":[` + strings.Join(results, ",") + `]}`
	}
	w := r.get(jobResult + id + of("calls"))
	requireBody(t, w, http.StatusOK, success(a("2000", "12000", "1", "0"), a("4000", "14000", "0.5000076295109483", "1"), b))
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))

	id = r.start(aSearch(`"offset":3,"limit":1`))
	r.work()
	odd := `{"video":{"video_id":"ü/\"1\"","path":"<a & b>.mp4",` +
		`"metadata":{"<&>\u0001":"\u0000\"<&>\\é","big":123456789012345678901234567890,"n":-0.10e+2,"nil":null,"no":false,"yes":true}},` +
		`"start_time_ms":0,"end_time_ms":10000,"keyframe":{"image_id":"ü/\"1\"@0","timestamp_ms":0},"score":0.1250019073777371,"moderation_score":0}`
	requireBody(t, r.get(jobResult+id+of("calls")), http.StatusOK, success(odd))

	id = r.start(aSearch(`"skip_moderation":true,"limit":1`))
	r.work()
	requireBody(t, r.get(jobResult+id+of("calls")), http.StatusOK, success(a("2000", "12000", "1", "null")))
	for name, body := range map[string]string{
		"nothing passes":     aSearch(`"metadata_filters":[{"key":"site","value":"nowhere"}]`),
		"beyond the ranking": aSearch(`"offset":9223372036854775807,"limit":1000`),
		"no videos":          `{"dataset_id":"bells","audio_class":"Silence"}`,
	} {
		id = r.start(body)
		r.work()
		dataset := "calls"
		if name == "no videos" {
			dataset = "bells"
		}
		requireBody(t, r.get(jobResult+id+of(dataset)), http.StatusOK, `{"status":"SUCCESS","search_target":"sound","results":[]}`)
	}
}

// The states and ends of a run, as its record says them.
func TestRunStates(t *testing.T) {
	r := newSoundRig(t, nil, nil)
	id := r.start(aSearch(``))
	number, err := strconv.ParseInt(id, 10, 64)
	require.NoError(t, err)
	for _, c := range []struct {
		state       audiosearch.State
		termination audiosearch.Termination
		message     string
		status      string // of the result
	}{
		{audiosearch.StatePending, "", "", "PENDING"}, {audiosearch.StateQueued, "", "", "QUEUED"}, {audiosearch.StateRunning, "", "", "RUNNING"},
		{audiosearch.StateRunning, "", "It was interrupted, and will go on.", "RUNNING"}, {audiosearch.StateTerminating, "", "", "TERMINATING"},
		{audiosearch.StateTerminated, audiosearch.ClientError, "The run was cancelled.", "CLIENT_ERROR"},
		{audiosearch.StateTerminated, audiosearch.InternalError, "The \"scorer\" <failed>.\n", "INTERNAL_ERROR"},
		{audiosearch.StateTerminated, audiosearch.Success, "1 video could not be searched: x", "SUCCESS"},
	} {
		require.NoError(t, r.store.UpdateRun(t.Context(), "acme", number, func(run *audiosearch.Run) error {
			run.State, run.Termination, run.Message, run.Done, run.Total = c.state, c.termination, c.message, 17, 1<<40
			return nil
		}))
		termination, message := "null", "null"
		if c.termination != "" {
			termination = quoteJSON(string(c.termination))
		}
		if c.message != "" {
			message = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(quoteJSON(c.message))
		}
		requireBody(t, r.get(jobStatus+id+of("calls")), http.StatusOK, fmt.Sprintf(
			`{"run_id":%s,"state":"%s","termination_type":%s,"termination_message":%s,"progress":{"done":17,"total":1099511627776}}`,
			id, c.state, termination, message))
		want := `{"status":"` + c.status + `"}`
		if c.termination != "" {
			want = `{"status":"` + c.status + `","search_target":"sound","results":[]}`
		}
		requireBody(t, r.get(jobResult+id+of("calls")), http.StatusOK, want)
	}
}

// The progress says what is known of the sound, and nothing else; a speed is of those who run.
func TestRunProgress(t *testing.T) {
	r := newSoundRig(t, nil, nil)
	id := r.start(aSearch(``))
	number, err := strconv.ParseInt(id, 10, 64)
	require.NoError(t, err)
	known := audiosearch.SoundProgress{Done: 90*time.Minute + 20*time.Millisecond, Total: 100 * time.Hour, Speed: 14.2351}
	for name, c := range map[string]struct {
		state audiosearch.State
		sound audiosearch.SoundProgress
		want  string
	}{
		"nothing":          {audiosearch.StateRunning, audiosearch.SoundProgress{}, ``},
		"a length":         {audiosearch.StateRunning, audiosearch.SoundProgress{Total: time.Minute}, `,"sound_done_seconds":0,"sound_total_seconds":60`},
		"no length":        {audiosearch.StateRunning, audiosearch.SoundProgress{Done: time.Minute, Speed: 2}, `,"sound_done_seconds":60,"speed":2`},
		"all":              {audiosearch.StateRunning, known, `,"sound_done_seconds":5400.02,"sound_total_seconds":360000,"speed":14.24,"seconds_left":24910`},
		"done":             {audiosearch.StateRunning, audiosearch.SoundProgress{Done: time.Hour, Total: time.Hour, Speed: 0.5}, `,"sound_done_seconds":3600,"sound_total_seconds":3600,"speed":0.5,"seconds_left":0`},
		"waits again":      {audiosearch.StateQueued, known, `,"sound_done_seconds":5400.02,"sound_total_seconds":360000`},
		"is being stopped": {audiosearch.StateTerminating, known, `,"sound_done_seconds":5400.02,"sound_total_seconds":360000`},
	} {
		require.NoError(t, r.store.UpdateRun(t.Context(), "acme", number, func(run *audiosearch.Run) error {
			run.State, run.Done, run.Total, run.Sound = c.state, 17, 40, c.sound
			return nil
		}))
		w := r.get(jobStatus + id + of("calls"))
		require.Contains(t, w.Body.String(), `"progress":{"done":17,"total":40`+c.want+`}}`, name)
	}
}

// A run that fails has no results, and its message is for who asked.
func TestRunThatFails(t *testing.T) {
	const aBell = `{"dataset_id":"bells","audio_class":"Dial tone"}`
	r := newSoundRig(t, nil, nil)
	id := r.start(aBell)
	r.scorer.fail(errors.New("the model server is down"))
	r.work()
	var status struct {
		Type    string `json:"termination_type"`
		Message string `json:"termination_message"`
	}
	require.NoError(t, json.Unmarshal(r.get(jobStatus+id+of("bells")).Body.Bytes(), &status))
	require.Equal(t, "INTERNAL_ERROR", status.Type)
	require.NotEmpty(t, status.Message)
	requireBody(t, r.get(jobResult+id+of("bells")), http.StatusOK, `{"status":"INTERNAL_ERROR","search_target":"sound","results":[]}`)
	// What is scored is searched all the same.
	id = r.start(aSearch(``))
	r.work()
	require.NoError(t, json.Unmarshal(r.get(jobStatus+id+of("calls")).Body.Bytes(), &status))
	require.Equal(t, "SUCCESS", status.Type)
}

// Before a scorer has ever answered, nobody knows what can be found.
func TestSearchBeforeTheScorerAnswers(t *testing.T) {
	r := newSoundRig(t, nil, nil)
	r.scorer.fail(errors.New("the model server is down"))
	w := r.post(aSearch(``))
	requireDetail(t, w, http.StatusServiceUnavailable)
	require.NotContains(t, w.Body.String(), "model server")
	require.Contains(t, r.log.String(), "the model server is down")
	r.scorer.fail(nil)
	require.Equal(t, http.StatusOK, r.post(aSearch(``)).Code)
}

func TestCancelRun(t *testing.T) {
	r := newSoundRig(t, nil, nil)
	cancel := func(id, body string) string {
		w := r.as("full", "POST", jobCancel+id+of("calls"), body)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		return w.Body.String()
	}
	ended := func(id string) string {
		return `{"run_id":` + id + `,"state":"TERMINATED","termination_type":"CLIENT_ERROR","termination_message":"The run was cancelled.",` +
			`"progress":{"done":0,"total":0}}`
	}
	const finished = "The run has ended, so there is nothing to cancel."
	waiting := r.start(aSearch(``))
	require.Equal(t, ended(waiting), cancel(waiting, ""))
	requireBody(t, r.get(jobStatus+waiting+of("calls")), http.StatusOK, ended(waiting))
	requireBody(t, r.get(jobResult+waiting+of("calls")), http.StatusOK, `{"status":"CLIENT_ERROR","search_target":"sound","results":[]}`)
	requireSentence(t, r.as("full", "POST", jobCancel+waiting+of("calls"), ""), http.StatusConflict, finished)
	r.work()
	requireBody(t, r.get(jobStatus+waiting+of("calls")), http.StatusOK, ended(waiting))

	running := r.start(aSearch(``))
	number, err := strconv.ParseInt(running, 10, 64)
	require.NoError(t, err)
	require.NoError(t, r.store.UpdateRun(t.Context(), "acme", number, func(run *audiosearch.Run) error {
		run.State, run.UpdatedAt = audiosearch.StateRunning, time.Now().UTC().Truncate(time.Microsecond)
		return nil
	}))
	ending := `{"run_id":` + running + `,"state":"TERMINATING","termination_type":null,"termination_message":null,"progress":{"done":0,"total":0}}`
	require.Equal(t, ending, cancel(running, ""))
	require.Equal(t, ending, cancel(running, `{"a body":"is not looked at"`), "again, as long as it has not ended")

	done := r.start(aSearch(``))
	r.work()
	requireSentence(t, r.as("full", "POST", jobCancel+done+of("calls"), ""), http.StatusConflict, finished)
}

// What no run's ID can be reads like a run that there is not, after the dataset.
func TestRunIDsThatAreNone(t *testing.T) {
	r := newSoundRig(t, nil, nil)
	run := r.start(aSearch(``))
	ids := []string{"0", "-1", "+" + run, "0" + run, run + "0000000", run + ".0", run + "e0", "1_0", "0x10", "x",
		"%00", "%ff", "%20" + run, run + "%20", "1%2F1", "%D9%A1", "null", "9007199254740992", "9223372036854775807", "9223372036854775808", strings.Repeat("9", 5000), "1", run + "%00"}
	for _, path := range []string{jobStatus, jobResult, jobCancel} {
		method := http.MethodGet
		if path == jobCancel {
			method = http.MethodPost
		}
		for _, id := range ids {
			requireSentence(t, r.as("full", method, path+id+of("calls"), ""), http.StatusNotFound, "Run not found")
			requireSentence(t, r.as("full", method, path+id+of("none"), ""), http.StatusNotFound, "Dataset not found")
		}
		requireSentence(t, r.as("full", method, path+run+of("bells"), ""), http.StatusNotFound, "Run not found")
		for _, query := range []string{"", "?", "?dataset_id", "?dataset_id=", of("Calls"), of("calls%20"), of("%00"), of("%ff"),
			of(strings.Repeat("c", 256)), "?Dataset_id=calls",
			"?dataset_id[]=calls", "?dataset=calls", "?dataset_id=calls&dataset_id=none", "?dataset_id=calls&dataset_id=", ";dataset_id=calls"} {
			requireDetail(t, r.as("full", method, path+run+query, ""), http.StatusNotFound)
		}
	}
	// Of several the last one counts, as everywhere; what else stands in the query is ignored.
	require.Equal(t, http.StatusOK, r.get(jobStatus+run+"?dataset_id=none&x=1&dataset_id=c%61lls&").Code)
	require.Equal(t, http.StatusOK, r.get(jobStatus+strings.Replace(run, run[:1], "%3"+run[:1], 1)+of("calls")).Code, "an escaped digit is a digit")
}
