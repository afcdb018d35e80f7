package strictjson

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAccepted(t *testing.T) {
	for _, doc := range []string{
		`null`, `true`, `false`, `0`, `-0`, `10`, `-1.5`, `0.10`, `1e5`, `1E+05`, `-0.5e-3`, `""`, `"a"`, `{}`, `[]`, `[{}]`,
		" \t\r\n1\n\r\t ", ` { "a" : [ 1 , 2 ] , "b" : { } } `, "[ \n]", `{"a":{"a":{"a":1}},"b":{"a":1}}`,
		`[{"a":1},{"a":1}]`, `{"":0}`, `{"a":1,"A":2}`, `{"a":1,"a ":2}`, `{"é":1,"e\u0301":2}`,
		`"\"\\\/\b\f\n\r\t"`, `"\u0000"`, `"\u00e9\u20AC\uFFFF\ufffe"`, `"\ud83d\ude00"`, `"\uDBFF\uDFFF"`, `"\ud800\udc00"`,
		"\"\x7f\"", "\"\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff\ufeff\"", "\"\u2028\u2029\"",
		`"\\u0000"`, `"\\\\"`, `"\\\""`, strings.Repeat("9", 5000), "1." + strings.Repeat("0", 5000) + "e" + strings.Repeat("1", 5000),
	} {
		v, err := Parse([]byte(doc), 0)
		require.NoError(t, err, "%q", doc)
		require.True(t, json.Valid([]byte(doc)), "%q", doc)
		require.Equal(t, strings.Trim(doc, " \t\r\n"), string(v.Raw()))
		require.Equal(t, len(doc)-len(strings.TrimLeft(doc, " \t\r\n")), v.Offset())
	}
}

func TestRefusedButWellFormed(t *testing.T) {
	many := func(from, to int) string {
		var b strings.Builder
		for i := from; i < to; i++ {
			b.WriteString(`"k` + strconv.Itoa(i) + `":0,`)
		}
		return b.String()
	}
	nine := `"1":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0,`
	for _, c := range []struct {
		doc    string
		offset int
		reason string
	}{
		{`{"a":1,"a":1}`, 7, reasonDuplicate},
		{`{"a":1,"\u0061":1}`, 7, reasonDuplicate},
		{`{"\u0061":1,"a":1}`, 12, reasonDuplicate},
		{`{"\u00E9":1,"é":1}`, 12, reasonDuplicate},
		{`{"/":1,"\/":1}`, 7, reasonDuplicate},
		{`{"\ud83d\ude00":1,"😀":1}`, 18, reasonDuplicate},
		{`{"":1,"":1}`, 6, reasonDuplicate},
		{`{"a":1,"b":2,"a":3,"b":4}`, 13, reasonDuplicate},
		{`[0,{"x":[{"a":1,"a":1}]}]`, 16, reasonDuplicate},
		{`{"a":{"b":1,"b":2},"a":3}`, 12, reasonDuplicate},
		{`{"a":{"b":1},"c":[{"b":1}],"a":3}`, 27, reasonDuplicate},
		{`{` + nine + `"1":1}`, 55, reasonDuplicate},
		{`{` + nine + `"x":0,"1":1}`, 61, reasonDuplicate},
		{`{` + nine + `"9":{"a":1,"a":2}}`, 55, reasonDuplicate},
		{`{` + nine + `"x":0,"1":{"a":1,"a":2}}`, 61, reasonDuplicate},
		{`{` + nine + `"x":0,"2":1,"1":1,"\u0031":1}`, 61, reasonDuplicate},
		{`{` + many(0, 1000) + many(5, 1000) + `"":0}`, 1 + len(many(0, 1000)), reasonDuplicate},
		{`{` + many(0, 1000) + `"z":[{"a":1,"a":1}],` + `"k0":0}`, 1 + len(many(0, 1000)) + 12, reasonDuplicate},
		{`"\ud800"`, 1, reasonSurrogate},
		{`"ab\udc00"`, 3, reasonSurrogate},
		{`"\ud800\ud800\udc00"`, 1, reasonSurrogate},
		{`"\udc00\ud800"`, 1, reasonSurrogate},
		{`"\ud83d\ude00\ude00"`, 13, reasonSurrogate},
		{`"\ud800\u0041"`, 1, reasonSurrogate},
		{`"\ud800x"`, 1, reasonSurrogate},
		{`"\ud800\n"`, 1, reasonSurrogate},
		{`{"\uDFFF":1}`, 2, reasonSurrogate},
		{`{"\ud800":1,"\ud801":1}`, 2, reasonSurrogate},
		{`{"a":1,"a":"\ud800"}`, 7, reasonDuplicate},
		{`{"a":"\ud800","a":1}`, 6, reasonSurrogate},
	} {
		_, err := Parse([]byte(c.doc), 0)
		require.Equal(t, &Error{Offset: c.offset, Reason: c.reason}, err, "%.80q", c.doc)
		require.True(t, json.Valid([]byte(c.doc)), "%.80q", c.doc)
	}
}

// Every key of an object is compared with every other, however many there are.
func TestDuplicateAtEveryDistance(t *testing.T) {
	for n := 2; n < 60; n++ {
		for first := range n {
			for second := first + 1; second < n; second++ {
				doc, want := []byte{'{'}, 0
				for i := range n {
					key := i
					if i == second {
						key, want = first, len(doc)
					}
					doc = append(doc, `"`+strconv.Itoa(key)+`":{"x":[]},`...)
				}
				doc[len(doc)-1] = '}'
				_, err := Parse(doc, 0)
				require.Equal(t, &Error{Offset: want, Reason: reasonDuplicate}, err, "%s", doc)
			}
		}
	}
}

func TestDepth(t *testing.T) {
	for _, c := range []struct {
		doc   string
		depth int
	}{
		{`1`, 0}, {`[]`, 1}, {`{}`, 1}, {`[[],[],{}]`, 2}, {`{"a":[{"b":1}]}`, 3},
		{strings.Repeat("[", 600) + strings.Repeat("]", 600), 600},
		{strings.Repeat(`[{"a":`, 500) + "1" + strings.Repeat("}]", 500), 1000},
	} {
		_, err := Parse([]byte(c.doc), max(c.depth, 1))
		require.NoError(t, err, "%.40q", c.doc)
		if c.depth > 1 {
			var e *Error
			_, err = Parse([]byte(c.doc), c.depth-1)
			require.ErrorAs(t, err, &e, "%.40q", c.doc)
			require.Equal(t, reasonDeep, e.Reason)
			require.False(t, e.Syntax)
			require.Contains(t, "[{", c.doc[e.Offset:e.Offset+1])
		}
	}

	deep := []byte(strings.Repeat("[", 1e5))
	for limit, want := range map[int]int{0: DefaultDepth, -1: DefaultDepth, 1: 1, 7: 7, 1e4: 1e4} {
		_, err := Parse(deep, limit)
		require.Equal(t, &Error{Offset: want, Reason: reasonDeep}, err)
	}
	_, err := Parse(deep, 1e6)
	require.Equal(t, &Error{Offset: 1e5, Reason: reasonValue, Syntax: true}, err)
	_, err = Parse([]byte(`{"a":1,"a":[[`), 2)
	require.Equal(t, &Error{Offset: 12, Reason: reasonDeep}, err, "too deep ends the pass")
}

func TestErrorText(t *testing.T) {
	_, err := Parse([]byte(`{"secret":1,"secret":2}`), 0)
	require.EqualError(t, err, "strictjson: duplicate key at byte 12")
}

func TestLineColumn(t *testing.T) {
	data := []byte("a\nbc\r\n\nd")
	for offset, want := range [][2]int{{1, 1}, {1, 2}, {2, 1}, {2, 2}, {2, 3}, {2, 4}, {3, 1}, {4, 1}, {4, 2}} {
		line, column := LineColumn(data, offset)
		require.Equal(t, want, [2]int{line, column}, offset)
	}
	for offset, want := range map[int][2]int{-5: {1, 1}, 99: {4, 2}} {
		line, column := LineColumn(data, offset)
		require.Equal(t, want, [2]int{line, column}, offset)
	}
}
