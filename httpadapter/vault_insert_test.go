package httpadapter_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/format"
)

// inserted is the answer to an insertion.
type inserted struct {
	Records []struct{ Tokens map[string]string }
}

func (r *vaultRig) records(target, body string) inserted {
	r.t.Helper()
	w := r.post(target, body)
	require.Equal(r.t, http.StatusOK, w.Code, w.Body.String())
	requireRequestID(r.t, w)
	var answer inserted
	require.NoError(r.t, json.Unmarshal(w.Body.Bytes(), &answer))
	return answer
}

func TestInsertRecords(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	ada := r.insert("acme", "v1", "customers", "contact", "ada@example.com")
	const body = `{"records":[
		{"fields":{"name":"Ada","email":"ada@example.com","note":"x"}},
		{"fields":{"note":"x"}},
		{"fields":{"email":"ada@example.com","name":""}}
	]}`
	got := r.records(persons, body)
	require.Len(t, got.Records, 3)
	require.Equal(t, ada, got.Records[0].Tokens["email"])
	require.Equal(t, ada, got.Records[2].Tokens["email"])
	require.NotEqual(t, got.Records[0].Tokens["note"], got.Records[1].Tokens["note"])
	require.NotEqual(t, got.Records[0].Tokens["name"], got.Records[2].Tokens["name"])
	require.Len(t, got.Records[1].Tokens, 1)
	requireTokens(t, r.post(tokenize, parameters(ofName(""), ofName("Ada"), ofEmail("ada@example.com"))),
		got.Records[2].Tokens["name"], got.Records[0].Tokens["name"], ada)

	// The fields of the answer stand in the order of the request.
	name, note := got.Records[0].Tokens["name"], `"[0-9a-f-]{36}"`
	w := r.post(persons, `{"records":[{"fields":{"note":"1","name":"Ada","em\u0061il":"ada@example.com"}},{"fields":{"name":"Ada"}}],"tokenization":true}`)
	require.Regexp(t, `^\{"records":\[\{"tokens":\{"note":`+note+`,"name":"`+name+`","email":"`+ada+`"\}\},\{"tokens":\{"name":"`+name+`"\}\}\]\}$`, w.Body.String())

	w = r.post(persons, `{"records":[{"fields":{"name":"Eve"}},{"fields":{"name":"Ada"}}],"tokenization":false,"unknown":{}}`)
	require.Equal(t, `{"records":[{"tokens":null},{"tokens":null}]}`, w.Body.String())
	require.Equal(t, http.StatusOK, r.post(tokenize, parameters(ofName("Eve"))).Code, "stored all the same")

	page, err := r.service.ListAuditEvents(t.Context(), "acme", vault.AuditQuery{})
	require.NoError(t, err)
	require.Len(t, page.Items, 2, "insertions are not audited, only the two vaults")
	r.did.mu.Lock()
	defer r.did.mu.Unlock()
	for _, o := range r.did.list {
		if o.Kind == mortise.KindInserted && o.Actor != "operator" {
			require.EqualValues(t, "client:full", o.Actor)
		}
	}
}

// A field that Skyflow's clients send, and without which a request would mean something else,
// is refused by its name. Values that ask for nothing are accepted.
func TestVaultRefusesUnsupportedFields(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	ada := r.insert("acme", "v1", "persons", "name", "Ada")
	const record = `{"fields":{"name":"Ada"}}`
	bodies := map[string]func(more string) string{
		persons:  func(more string) string { return `{"records":[` + record + `],` + more + `}` },
		tokenize: func(more string) string { return `{` + more + `,"tokenizationParameters":[` + ofName("Ada") + `]}` },
		detokenize: func(more string) string {
			return `{` + more + `,"detokenizationParameters":[` + ofToken(ada, "") + `]}`
		},
	}
	for target, body := range bodies {
		for _, more := range []string{
			`"byot":"DISABLE"`, `"byot":null`, `"tokenMode":"DISABLE"`, `"continueOnError":false`, `"continueOnError":null`, `"upsert":null`, `"upsert":""`,
			`"tokens":null`, `"tokens":{}`, `"tokens":true`, `"returnTokens":true`, `"homogeneous":true`, `"downloadURL":true`, `"bring":{"byot":"ENABLE"}`,
		} {
			w := r.post(target, body(more))
			require.Equal(t, http.StatusOK, w.Code, "%s %s: %s", target, more, w.Body)
		}
		for more, field := range map[string]string{
			`"byot":"ENABLE"`: "byot", `"byot":"ENABLE_STRICT"`: "byot", `"byot":"disable"`: "byot", `"byot":true`: "byot", `"b\u0079ot":"ENABLE"`: "byot",
			`"Byot":"ENABLE"`: "Byot", `"tokenMode":"ENABLE"`: "tokenMode", `"tokens":{"name":"t"}`: "tokens", `"tokens":["t"]`: "tokens", `"tokens":false`: "tokens",
			`"continueOnError":true`: "continueOnError", `"continueOnError":"false"`: "continueOnError", `"upsert":["name"]`: "upsert", `"upsert":{}`: "upsert",
			`"ReturnTokens":false`: "ReturnTokens", `"continue_on_error":true`: "continue_on_error", `"token_mode":"ENABLE"`: "token_mode",
		} {
			message := requireProblems(t, r.post(target, body(more)), http.StatusBadRequest, problemAt{-1, field, "field_unsupported"})
			require.Contains(t, message, `"`+field+`"`, target)
		}
	}
	requireProblems(t, r.post(tokenize, bodies[tokenize](`"upsert":"name"`)), http.StatusBadRequest, problemAt{-1, "upsert", "field_unsupported"})
	requireProblems(t, r.post(persons, `{"records":[`+record+`,{"fields":{"name":"Bob"},"tokens":{"name":"mine"}},{"tokens":{},"fields":{"name":7}}],"byot":"ENABLE"}`),
		http.StatusBadRequest, problemAt{-1, "byot", "field_unsupported"}, problemAt{1, "tokens", "field_unsupported"}, problemAt{2, "name", "wrong_type"})
	requireProblems(t, r.post(tokenize, parameters(ofName("Bob"))), http.StatusNotFound, problemAt{0, "", "value_not_found"})
}

// An upsert is an insertion where each value that is there keeps its token. Another one is
// refused, once it is known that the caller may insert.
func TestInsertRecordsUpsert(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	body := func(upsert, fields string) string {
		return `{"records":[{"fields":` + fields + `}],"upsert":"` + upsert + `"}`
	}
	ada := r.records(persons, body("name", `{"name":"Ada","email":"ada@example.com"}`))
	require.Equal(t, ada, r.records(persons, body("email", `{"name":"Ada","email":"ada@example.com"}`)))
	for upsert, fields := range map[string]string{
		"note": `{"name":"Ada"}`, "remark": `{"name":"Ada"}`, "nothing": `{"name":"Ada"}`, "name": `{"name":"Ada","note":"x"}`,
	} {
		requireProblems(t, r.post(persons, body(upsert, fields)), http.StatusBadRequest, problemAt{-1, "upsert", "field_unsupported"})
	}
	requireProblems(t, r.post("/v1/vaults/v1/none", body("name", `{"name":"Ada"}`)), http.StatusNotFound, problemAt{0, "name", "table_not_found"})
	requireProblems(t, r.post("/v1/vaults/none/persons", body("name", `{"name":"Ada"}`)), http.StatusNotFound, problemAt{-1, "", "vault_not_found"})
	requireProblems(t, r.as("viewer", http.MethodPost, persons, body("note", `{"name":"Ada"}`)), http.StatusForbidden)
}

func TestInsertRecordsProblems(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	const fine = `{"fields":{"name":"Ada"}}`
	records := func(list ...string) string { return `{"records":[` + strings.Join(list, ",") + `]}` }
	for _, c := range []struct {
		body   string
		status int
		want   []problemAt
	}{
		{`{`, 400, []problemAt{{-1, "", "json_invalid"}}},
		{`[]`, 400, []problemAt{{-1, "", "wrong_type"}}},
		{`{}`, 400, []problemAt{{-1, "records", "list_missing"}}},
		{`{"records":null}`, 400, []problemAt{{-1, "records", "wrong_type"}}},
		{`{"records":[]}`, 400, []problemAt{{-1, "records", "list_empty"}}},
		{records(fine, `null`, `{}`, `{"fields":null}`, `{"fields":[]}`, `{"fields":{}}`, `{"fields":{"name":null,"note":7}}`), 400, []problemAt{
			{1, "", "wrong_type"}, {2, "", "fields_missing"}, {3, "fields", "wrong_type"}, {4, "fields", "wrong_type"}, {5, "fields", "fields_empty"},
			{6, "name", "wrong_type"}, {6, "note", "wrong_type"},
		}},
		{records(`{"fields":{"name":"a","name":"b"}}`), 400, []problemAt{{-1, "", "json_invalid"}}},
		{`{"records":[` + fine + `],"tokenization":null}`, 400, []problemAt{{-1, "tokenization", "wrong_type"}}},
		{`{"records":[` + fine + `],"tokenization":"true"}`, 400, []problemAt{{-1, "tokenization", "wrong_type"}}},
		{`{"records":[` + fine + `],"tokenization":1}`, 400, []problemAt{{-1, "tokenization", "wrong_type"}}},
		{records(`{"fields":{"note":"`+strings.Repeat("n", 64<<10)+`"}}`, `{"fields":{"note":"`+strings.Repeat("n", 64<<10+1)+`"}}`), 400,
			[]problemAt{{1, "note", "value_too_long"}}},
		{records(fine, `{"fields":{"name":"Eve","":"x","none":"x"}}`), 404, []problemAt{{1, "", "column_not_found"}, {1, "none", "column_not_found"}}},
		{records(fine, `{"fields":{"name":"Eve","remark":"x","email":"nobody"}}`), 422, []problemAt{{1, "remark", "not_tokenized"}}},
		{records(fine, `{"fields":{"email":"nobody","card":"12345"}}`, `{"fields":{"card":"4539578763621487"}}`), 422,
			[]problemAt{{1, "email", "format_mismatch"}, {1, "card", "format_mismatch"}, {2, "card", "format_mismatch"}}},
	} {
		requireProblems(t, r.post(persons, c.body), c.status, c.want...)
	}
	require.Equal(t, "Item 0: The value does not fit the format of its column: an email address is needed.",
		requireProblems(t, r.post(persons, records(`{"fields":{"email":"nobody"}}`)), 422, problemAt{0, "email", "format_mismatch"}))
	for want, err := range map[string]error{
		": a name is needed.": fmt.Errorf("of acme: %w", &format.Error{Message: "a name is needed."}),
		".":                   fmt.Errorf("of acme: %w: secret", format.ErrMismatch),
	} {
		own := newVaultRig(t, nil, &vault.Options{Tokenizer: &refusingTokenizer{err: err}})
		require.Equal(t, "Item 0: The value does not fit the format of its column"+want,
			requireProblems(t, own.post(persons, records(`{"fields":{"name":"x"}}`)), 422, problemAt{0, "name", "format_mismatch"}))
	}
	requireProblems(t, r.post(v1+"/none", records(`{"fields":{"a":"x","b":"y"}}`)), 404, problemAt{0, "a", "table_not_found"}, problemAt{0, "b", "table_not_found"})
	requireProblems(t, r.post("/v1/vaults/none/persons", records(fine)), 404, problemAt{-1, "", "vault_not_found"})
	requireProblems(t, r.post(tokenize, parameters(ofName("Ada"))), 404, problemAt{0, "", "value_not_found"})

	full := newVaultRig(t, nil, &vault.Options{Tokenizer: fixedTokenizer("token")})
	requireProblems(t, full.post(persons, records(fine, `{"fields":{"name":"Eve"}}`)), 422, problemAt{1, "name", "format_exhausted"})
	r.store.broken = map[string]error{"InsertTokens": vault.ErrFull}
	require.Equal(t, "The vault keeps no more for this organization. Delete tokens that are not needed.",
		requireProblems(t, r.post(persons, records(`{"fields":{"name":"new"}}`)), 422, problemAt{-1, "", "vault_full"}))
}

// All values of all records together are at most as many as a batch may have.
func TestInsertRecordsLimits(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	batch := func(n int) string {
		var list []string
		for i := 0; i < n; i += 2 {
			one := `{"fields":{"name":"` + strconv.Itoa(i) + `"`
			if i+1 < n {
				one += `,"note":"x"`
			}
			list = append(list, one+`}}`)
		}
		return `{"records":[` + strings.Join(list, ",") + `]}`
	}
	require.Len(t, r.records(persons, batch(1)).Records, 1)
	require.Len(t, r.records(persons, batch(1000)).Records, 500)
	tooLong := problemAt{-1, "records", "list_too_long"}
	requireProblems(t, r.post(persons, batch(1001)), http.StatusBadRequest, tooLong)
	var many strings.Builder
	for i := range 100_000 {
		many.WriteString(`,"k` + strconv.Itoa(i) + `":""`)
	}
	requireProblems(t, r.post(persons, `{"records":[{"fields":{`+many.String()[1:]+`}}]}`), http.StatusBadRequest, tooLong)
	requireProblems(t, r.post(persons, `{"records":[`+strings.Repeat(`{},`, 1000)+`{}]}`), http.StatusBadRequest, tooLong)
}

// A record can have more problems than are listed.
func TestInsertRecordsListsAHundredProblems(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	var fields []string
	var want []problemAt
	for i := range 200 {
		name := "f" + strconv.Itoa(i)
		fields = append(fields, `"`+name+`":null`)
		if i < 100 {
			want = append(want, problemAt{0, name, "wrong_type"})
		}
	}
	requireProblems(t, r.post(persons, `{"records":[{"fields":{`+strings.Join(fields, ",")+`}}]}`), http.StatusBadRequest, want...)
}

// A name of a field that is no column's comes back clipped.
func TestLongFieldNameIsNotRepeated(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	name := strings.Repeat("é", 1000)
	clipped := strings.Repeat("é", 128) + "..."
	for body, want := range map[string]problemAt{
		`{"records":[{"fields":{"` + name + `":"x"}}]}`:                                   {0, clipped, "column_not_found"},
		`{"records":[{"fields":{"` + name + `":7}}]}`:                                     {0, clipped, "wrong_type"},
		`{"records":[{"fields":{"` + name + `":"` + strings.Repeat("x", 70_000) + `"}}]}`: {0, clipped, "value_too_long"},
	} {
		w := r.post(persons, body)
		require.Less(t, w.Body.Len(), 1500)
		status := http.StatusBadRequest
		if want.reason == "column_not_found" {
			status = http.StatusNotFound
		}
		requireProblems(t, w, status, want)
	}
}
