package httpadapter_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault"
)

func TestTokenize(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	ada := r.insert("acme", "v1", "persons", "email", "ada@example.com")
	bob := r.insert("acme", "v1", "customers", "contact", "bob@example.com")
	card := r.insert("acme", "v1", "persons", "card", "4539578763621486")
	const group = `{"value":"ada@example.com","columnGroup":"emails"}`
	requireTokens(t, r.post(tokenize, parameters(ofEmail("ada@example.com"))), ada)
	requireTokens(t, r.post(tokenize, parameters(group)), ada)
	// positional, duplicates answered each, scopes mixed, one group from two tables
	requireTokens(t, r.post(tokenize, parameters(
		ofEmail("bob@example.com"), `{"value":"4539578763621486","column":"card","table":"persons"}`, group, ofEmail("ada@example.com"), group,
		`{"columnGroup":"emails","value":"bob@example.com"}`, `{"value":"ada@example.com","table":"customers","column":"contact"}`,
	)), bob, card, ada, ada, ada, bob, ada)
	// unknown fields are ignored, everywhere; keys are exact, and may be escaped
	requireTokens(t, r.post(tokenize, `{"more":[null],"tokenizationParameters":[
		{"Value":1,"x":{"y":[]},"v\u0061lue":"ada@example.com","columnGroup":"emails"}],"records":2}`), ada)
	requireTokens(t, r.as("viewer", http.MethodPost, tokenize, parameters(group)), ada)
	require.Equal(t, "acme", r.seen.list[0].Organization)
}

// A token over HTTP is JSON, whatever a host's tokenizer makes.
func TestTokensAreEscaped(t *testing.T) {
	const strange = "a\"b\\c\n\x01é\u2028<&>\U0001f600"
	r := newVaultRig(t, nil, &vault.Options{Tokenizer: fixedTokenizer(strange)})
	r.insert("acme", "v1", "persons", "name", "Ada")
	w := r.post(tokenize, parameters(ofName("Ada")))
	require.Equal(t, http.StatusOK, w.Code)
	require.JSONEq(t, `{"records":[{"token":`+quoteJSON(strange)+`}]}`, w.Body.String())
	w = r.post(persons, `{"records":[{"fields":{"name":"Ada"}}]}`)
	require.JSONEq(t, `{"records":[{"tokens":{"name":`+quoteJSON(strange)+`}}]}`, w.Body.String())
	w = r.post(detokenize, `{"detokenizationParameters":[{"token":`+quoteJSON(strange)+`,"redaction":"PLAIN_TEXT"}]}`)
	require.JSONEq(t, `{"records":[{"token":`+quoteJSON(strange)+`,"value":"Ada","valueType":"STRING","redaction":"PLAIN_TEXT"}]}`, w.Body.String())
}

// states are what can stand for a field.
var states = map[string]string{"absent": "", "given": "", "empty": `""`, "null": `null`, "wrong": `7`}

// Every combination of the four fields, each absent, given, empty, null or of a wrong
// type.
func TestTokenizeFields(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	given := map[string]string{"value": `"Ada"`, "table": `"persons"`, "column": `"name"`, "columnGroup": `"emails"`}
	r.insert("acme", "v1", "persons", "name", "Ada")
	r.insert("acme", "v1", "persons", "name", "")
	r.insert("acme", "v1", "persons", "email", "ada@example.com")
	names := []string{"value", "table", "column", "columnGroup"}
	tried := 0
	for value := range states {
		for table := range states {
			for column := range states {
				for group := range states {
					state := []string{value, table, column, group}
					var fields []string
					for i, s := range state {
						switch text := states[s]; {
						case s == "given":
							fields = append(fields, `"`+names[i]+`":`+given[names[i]])
						case s != "absent":
							fields = append(fields, `"`+names[i]+`":`+text)
						}
					}
					w := r.post(tokenize, parameters(`{`+strings.Join(fields, ",")+`}`))
					status, want := expected(state, names)
					if status == http.StatusOK {
						require.Equal(t, status, w.Code, "%v: %s", fields, w.Body)
					} else {
						requireProblems(t, w, status, want...)
					}
					tried++
				}
			}
		}
	}
	require.Equal(t, 5*5*5*5, tried)
}

// expected is the answer to an item by the states of its fields, as the contract has it:
// written without a look at the adapter.
func expected(state, names []string) (status int, want []problemAt) {
	is := func(i int, s string) bool { return state[i] == s }
	bad := func(i int) bool { return is(i, "null") || is(i, "wrong") }
	there := func(i int) bool { return !is(i, "absent") }
	for i, name := range names {
		if bad(i) {
			want = append(want, problemAt{0, name, "wrong_type"})
		}
		if i == 0 && !there(0) {
			want = append(want, problemAt{0, "", "value_missing"})
		}
	}
	switch table, column, group := there(1), there(2), there(3); {
	case group && (table || column):
		want = append(want, problemAt{0, "", "place_ambiguous"})
	case !group && !table && !column:
		want = append(want, problemAt{0, "", "place_missing"})
	case !group && table != column:
		want = append(want, problemAt{0, "", "place_incomplete"})
	}
	if want != nil {
		return http.StatusBadRequest, want
	}
	one := func(status int, reason string) (int, []problemAt) { return status, []problemAt{{0, "", reason}} }
	switch {
	case is(3, "empty"): // there is a group, and no group has that name
		return one(http.StatusBadRequest, "column_group_not_found")
	case is(3, "given"): // Ada and "" are no values of this group
		return one(http.StatusNotFound, "value_not_found")
	case is(1, "empty"):
		return one(http.StatusNotFound, "table_not_found")
	case is(2, "empty"):
		return one(http.StatusNotFound, "column_not_found")
	}
	return http.StatusOK, nil // both are values of the column
}

func TestTokenizeItemLimits(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	token := r.insert("acme", "v1", "persons", "name", "Ada")
	batch := func(n int) string {
		return parameters(strings.Split(strings.Repeat(ofName("Ada")+"\n", n), "\n")[:n]...)
	}
	requireProblems(t, r.post(tokenize, batch(0)), http.StatusBadRequest, problemAt{-1, "tokenizationParameters", "list_empty"})
	for _, n := range []int{1, 1000} {
		want := make([]string, n)
		for i := range want {
			want[i] = token
		}
		requireTokens(t, r.post(tokenize, batch(n)), want...)
	}
	tooLong := problemAt{-1, "tokenizationParameters", "list_too_long"}
	message := requireProblems(t, r.post(tokenize, batch(1001)), http.StatusBadRequest, tooLong)
	require.Contains(t, message, "1000")
	// The length counts before the items do, and however many there are.
	requireProblems(t, r.post(tokenize, parameters(strings.Repeat("0,", 1000)+"0")), http.StatusBadRequest, tooLong)
	requireProblems(t, r.post(tokenize, parameters(strings.Repeat("0,", 1<<20)+"0")), http.StatusBadRequest, tooLong)

	small := newVaultRig(t, nil, &vault.Options{MaxItems: 2, MaxValue: 3})
	small.insert("acme", "v1", "persons", "name", "Ada")
	require.Equal(t, http.StatusOK, small.post(tokenize, batch(2)).Code)
	require.Contains(t, requireProblems(t, small.post(tokenize, batch(3)), http.StatusBadRequest, tooLong), "2 values")
	message = requireProblems(t, small.post(tokenize, parameters(ofName("Adaa"))), http.StatusBadRequest, problemAt{0, "value", "value_too_long"})
	require.Contains(t, message, "3 bytes")
}

// A value is measured in bytes of UTF-8, not in those of its JSON.
func TestTokenizeValueLimits(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	const most = 64 << 10
	for _, c := range []struct {
		value, json string
	}{
		{strings.Repeat("v", most), ""},
		{strings.Repeat("é", most/2), ""},
		{strings.Repeat("é", most/2), `"` + strings.Repeat(`\u00e9`, most/2) + `"`},
		{strings.Repeat("\U0001f600", most/4), `"` + strings.Repeat(`\ud83d\ude00`, most/4) + `"`},
		{strings.Repeat("\x00", most), `"` + strings.Repeat(`\u0000`, most) + `"`},
	} {
		if c.json == "" {
			c.json = quoteJSON(c.value)
		}
		token := r.insert("acme", "v1", "persons", "name", c.value)
		item := func(json string) string { return `{"value":` + json + `,"table":"persons","column":"name"}` }
		requireTokens(t, r.post(tokenize, parameters(item(c.json))), token)
		longer := `"x` + c.json[1:]
		message := requireProblems(t, r.post(tokenize, parameters(item(c.json), item(longer))), http.StatusBadRequest, problemAt{1, "value", "value_too_long"})
		require.Less(t, len(message), 200)
	}
	// as many as fit into a body
	whole := strings.Repeat("v", most)
	token := r.insert("acme", "v1", "persons", "name", whole)
	var items, want []string
	for len(items) < 127 {
		items, want = append(items, ofName(whole)), append(want, token)
	}
	requireTokens(t, r.post(tokenize, parameters(items...)), want...)
	items = append(items, ofName(whole))
	requireProblems(t, r.post(tokenize, parameters(items...)), http.StatusRequestEntityTooLarge)
}

// Two values are the same if their bytes are.
func TestTokenizeUnicode(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	for name, pair := range map[string][2]string{
		"NFC and NFD": {"Zoë", "Zoe\u0308"}, "case": {"Ada", "ada"}, "space": {"Ada", "Ada "}, "no-break space": {"A da", "A\u00a0da"},
		"U+0000": {"Ada", "Ada\x00"}, "replacement": {"Ad\ufffd", "Ada"}, "byte order mark": {"Ada", "\ufeffAda"}, "digits": {"1", "１"},
		"empty": {"", "\x00"}, "beyond the BMP": {"\U0001f600", "\uff3d\ue000"},
	} {
		t.Run(name, func(t *testing.T) {
			first := r.insert("acme", "v2", "persons", "name", pair[0])
			second := r.insert("acme", "v2", "persons", "name", pair[1])
			require.NotEqual(t, first, second)
			requireTokens(t, r.post("/v1/vaults/v2/tokenize", parameters(ofName(pair[0]), ofName(pair[1]))), first, second)
			escaped := func(text string) string {
				var b strings.Builder
				for _, unit := range text {
					if unit > 0xffff {
						fmt.Fprintf(&b, `\u%04x\u%04X`, 0xd800+(unit-0x10000)>>10, 0xdc00+(unit-0x10000)&0x3ff)
					} else {
						fmt.Fprintf(&b, `\u%04X`, unit)
					}
				}
				return `{"value":"` + b.String() + `","table":"p\u0065rsons","column":"\u006eame"}`
			}
			requireTokens(t, r.post("/v1/vaults/v2/tokenize", parameters(escaped(pair[1]), escaped(pair[0]))), second, first)
		})
	}
}

func TestTokenizeMixedErrors(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	r.insert("acme", "v1", "persons", "name", "Ada")
	const note, group, table, column = `{"value":"Ada","table":"persons","column":"note"}`, `{"value":"Ada","columnGroup":"none"}`,
		`{"value":"Ada","table":"none","column":"name"}`, `{"value":"Ada","table":"persons","column":"none"}`
	shape, unknown := `{"value":"Ada"}`, ofName("Eve")
	for _, c := range []struct {
		items  []string
		status int
		want   []problemAt
	}{
		{[]string{unknown, ofName("Ada"), unknown}, 404, []problemAt{{0, "", "value_not_found"}, {2, "", "value_not_found"}}},
		{[]string{unknown, note, note}, 422, []problemAt{{1, "", "not_deterministic"}, {2, "", "not_deterministic"}}},
		{[]string{unknown, note, column, table}, 404, []problemAt{{2, "", "column_not_found"}, {3, "", "table_not_found"}}},
		{[]string{unknown, note, column, group, group}, 400, []problemAt{{3, "", "column_group_not_found"}, {4, "", "column_group_not_found"}}},
		{[]string{unknown, note, column, group, shape, `[]`, `{"value":null,"table":"t"}`}, 400, []problemAt{
			{4, "", "place_missing"}, {5, "", "wrong_type"}, {6, "value", "wrong_type"}, {6, "", "place_incomplete"}}},
	} {
		requireProblems(t, r.post(tokenize, parameters(c.items...)), c.status, c.want...)
	}
	// A column without tokenization is as one that is not deterministic: none of its
	// values has a token.
	requireProblems(t, r.post(tokenize, parameters(`{"value":"Ada","table":"persons","column":"remark"}`)), 422, problemAt{0, "", "not_deterministic"})

	all := make([]problemAt, 1000)
	for i := range all {
		all[i] = problemAt{i, "", "value_not_found"}
	}
	message := requireProblems(t, r.post(tokenize, parameters(strings.TrimSuffix(strings.Repeat(unknown+",", 1000), ","))), 404, all...)
	require.Contains(t, message, "999 more")
	// Problems of shape end at 100, as everywhere.
	for i := range all {
		all[i].reason = "place_missing"
	}
	requireProblems(t, r.post(tokenize, parameters(strings.TrimSuffix(strings.Repeat(shape+",", 1000), ","))), 400, all[:100]...)
}

func TestTokenizeBodies(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	token := r.insert("acme", "v1", "persons", "name", "Ada")
	list := func(reason string) problemAt { return problemAt{-1, "tokenizationParameters", reason} }
	for body, want := range map[string]problemAt{
		``: {-1, "", "json_invalid"}, `{`: {-1, "", "json_invalid"}, `{} x`: {-1, "", "json_invalid"}, "\xef\xbb\xbf{}": {-1, "", "json_invalid"},
		`null`: {-1, "", "wrong_type"}, `[]`: {-1, "", "wrong_type"}, `"x"`: {-1, "", "wrong_type"}, `7`: {-1, "", "wrong_type"},
		`{}`: list("list_missing"), `{"TokenizationParameters":[]}`: list("list_missing"), `{"records":[]}`: list("list_missing"),
		`{"tokenizationParameters":null}`: list("wrong_type"), `{"tokenizationParameters":{}}`: list("wrong_type"), `{"tokenizationParameters":"x"}`: list("wrong_type"),
		`{"tokenizationParameters":[]}`: list("list_empty"),
		parameters(`null`):              {0, "", "wrong_type"}, parameters(`"Ada"`): {0, "", "wrong_type"}, parameters(`[{}]`): {0, "", "wrong_type"},
		// what two readers could understand differently
		parameters(ofName("Ada"), `{"value":"Ada","value":"Eve","table":"persons","column":"name"}`): {-1, "", "json_invalid"},
		parameters(`{"value":"Ada","\u0076alue":"Ada","table":"persons","column":"name"}`):           {-1, "", "json_invalid"},
		`{"tokenizationParameters":[],"tokenizationParameters":[` + ofName("Ada") + `]}`:             {-1, "", "json_invalid"},
		parameters(`{"value":"\ud800","table":"persons","column":"name"}`):                           {-1, "", "json_invalid"},
		parameters(`{"value":"\udc00\ud800","table":"persons","column":"name"}`):                     {-1, "", "json_invalid"},
		parameters("{\"value\":\"A\xffda\",\"table\":\"persons\",\"column\":\"name\"}"):              {-1, "", "json_invalid"},
		parameters("{\"value\":\"\xed\xa0\x80\",\"table\":\"persons\",\"column\":\"name\"}"):         {-1, "", "json_invalid"},
		parameters("{\"value\":\"A\x00da\",\"table\":\"persons\",\"column\":\"name\"}"):              {-1, "", "json_invalid"},
		parameters(`{"value":NaN,"table":"persons","column":"name"}`):                                {-1, "", "json_invalid"},
		`{"tokenizationParameters":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`:   {-1, "", "json_invalid"},
		parameters(`{"value":{"value":"Ada"},"table":"persons","column":"name"}`):                    {0, "value", "wrong_type"},
		parameters(`{"value":["Ada"],"table":"persons","column":"name"}`):                            {0, "value", "wrong_type"},
		parameters(ofName("Ada"), `{"value":true,"table":"persons","column":"name"}`):                {1, "value", "wrong_type"},
		parameters(`{"value":"Ada","table":"persons","column":["name"]}`):                            {0, "column", "wrong_type"},
		parameters(`{"value":"Ada","table":"persons","column":"name","columnGroup":null}`):           {},
	} {
		if want == (problemAt{}) {
			requireProblems(t, r.post(tokenize, body), http.StatusBadRequest, problemAt{0, "columnGroup", "wrong_type"}, problemAt{0, "", "place_ambiguous"})
			continue
		}
		requireProblems(t, r.post(tokenize, body), http.StatusBadRequest, want)
	}
	requireTokens(t, r.post(tokenize, " \r\n\t"+parameters(" "+ofName("Ada")+"\n")+" "), token)
	message := requireProblems(t, r.post(tokenize, `{"tokenizationParameters":[{"value":"a","value":"b"}]}`), http.StatusBadRequest, problemAt{-1, "", "json_invalid"})
	require.Equal(t, "The body is not valid JSON, at byte 40: duplicate key.", message)
}
