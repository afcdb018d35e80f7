package metadata_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

func TestScalars(t *testing.T) {
	for text, want := range map[string]struct {
		kind metadata.Kind
		text string
	}{
		`null`: {metadata.KindNull, ""}, `true`: {metadata.KindBool, "true"}, `false`: {metadata.KindBool, "false"},
		`3`: {metadata.KindNumber, "3"}, `3.0`: {metadata.KindNumber, "3.0"}, `-1E5`: {metadata.KindNumber, "-1E5"},
		`"3"`: {metadata.KindString, "3"}, `""`: {metadata.KindString, ""}, `"\u00e9<&>"`: {metadata.KindString, "é<&>"},
	} {
		s, err := scalarOf([]byte(text))
		require.NoError(t, err, text)
		assert.Equal(t, want.kind, s.Kind(), text)
		assert.Equal(t, want.text, s.Text(), text)
		out, err := json.Marshal(s)
		require.NoError(t, err)
		back, err := scalarOf(out)
		require.NoError(t, err)
		assert.Equal(t, s, back, text)
	}
	for _, bad := range []string{``, `[]`, `{}`, `[1]`, `nul`, `1 2`, "\"\xff\"", `"\ud800"`} {
		_, err := scalarOf([]byte(bad))
		require.Error(t, err, bad)
	}
	// Written by the type itself, so that no HTML escapes get in.
	out, err := metadata.String("<é>").MarshalJSON()
	require.NoError(t, err)
	assert.Equal(t, `"<é>"`, string(out))
}

func TestParseMetadata(t *testing.T) {
	m, err := metadata.Parse([]byte(`{"show":"news","season":3,"live":true,"rating":null,"price":1.50}`))
	require.NoError(t, err)
	out, err := json.Marshal(m)
	require.NoError(t, err)
	assert.Equal(t, `{"live":true,"price":1.50,"rating":null,"season":3,"show":"news"}`, string(out))
	none := metadata.Map{"a": metadata.Int(1)}
	require.NoError(t, json.Unmarshal([]byte(`null`), &none))
	assert.Nil(t, none)
	for _, bad := range []string{``, `[]`, `null`, `"a"`, `{"a":1,"a":2}`, `{"a":[1]}`, `{"a":{}}`, `{"a":1`} {
		_, err := metadata.Parse([]byte(bad))
		require.Error(t, err, bad)
	}
}

func TestFilters(t *testing.T) {
	values := map[string]metadata.Scalar{
		"null": {}, "news": metadata.String("news"), "3": metadata.Int(3), `"3"`: metadata.String("3"), "true": metadata.Bool(true), `""`: metadata.String(""),
		"3.0": scalar(t, "3.0"), "1e1": scalar(t, "1e1"), "50%": metadata.String("50%"), "a_b": metadata.String("a_b"), `"true"`: metadata.String("true"),
	}
	for _, test := range []struct {
		op    metadata.Op
		value string
		match []string
	}{
		{"", "3", []string{"3", `"3"`}},
		{"=", "news", []string{"news"}},
		{"=", "News", nil},
		{"=", "3.0", []string{"3.0"}},
		{"=", "true", []string{"true", `"true"`}},
		{"=", "", []string{`""`}},
		{"=", "null", nil},
		{"!=", "3", []string{"news", "true", `""`, "3.0", "1e1", "50%", "a_b", `"true"`}},
		{"contains", "e", []string{"news", "true", "1e1", `"true"`}},
		{"contains", "%", []string{"50%"}},
		{"contains", "_", []string{"a_b"}},
		{"contains", "", []string{"news", "3", `"3"`, "true", `""`, "3.0", "1e1", "50%", "a_b", `"true"`}},
		{">", "2.5", []string{"3", `"3"`, "3.0", "1e1"}},
		{">", "3", []string{"1e1"}},
		{">=", "3", []string{"3", `"3"`, "3.0", "1e1"}},
		{"<", "3.0000000000000000000001", []string{"3", `"3"`, "3.0"}},
		{"<=", "30e-1", []string{"3", `"3"`, "3.0"}},
		{"<", "3", nil},
	} {
		p, err := metadata.Filter{Key: "k", Value: test.value, Op: test.op}.Predicate()
		require.NoError(t, err)
		var match []string
		for name, value := range values {
			if p(value) {
				match = append(match, name)
			}
		}
		assert.ElementsMatch(t, test.match, match, "%s %s", test.op, test.value)
	}
	for _, bad := range []metadata.Filter{{Op: "like"}, {Op: "=="}, {Op: ">", Value: "x"}, {Op: "<", Value: ""}, {Op: ">=", Value: " 1"}, {Op: "<=", Value: "1e401"}} {
		_, err := bad.Predicate()
		require.Error(t, err, bad)
	}
}

// scalarOf reads a scalar.
func scalarOf(text []byte) (s metadata.Scalar, err error) {
	err = s.UnmarshalJSON(text)
	return s, err
}

func scalar(t *testing.T, text string) metadata.Scalar {
	t.Helper()
	s, err := scalarOf([]byte(text))
	require.NoError(t, err)
	return s
}
