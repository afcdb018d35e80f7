package oip_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/inference"
	"github.com/seed-6363c74e/mortise/audiosearch/oip"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/oipserver"
)

// credential is in the header of each request, and in no error.
const credential = "of-the-tests-and-never-shown"

// answering returns a scorer, and a server that answers inferences as told. ID is the
// request's.
func answering(t *testing.T, answer func(w http.ResponseWriter, id string)) *oip.Scorer {
	server := &oipserver.Server{}
	server.Serve(meanModel(-1, "1"))
	server.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/infer") {
			return false
		}
		var request struct{ ID string }
		body, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(body, &request) != nil {
			panic(http.ErrAbortHandler)
		}
		answer(w, request.ID)
		return true
	}
	return newScorer(t, listen(t, server), func(o *oip.Options) {
		o.Header, o.Retries = http.Header{"Authorization": {"Bearer " + credential}}, -1
	})
}

// good is an answer to an inference of one clip, with something in place of something
// else.
func good(replace ...string) func(http.ResponseWriter, string) {
	return func(w http.ResponseWriter, id string) {
		text := `{"model_name":"mean","model_version":"1","id":"` + id + `","outputs":[` +
			`{"name":"logits","datatype":"FP32","shape":[1,3],"data":[0,1.5,-2e0]}]}`
		_, _ = io.WriteString(w, strings.NewReplacer(replace...).Replace(text))
	}
}

// goodBinary is that with binary data behind it.
func goodBinary(header string, size int, data []byte) func(http.ResponseWriter, string) {
	return func(w http.ResponseWriter, id string) {
		text := fmt.Sprintf(`{"model_name":"mean","model_version":"1","id":%q,"outputs":[`+
			`{"name":"logits","datatype":"FP32","shape":[1,3],"parameters":{"binary_data_size":%d}}]}`, id, size)
		if header == "" {
			header = strconv.Itoa(len(text))
		}
		w.Header().Set("Inference-Header-Content-Length", header)
		_, _ = w.Write(append([]byte(text), data...))
	}
}

// floats are numbers as they are sent.
func floats(values ...float32) (data []byte) {
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return data
}

// raw answers with bytes of HTTP.
func raw(text string) func(http.ResponseWriter, string) {
	return func(w http.ResponseWriter, id string) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, strings.ReplaceAll(text, "ID", id))
	}
}

// TestGoodAnswers: what the protocol leaves open is read.
func TestGoodAnswers(t *testing.T) {
	numbers := floats(0, 1.5, -2)
	for name, answer := range map[string]func(http.ResponseWriter, string){
		"as it is":               good(),
		"nested":                 good("[0,1.5,-2e0]", "[[0,1.5,-2e0]]"),
		"with space":             good("[0,1.5,-2e0]", " [ 0 ,\n1.5\t, -2e0 ] "),
		"without a version":      good(`"model_version":"1",`, ""),
		"the version null":       good(`"model_version":"1"`, `"model_version":null`),
		"with parameters":        good(`"outputs"`, `"parameters":{"a":1},"outputs"`),
		"with unknown keys":      good(`"outputs"`, `"timing":[{}],"outputs"`),
		"with an output more":    good(`"outputs":[`, `"outputs":[{"name":"more","datatype":"INT64","shape":[1],"data":[7]},`),
		"a type of another name": func(w http.ResponseWriter, id string) { w.Header().Set("Content-Type", "text/plain"); good()(w, id) },
		"binary":                 goodBinary("", 12, numbers),
		"one byte at a time": func(w http.ResponseWriter, id string) {
			r := httptest.NewRecorder()
			good()(r, id)
			for _, b := range r.Body.Bytes() {
				_, _ = w.Write([]byte{b})
				_ = http.NewResponseController(w).Flush()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			scores, err := answering(t, answer).Score(t.Context(), clipsOf(1))
			require.NoError(t, err)
			require.InDeltaSlice(t, []float32{0.5, 0.81757448, 0.11920292}, scores[0], 1e-6)
		})
	}
}

// TestHostileAnswers: whatever is not the answer to the request has no scores.
func TestHostileAnswers(t *testing.T) {
	numbers := floats(0, 1.5, -2)
	bomb := new(bytes.Buffer)
	z := gzip.NewWriter(bomb)
	_, _ = z.Write(bytes.Repeat([]byte(" "), 64<<20))
	_ = z.Close()
	type answers = map[string]func(http.ResponseWriter, string)
	for says, tests := range map[string]answers{
		"not of the protocol": {
			"nothing":                   func(http.ResponseWriter, string) {},
			"a page":                    func(w http.ResponseWriter, _ string) { _, _ = io.WriteString(w, "<html>Please log in</html>") },
			"another type of JSON":      func(w http.ResponseWriter, _ string) { _, _ = io.WriteString(w, "[]") },
			"deep JSON":                 func(w http.ResponseWriter, _ string) { _, _ = io.WriteString(w, strings.Repeat("[", 1<<20)) },
			"half a JSON":               good(`}]}`, ""),
			"more behind it":            good(`}]}`, `}]}}`),
			"two of them":               good(`}]}`, `}]}{}`),
			"no model name":             good(`"model_name":"mean",`, ""),
			"a version that is no text": good(`"model_version":"1"`, `"model_version":1`),
			"keys of another case":      good(`"outputs"`, `"Outputs"`),
			"a key twice":               good(`"outputs"`, `"id":"x","outputs"`),
			"another id":                good(`"id":"`, `"id":"x`),
			"no id":                     good(`"id"`, `"di"`),
			"no outputs":                good(`"outputs":[`, `"outputs":[],"o":[`),
			"outputs null":              good(`"outputs":[`, `"outputs":null,"o":[`),
			"another output":            good(`"logits"`, `"scores"`),
			"an output without a name":  good(`"name":"logits",`, ""),
			"the output twice":          good(`}]}`, `},{"name":"logits","datatype":"FP32","shape":[1,3],"data":[0,0,0]}]}`),
			"no datatype":               good(`"datatype":"FP32",`, ""),
			"another datatype":          good("FP32", "FP64"),
			"no shape":                  good(`"shape":[1,3],`, ""),
			"another shape":             good("[1,3]", "[3,1]"),
			"a flat shape":              good("[1,3]", "[3]"),
			"more clips":                good("[1,3]", "[2,3]", "[0,", "[0,0,0,0,"),
			"a shape of fractions":      good("[1,3]", "[1.0,3]"),
			"a shape of texts":          good("[1,3]", `["1","3"]`),
			"a shape too large":         good("[1,3]", "[4611686018427387904,4]"),
			"no data":                   good(`"data"`, `"date"`),
			"data of a text":            good("[0,1.5,-2e0]", `"0,1.5,-2"`),
			"too few numbers":           good("0,1.5", "1.5"),
			"too many numbers":          good("0,1.5", "0,0,1.5"),
			"numbers in texts":          good("1.5", `"1.5"`),
			"a boolean":                 good("1.5", "true"),
			"an object":                 good("1.5", "{}"),
			"NaN":                       good("1.5", "NaN"),
			"too large a number":        good("1.5", "1e39"),
			"nested too deeply":         good("[0,1.5,-2e0]", "[[[0,1.5,-2e0]]]"),
			"nested the other way":      good("[0,1.5,-2e0]", "[[0],[1.5],[-2e0]]"),
			"nested in part":            good("[0,1.5,-2e0]", "[[0,1.5],-2e0]"),
			"flat, then nested":         good("[0,1.5,-2e0]", "[0,[1.5],-2e0]"),
			"binary without a header":   good(`"data":[0,1.5,-2e0]`, `"parameters":{"binary_data_size":12}`),
			"both":                      good(`"data"`, `"parameters":{"binary_data_size":0},"data"`),
			"both, of the right size": func(w http.ResponseWriter, id string) {
				text := `{"model_name":"mean","id":"` + id + `","outputs":[{"name":"logits","datatype":"FP32",` +
					`"shape":[1,3],"parameters":{"binary_data_size":12},"data":[0,1.5,-2]}]}`
				w.Header().Set("Inference-Header-Content-Length", strconv.Itoa(len(text)))
				_, _ = io.WriteString(w, text+string(numbers))
			},
			"binary, too short":      goodBinary("", 12, numbers[:11]),
			"binary, too long":       goodBinary("", 12, append(numbers, 0)),
			"binary, another size":   goodBinary("", 8, numbers),
			"binary, a size below 0": goodBinary("", -12, numbers),
			"header too large":       goodBinary("100000", 12, numbers),
			"header below 0":         goodBinary("-1", 12, numbers),
			"header is no number":    goodBinary("0x10", 12, numbers),
			"header 0":               goodBinary("0", 12, numbers),
			"too long": func(w http.ResponseWriter, _ string) {
				_, _ = w.Write(bytes.Repeat([]byte(" "), 3<<20))
			},
			"a gzip bomb": func(w http.ResponseWriter, _ string) {
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = w.Write(bomb.Bytes())
			},
			"a length too large": raw("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n{"),
			"a length too small": raw("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{\"model_name\":\"mean\",\"id\":\"ID\"}"),
			"a status of 206":    func(w http.ResponseWriter, id string) { w.WriteHeader(206); good()(w, id) },
		},
		"is away": {
			"half an answer": raw("HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n{\"model_name\":\"mean\""),
			"half a chunk":   raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n{\"model_name\""),
			"no HTTP":        raw("SSH-2.0-OpenSSH_9.2\r\n"),
			"a bad length":   raw("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}"),
			"a hang-up":      func(http.ResponseWriter, string) { panic(http.ErrAbortHandler) },
			"endless header": raw("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 11<<20)),
		},
		"try again": {
			"the credentials": good(`"model_name":"mean"`, `"model_name":"`+credential+`"`),
			"another model":   good(`"model_name":"mean"`, `"model_name":"median"`),
			"another version": good(`"model_version":"1"`, `"model_version":"2"`),
		},
		"no score": {
			"null":            good("1.5", "null"),
			"binary NaN":      goodBinary("", 12, floats(0, float32(math.NaN()), 1)),
			"binary infinity": goodBinary("", 12, floats(0, float32(math.Inf(1)), 1)),
		},
	} {
		for name, answer := range tests {
			t.Run(name, func(t *testing.T) {
				rows, err := answering(t, answer).Score(t.Context(), clipsOf(1))
				require.ErrorContains(t, err, says)
				require.Nil(t, rows)
				requireMessage(t, err)
				if says == "no score" {
					require.ErrorIs(t, err, inference.ErrAnswer)
					require.ErrorIs(t, err, sound.ErrPermanent)
				} else {
					require.NotErrorIs(t, err, sound.ErrPermanent)
				}
			})
		}
	}
}

// requireMessage requires that the text of an error is fit for a log.
func requireMessage(t *testing.T, err error) {
	t.Helper()
	text := err.Error()
	assert.True(t, utf8.ValidString(text))
	assert.NotContains(t, text, "\n")
	assert.NotContains(t, text, credential)
	assert.NotContains(t, text, "http://")
	assert.Less(t, len(text), 600)
	assert.LessOrEqual(t, strings.Count(text, "oip: "), 1, text)
}

// TestErrorsOfTheServer: what it says is shown on one line, shortened, without
// credentials.
func TestErrorsOfTheServer(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":"no such\nthing\u0000\u001b[31m  here"}`:           "(it says: no such thing [31m here)",
		`{"error":"` + strings.Repeat("é", 5000) + `"}`:              strings.Repeat("é", 100) + "...)",
		`{"error":"bad token ` + credential + ` of you"}`:            "(it says: bad token [hidden] of you)",
		`{"error":"Authorization: Bearer ` + credential + `"}`:       "(it says: Authorization: [hidden])",
		`{"error":{"code":7}}`:                                       "model mean",
		`<html>` + credential:                                        "model mean",
		`{"error":"a","error":"b"}`:                                  "model mean",
		`{"error":"` + strings.Repeat("x", 4<<20) + `"}`:             "model mean",
		"{\"error\":\"" + strings.Repeat("\u202e\ufeff", 300) + `"}`: "model mean",
	} {
		s := answering(t, func(w http.ResponseWriter, _ string) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, body)
		})
		_, err := s.Score(t.Context(), clipsOf(1))
		require.ErrorIs(t, err, sound.ErrPermanent)
		require.ErrorContains(t, err, "400 Bad Request")
		require.True(t, strings.HasSuffix(err.Error(), want), "%s", err)
		requireMessage(t, err)
	}
}

// TestRedirects: credentials and sound go to no other host.
func TestRedirects(t *testing.T) {
	other := &oipserver.Server{}
	other.Serve(meanModel(-1, "1"))
	elsewhere := listen(t, other)
	for name, to := range map[string]struct {
		status         int
		location, says string // says "": it is followed
	}{
		"to the same host":  {http.StatusTemporaryRedirect, "/moved/v2/models/mean/versions/1/infer", ""},
		"for ever":          {http.StatusTemporaryRedirect, "/v2/models/mean/versions/1/infer", "redirects"},
		"to a GET":          {http.StatusFound, "/moved/v2/models/mean/versions/1/infer", "redirects"},
		"to another host":   {http.StatusPermanentRedirect, elsewhere + "/v2/models/mean/versions/1/infer", "redirects"},
		"to another scheme": {http.StatusPermanentRedirect, "file:///etc/passwd", "redirects"},
		"to nothing at all": {http.StatusPermanentRedirect, "://", "is away"},
	} {
		t.Run(name, func(t *testing.T) {
			server := &oipserver.Server{Extensions: []string{oipserver.Binary}}
			server.Serve(meanModel(-1, "1"))
			server.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
				if path, ok := strings.CutPrefix(r.URL.Path, "/moved"); ok {
					r.URL.Path = path
					return false
				}
				if !strings.HasSuffix(r.URL.Path, "/infer") {
					return false
				}
				w.Header().Set("Location", to.location)
				w.WriteHeader(to.status)
				return true
			}
			s := newScorer(t, listen(t, server), func(o *oip.Options) {
				o.Header, o.Retries = http.Header{"X-Api-Key": {credential}}, -1
			})
			clips := clipsOf(2)
			scores, err := s.Score(t.Context(), clips)
			if to.says == "" {
				require.NoError(t, err)
				requireScores(t, "1", clips, scores)
				return
			}
			require.ErrorContains(t, err, to.says)
			requireMessage(t, err)
			require.Empty(t, other.Requests())
		})
	}
}

// TestHostileMetadata: what cannot be metadata is refused.
func TestHostileMetadata(t *testing.T) {
	const right = `{"name":"mean","versions":["1"],"platform":"x","inputs":[{"name":"wave","datatype":"FP32","shape":[-1,500]}],` +
		`"outputs":[{"name":"logits","datatype":"FP32","shape":[-1,3]}]}`
	long := strings.Repeat("n", 300)
	for name, test := range map[string]struct {
		body, want string
		permanent  bool
	}{
		"right":              {right, "", false},
		"no JSON":            {"hello", "not of the protocol", false},
		"a list":             {"[]", "no JSON object", false},
		"no name":            {strings.Replace(right, `"name":"mean",`, "", 1), "no name", false},
		"a number for name":  {strings.Replace(right, `"mean"`, "7", 1), "no name", false},
		"versions of digits": {strings.Replace(right, `["1"]`, "[1]", 1), "versions", false},
		"no inputs":          {strings.Replace(right, `"inputs"`, `"in"`, 1), "inputs", false},
		"no outputs":         {strings.Replace(right, `"outputs"`, `"out"`, 1), "outputs", false},
		"no shape":           {strings.Replace(right, `"shape":[-1,500]`, `"shape":null`, 1), "inputs", false},
		"a long shape":       {strings.Replace(right, "-1,500", strings.Repeat("1,", 20)+"1", 1), "inputs", false},
		"many inputs":        {strings.Replace(right, `"inputs":[`, `"inputs":[`+strings.Repeat(`{"name":"a","datatype":"FP32","shape":[1]},`, 300), 1), "inputs", false},
		"another rank":       {strings.Replace(right, "-1,500", "-1,5,100", 1), "a waveform is", true},
		"another type":       {strings.Replace(right, "FP32", "INT16", 1), "INT16", true},
		"a shape of 0":       {strings.Replace(right, "-1,500", "0,500", 1), "", true},
		"more classes":       {strings.Replace(right, "-1,3", "-1,4", 1), "classes", true},
		"a long name":        {strings.Replace(right, "mean", long, 1), "Options.Weights", true},
		"too long":           {right + strings.Repeat(" ", 1<<20), "more than", false},
		"control characters": {strings.Replace(right, "wave", `w\u0000\n`, 1), "", false},
		"a strange datatype": {strings.Replace(right, "FP32", `\u001b[31m`, 1), "not of type FP32", true},
	} {
		t.Run(name, func(t *testing.T) {
			server := &oipserver.Server{Intercept: func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasPrefix(r.URL.Path, "/v2/models/mean") {
					return false
				}
				_, _ = io.WriteString(w, test.body)
				return true
			}}
			m, err := newScorer(t, listen(t, server), nil).Model(t.Context())
			if test.want == "" && !test.permanent {
				require.NoError(t, err)
				require.Equal(t, "mean/1/oip:mean@1", idOf(m))
				return
			}
			require.ErrorContains(t, err, test.want)
			require.Equal(t, test.permanent, errors.Is(err, sound.ErrPermanent), "%v", err)
			assert.NotContains(t, err.Error(), "\n")
			assert.NotContains(t, err.Error(), "\x1b")
		})
	}
}

// TestRedirectAwayFromTLS: what was asked for behind TLS is not asked for without it, where
// others could read the credentials.
func TestRedirectAwayFromTLS(t *testing.T) {
	inner := &oipserver.Server{}
	inner.Serve(meanModel(-1, "1"))
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/infer") {
			http.Redirect(w, r, "http://"+r.Host+"/moved", http.StatusPermanentRedirect)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	s := newScorer(t, server.URL, func(o *oip.Options) {
		o.Client, o.Header, o.Retries = server.Client(), http.Header{"X-Api-Key": {credential}}, -1
	})
	_, err := s.Score(t.Context(), clipsOf(1))
	require.ErrorContains(t, err, "redirects")
	requireMessage(t, err)
}
