package oipserver_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/oipserver"
)

// double serves a model that doubles two numbers a row.
func double(t *testing.T, extensions ...string) string {
	s := &oipserver.Server{Extensions: extensions}
	s.Serve(oipserver.Model{
		Name: "double", Versions: []string{"1", "2"}, MaxBatch: 2,
		Input:   oipserver.Tensor{Name: "in", Datatype: "FP32", Shape: []int64{-1, 2}},
		Outputs: []oipserver.Tensor{{Name: "out", Datatype: "FP32", Shape: []int64{-1, 2}}},
		Run: func(_ string, _ []int64, input []float32) (map[string][]float32, error) {
			for i := range input {
				input[i] *= 2
			}
			return map[string][]float32{"out": input}, nil
		},
	})
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL
}

const model = "/v2/models/double"

// ask sends a request, and returns the answer.
func ask(t *testing.T, method, address, body string, header ...string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

const (
	kind   = "Content-Type"
	isJSON = "application/json"
	raw    = "application/octet-stream"
	length = "Inference-Header-Content-Length"
)

func TestAnswers(t *testing.T) {
	server := double(t, oipserver.Binary, oipserver.Configuration)
	const metadata = `"inputs":[{"name":"in","datatype":"FP32","shape":[-1,2]}],"name":"double",` +
		`"outputs":[{"name":"out","datatype":"FP32","shape":[-1,2]}],"platform":"go_function",`
	for path, want := range map[string]string{
		"/v2":                       `{"name":"oipserver","version":"1","extensions":["binary_tensor_data","model_configuration"]}`,
		"/v2/health/live":           `{"live":true}`,
		"/v2/health/ready":          `{"live":true}`,
		model:                       "{" + metadata + `"versions":["1","2"]}`,
		model + "/versions/1":       "{" + metadata + `"versions":["1"]}`,
		model + "/ready":            `{"name":"double","ready":true}`,
		model + "/config":           `{"name":"double","platform":"go","max_batch_size":2}`,
		model + "/versions/2/ready": `{"name":"double","ready":true}`,
	} {
		status, answer := ask(t, "GET", server+path, "")
		assert.Equal(t, http.StatusOK, status, path)
		assert.JSONEq(t, want, answer, path)
	}
	flat := `{"id":"7","inputs":[{"name":"in","shape":[2,2],"datatype":"FP32","data":[1,2,3,4]}],"outputs":[{"name":"out"}]}`
	out := `{"model_name":"double","model_version":"2","id":"7","outputs":[{"name":"out","datatype":"FP32","shape":[2,2],"data":[2,4,6,8]}]}`
	for _, body := range []string{flat, strings.Replace(flat, "[1,2,3,4]", "[[1,2],[3,4]]", 1), strings.Replace(flat, `,"outputs":[{"name":"out"}]`, "", 1)} {
		status, answer := ask(t, "POST", server+model+"/infer", body, kind, isJSON)
		assert.Equal(t, http.StatusOK, status)
		assert.JSONEq(t, out, answer)
	}
	head := `{"inputs":[{"name":"in","shape":[1,2],"datatype":"FP32","parameters":{"binary_data_size":8}}],` +
		`"outputs":[{"name":"out","parameters":{"binary_data":true}}]}`
	status, answer := ask(t, "POST", server+model+"/versions/1/infer", head+"\x00\x00\x80\x3f\x00\x00\x00\x40", kind, raw, length, strconv.Itoa(len(head)))
	assert.Equal(t, http.StatusOK, status, answer)
	text, found := strings.CutSuffix(answer, "\x00\x00\x00\x40\x00\x00\x80\x40")
	assert.True(t, found, "2 and 4")
	assert.JSONEq(t, `{"model_name":"double","model_version":"1",`+
		`"outputs":[{"name":"out","datatype":"FP32","shape":[1,2],"parameters":{"binary_data_size":8}}]}`, text)
}

// TestRefusals: what the protocol does not allow gets its error, in its form.
func TestRefusals(t *testing.T) {
	server := double(t, oipserver.Binary)
	const good = `{"id":"7","inputs":[{"name":"in","shape":[1,2],"datatype":"FP32","data":[1,2]}],"outputs":[{"name":"out"}]}`
	with := func(from, to string) string {
		require.Contains(t, good, from)
		return strings.Replace(good, from, to, 1)
	}
	binary := with(`"data":[1,2]`, `"parameters":{"binary_data_size":8}`)
	type request struct {
		method, path, body string
		header             []string
		status             int
	}
	tests := map[string]request{
		"another path":        {"GET", "/v1/models/double", "", nil, 404},
		"a query":             {"GET", model + "?a=b", "", nil, 404},
		"another model":       {"GET", "/v2/models/triple", "", nil, 404},
		"another version":     {"GET", model + "/versions/3", "", nil, 404},
		"no such thing":       {"GET", model + "/stats", "", nil, 404},
		"no configuration":    {"GET", model + "/config", "", nil, 404},
		"a model by POST":     {"POST", model, "", nil, 405},
		"ready by POST":       {"POST", model + "/ready", "", nil, 405},
		"the server by PUT":   {"PUT", "/v2", "", nil, 405},
		"an inference by GET": {"GET", model + "/infer", "", nil, 405},
		"a GET with a body":   {"GET", model, "{}", nil, 400},
		"no content type":     {"POST", model + "/infer", good, nil, 415},
		"another one":         {"POST", model + "/infer", good, []string{kind, "text/json"}, 415},
		"binary as JSON":      {"POST", model + "/infer", binary, []string{kind, isJSON, length, "10"}, 415},
		"header too large":    {"POST", model + "/infer", binary, []string{kind, raw, length, "1000"}, 400},
		"header too small":    {"POST", model + "/infer", binary, []string{kind, raw, length, "10"}, 400},
		"header a text":       {"POST", model + "/infer", binary, []string{kind, raw, length, "ten"}, 400},
	}
	for name, body := range map[string]string{
		"no JSON":               "hello",
		"a list":                "[]",
		"more behind it":        good + "{}",
		"no inputs":             with(`"inputs"`, `"input"`),
		"keys of another case":  with(`"inputs"`, `"Inputs"`),
		"two inputs":            with(`"inputs":[`, `"inputs":[{"name":"in","shape":[1,2],"datatype":"FP32","data":[1,2]},`),
		"an id that is no text": with(`"7"`, `7`),
		"an unknown key":        with(`"id"`, `"model":"x","id"`),
		"an unknown parameter":  with(`"id"`, `"parameters":{"a":1},"id"`),
		"a list of parameters":  with(`"id"`, `"parameters":[],"id"`),
		"no name":               with(`"name":"in",`, ""),
		"another name":          with(`"in"`, `"inn"`),
		"no datatype":           with(`"datatype":"FP32",`, ""),
		"an unknown datatype":   with("FP32", "FLOAT"),
		"another datatype":      with("FP32", "FP64"),
		"no shape":              with(`"shape":[1,2],`, ""),
		"a shape below 0":       with("[1,2]", "[-1,2]"),
		"a shape of nothing":    with("[1,2]", "[0,2]"),
		"another shape":         with("[1,2]", "[2,1]"),
		"a flat shape":          with("[1,2]", "[2]"),
		"a shape too large":     with("[1,2]", "[9223372036854775807,2]"),
		"too many rows":         with(`[1,2],"datatype":"FP32","data":[1,2]`, `[3,2],"datatype":"FP32","data":[1,2,3,4,5,6]`),
		"no data":               with(`,"data":[1,2]`, ""),
		"too few data":          with(`"data":[1,2]`, `"data":[1]`),
		"too many data":         with(`"data":[1,2]`, `"data":[1,2,3]`),
		"nested wrongly":        with(`"data":[1,2]`, `"data":[[1],[2]]`),
		"null for a number":     with(`"data":[1,2]`, `"data":[1,null]`),
		"texts for numbers":     with(`"data":[1,2]`, `"data":["1","2"]`),
		"data twice":            with(`"data"`, `"parameters":{"binary_data_size":8},"data"`),
		"binary without any":    binary,
		"no outputs":            with(`[{"name":"out"}]`, `[]`),
		"another output":        with(`"out"`, `"logits"`),
		"an output twice":       with(`{"name":"out"}`, `{"name":"out"},{"name":"out"}`),
		"a binary_data of 1":    with(`{"name":"out"}`, `{"name":"out","parameters":{"binary_data":1}}`),
	} {
		tests[name] = request{"POST", model + "/infer", body, []string{kind, isJSON}, 400}
	}
	for name, test := range tests {
		status, answer := ask(t, test.method, server+test.path, test.body, test.header...)
		assert.Equal(t, test.status, status, "%s: %s", name, answer)
		var body map[string]string
		if assert.NoError(t, json.Unmarshal([]byte(answer), &body), name) {
			assert.Len(t, body, 1, name)
			assert.NotEmpty(t, body["error"], name)
		}
	}
	status, _ := ask(t, "POST", server+model+"/infer", good, kind, isJSON)
	assert.Equal(t, http.StatusOK, status)

	plain := double(t)
	for _, body := range []string{binary, with(`{"name":"out"}`, `{"name":"out","parameters":{"binary_data":true}}`)} {
		status, answer := ask(t, "POST", plain+model+"/infer", body, kind, isJSON)
		assert.Equal(t, http.StatusBadRequest, status, answer)
	}
	status, answer := ask(t, "POST", plain+model+"/infer", binary+"12345678", kind, raw, length, "130")
	assert.Equal(t, http.StatusBadRequest, status, answer)
	assert.Contains(t, answer, "extension")
}
