package httpadapter

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/strictjson"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// The limits of what is fuzzed.
const (
	fuzzItems = 5
	fuzzValue = 20
)

func fuzzedAdapter(f *testing.F) *vaultAdapter {
	f.Helper()
	db, err := memory.Open(f.Context(), nil)
	require.NoError(f, err)
	root, err := localkeys.NewRoot([]byte("a root key of the tests, 32 byte"))
	require.NoError(f, err)
	keyring, err := localkeys.New(localkeys.Key{Version: 1, Root: root})
	require.NoError(f, err)
	s, err := vault.New(db.Vault(), keyring, &vault.Options{MaxItems: fuzzItems, MaxValue: fuzzValue})
	require.NoError(f, err)
	return &vaultAdapter{service: s}
}

func seedBodies(f *testing.F, bodies ...string) {
	for _, body := range append(bodies, `{`, `[]`, `null`, ``, `{"records":{}}`, "{\"x\":\"\xff\"}", `{"x":1,"x":2}`, `{"x":"\ud800"}`) {
		f.Add([]byte(body))
	}
}

// standard is what encoding/json finds in a body, nil if it is no object that everybody
// reads alike.
func standard(t *testing.T, body []byte) map[string]any {
	if _, err := strictjson.Parse(body, 0); err != nil {
		return nil
	}
	var v any
	require.NoError(t, json.Unmarshal(body, &v))
	object, _ := v.(map[string]any)
	return object
}

// list is what stands in a field if it can be a batch: a list that is neither empty nor
// too long.
func list(body map[string]any, field string) []any {
	items, _ := body[field].([]any)
	if len(items) > fuzzItems {
		return nil
	}
	return items
}

// asksForMore reports whether an object has a field that the service would have to know.
func asksForMore(object map[string]any, upserts bool) bool {
	for name, v := range object {
		tokens, isObject := v.(map[string]any)
		_, isText := v.(string)
		switch strings.ToLower(name) {
		case "byot", "tokenmode":
			if v != nil && v != "DISABLE" {
				return true
			}
		case "tokens":
			if v != nil && v != true && (!isObject || len(tokens) > 0) {
				return true
			}
		case "upsert":
			if v != nil && v != "" && !(upserts && name == "upsert" && isText) {
				return true
			}
		case "continueonerror":
			if v != nil && v != false {
				return true
			}
		case "returntokens":
			if v != nil && v != true {
				return true
			}
		}
	}
	return false
}

// FuzzTokenizationParameters holds the reader of the hot path against encoding/json and
// the rules of the document, written once more.
func FuzzTokenizationParameters(f *testing.F) {
	seedBodies(f, `{"tokenizationParameters":[{"value":"Ada","table":"persons","column":"name"},{"value":"Zo\u00eb","columnGroup":"g"}]}`,
		` {"x":{"tokenizationParameters":1}, "tokenizationParameters" : [ { "v\u0061lue" : "\ud83d\ude00\"\\" , "t\u0061ble":"","column":"", "y":[{}] } ] } `,
		`{"tokenizationParameters":[{},null,7,{"value":null,"table":[]},{"value":"a","columnGroup":"","table":""}]}`,
		`{"tokenizationParameters":[{"value":"a value that is longer than it may be","columnGroup":"g"}]}`,
		`{"tokenizationParameters":[]}`, `{"tokenizationParameters":[1,2,3,4,5,6]}`)
	a := fuzzedAdapter(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		got, wrong := a.readItems(body)
		var want []vault.Item
		doc := standard(t, body)
		fine := !asksForMore(doc, false)
		items := list(doc, "tokenizationParameters")
		for _, item := range items {
			fields, _ := item.(map[string]any)
			text := func(name string) (string, bool) {
				v, there := fields[name]
				s, isText := v.(string)
				fine = fine && (!there || isText)
				return s, there
			}
			value, hasValue := text("value")
			table, hasTable := text("table")
			column, hasColumn := text("column")
			group, hasGroup := text("columnGroup")
			fine = fine && hasValue && len(value) <= fuzzValue && hasTable == hasColumn && hasTable != hasGroup
			it := vault.Item{Value: vault.NewValue(value)}
			if hasGroup {
				it.Place = vault.InGroup(group)
			} else {
				it.Place = vault.InColumn(table, column)
			}
			want = append(want, it)
		}
		if len(items) == 0 || !fine {
			requireFuzzProblem(t, wrong)
			return
		}
		require.Nil(t, wrong)
		require.Len(t, got, len(want))
		for i := range want {
			require.Equal(t, want[i].Value.Reveal(), got[i].Value.Reveal())
			want[i].Value, got[i].Value = vault.Value{}, vault.Value{}
			require.Equal(t, want[i], got[i])
		}
	})
}

// requireFuzzProblem checks a refusal: 400, with something to say, and at least one
// detail.
func requireFuzzProblem(t *testing.T, wrong *problem) {
	t.Helper()
	require.NotNil(t, wrong)
	require.Equal(t, 400, wrong.status)
	require.NotEmpty(t, wrong.items)
	for _, d := range wrong.items {
		require.NotEmpty(t, d.Reason)
		require.NotEmpty(t, d.text)
	}
	require.True(t, json.Valid(replyVault(*wrong).body))
}

func FuzzRecords(f *testing.F) {
	seedBodies(f, `{"records":[{"fields":{"name":"Ada","n\u006fte":"x"}},{"fields":{"":""}}],"tokenization":false}`, `{"records":[{},null,{"fields":{}},{"fields":[]}]}`,
		`{"records":[{"fields":{"a":"1","b":"2","c":"3","d":"4","e":"5","f":"6"}}]}`, `{"records":[{"fields":{"a":1}}],"tokenization":null}`, `{"records":[]}`,
		`{"upsert":"name","records":[{"fields":{"name":"Ada"},"tokens":{}}],"BYOT":null}`, `{"records":[{"tokens":{"name":"t"},"fields":{"name":"Ada"}}],"byot":"ENABLE"}`)
	a := fuzzedAdapter(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		got, wrong := a.readRecords(body, "persons")
		doc := standard(t, body)
		records := list(doc, "records")
		total, fine := 0, len(records) > 0 && !asksForMore(doc, true)
		for _, record := range records {
			object, _ := record.(map[string]any)
			fine = fine && !asksForMore(object, false)
			fields, _ := object["fields"].(map[string]any)
			total += len(fields)
			fine = fine && len(fields) > 0
			for _, v := range fields {
				text, isText := v.(string)
				fine = fine && isText && len(text) <= fuzzValue
			}
		}
		flag, given := doc["tokenization"]
		asked, isBool := flag.(bool)
		if !fine || total > fuzzItems || given && !isBool {
			requireFuzzProblem(t, wrong)
			return
		}
		require.Nil(t, wrong)
		require.Equal(t, !given || asked, got.tokens)
		require.Len(t, got.items, total)
		tokens := make([]string, total)
		for i, it := range got.items {
			at := got.fields[i]
			fields := records[at.record].(map[string]any)["fields"].(map[string]any)
			require.Equal(t, fields[at.name], it.Value.Reveal())
			require.Equal(t, vault.Item{Place: vault.InColumn("persons", at.name), Value: it.Value}, it)
			tokens[i] = it.Value.Reveal()
		}
		// With the values for tokens, the answer is the request.
		var answer struct {
			Records []struct{ Tokens map[string]any }
		}
		require.NoError(t, json.Unmarshal(got.answer(tokens), &answer))
		require.Len(t, answer.Records, len(records))
		for i, record := range answer.Records {
			if got.tokens {
				require.Equal(t, records[i].(map[string]any)["fields"], record.Tokens)
			} else {
				require.Nil(t, record.Tokens)
			}
		}
	})
}

func FuzzDetokenizationParameters(f *testing.F) {
	seedBodies(f, `{"detokenizationParameters":[{"token":"t"},{"t\u006fken":"\u0000","redaction":"MASKED"},{"token":"","redaction":"DEFAULT"}]}`,
		`{"detokenizationParameters":[{},7,{"token":null},{"token":"t","redaction":""},{"token":"t","redaction":1}]}`)
	a := fuzzedAdapter(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		got, wrong := a.readTokens(body)
		doc := standard(t, body)
		items := list(doc, "detokenizationParameters")
		fine := len(items) > 0 && !asksForMore(doc, false)
		var want []vault.DetokenizeItem
		for _, item := range items {
			fields, _ := item.(map[string]any)
			token, isText := fields["token"].(string)
			redaction, given := fields["redaction"]
			name, _ := redaction.(string)
			shown, known := redactions[name]
			fine = fine && isText && (!given || known)
			want = append(want, vault.DetokenizeItem{Token: tokenOrNone(token), Redaction: shown})
		}
		if !fine {
			requireFuzzProblem(t, wrong)
			return
		}
		require.Nil(t, wrong)
		require.Equal(t, want, got)
	})
}

// FuzzAppendString holds the writer of strings against encoding/json.
func FuzzAppendString(f *testing.F) {
	for _, text := range []string{"", "Ada", "a\"b\\c\n\x00\x1f\x7f", "é\u2028\U0001f600", "\xff\xed\xa0\x80x", "\ufffd"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want, got string
		standard, err := json.Marshal(text)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(standard, &want))
		written := appendString([]byte("x"), text)[1:]
		require.NoError(t, json.Unmarshal(written, &got), "%q", written)
		require.Equal(t, want, got)
		_, err = strictjson.Parse(written, 0)
		require.NoError(t, err)
	})
}
