package httpadapter_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audioset"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// What is left out has its default, and what is given reaches the run as it is.
func TestSearchFields(t *testing.T) {
	r := newSoundRig(t, nil, nil)
	plain := func(change func(*audiosearch.Query)) audiosearch.Query {
		q := audiosearch.Query{Dataset: "calls", Class: dialTone, Limit: 40}
		if change != nil {
			change(&q)
		}
		return q
	}
	filter := func(key, value string, op metadata.Op) audiosearch.Query {
		return plain(func(q *audiosearch.Query) { q.Filters = []metadata.Filter{{Key: key, Value: value, Op: op}} })
	}
	for body, want := range map[string]audiosearch.Query{
		aSearch(``): plain(nil),
		aSearch(`"limit":40,"offset":0,"skip_moderation":false,"metadata_filters":[]`): plain(nil),
		aSearch(`"limit":1`):                                                 plain(func(q *audiosearch.Query) { q.Limit = 1 }),
		aSearch(`"limit":1000`):                                              plain(func(q *audiosearch.Query) { q.Limit = 1000 }),
		aSearch(`"offset":7`):                                                plain(func(q *audiosearch.Query) { q.Offset = 7 }),
		aSearch(`"offset":-0`):                                               plain(nil),
		aSearch(`"offset":9223372036854775807`):                              plain(func(q *audiosearch.Query) { q.Offset = math.MaxInt32 }), // beyond any ranking
		aSearch(`"offset":9223372036854775808`):                              plain(func(q *audiosearch.Query) { q.Offset = math.MaxInt32 }), // there is no most
		aSearch(`"offset":` + strings.Repeat("9", 4000)):                     plain(func(q *audiosearch.Query) { q.Offset = math.MaxInt32 }),
		aSearch(`"skip_moderation":true`):                                    plain(func(q *audiosearch.Query) { q.SkipModeration = true }),
		aSearch(`"min_score":0.25`):                                          plain(func(q *audiosearch.Query) { q.MinScore = 0.25 }),
		aSearch(`"min_score":1`):                                             plain(func(q *audiosearch.Query) { q.MinScore = 1 }),
		aSearch(`"min_score":0.0`):                                           plain(nil),
		aSearch(`"min_score":1e-400`):                                        plain(nil),
		` { "audio_class" : "Dial\u0020tone" , "dataset\u005fid":"calls" } `: plain(nil),
		`{"dataset_id":"calls","audio_class":"Silence"}`:                     plain(func(q *audiosearch.Query) { q.Class = silence }),
		// Fields that are not listed are ignored, in filters too; case counts.
		aSearch(`"Limit":0,"LIMIT":"x","":[{}],"query":null`):                                 plain(nil),
		aSearch(`"metadata_filters":[{"key":"site","value":"north","Op":"~","type":7}]`):      filter("site", "north", "="),
		aSearch(`"metadata_filters":[{"key":"site","value":""}]`):                             filter("site", "", "="),
		aSearch(`"metadata_filters":[{"key":"site","value":"\u0000%_'é"}]`):                   filter("site", "\x00%_'é", "="),
		aSearch(`"metadata_filters":[{"op":"=","value":"x","key":"site"}]`):                   filter("site", "x", "="),
		aSearch(`"metadata_filters":[{"key":"site","value":"x","op":"!="}]`):                  filter("site", "x", "!="),
		aSearch(`"metadata_filters":[{"key":"site","value":"x","op":"contains"}]`):            filter("site", "x", "contains"),
		aSearch(`"metadata_filters":[{"key":"year","value":"2024","op":">"}]`):                filter("year", "2024", ">"),
		aSearch(`"metadata_filters":[{"key":"year","value":"-2.0e+3","op":"<"}]`):             filter("year", "-2.0e+3", "<"),
		aSearch(`"metadata_filters":[{"key":"year","value":"0","op":">="}]`):                  filter("year", "0", ">="),
		aSearch(`"metadata_filters":[{"key":"year","value":"9007199254740993","op":"<="}]`):   filter("year", "9007199254740993", "<="),
		aSearch(`"metadata_filters":[{"key":"year","value":"1E400","op":"<="}]`):              filter("year", "1E400", "<="),
		aSearch(`"metadata_filters":[{"key":"note","value":"a key that has null is a key"}]`): filter("note", "a key that has null is a key", "="),
	} {
		got := r.stored(r.start(body))
		if len(got.Filters) == 0 {
			got.Filters = nil
		}
		require.Equal(t, want, got, body)
	}
}

// Where the mount does not take min_score, it is a field that is not listed.
func TestSearchWithoutMinScore(t *testing.T) {
	r := newSoundRig(t, &httpadapter.AudioSearchOptions{Cancel: true}, nil)
	for _, body := range []string{aSearch(`"min_score":0.5`), aSearch(`"min_score":7`), aSearch(`"min_score":"x"`)} {
		require.Equal(t, audiosearch.Query{Dataset: "calls", Class: dialTone, Limit: 40}, r.stored(r.start(body)), body)
	}
}

// Every one of the 527 names is a value, and nothing else is.
func TestSearchClasses(t *testing.T) {
	r := newSoundRig(t, nil, nil)
	var names []string
	for _, class := range audioset.Classes() {
		name := string(class)
		quoted := "'" + name + "'"
		if strings.Contains(name, "'") {
			quoted = `"` + name + `"`
		}
		names = append(names, quoted)
		w := r.post(`{"dataset_id":"calls","audio_class":` + quoteJSON(name) + `}`)
		if class == dialTone || class == silence {
			require.Equal(t, http.StatusOK, w.Code)
			continue
		}
		requireDetails(t, w, detail{"body.audio_class", "unsupported_class", "Cannot be found by this server, which knows: Dial tone; Silence"})
	}
	require.Len(t, names, 527)
	message := "Input should be " + strings.Join(names[:526], ", ") + " or " + names[526]
	for _, wrong := range []string{
		`"dial tone"`, `"Dial tone "`, `""`, `"Dial tone\u0000"`, `"388"`, `388`, `null`, `["Dial tone"]`, `{}`, `true`, `"Class(1)"`, `"Speech | Music"`,
	} {
		requireDetails(t, r.post(`{"dataset_id":"calls","audio_class":`+wrong+`}`), detail{"body.audio_class", "enum", message})
	}
}

func TestSearchValidation(t *testing.T) {
	const (
		integer, boolean, text = "Input should be a valid integer", "Input should be a valid boolean", "Input should be a valid string"
		object, list           = "Input should be a valid dictionary or object to extract fields from", "Input should be a valid list"
		ops                    = "Input should be '=', '!=', 'contains', '>', '<', '>=' or '<='"
	)
	missing := func(loc string) detail { return detail{loc, "missing", "Field required"} }
	limit := func(typ, msg string) []detail { return []detail{{"body.limit", typ, msg}} }
	offset := func(typ, msg string) []detail { return []detail{{"body.offset", typ, msg}} }
	score := func(typ, msg string) []detail { return []detail{{"body.min_score", typ, msg}} }
	item := func(field, typ, msg string) []detail { return []detail{{"body.metadata_filters.0" + field, typ, msg}} }
	filters := func(items string) string { return aSearch(`"metadata_filters":[` + items + `]`) }
	number := func(op string) []detail {
		return item(".value", "not_a_number", "Must be a number, because the operator is "+op)
	}
	r := newSoundRig(t, nil, nil)
	for body, want := range map[string][]detail{
		``:                            {missing("body")},
		`null`:                        {missing("body")},
		`[]`:                          {{"body", "model_attributes_type", object}},
		`"x"`:                         {{"body", "model_attributes_type", object}},
		`{}`:                          {missing("body.dataset_id"), missing("body.audio_class")},
		`{"audio_class":"Dial tone"}`: {missing("body.dataset_id")},
		`{"dataset_id":"calls"}`:      {missing("body.audio_class")},
		`{"dataset_id":null,"audio_class":"Dial tone"}`: {{"body.dataset_id", "string_type", text}},
		`{"dataset_id":7,"audio_class":"Dial tone"}`:    {{"body.dataset_id", "string_type", text}},
		`{"dataset_id":[],"audio_class":"Dial tone"}`:   {{"body.dataset_id", "string_type", text}},

		aSearch(`"limit":null`):                            limit("int_type", integer),
		aSearch(`"limit":"40"`):                            limit("int_type", integer),
		aSearch(`"limit":40.0`):                            limit("int_type", integer),
		aSearch(`"limit":4e1`):                             limit("int_type", integer),
		aSearch(`"limit":true`):                            limit("int_type", integer),
		aSearch(`"limit":[40]`):                            limit("int_type", integer),
		aSearch(`"limit":0`):                               limit("greater_than_equal", "Input should be greater than or equal to 1"),
		aSearch(`"limit":-0`):                              limit("greater_than_equal", "Input should be greater than or equal to 1"),
		aSearch(`"limit":-1`):                              limit("greater_than_equal", "Input should be greater than or equal to 1"),
		aSearch(`"limit":1001`):                            limit("less_than_equal", "Input should be less than or equal to 1000"),
		aSearch(`"offset":null`):                           offset("int_type", integer),
		aSearch(`"offset":"0"`):                            offset("int_type", integer),
		aSearch(`"offset":0.5`):                            offset("int_type", integer),
		aSearch(`"offset":-1`):                             offset("greater_than_equal", "Input should be greater than or equal to 0"),
		aSearch(`"limit":` + strings.Repeat("9", 4000)):    limit("less_than_equal", "Input should be less than or equal to 1000"),
		aSearch(`"limit":-` + strings.Repeat("9", 4000)):   limit("greater_than_equal", "Input should be greater than or equal to 1"),
		aSearch(`"offset":-` + strings.Repeat("9", 4000)):  offset("greater_than_equal", "Input should be greater than or equal to 0"),
		aSearch(`"skip_moderation":null`):                  {{"body.skip_moderation", "bool_type", boolean}},
		aSearch(`"min_score":null`):                        score("float_type", "Input should be a valid number"),
		aSearch(`"min_score":"0.5"`):                       score("float_type", "Input should be a valid number"),
		aSearch(`"min_score":true`):                        score("float_type", "Input should be a valid number"),
		aSearch(`"min_score":-0.0001`):                     score("greater_than_equal", "Input should be greater than or equal to 0"),
		aSearch(`"min_score":-1e400`):                      score("greater_than_equal", "Input should be greater than or equal to 0"),
		aSearch(`"min_score":1.0001`):                      score("less_than_equal", "Input should be less than or equal to 1"),
		aSearch(`"min_score":1e400`):                       score("less_than_equal", "Input should be less than or equal to 1"),
		aSearch(`"skip_moderation":1`):                     {{"body.skip_moderation", "bool_type", boolean}},
		aSearch(`"skip_moderation":"true"`):                {{"body.skip_moderation", "bool_type", boolean}},
		aSearch(`"metadata_filters":null`):                 {{"body.metadata_filters", "list_type", list}},
		aSearch(`"metadata_filters":{}`):                   {{"body.metadata_filters", "list_type", list}},
		aSearch(`"metadata_filters":{"0":{"key":"site"}}`): {{"body.metadata_filters", "list_type", list}},
		aSearch(`"metadata_filters":"site=north"`):         {{"body.metadata_filters", "list_type", list}},

		filters(`null`):                              item("", "model_attributes_type", object),
		filters(`"site"`):                            item("", "model_attributes_type", object),
		filters(`["site","north"]`):                  item("", "model_attributes_type", object),
		filters(`{}`):                                {missing("body.metadata_filters.0.key"), missing("body.metadata_filters.0.value")},
		filters(`{"value":"north"}`):                 {missing("body.metadata_filters.0.key")},
		filters(`{"key":"site"}`):                    {missing("body.metadata_filters.0.value")},
		filters(`{"key":null,"value":"x"}`):          item(".key", "string_type", text),
		filters(`{"key":7,"value":"x"}`):             item(".key", "string_type", text),
		filters(`{"key":"year","value":7}`):          item(".value", "string_type", text),
		filters(`{"key":"a","value":null}`):          item(".value", "string_type", text),
		filters(`{"key":"a","value":true}`):          item(".value", "string_type", text),
		filters(`{"key":"a","value":["x"]}`):         item(".value", "string_type", text),
		filters(fieldsOf("x", "==")):                 item(".op", "enum", ops),
		filters(fieldsOf("x", "")):                   item(".op", "enum", ops),
		filters(fieldsOf("x", "CONTAINS")):           item(".op", "enum", ops),
		filters(fieldsOf("x", "=>")):                 item(".op", "enum", ops),
		filters(fieldsOf("x", "> ")):                 item(".op", "enum", ops),
		filters(fieldsOf("x", ">")):                  number(">"),
		filters(fieldsOf("x", "<")):                  number("<"),
		filters(fieldsOf("", ">=")):                  number(">="),
		filters(fieldsOf(" 1", "<=")):                number("<="),
		filters(fieldsOf("1 ", "<=")):                number("<="),
		filters(fieldsOf("+1", "<=")):                number("<="),
		filters(fieldsOf("01", "<=")):                number("<="),
		filters(fieldsOf(".5", "<=")):                number("<="),
		filters(fieldsOf("1.", "<=")):                number("<="),
		filters(fieldsOf("0x1", "<=")):               number("<="),
		filters(fieldsOf("1_000", "<=")):             number("<="),
		filters(fieldsOf("NaN", "<=")):               number("<="),
		filters(fieldsOf("Infinity", "<=")):          number("<="),
		filters(fieldsOf("\uff11", "<=")):            number("<="),
		filters(fieldsOf("1e401", "<=")):             number("<="),
		filters(fieldsOf("1e-401", "<=")):            number("<="),
		filters(fieldsOf("1\\u0000", "<=")):          number("<="),
		filters(fieldsOf(nines(65), "<=")):           number("<="),
		filters(`{"key":1,"value":2,"op":3}`):        slices.Concat(item(".key", "string_type", text), item(".value", "string_type", text), item(".op", "enum", ops)),
		filters(`{"key":"a","value":"1","op":null}`): item(".op", "enum", ops),
		// The bound counts bytes, not characters, and what is too long is not taken for a
		// number, too.
		filters(fieldsOf(strings.Repeat("x", 4097), "=")):                  item(".value", "string_too_long", "String should have at most 4096 bytes"),
		filters(fieldsOf(strings.Repeat("é", 2049), "contains")):           item(".value", "string_too_long", "String should have at most 4096 bytes"),
		filters(fieldsOf(strings.Repeat("x", 4097), ">")):                  item(".value", "string_too_long", "String should have at most 4096 bytes"),
		filters(`{"key":"` + strings.Repeat("k", 4097) + `","value":"x"}`): item(".key", "string_too_long", "String should have at most 4096 bytes"),

		// A value that is no text is not taken for a number, too.
		filters(`{"key":"a","value":1,"op":">"}`): item(".value", "string_type", text),

		// Everything that is wrong is told at once, in the order of the document,
		// whatever the order of the request.
		`{"skip_moderation":0,"metadata_filters":[{"key":"a","value":"b"},{"op":">","value":"b","key":null},7],"offset":-1,"limit":0,` +
			`"dataset_id":1,"audio_class":"Silence"}`: {
			{"body.dataset_id", "string_type", text}, {"body.limit", "greater_than_equal", "Input should be greater than or equal to 1"},
			{"body.offset", "greater_than_equal", "Input should be greater than or equal to 0"}, {"body.metadata_filters.1.key", "string_type", text},
			{"body.metadata_filters.1.value", "not_a_number", "Must be a number, because the operator is >"},
			{"body.metadata_filters.2", "model_attributes_type", object},
			{"body.skip_moderation", "bool_type", boolean},
		},
		// Before the end of the fields nobody looks into the dataset.
		aSearch(`"limit":0,"metadata_filters":[{"key":"none","value":"x"}]`): limit("greater_than_equal", "Input should be greater than or equal to 1"),

		"\ufeff{}":                      {{"body.0", "json_invalid", "JSON decode error: byte order mark"}},
		`{`:                             {{"body.1", "json_invalid", "JSON decode error"}},
		`{"dataset_id": calls}`:         {{"body.15", "json_invalid", "JSON decode error"}},
		`{"limit":NaN}`:                 {{"body.9", "json_invalid", "JSON decode error"}},
		aSearch(`"limit":1`) + `{}`:     {{"body." + strconv.Itoa(len(aSearch(`"limit":1`))), "json_invalid", "JSON decode error"}},
		aSearch(`"limit":1,"limit":2`):  {{"body.58", "json_invalid", "JSON decode error: duplicate key"}},
		aSearch(`"x":"` + "\xff" + `"`): {{"body.53", "json_invalid", "JSON decode error"}},
	} {
		w := r.post(body, header("Content-Type", "application/json"))
		t.Run(body[:min(len(body), 80)], func(t *testing.T) { requireDetails(t, w, want...) })
	}
	backlog, err := r.store.Backlog(t.Context(), 1)
	require.NoError(t, err)
	require.Zero(t, backlog, "no run was begun")
}

// fieldsOf is a filter on a key.
func fieldsOf(value, op string) string {
	return `{"key":"year","value":"` + value + `","op":"` + op + `"}`
}

func nines(n int) string { return strings.Repeat("9", n) }

// What only the dataset tells is told together, too.
func TestSearchKeysAndClass(t *testing.T) {
	r := newSoundRig(t, nil, nil)
	unknown := func(i int) detail {
		return detail{fmt.Sprintf("body.metadata_filters.%d.key", i), "unknown_key", "No video of the dataset has this metadata key"}
	}
	unsupported := detail{"body.audio_class", "unsupported_class", "Cannot be found by this server, which knows: Dial tone; Silence"}
	const filters = `"metadata_filters":[{"key":"Site","value":"x"},{"key":"site","value":"x"},{"key":"","value":"1","op":">"},{"key":"site ","value":"x"}]`
	requireDetails(t, r.post(aSearch(filters)), unknown(0), unknown(2), unknown(3))
	requireDetails(t, r.post(`{"dataset_id":"calls","audio_class":"Dog",`+filters+`}`), unsupported, unknown(0), unknown(2), unknown(3))
	// A dataset without videos has no key; one that is not there is told alone.
	requireDetails(t, r.post(`{"dataset_id":"bells","audio_class":"Silence","metadata_filters":[{"key":"site","value":"x"}]}`), unknown(0))
	requireSentence(t, r.post(`{"dataset_id":"none","audio_class":"Dog",`+filters+`}`), http.StatusNotFound, "Dataset not found")
	// The hundred problems of an answer.
	many := `"metadata_filters":[` + strings.TrimSuffix(strings.Repeat(`{"key":"none","value":"x"},`, 100), ",") + `]`
	require.Len(t, details(t, r.post(`{"dataset_id":"calls","audio_class":"Dog",`+many+`}`).Body.Bytes()), 100)
}

// The limits are the service's, whose host may have set others.
func TestSearchLimits(t *testing.T) {
	filters := func(n int, item string) string {
		return aSearch(`"metadata_filters":[` + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + `]`)
	}
	const one = `{"key":"site","value":"north"}`
	r := newSoundRig(t, nil, nil)
	require.Len(t, r.stored(r.start(filters(100, one))).Filters, 100)
	requireDetails(t, r.post(filters(101, one)), detail{"body.metadata_filters", "too_long", "List should have at most 100 items after validation, not 101"})
	requireDetails(t, r.post(filters(20_000, `{}`)),
		detail{"body.metadata_filters", "too_long", "List should have at most 100 items after validation, not 20000"})
	got := details(t, r.post(filters(100, `{"op":1}`)).Body.Bytes())
	require.Len(t, got, 100)
	require.Equal(t, "body.metadata_filters.33.key", got[99].loc)

	narrow := newSoundRig(t, nil, &audiosearch.Options{MaxLimit: 5, MaxFilters: 1})
	require.Equal(t, 5, narrow.stored(narrow.start(aSearch(``))).Limit)
	require.Equal(t, 5, narrow.stored(narrow.start(aSearch(`"limit":5`))).Limit)
	requireDetails(t, narrow.post(aSearch(`"limit":6`)), detail{"body.limit", "less_than_equal", "Input should be less than or equal to 5"})
	requireDetails(t, narrow.post(filters(2, one)), detail{"body.metadata_filters", "too_long", "List should have at most 1 item after validation, not 2"})
	wide := newSoundRig(t, nil, &audiosearch.Options{MaxLimit: 5000})
	require.Equal(t, 5000, wide.stored(wide.start(aSearch(`"limit":5000`))).Limit)

	small := newSoundRig(t, &httpadapter.AudioSearchOptions{Options: httpadapter.Options{MaxBody: int64(len(aSearch(``)))}}, nil)
	small.start(aSearch(``))
	requireDetail(t, small.post(aSearch(``)+" "), http.StatusRequestEntityTooLarge)
	requireDetail(t, r.post(aSearch(``)+strings.Repeat(" ", bodyLimit)), http.StatusRequestEntityTooLarge)
}

// The service's words for a problem of fields are those of the adapter, which sees it
// first.
func TestSearchSpeaksAsTheService(t *testing.T) {
	r := newSoundRig(t, nil, nil)
	query := audiosearch.Query{Dataset: "calls", Class: dialTone, Filters: []metadata.Filter{{Key: "year", Value: "x", Op: ">="}}}
	_, err := r.service.Start(t.Context(), "acme", "me", query)
	var one mortise.Problem
	require.ErrorAs(t, err, &one)
	got := details(t, r.post(aSearch(`"metadata_filters":[`+fieldsOf("x", ">=")+`]`)).Body.Bytes())
	require.Len(t, got, 1)
	require.True(t, strings.EqualFold(one.Message, got[0].msg), got[0].msg)
	require.Equal(t, string(one.Kind), got[0].typ)
}

// Run IDs are such as JavaScript can hold, and do not tell how many there are.
func TestSearchRunIDs(t *testing.T) {
	r := newSoundRig(t, nil, nil)
	seen := make(map[int64]bool)
	large := 0
	for range 100 {
		id, err := strconv.ParseInt(r.start(aSearch(``)), 10, 64)
		require.NoError(t, err)
		require.Positive(t, id)
		require.LessOrEqual(t, id, int64(1<<53-1))
		require.False(t, seen[id])
		seen[id] = true
		if id > 1<<46 {
			large++
		}
	}
	require.Greater(t, large, 90)
	var body map[string]json.Number
	require.NoError(t, json.Unmarshal(r.post(aSearch(``)).Body.Bytes(), &body))
	require.Len(t, body, 1)
}
