package httpadapter_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/trigger"
)

func TestSubmitIsAcceptedAndKept(t *testing.T) {
	r := newRig(t, nil)
	for _, context := range []string{
		`{}`,
		`{"n":1.000000000000000000000001e+5,"big":123456789012345678901234567890,"neg":-0.0}`,
		`{ "spaced" : [ 1 ,2 ] }`,
		`{"u":"\u0041\u0000\ud83d\ude00","raw":"é` + "\U0001f600" + `"}`,
		`{"null":null,"t":true,"nested":{"a":[[[]]]}}`,
	} {
		id := r.submit(`{"instructions":"Document it","context":` + context + `}`)
		e, err := r.service.Event(t.Context(), "acme", id)
		require.NoError(t, err)
		require.Equal(t, "Document it", e.Instructions)
		require.Equal(t, context, string(e.Context))
		require.Equal(t, "api", e.Source)
		require.Equal(t, trigger.StatusReceived, e.Status)
	}

	id := r.submit("{\"instructions\":\"a\\u0000b\\n\\ud83d\\ude00 \u00e9\"}")
	e, err := r.service.Event(t.Context(), "acme", id)
	require.NoError(t, err)
	require.Equal(t, "a\x00b\n\U0001f600 é", e.Instructions)
	require.Nil(t, e.Context)
}

func TestSubmitContentTypes(t *testing.T) {
	r := newRig(t, nil)
	for _, contentType := range []string{
		"application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8", `application/json; charset="utf-8"`,
	} {
		r.submit(`{"instructions":"x"}`, header("Content-Type", contentType))
	}
	for _, edit := range []func(*http.Request){
		noHeader("Content-Type"),
		header("Content-Type", ""),
		header("Content-Type", "text/plain"),
		header("Content-Type", "application/x-www-form-urlencoded"),
		header("Content-Type", "application/json; charset=latin1"),
		header("Content-Type", "application/jsonp"),
		header("Content-Type", "application/json, application/json"),
		header("Content-Type", ";;;"),
		header("Content-Encoding", "gzip"),
		func(r *http.Request) { r.Header["Content-Type"] = []string{"application/json", "application/json"} },
	} {
		requireError(t, r.post(`{"instructions":"x"}`, edit), http.StatusUnsupportedMediaType, "unsupported_media_type")
	}
}

func TestSubmitValidation(t *testing.T) {
	r := newRig(t, nil)
	missing := detail{"body.instructions", "missing", "Field required"}
	short := detail{"body.instructions", "string_too_short", "String should have at least 1 character"}
	noString := detail{"body.instructions", "string_type", "Input should be a valid string"}
	noObject := detail{"body", "model_attributes_type", "Input should be a valid dictionary or object to extract fields from"}
	noDict := detail{"body.context", "dict_type", "Input should be a valid dictionary"}
	extra := func(key string) detail {
		return detail{"body." + key, "extra_forbidden", "Extra inputs are not permitted"}
	}
	malformed := func(offset int) detail {
		return detail{"body." + strconv.Itoa(offset), "json_invalid", "JSON decode error"}
	}
	refused := func(offset int, why string) detail {
		return detail{"body." + strconv.Itoa(offset), "json_invalid", "JSON decode error: " + why}
	}
	for _, c := range []struct {
		body string
		want []detail
	}{
		{``, []detail{{"body", "missing", "Field required"}}},
		{`null`, []detail{{"body", "missing", "Field required"}}},
		{`{}`, []detail{missing}},
		{`{"instructions":""}`, []detail{short}},
		{`{"instructions":null}`, []detail{noString}},
		{`{"instructions":1}`, []detail{noString}},
		{`{"instructions":true}`, []detail{noString}},
		{`{"instructions":["x"]}`, []detail{noString}},
		{`{"instructions":{}}`, []detail{noString}},
		{`{"instructions":"x","context":null}`, []detail{noDict}},
		{`{"instructions":"x","context":[]}`, []detail{noDict}},
		{`{"instructions":"x","context":"{}"}`, []detail{noDict}},
		{`{"instructions":"x","context":0}`, []detail{noDict}},
		{`{"instructions":"x","context":false}`, []detail{noDict}},
		{`{"Instructions":"x"}`, []detail{missing, extra("Instructions")}},
		{`{"z":1,"context":7,"instructions":"","a":2}`, []detail{short, noDict, extra("z"), extra("a")}},
		{`{"instructions":"x","doc_collection_id":"nope"}`, []detail{extra("doc_collection_id")}},
		{`{"instructions":"x","":1}`, []detail{extra("")}},
		{`[]`, []detail{noObject}}, {`"x"`, []detail{noObject}}, {`1`, []detail{noObject}}, {`true`, []detail{noObject}},
		{` `, []detail{malformed(1)}},
		{`{`, []detail{malformed(1)}},
		{`{"instructions":}`, []detail{malformed(16)}},
		{`{"instructions" 1}`, []detail{malformed(16)}},
		{`{"instructions":"x"} x`, []detail{malformed(21)}},
		{`{"instructions":"x`, []detail{malformed(16)}},
		{`{"instructions":NaN}`, []detail{malformed(16)}},
		{"\ufeff{}", []detail{refused(0, "byte order mark")}},
		{`{'instructions':'x'}`, []detail{malformed(1)}},
		{"{\"instructions\":\"\xff\"}", []detail{malformed(17)}},
		{`{"instructions":"x","instructions":"y"}`, []detail{refused(20, "duplicate key")}},
		{`{"instructions":"x","context":{"a":{"k":1,"\u006b":2}}}`, []detail{refused(42, "duplicate key")}},
		{`{"instructions":"\ud800"}`, []detail{refused(17, "lone surrogate")}},
		{`{"instructions":"x","context":` + strings.Repeat(`{"a":`, 600) + `1` + strings.Repeat(`}`, 601),
			[]detail{refused(30+5*511, "nested too deeply")}},
	} {
		requireDetails(t, r.post(c.body), c.want...)
	}
	page, err := r.service.ListEvents(t.Context(), "acme", trigger.EventQuery{})
	require.NoError(t, err)
	require.Empty(t, page.Items, "a refused request leaves nothing")
}

func TestSubmitAtMostHundredProblems(t *testing.T) {
	r := newRig(t, nil)
	var b strings.Builder
	b.WriteString(`{"instructions":""`)
	for i := range 10_000 {
		b.WriteString(`,"k` + strconv.Itoa(i) + `":0`)
	}
	b.WriteString(`}`)
	got := details(t, r.post(b.String()).Body.Bytes())
	require.Len(t, got, 100)
	require.Equal(t, "body.instructions", got[0].loc)
	require.Equal(t, "body.k98", got[99].loc)
}

func TestSubmitUnauthenticated(t *testing.T) {
	r := newRig(t, nil)
	record, other, err := r.service.IssueKey(t.Context(), "acme", "", "")
	require.NoError(t, err)
	require.NoError(t, r.service.RevokeKey(t.Context(), "acme", "", record.ID))

	first := r.post(`{"instructions":"x"}`, noHeader("Authorization"))
	requireError(t, first, http.StatusUnauthorized, "authentication_failed")

	without := []string{"empty", "no token", "no token 2", "basic", "no space", "tab", "query"}
	for name, edit := range map[string]func(*http.Request){
		"unknown":    header("Authorization", "Bearer sk-"+strings.Repeat("0", 64)),
		"revoked":    header("Authorization", "Bearer "+other.Reveal()),
		"truncated":  header("Authorization", "Bearer "+r.key[:len(r.key)-1]),
		"longer":     header("Authorization", "Bearer "+r.key+"0"),
		"huge":       header("Authorization", "Bearer "+strings.Repeat("a", 100_000)),
		"empty":      header("Authorization", ""),
		"no token":   header("Authorization", "Bearer"),
		"no token 2": header("Authorization", "Bearer "),
		"basic":      header("Authorization", "Basic "+r.key),
		"two words":  header("Authorization", "Bearer "+r.key+" x"),
		"no space":   header("Authorization", "Bearer"+r.key),
		"tab":        header("Authorization", "Bearer\t"+r.key),
		"twice":      func(req *http.Request) { req.Header.Add("Authorization", "Bearer "+r.key) },
		"query": func(req *http.Request) {
			req.Header.Del("Authorization")
			req.URL.RawQuery = "access_token=" + r.key
		},
	} {
		w := r.post(`{"instructions":"x"}`, edit)
		require.Equal(t, first.Code, w.Code, name)
		require.Equal(t, first.Body.String(), w.Body.String(), name)
		challenge := `Bearer error="invalid_token"`
		if slices.Contains(without, name) {
			challenge = "Bearer"
		}
		require.Equal(t, challenge, w.Header().Get("WWW-Authenticate"), name)
	}
	require.Equal(t, "Bearer", first.Header().Get("WWW-Authenticate"))
	for _, scheme := range []string{"bearer ", "BEARER ", "Bearer  "} {
		r.submit(`{"instructions":"x"}`, header("Authorization", scheme+r.key))
	}
}

// untouched is a body that must not be read.
type untouched struct{ t *testing.T }

func (u untouched) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, errors.New("no")
}

func TestOrderOfChecks(t *testing.T) {
	r := newRig(t, nil)
	// Everything is wrong with this request; one thing after the other is put right.
	r.organize("acme", false, true)
	r.queue.err = errors.New("queue down")

	w := r.do(http.MethodDelete, "/triggers", untouched{t}, noHeader("Authorization"))
	requireError(t, w, http.StatusUnauthorized, "authentication_failed")
	w = r.do(http.MethodDelete, "/triggers", untouched{t})
	requireError(t, w, http.StatusMethodNotAllowed, "method_not_allowed")
	require.Equal(t, "POST, GET, HEAD", w.Header().Get("Allow"))
	w = r.do(http.MethodPost, "/triggers", untouched{t}, noHeader("Authorization"))
	requireError(t, w, http.StatusUnauthorized, "authentication_failed")
	w = r.do(http.MethodPost, "/triggers", untouched{t}, header("Content-Type", "text/plain"))
	requireError(t, w, http.StatusUnsupportedMediaType, "unsupported_media_type")
	w = r.do(http.MethodPost, "/triggers", untouched{t}, func(req *http.Request) { req.ContentLength = 2 << 20 })
	requireError(t, w, http.StatusRequestEntityTooLarge, "payload_too_large")
	require.Contains(t, w.Body.String(), "larger than the 1048576 bytes")
	long := `{"instructions":"` + strings.Repeat("x", 1<<20) // malformed as well
	requireError(t, r.post(long), http.StatusRequestEntityTooLarge, "payload_too_large")
	requireError(t, r.post(long, func(req *http.Request) { req.ContentLength = -1 }), http.StatusRequestEntityTooLarge, "payload_too_large")
	requireDetails(t, r.post(`{"instructions":""`), detail{"body.18", "json_invalid", "JSON decode error"})
	requireDetails(t, r.post(`{"instructions":""}`), detail{"body.instructions", "string_too_short", "String should have at least 1 character"})
	requireError(t, r.post(`{"instructions":"x"}`), http.StatusConflict, "org_not_configured")
	r.organize("acme", true, false)
	requireError(t, r.post(`{"instructions":"x"}`), http.StatusConflict, "no_eligible_doc_collection")
	r.organize("acme", true, true)
	r.store.err = errors.New("disk full")
	requireError(t, r.post(`{"instructions":"x"}`), http.StatusServiceUnavailable, "runtime_store_unavailable")
	r.store.err = nil
	requireError(t, r.post(`{"instructions":"x"}`), http.StatusInternalServerError, "enqueue_failed")
	r.queue.err = nil
	r.submit(`{"instructions":"x"}`)
}

func TestUnavailable(t *testing.T) {
	r := newRig(t, nil)
	for _, broken := range []*error{&r.store.err, &r.store.keyErr, &r.store.dirErr} {
		*broken = errors.New("connection refused")
		requireError(t, r.post(`{"instructions":"x"}`), http.StatusServiceUnavailable, "runtime_store_unavailable")
		*broken = nil
	}
	require.Contains(t, r.log.String(), "connection refused", "the operator is told")
	r.submit(`{"instructions":"x"}`)
}

// Over trigger.Options.MaxWaiting a submission is put off, and a repeated one is not.
func TestTooManyWaiting(t *testing.T) {
	r := newRig(t, nil)
	var err error
	r.service, err = trigger.New(trigger.Backend{Store: r.store, Queue: r.queue, Keys: r.store}, &trigger.Options{MaxWaiting: 1})
	require.NoError(t, err)
	h := r.everything(httpadapter.Bearer(httpadapter.TriggerKeys(r.service)), httpadapter.Options{})
	send := func(key string) *httptest.ResponseRecorder {
		req := httptest.NewRequest("POST", "/triggers", strings.NewReader(`{"instructions":"x"}`))
		req.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + r.key}, "Idempotency-Key": {key}}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		return w
	}
	require.Equal(t, http.StatusAccepted, send("first").Code)
	w := send("second")
	requireError(t, w, http.StatusTooManyRequests, "too_many_waiting")
	require.Equal(t, "10", w.Header().Get("Retry-After"))
	require.Equal(t, http.StatusAccepted, send("first").Code)
}

func TestEnqueueFailedNeverRuns(t *testing.T) {
	r := newRig(t, nil)
	key := header("Idempotency-Key", "k1")
	r.queue.err = errors.New("broker down")
	requireError(t, r.post(`{"instructions":"x"}`, key), http.StatusInternalServerError, "enqueue_failed")
	page, err := r.service.ListEvents(t.Context(), "acme", trigger.EventQuery{})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	require.Equal(t, trigger.StatusFailed, page.Items[0].Status)
	r.queue.err = nil
	id := r.submit(`{"instructions":"x"}`, key)
	require.NotEqual(t, page.Items[0].ID, id, "the key is free again")
}

func TestIdempotencyKey(t *testing.T) {
	r := newRig(t, nil)
	key := header("Idempotency-Key", "deploy-42")
	body := `{"instructions":"x","context":{"a":1}}`
	id := r.submit(body, key)
	require.Equal(t, id, r.submit(body, key))
	require.NotEqual(t, id, r.submit(body), "without a key every request is new")
	for _, other := range []string{`{"instructions":"y","context":{"a":1}}`, `{"instructions":"x","context":{"a":2}}`, `{"instructions":"x"}`, `{"instructions":"x","context":{}}`} {
		requireError(t, r.post(other, key), http.StatusConflict, "idempotency_key_reused")
	}
	r.organize("acme", false, false)
	require.Equal(t, id, r.submit(body, key), "a repeated request is answered before the organization is looked at")
	requireError(t, r.post(`{"instructions":"y"}`, key), http.StatusConflict, "idempotency_key_reused")
	requireError(t, r.post(body, header("Idempotency-Key", "other")), http.StatusConflict, "org_not_configured")
	r.organize("acme", true, true)

	pattern := detail{"header.idempotency-key", "string_pattern_mismatch", "String should match pattern '^[!-~]{1,255}$'"}
	for value, want := range map[string]detail{
		"":                       {"header.idempotency-key", "string_too_short", "String should have at least 1 character"},
		strings.Repeat("k", 256): {"header.idempotency-key", "string_too_long", "String should have at most 255 characters"},
		"a b":                    pattern,
		"a\tb":                   pattern,
		"caf\u00e9":              pattern,
		"a\x7f":                  pattern,
	} {
		requireDetails(t, r.post(body, header("Idempotency-Key", value)), want)
		requireDetails(t, r.post(`{"instructions":""}`, header("Idempotency-Key", value)), want,
			detail{"body.instructions", "string_too_short", "String should have at least 1 character"})
		requireDetails(t, r.post(`{`, header("Idempotency-Key", value)), detail{"body.1", "json_invalid", "JSON decode error"})
	}
	r.submit(body, header("Idempotency-Key", strings.Repeat("~", 255)))
	w := r.post(body, func(req *http.Request) { req.Header["Idempotency-Key"] = []string{"a", "b"} })
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
}

func TestCollectionField(t *testing.T) {
	r := newRig(t, &httpadapter.TriggerOptions{CollectionField: true})
	body := func(id string) string { return `{"instructions":"x","doc_collection_id":` + id + `}` }
	r.submit(`{"instructions":"x"}`)
	id := r.submit(body(`"` + readyCollection.String() + `"`))
	e, err := r.service.Event(t.Context(), "acme", id)
	require.NoError(t, err)
	require.Equal(t, readyCollection, e.Collection)
	requireError(t, r.post(body(`"00000000-0000-4000-8000-000000000000"`)), http.StatusConflict, "no_eligible_doc_collection")
	requireDetails(t, r.post(body(`"nope"`)), detail{"body.doc_collection_id", "uuid_parsing",
		"Input should be a valid UUID, invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found `n` at 1"})
	for _, wrong := range []string{`1`, `null`, `[]`, `true`} {
		requireDetails(t, r.post(body(wrong)), detail{"body.doc_collection_id", "uuid_type", "UUID input should be a string, bytes or UUID object"})
	}
}

func TestAuthorize(t *testing.T) {
	var asked []string
	answer := error(nil)
	r := newRig(t, &httpadapter.TriggerOptions{History: true, Options: httpadapter.Options{
		Authorize: func(_ context.Context, p httpadapter.Principal, action access.Action, resource access.Resource) error {
			asked = append(asked, p.Organization+" "+string(action)+" "+string(resource.Type)+" "+resource.ID)
			return answer
		},
	}})
	id := r.submit(`{"instructions":"x"}`)
	require.Equal(t, http.StatusOK, r.get("/triggers/"+id.String()).Code)
	require.Equal(t, http.StatusOK, r.get("/triggers").Code)
	require.Equal(t, []string{"acme submitApiTrigger trigger ", "acme getTrigger trigger " + id.String(), "acme listTriggers trigger "}, asked)

	answer = httpadapter.ErrForbidden
	requireError(t, r.post(`{"instructions":"x"}`), http.StatusForbidden, "forbidden")
	requireError(t, r.get("/triggers"), http.StatusForbidden, "forbidden")
	requireError(t, r.get("/triggers/"+id.String()), http.StatusForbidden, "forbidden")
	requireDetails(t, r.post(`{}`), detail{"body.instructions", "missing", "Field required"})
	answer = fmt.Errorf("slowly: %w", &httpadapter.RateLimitError{RetryAfter: 1001 * time.Millisecond})
	w := r.post(`{"instructions":"x"}`)
	requireError(t, w, http.StatusTooManyRequests, "too_many_requests")
	require.Equal(t, "2", w.Header().Get("Retry-After"))
	answer = errors.New("policy server down")
	requireError(t, r.post(`{"instructions":"x"}`), http.StatusServiceUnavailable, "runtime_store_unavailable")
}

func TestHostPrincipal(t *testing.T) {
	r := newRig(t, nil)
	for _, c := range []struct {
		p      httpadapter.Principal
		err    error
		status int
	}{
		{httpadapter.Principal{Organization: "acme", Access: access.Full()}, nil, http.StatusAccepted},
		{httpadapter.Principal{Organization: "acme"}, nil, http.StatusForbidden},
		{httpadapter.Principal{}, nil, http.StatusServiceUnavailable},
		{httpadapter.Principal{Organization: "acme"}, httpadapter.ErrUnauthenticated, http.StatusUnauthorized},
		{httpadapter.Principal{}, httpadapter.ErrForbidden, http.StatusForbidden},
		{httpadapter.Principal{}, errors.New("session store down"), http.StatusServiceUnavailable},
		{httpadapter.Principal{Organization: "a\x00b", Access: access.Full()}, nil, http.StatusServiceUnavailable},
	} {
		h, err := httpadapter.NewTrigger(r.service, httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) { return c.p, c.err }), nil)
		require.NoError(t, err)
		req := httptest.NewRequest(http.MethodPost, "/triggers", strings.NewReader(`{"instructions":"x"}`))
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		require.Equal(t, c.status, w.Code, w.Body.String())
	}

	nobody, err := httpadapter.NewTrigger(r.service, httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) {
		return httpadapter.Principal{}, nil
	}), &httpadapter.TriggerOptions{History: true})
	require.NoError(t, err)
	w := httptest.NewRecorder()
	nobody.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/triggers", nil))
	requireError(t, w, http.StatusServiceUnavailable, "runtime_store_unavailable")
}

func TestNoKeyInLogsOrAnswers(t *testing.T) {
	r := newRig(t, nil)
	r.store.keyErr = errors.New("lookup failed")
	answers := r.post(`{"instructions":"x"}`).Body.String()
	r.store.keyErr = nil
	r.store.err = errors.New("create failed")
	answers += r.post(`{"instructions":"top secret plan"}`).Body.String()
	answers += r.post(`{"instructions":"x"}`, header("Authorization", "Bearer "+r.key+"x")).Body.String()
	all := answers + r.log.String()
	require.Contains(t, all, "lookup failed")
	for _, form := range []string{r.key, strings.TrimPrefix(r.key, "sk-"), hex.EncodeToString([]byte(r.key)), base64.StdEncoding.EncodeToString([]byte(r.key)), "top secret plan"} {
		require.NotContains(t, all, form)
	}
}

func TestErrorBodiesAreStable(t *testing.T) {
	r := newRig(t, nil)
	w := r.get("/triggers/00000000-0000-4000-8000-000000000000")
	requireError(t, w, http.StatusNotFound, "not_found")
	var body map[string]any
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
	require.Equal(t, "There is no such trigger event.", body["message"])
}
