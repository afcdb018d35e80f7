package audiosearch_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// TestDecimalGrammar: a number is what RFC 8259 calls one, of bounded length and exponent.
func TestDecimalGrammar(t *testing.T) {
	for _, good := range []string{"0", "-0", "1", "-1", "10", "1.0", "0.5", "1e5", "1E+5", "1e-5", "1e0005", "1.25e400", "1e-400", strings.Repeat("9", 64)} {
		_, ok := audiosearch.ParseDecimal(good)
		assert.True(t, ok, good)
	}
	for _, bad := range []string{"", "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "e5", "1 ", " 1", "0x10", "1_0", "NaN", "Inf", "1e401", "1e-401", "１",
		"1e99999999999999999999", "1,5", "1.5.2", "--1", "1\n", strings.Repeat("9", 65), "true"} {
		_, ok := audiosearch.ParseDecimal(bad)
		assert.False(t, ok, bad)
	}
}

// grammar is RFC 8259's, as a regular expression.
var grammar = regexp.MustCompile(`\A-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?\z`)

// exact is the reference: a rational number of any size.
func exact(t *testing.T, text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	require.True(t, ok, text)
	return r
}

// TestDecimalsCompareExactly: as rational numbers do, whatever a float64 can hold.
func TestDecimalsCompareExactly(t *testing.T) {
	special := []string{"0", "-0", "0e400", "0.000", "1", "1.0", "10e-1", "0.1e1", "1.5", "15e-1", "9007199254740992", "9007199254740993", "-9007199254740993",
		"1e400", "2e400", "-1e400", "1e-400", "-1e-400", "0.1", "0.10000000000000000000000000001", "123456789012345678901234567890", "1e308", "1e309", "1e310", "9e-324", "3e-324", "1e-330"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		special = append(special, fmt.Sprintf("%d%se%d", random.IntN(200)-100, []string{"", ".0", ".5", ".25"}[random.IntN(4)], random.IntN(5)-2))
	}
	for _, a := range special {
		for _, b := range special {
			x, ok := audiosearch.ParseDecimal(a)
			require.True(t, ok, a)
			y, ok := audiosearch.ParseDecimal(b)
			require.True(t, ok, b)
			assert.Equal(t, exact(t, a).Cmp(exact(t, b)), x.Compare(y), "%s and %s", a, b)
		}
	}
}

func FuzzParseDecimal(f *testing.F) {
	for _, seed := range []string{"1", "-0.5e3", "1e401", "", "01"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, ok := audiosearch.ParseDecimal(text)
		if ok && !grammar.MatchString(text) {
			t.Errorf("%q is no number", text)
		}
		if !ok && len(text) < 5 && !strings.ContainsAny(text, "eE") && grammar.MatchString(text) {
			t.Errorf("%q is a number", text)
		}
	})
}

func TestScalars(t *testing.T) {
	for text, want := range map[string]struct {
		kind audiosearch.ScalarKind
		text string
	}{
		`null`: {audiosearch.ScalarNull, ""}, `true`: {audiosearch.ScalarBool, "true"}, `false`: {audiosearch.ScalarBool, "false"},
		`3`: {audiosearch.ScalarNumber, "3"}, `3.0`: {audiosearch.ScalarNumber, "3.0"}, `-1E5`: {audiosearch.ScalarNumber, "-1E5"},
		`"3"`: {audiosearch.ScalarString, "3"}, `""`: {audiosearch.ScalarString, ""}, `"\u00e9<&>"`: {audiosearch.ScalarString, "é<&>"},
	} {
		s, err := audiosearch.ParseScalar([]byte(text))
		require.NoError(t, err, text)
		assert.Equal(t, want.kind, s.Kind(), text)
		assert.Equal(t, want.text, s.Text(), text)
		out, err := json.Marshal(s)
		require.NoError(t, err)
		back, err := audiosearch.ParseScalar(out)
		require.NoError(t, err)
		assert.Equal(t, s, back, text)
	}
	for _, bad := range []string{``, `[]`, `{}`, `[1]`, `nul`, `1 2`, "\"\xff\"", `"\ud800"`} {
		_, err := audiosearch.ParseScalar([]byte(bad))
		require.Error(t, err, bad)
	}
	// Written by the type itself, so that no HTML escapes get in.
	out, err := audiosearch.String("<é>").MarshalJSON()
	require.NoError(t, err)
	assert.Equal(t, `"<é>"`, string(out))
}

func TestParseMetadata(t *testing.T) {
	m, err := audiosearch.ParseMetadata([]byte(`{"show":"news","season":3,"live":true,"rating":null,"price":1.50}`))
	require.NoError(t, err)
	out, err := json.Marshal(m)
	require.NoError(t, err)
	assert.Equal(t, `{"live":true,"price":1.50,"rating":null,"season":3,"show":"news"}`, string(out))
	none := audiosearch.Metadata{"a": audiosearch.Int(1)}
	require.NoError(t, json.Unmarshal([]byte(`null`), &none))
	assert.Nil(t, none)
	for _, bad := range []string{``, `[]`, `null`, `"a"`, `{"a":1,"a":2}`, `{"a":[1]}`, `{"a":{}}`, `{"a":1`} {
		_, err := audiosearch.ParseMetadata([]byte(bad))
		require.Error(t, err, bad)
	}
}

func TestFilters(t *testing.T) {
	values := map[string]audiosearch.Scalar{
		"null": {}, "news": audiosearch.String("news"), "3": audiosearch.Int(3), `"3"`: audiosearch.String("3"), "true": audiosearch.Bool(true), `""`: audiosearch.String(""),
		"3.0": scalar(t, "3.0"), "1e1": scalar(t, "1e1"), "50%": audiosearch.String("50%"), "a_b": audiosearch.String("a_b"), `"true"`: audiosearch.String("true"),
	}
	for _, test := range []struct {
		op    audiosearch.Op
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
		p, err := audiosearch.Filter{Key: "k", Value: test.value, Op: test.op}.Predicate()
		require.NoError(t, err)
		var match []string
		for name, value := range values {
			if p.Match(value) {
				match = append(match, name)
			}
		}
		assert.ElementsMatch(t, test.match, match, "%s %s", test.op, test.value)
	}
	for _, bad := range []audiosearch.Filter{{Op: "like"}, {Op: "=="}, {Op: ">", Value: "x"}, {Op: "<", Value: ""}, {Op: ">=", Value: " 1"}, {Op: "<=", Value: "1e401"}} {
		_, err := bad.Predicate()
		require.Error(t, err, bad)
	}
}

func scalar(t *testing.T, text string) audiosearch.Scalar {
	t.Helper()
	s, err := audiosearch.ParseScalar([]byte(text))
	require.NoError(t, err)
	return s
}
