package httpadapter

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/strictjson"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// fuzzedSearches takes at most five results and two filters.
func fuzzedSearches(f *testing.F) *audioSearchAdapter {
	f.Helper()
	db, err := memory.Open(f.Context(), nil)
	require.NoError(f, err)
	s, err := audiosearch.New(db.AudioSearch(), &audiosearch.Options{Scorers: []sound.Scorer{describedScorer{}}, MaxLimit: fuzzItems, MaxFilters: 2})
	require.NoError(f, err)
	a, err := newAudioSearchAdapter(s, nil)
	require.NoError(f, err)
	return a
}

// FuzzAudioSoundSearch holds the reader of a search against encoding/json and the rules
// of the document, written once more.
func FuzzAudioSoundSearch(f *testing.F) {
	seedBodies(f, `{"dataset_id":"d","audio_class":"Silence"}`,
		`{"dataset_id":"","audio_class":"Dental drill, dentist's drill","limit":5,"offset":0,"skip_moderation":true,"x":[{}]}`,
		`{"dataset_id":"d","\u0061udio_class":"Dog","metadata_filters":[{"key":"k","value":"v"},{"key":"","value":"-1.5e+3","op":">="}]}`,
		`{"dataset_id":"d","audio_class":"Dog","metadata_filters":[{"key":"k","value":"1.","op":"<"},{"value":1,"op":"=="}],"offset":9223372036854775808}`,
		`{"dataset_id":1,"audio_class":"dog","limit":0,"offset":-1,"metadata_filters":[{},{},{}],"skip_moderation":null}`,
		`{"dataset_id":"d","audio_class":"Dog","limit":1e0,"offset":0.0,"metadata_filters":{}}`)
	a := fuzzedSearches(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		var d decoder
		var got audiosearch.Query
		if o, ok := d.body(body); ok {
			got = a.query(t.Context(), &o)
		}
		want, fine := expectedQuery(t, a, body)
		if !fine {
			require.NotEmpty(t, d.details)
			require.LessOrEqual(t, len(d.details), maxDetails)
			for _, one := range d.details {
				require.Equal(t, "body", one.Loc[0])
				require.NotEmpty(t, one.Msg)
				require.NotEmpty(t, one.Type)
			}
			require.True(t, json.Valid(replyDetail(problem{kind: invalid, details: d.details}).body))
			return
		}
		require.Empty(t, d.details)
		require.Equal(t, want, got)
	})
}

// expectedQuery reads a body by encoding/json. fine is false if there is something wrong
// with it.
func expectedQuery(t *testing.T, a *audioSearchAdapter, body []byte) (q audiosearch.Query, fine bool) {
	fields := standard(t, body)
	if fields == nil {
		return q, false
	}
	root, err := strictjson.Parse(body, 0)
	require.NoError(t, err)
	integer := func(name string, least, most float64) int { // as written: float64 cannot tell 1 and 1.0 apart
		v, given := root.Get(name)
		if !given {
			return 0
		}
		n, err := strconv.ParseInt(string(v.Raw()), 10, 64) // the nearest there is, if it is out of range
		fine = fine && (err == nil || errors.Is(err, strconv.ErrRange)) && float64(n) >= least && float64(n) <= most
		return int(min(n, math.MaxInt32))
	}
	fine = true
	q.Dataset, fine = fields["dataset_id"].(string)
	class, isText := fields["audio_class"].(string)
	fine = fine && isText && slices.Contains(a.classes, sound.Class(class))
	q.Class = sound.Class(class)
	q.Limit, q.Offset = integer("limit", 1, fuzzItems), integer("offset", 0, math.MaxInt64)
	if v, given := fields["skip_moderation"]; given {
		skip, isBool := v.(bool)
		q.SkipModeration, fine = skip, fine && isBool
	}
	if v, given := fields["metadata_filters"]; given {
		items, isList := v.([]any)
		fine = fine && isList && len(items) <= 2
		for _, item := range items {
			object, _ := item.(map[string]any)
			key, hasKey := object["key"].(string)
			value, hasValue := object["value"].(string)
			filter := metadata.Filter{Key: key, Value: value, Op: metadata.OpEqual}
			if op, given := object["op"]; given {
				text, isText := op.(string)
				fine = fine && isText && text != ""
				filter.Op = metadata.Op(text)
			}
			err := filter.Check()
			fine = fine && hasKey && hasValue && err == nil
			q.Filters = append(q.Filters, filter)
		}
	}
	return q, fine
}

// FuzzRunResult holds the writer of results against encoding/json.
func FuzzRunResult(f *testing.F) {
	f.Add("a", "b.mp4", "k", "v", `-1.50e+2`, 0.5, 1e-7, int64(2500))
	f.Add("\x00\"\\\xff\u2028", "", "<&>", "\xed\xa0\x80", `true`, 1.0/65535, 0.0, int64(0))
	f.Add("", "", "", "", `null`, 5e-324, 1.0, int64(math.MaxInt64/int64(time.Millisecond)))
	f.Fuzz(func(t *testing.T, id, path, key, text, scalar string, score, moderation float64, ms int64) {
		var value metadata.Scalar
		err := value.UnmarshalJSON([]byte(scalar))
		finite := math.Abs(score) <= math.MaxFloat64 && math.Abs(moderation) <= math.MaxFloat64 // false for NaN
		if err != nil || !finite || ms < 0 || ms > math.MaxInt64/int64(time.Millisecond) {
			t.Skip()
		}
		at := time.Duration(ms) * time.Millisecond
		r := audiosearch.Result{VideoID: id, Path: path, Metadata: metadata.Map{key: value, "text": metadata.String(text)}, Start: at, End: at + 1,
			Keyframe: audiosearch.Keyframe{ImageID: id + path, At: at}, Score: score, Moderation: &moderation}
		run := audiosearch.Run{State: audiosearch.StateTerminated, Termination: audiosearch.Success}
		var body bytes.Buffer
		err = writeRunResult(&body, &run, func(yield func(audiosearch.Result, error) bool) {
			_ = yield(r, nil) && yield(audiosearch.Result{}, nil)
		}, nil)
		require.NoError(t, err)
		written := body.Bytes()
		_, err = strictjson.Parse(written, 0)
		require.NoError(t, err, "%s", written)
		var got struct {
			Status  string          `json:"status"`
			Target  string          `json:"search_target"`
			Results []resultReading `json:"results"`
		}
		require.NoError(t, json.Unmarshal(written, &got))
		require.Equal(t, []string{"SUCCESS", "sound"}, []string{got.Status, got.Target})
		require.Len(t, got.Results, 2)
		as := func(v any) string { // the form that encoding/json gives it
			standard, err := json.Marshal(v)
			require.NoError(t, err)
			return string(standard)
		}
		read := func(text string) (s string) { // what is no UTF-8 becomes U+FFFD
			require.NoError(t, json.Unmarshal([]byte(as(text)), &s))
			return s
		}
		first := got.Results[0]
		require.Equal(t, []string{read(id), read(path), read(id + path)}, []string{first.Video.ID, first.Video.Path, first.Keyframe.ID})
		require.Equal(t, []int64{ms, ms, ms}, []int64{first.Start, first.End, first.Keyframe.At})
		require.Equal(t, []string{as(score), as(moderation)}, []string{as(first.Score), as(first.Moderation)})
		require.Equal(t, read(text), textOf(t, first.Video.Metadata["text"]))
		if odd := first.Video.Metadata[read(key)]; key != "text" && value.Kind() == metadata.KindString {
			require.Equal(t, value.Text(), textOf(t, odd))
		} else if key != "text" {
			require.Equal(t, as(value), string(odd))
		}
		require.Equal(t, []string{"0", "null"}, []string{as(got.Results[1].Score), as(got.Results[1].Moderation)})
	})
}

func textOf(t *testing.T, raw json.RawMessage) (text string) {
	t.Helper()
	require.NoError(t, json.Unmarshal(raw, &text), "%s", raw)
	return text
}

type resultReading struct {
	Video struct {
		ID       string                     `json:"video_id"`
		Path     string                     `json:"path"`
		Metadata map[string]json.RawMessage `json:"metadata"`
	} `json:"video"`
	Start    int64 `json:"start_time_ms"`
	End      int64 `json:"end_time_ms"`
	Keyframe struct {
		ID string `json:"image_id"`
		At int64  `json:"timestamp_ms"`
	} `json:"keyframe"`
	Score      float64  `json:"score"`
	Moderation *float64 `json:"moderation_score"`
}
