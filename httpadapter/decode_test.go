package httpadapter

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// searchBody is a body with everything that the decoder can read: the shape of the audio
// search and its neighbours.
type searchBody struct {
	dataset, class string
	limit, offset  int64
	filters        []filter
	skip           bool
	name           *string
	inviter        string
	id             uuid.UUID
}

type filter struct{ key, value, op string }

func readSearch(data string) (searchBody, []detail) {
	var d decoder
	var s searchBody
	o, ok := d.body([]byte(data))
	if !ok {
		return s, d.details
	}
	s.dataset, _ = o.text("dataset_id", required, textRule{})
	s.class, _ = o.enum("audio_class", required, "", []string{"Speech", "Dental drill, dentist's drill", "Rain"})
	s.limit, _ = o.integer("limit", optional, 40, 1, 1000)
	s.offset, _ = o.integer("offset", optional, 0, 0, 1<<53)
	o.list("metadata_filters", nullable, listRule{max: 3}, func(_ int, item *object) {
		var f filter
		f.key, _ = item.text("key", required, textRule{min: 1, max: 5})
		f.value, _ = item.text("value", required, textRule{})
		f.op, _ = item.enum("op", optional, "=", []string{"=", "!="})
		s.filters = append(s.filters, f)
	})
	s.skip, _ = o.boolean("skip_moderation", optional, false)
	if name, ok := o.text("name", nullable, textRule{min: 2}); ok {
		s.name = &name
	}
	o.child("inviter", optional, func(inviter *object) { s.inviter, _ = inviter.text("name", required, textRule{}) })
	s.id, _ = o.uuid("id", optional)
	return s, d.details
}

func TestDecoderReadsEveryShape(t *testing.T) {
	s, problems := readSearch(`{"dataset_id":"d1","audio_class":"Dental drill, dentist's drill"}`)
	require.Empty(t, problems)
	require.Equal(t, searchBody{dataset: "d1", class: "Dental drill, dentist's drill", limit: 40}, s)

	s, problems = readSearch(`{"name":"Ada","skip_moderation":true,"limit":-0,"x":[{"y":1}]}`)
	require.NotEmpty(t, problems)
	require.Equal(t, "Ada", *s.name)

	s, problems = readSearch(`{"dataset_id":"\u00e9","audio_class":"Rain","limit":1000,"offset":9007199254740992,
		"metadata_filters":[{"key":"a","value":""},{"op":"!=","value":"\ud83d\ude00","key":"caf\u00e9s"}],"skip_moderation":true,
		"name":null,"inviter":{"name":"Grace"},"id":"7F1F3C1E5A0E4A529F0E0C9A4A3F2B11","unknown":{}}`)
	require.Empty(t, problems)
	require.Equal(t, searchBody{
		dataset: "é", class: "Rain", limit: 1000, offset: 1 << 53, skip: true, inviter: "Grace",
		filters: []filter{{"a", "", "="}, {"cafés", "😀", "!="}},
		id:      uuid.MustParse("7f1f3c1e-5a0e-4a52-9f0e-0c9a4a3f2b11"),
	}, s)

	s, problems = readSearch(`{"dataset_id":"d","audio_class":"Rain","metadata_filters":null}`)
	require.Empty(t, problems)
	require.Nil(t, s.filters)
}

func TestDecoderProblems(t *testing.T) {
	const head = `{"dataset_id":"d","audio_class":"Rain",`
	type want struct{ loc, typ, msg string }
	for body, wants := range map[string][]want{
		`{}`: {{`["body","dataset_id"]`, "missing", "Field required"}, {`["body","audio_class"]`, "missing", "Field required"}},
		`{"dataset_id":"d","audio_class":"rain"}`:                       {{`["body","audio_class"]`, "enum", `Input should be 'Speech', "Dental drill, dentist's drill" or 'Rain'`}},
		`{"dataset_id":"d","audio_class":3}`:                            {{`["body","audio_class"]`, "enum", `Input should be 'Speech', "Dental drill, dentist's drill" or 'Rain'`}},
		head + `"limit":0}`:                                             {{`["body","limit"]`, "greater_than_equal", "Input should be greater than or equal to 1"}},
		head + `"limit":1001}`:                                          {{`["body","limit"]`, "less_than_equal", "Input should be less than or equal to 1000"}},
		head + `"limit":40.0}`:                                          {{`["body","limit"]`, "int_type", "Input should be a valid integer"}},
		head + `"limit":4e1}`:                                           {{`["body","limit"]`, "int_type", "Input should be a valid integer"}},
		head + `"limit":"40"}`:                                          {{`["body","limit"]`, "int_type", "Input should be a valid integer"}},
		head + `"limit":true}`:                                          {{`["body","limit"]`, "int_type", "Input should be a valid integer"}},
		head + `"limit":null}`:                                          {{`["body","limit"]`, "int_type", "Input should be a valid integer"}},
		head + `"limit":` + strings.Repeat("9", 5000) + `}`:             {{`["body","limit"]`, "less_than_equal", "Input should be less than or equal to 1000"}},
		head + `"limit":-` + strings.Repeat("9", 5000) + `}`:            {{`["body","limit"]`, "greater_than_equal", "Input should be greater than or equal to 1"}},
		head + `"skip_moderation":1}`:                                   {{`["body","skip_moderation"]`, "bool_type", "Input should be a valid boolean"}},
		head + `"skip_moderation":"true"}`:                              {{`["body","skip_moderation"]`, "bool_type", "Input should be a valid boolean"}},
		head + `"skip_moderation":null}`:                                {{`["body","skip_moderation"]`, "bool_type", "Input should be a valid boolean"}},
		head + `"metadata_filters":{}}`:                                 {{`["body","metadata_filters"]`, "list_type", "Input should be a valid list"}},
		head + `"metadata_filters":[{},{},{},{}]}`:                      {{`["body","metadata_filters"]`, "too_long", "List should have at most 3 items after validation, not 4"}},
		head + `"metadata_filters":[{"key":"","value":1},null]}`:        {{`["body","metadata_filters",0,"key"]`, "string_too_short", "String should have at least 1 character"}, {`["body","metadata_filters",0,"value"]`, "string_type", "Input should be a valid string"}, {`["body","metadata_filters",1]`, "model_attributes_type", "Input should be a valid dictionary or object to extract fields from"}},
		head + `"metadata_filters":[{"key":"123456","value":""}]}`:      {{`["body","metadata_filters",0,"key"]`, "string_too_long", "String should have at most 5 characters"}},
		head + `"metadata_filters":[{"key":"k","value":"","op":null}]}`: {{`["body","metadata_filters",0,"op"]`, "enum", "Input should be '=' or '!='"}},
		head + `"name":"é"}`:                                            {{`["body","name"]`, "string_too_short", "String should have at least 2 characters"}},
		head + `"name":false}`:                                          {{`["body","name"]`, "string_type", "Input should be a valid string"}},
		head + `"inviter":[]}`:                                          {{`["body","inviter"]`, "model_attributes_type", "Input should be a valid dictionary or object to extract fields from"}},
		head + `"inviter":{"name":2}}`:                                  {{`["body","inviter","name"]`, "string_type", "Input should be a valid string"}},
		head + `"inviter":{"Name":"x"}}`:                                {{`["body","inviter","name"]`, "missing", "Field required"}},
		head + `"id":7}`:                                                {{`["body","id"]`, "uuid_type", "UUID input should be a string, bytes or UUID object"}},
	} {
		_, problems := readSearch(body)
		var got []want
		for _, p := range problems {
			loc, err := json.Marshal(p.Loc)
			require.NoError(t, err)
			got = append(got, want{string(loc), p.Type, p.Msg})
		}
		require.Equal(t, wants, got, body)
	}
}

func TestDecoderStopsAtHundred(t *testing.T) {
	items := strings.TrimSuffix(strings.Repeat(`{},`, 5000), ",")
	var d decoder
	o, ok := d.body([]byte(`{"list":[` + items + `]}`))
	require.True(t, ok)
	read := 0
	o.list("list", required, listRule{}, func(_ int, item *object) {
		read++
		item.text("a", required, textRule{})
		item.text("b", required, textRule{})
		item.text("c", required, textRule{})
	})
	require.Len(t, d.details, 100)
	require.Equal(t, 34, read)
}

func TestListBounds(t *testing.T) {
	var d decoder
	o, _ := d.body([]byte(`{"list":[]}`))
	require.False(t, o.list("list", required, listRule{min: 1}, nil))
	require.Equal(t, []detail{{[]any{"body", "list"}, "List should have at least 1 item after validation, not 0", "too_short"}}, d.details)
}

// The texts are those of pydantic-core's tests/validators/test_uuid.py and of the crate's
// own rules.
func TestUUIDProblem(t *testing.T) {
	const prefix = "Input should be a valid UUID, "
	for text, want := range map[string]string{
		"12345678-1234-5678-1234-567812345678":          "",
		"12345678123456781234567812345678":              "",
		"{12345678-1234-5678-1234-567812345678}":        "",
		"urn:uuid:12345678-1234-5678-1234-567812345678": "",
		"7F1F3C1E-5A0E-4A52-9F0E-0C9A4A3F2B11":          "",
		"not-a-valid-uuid":                              "invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found `n` at 1",
		"12345678-1234-5678-1234-5678123456789":         "invalid group length in group 4: expected 12, found 13",
		"550e8400-e29b-41d4-a716":                       "invalid group count: expected 5, found 4",
		"f47ac10b-58cc-4372-a567-0e02b2c3d47":           "invalid group length in group 4: expected 12, found 11",
		"f47ac10-b58cc-4372-a567-0e02b2c3d479":          "invalid group length in group 0: expected 8, found 7",
		"1234":                                          "invalid length: expected length 32 for simple format, found 4",
		"":                                              "invalid length: expected length 32 for simple format, found 0",
		"1234é":                                         "invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found `é` at 5",
	} {
		if want != "" {
			want = prefix + want
		}
		got := uuidProblem(text)
		require.Equal(t, want, got, text)
		if got == "" {
			_, err := uuid.Parse(text)
			require.NoError(t, err, text)
		}
	}
}

func FuzzDecoder(f *testing.F) {
	f.Add(`{"dataset_id":"d1","audio_class":"Rain","limit":7,"metadata_filters":[{"key":"a","value":"b"}],"id":"x"}`)
	f.Add(`{"metadata_filters":[{}, null, {"key":"\u0000","value":{"a":[1,2]}}],"limit":-1e5,"name":null}`)
	f.Add(`{"inviter":{"name":"x"},"inviter2":0}`)
	f.Fuzz(func(t *testing.T, body string) {
		s, problems := readSearch(body)
		if len(problems) > maxDetails {
			t.Fatalf("%d problems", len(problems))
		}
		for _, p := range problems {
			if p.Msg == "" || p.Type == "" || len(p.Loc) == 0 || p.Loc[0] != "body" {
				t.Fatalf("%+v", p)
			}
		}
		if len(problems) > 0 {
			return
		}
		// What is accepted is what the standard decoder reads, for it is stricter than
		// that one.
		var std struct {
			Dataset string `json:"dataset_id"`
			Limit   *int64 `json:"limit"`
		}
		if err := json.Unmarshal([]byte(body), &std); err != nil {
			if strings.Contains(err.Error(), "cannot unmarshal") { // a key that differs in case only
				return
			}
			t.Fatalf("accepted, but not by encoding/json: %v", err)
		}
		if s.limit < 1 || s.limit > 1000 {
			t.Fatalf("limit %d", s.limit)
		}
	})
}

func FuzzUUIDProblem(f *testing.F) {
	f.Add("12345678-1234-5678-1234-567812345678")
	f.Add("{12345678-1234-5678-1234-567812345678}")
	f.Fuzz(func(t *testing.T, text string) {
		_, err := uuid.Parse(text)
		if uuidProblem(text) == "" && err != nil {
			t.Fatalf("%q: accepted, but uuid.Parse says %v", text, err)
		}
	})
}
