package httpadapter

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/strictjson"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

func describedTrigger(t *testing.T, opts TriggerOptions) *Handler {
	t.Helper()
	return describedTriggers(t, opts)[0]
}

// describedTriggers has the handler of many events besides, if there are actions on one.
func describedTriggers(t *testing.T, opts TriggerOptions) []*Handler {
	t.Helper()
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	service, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil)}, nil)
	require.NoError(t, err)
	auth := AuthenticatorFunc(func(*http.Request) (Principal, error) { return Principal{Organization: "acme"}, nil })
	one, err := NewTrigger(service, auth, &opts)
	require.NoError(t, err)
	if !opts.Actions {
		return []*Handler{one}
	}
	many, err := NewTriggerBulk(service, auth, nil)
	require.NoError(t, err)
	return []*Handler{one, many}
}

// everyOption has the largest document.
var everyOption = TriggerOptions{History: true, Actions: true, NotBefore: true, CollectionField: true}

func parsedOpenAPI(t *testing.T, opts TriggerOptions) strictjson.Value {
	t.Helper()
	doc, err := OpenAPI([]string{"https://api.example.com/"}, describedTriggers(t, opts)...)
	require.NoError(t, err)
	require.NotContains(t, string(doc), onlyWith)
	root, err := strictjson.Parse(doc, 0)
	require.NoError(t, err)
	return root
}

func keys(v strictjson.Value) []string {
	var list []string
	for key := range v.Members() {
		list = append(list, key.Text())
	}
	return list
}

// describedOperations lists the operations of a document in its order.
func describedOperations(root strictjson.Value) []Operation {
	var list []Operation
	for path, item := range at(root, "paths").Members() {
		for method, op := range item.Members() {
			list = append(list, Operation{ID: at(op, "operationId").Text(), Method: strings.ToUpper(method.Text()), Pattern: path.Text()})
		}
	}
	return list
}

func TestOpenAPIDescribesWhatIsMounted(t *testing.T) {
	submitOnly := []string{"submitApiTrigger"}
	history := []string{"submitApiTrigger", "listTriggers", "getTrigger"}
	all := append(history, "cancelTrigger", "retryTrigger", "runTrigger", "cancelTriggers", "retryTriggers")
	fewSchemas := []string{"TriggerRequest", "TriggerAccepted", "Error", "HTTPValidationError", "ValidationError"}
	historySchemas := []string{"TriggerRequest", "TriggerAccepted", "TriggerStatus", "TriggerEvent", "TriggerAttempt", "TriggerPage", "Error", "HTTPValidationError", "ValidationError"}
	allSchemas := slices.Insert(slices.Clone(historySchemas), 5, "TriggersChanged")
	historyResponses := []string{"Unauthorized", "Forbidden", "EventNotFound", "InvalidEventID", "TooManyRequests", "Unavailable"}
	allResponses := slices.Insert(slices.Clone(historyResponses), 4, "TokenUnauthorized", "ChangedEvents", "InvalidFilter")
	statuses := []string{"202", "401", "403", "408", "409", "413", "415", "422", "429", "500", "503"}
	fields := []string{"instructions", "context"}
	for name, c := range map[string]struct {
		opts                                     TriggerOptions
		operations, schemas, responses, statuses []string
		fields                                   []string
	}{
		"as the spec has it": {TriggerOptions{}, submitOnly, fewSchemas, []string{"Unauthorized"}, statuses, fields},
		"history":            {TriggerOptions{History: true}, history, historySchemas, historyResponses, statuses, fields},
		"collection field":   {TriggerOptions{CollectionField: true}, submitOnly, fewSchemas, []string{"Unauthorized"}, statuses, append(fields, "doc_collection_id")},
		"everything":         {everyOption, all, allSchemas, allResponses, statuses, append(fields, "doc_collection_id")},
	} {
		t.Run(name, func(t *testing.T) {
			root := parsedOpenAPI(t, c.opts)
			require.Equal(t, "3.1.0", at(root, "openapi").Text())
			require.Equal(t, "1.0.0", at(root, "info", "version").Text())
			require.JSONEq(t, `[{"url":"https://api.example.com"}]`, string(at(root, "servers").Raw()))
			var ids []string
			for _, op := range describedOperations(root) {
				ids = append(ids, op.ID)
			}
			require.Equal(t, c.operations, ids)
			require.Equal(t, c.schemas, keys(at(root, "components", "schemas")))
			require.Equal(t, c.responses, keys(at(root, "components", "responses")))
			schemes := []string{"bearerAuth"}
			if c.opts.Actions {
				schemes = append(schemes, "accessToken")
			}
			require.Equal(t, schemes, keys(at(root, "components", "securitySchemes")))
			require.Equal(t, c.opts.NotBefore, slices.Contains(keys(at(root, "components", "parameters")), "NotBefore"))
			require.Equal(t, c.statuses, keys(at(root, "paths", "/triggers", "post", "responses")))
			require.Equal(t, c.fields, keys(at(root, "components", "schemas", "TriggerRequest", "properties")))
			headers := []string{"X-Request-Id"}
			if c.opts.History {
				headers = append(headers, "Location")
			}
			require.Equal(t, headers, keys(at(root, "paths", "/triggers", "post", "responses", "202", "headers")))
		})
	}
}

func TestOpenAPIOperations(t *testing.T) {
	root := parsedOpenAPI(t, everyOption)
	var want []Operation
	for _, h := range describedTriggers(t, everyOption) {
		for _, r := range h.Routes() {
			want = append(want, Operation{ID: r.ID, Method: r.Method, Pattern: r.Pattern})
		}
	}
	require.Equal(t, want, describedOperations(root))
	for path, item := range at(root, "paths").Members() {
		for _, op := range item.Members() {
			require.JSONEq(t, `["Triggers"]`, string(at(op, "tags").Raw()))
			scheme := "bearerAuth"
			if path.Equal("/triggers/cancel") || path.Equal("/triggers/retry") {
				scheme = "accessToken"
			}
			require.JSONEq(t, `[{"`+scheme+`":[]}]`, string(at(op, "security").Raw()))
			require.NotEmpty(t, at(op, "summary").Text(), path.Text())
			require.NotEmpty(t, at(op, "description").Text(), path.Text())
		}
	}
	auth, _ := followRef(t, root, at(root, "components", "responses", "Unauthorized", "headers", "WWW-Authenticate"))
	require.Equal(t, "Bearer", at(auth, "example").Text())
	require.Equal(t, "false", string(at(root, "components", "schemas", "TriggerRequest", "additionalProperties").Raw()))
}

// followRef returns what v refers to, or v.
func followRef(t *testing.T, root, v strictjson.Value) (target strictjson.Value, ref string) {
	t.Helper()
	for {
		r, isRef := v.Get("$ref")
		if !isRef {
			return v, ref
		}
		ref = r.Text()
		v = at(root, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
		require.Equal(t, strictjson.Object, v.Kind(), "%s leads nowhere", ref)
	}
}

func TestOpenAPIReferencesResolve(t *testing.T) {
	root := parsedOpenAPI(t, everyOption)
	refs := make(map[string]bool)
	var walk func(v strictjson.Value)
	walk = func(v strictjson.Value) {
		_, ref := followRef(t, root, v)
		refs[ref] = true
		for _, member := range v.Members() {
			walk(member)
		}
		for _, item := range v.Elements() {
			walk(item)
		}
	}
	walk(root)
	for kind, members := range at(root, "components").Members() {
		for _, name := range keys(members) {
			require.True(t, refs["#/components/"+kind.Text()+"/"+name] || kind.Equal("securitySchemes"), "nothing refers to %s", name)
		}
	}
}

// describedExample is an example beside the schema that it must follow.
type describedExample struct {
	where         string
	schema, value strictjson.Value
}

// describedExamples finds all of them in v.
func describedExamples(t *testing.T, root, v strictjson.Value, where string) []describedExample {
	var list []describedExample
	if schema, ok := v.Get("schema"); ok {
		before := len(list)
		if e, ok := v.Get("example"); ok {
			list = append(list, describedExample{where, schema, e})
		}
		for name, e := range at(v, "examples").Members() {
			list = append(list, describedExample{where + " " + name.Text(), schema, at(e, "value")})
		}
		require.Greater(t, len(list), before, "%s has no example", where)
		return list
	}
	if v.Kind() == strictjson.Object {
		for _, e := range at(v, "examples").Elements() {
			list = append(list, describedExample{where, v, e})
		}
	}
	for key, member := range v.Members() {
		list = append(list, describedExamples(t, root, member, where+"/"+key.Text())...)
	}
	for _, item := range v.Elements() {
		list = append(list, describedExamples(t, root, item, where+"[]")...)
	}
	return list
}

// The examples of errors are just what the tables answer: status, code and message.
func TestOpenAPIErrorExamplesAreTheTables(t *testing.T) {
	type answer struct {
		status int // 0: of no operation
		body   string
	}
	var want []answer
	table := func(p problem) {
		resp := replyTrigger(p)
		if p.kind == methodNotAllowed || p.kind == notFound && p.message == "" {
			resp.status = 0
		}
		want = append(want, answer{resp.status, string(resp.body)})
	}
	for kind := range kinds {
		if kind == invalid {
			continue
		}
		if kind == tooLarge {
			table(bodyTooLarge(1 << 20))
			continue
		}
		table(problem{kind: kind})
	}
	for _, err := range []error{trigger.ErrNotConfigured, trigger.ErrNoEligibleCollection, trigger.ErrIdempotencyKeyReused,
		mortise.ErrNotFound, trigger.ErrEnqueueFailed, trigger.ErrTooManyWaiting, trigger.ErrNotCancellable, trigger.ErrNotRetryable, trigger.ErrNotRunnable} {
		p, _ := triggerErrors.classify(err)
		table(p)
	}
	token := replyTriggerBulk(problem{kind: unauthenticated})
	want = append(want, answer{token.status, string(token.body)})

	root := parsedOpenAPI(t, everyOption)
	var got []answer
	add := func(status int, value strictjson.Value) {
		var body triggerErrorBody
		require.NoError(t, json.Unmarshal(value.Raw(), &body))
		if a := (answer{status, string(mustJSON(body))}); !slices.Contains(got, a) {
			got = append(got, a)
		}
	}
	for _, e := range at(root, "components", "schemas", "Error", "examples").Elements() {
		add(0, e)
	}
	for _, item := range at(root, "paths").Members() {
		for _, op := range item.Members() {
			for status, r := range at(op, "responses").Members() {
				r, _ = followRef(t, root, r)
				code, err := strconv.Atoi(status.Text())
				require.NoError(t, err)
				for _, e := range describedExamples(t, root, at(r, "content"), status.Text()) {
					if at(e.schema, "$ref").Equal("#/components/schemas/Error") {
						add(code, e.value)
					}
				}
			}
		}
	}
	require.ElementsMatch(t, want, got)
}

// The examples of 422 are what these requests are answered with.
func TestOpenAPIValidationExamplesAreReal(t *testing.T) {
	h, err := Join("", describedTriggers(t, everyOption)...)
	require.NoError(t, err)
	root := parsedOpenAPI(t, everyOption)
	for _, c := range []struct{ method, target, body, path, name string }{
		{"POST", "/triggers", `{"instructions":""}`, "/triggers", "empty"},
		{"POST", "/triggers", `{"context":[],"priority":1}`, "/triggers", "several"},
		{"POST", "/triggers", `{"instructions": Update}`, "/triggers", "not_json"},
		{"POST", "/triggers", `{"instructions":"a","doc_collection_id":"7f1f3c1e-5a0e"}`, "/triggers", "malformed_uuid"},
		{"GET", "/triggers?limit=1001", "", "/triggers", "limit"},
		{"GET", "/triggers?status=done&cursor=x", "", "/triggers", "several"},
		{"POST", "/triggers", `{"instructions":"a"}`, "/triggers", "not_before"},
		{"GET", "/triggers/17", "", "/triggers/{id}", ""},
		{"POST", "/triggers/17/run", "", "/triggers/{id}/run", ""},
		{"POST", "/triggers/cancel?status=done", "", "/triggers/cancel", ""},
	} {
		r := httptest.NewRequest(c.method, c.target, strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		if c.name == "not_before" {
			r.Header.Set("Trigger-Not-Before", "2026-11-01T00:00:00")
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(t, http.StatusUnprocessableEntity, w.Code)
		answer, _ := followRef(t, root, at(root, "paths", c.path, strings.ToLower(c.method), "responses", "422"))
		media := at(answer, "content", "application/json")
		example := at(media, "example")
		if c.name != "" {
			example = at(media, "examples", c.name, "value")
		}
		require.JSONEq(t, string(example.Raw()), w.Body.String(), c.target+c.body)
	}
}
