package strictjson

import (
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func parse(t testing.TB, doc string) Value {
	t.Helper()
	v, err := Parse([]byte(doc), 0)
	require.NoError(t, err, "%.80q", doc)
	return v
}

func TestText(t *testing.T) {
	for doc, want := range map[string]string{
		`""`:                     "",
		`"abc"`:                  "abc",
		`"\"\\\/\b\f\n\r\t"`:     "\"\\/\b\f\n\r\t",
		`"\u0000a\u0000"`:        "\x00a\x00",
		`"x\u00e9é\u20AC"`:       "xéé€",
		`"\ud83d\ude00😀"`:        "😀😀",
		`"\ud800\udc00"`:         "\U00010000",
		`"\uDBFF\uDFFF"`:         "\U0010ffff",
		`"\\u0041\\"`:            `\u0041\`,
		`"\ufffd"`:               "\ufffd",
		"\"\x7f long enough é\"": "\x7f long enough é",
	} {
		v := parse(t, doc)
		require.Equal(t, String, v.Kind())
		require.Equal(t, want, v.Text(), doc)
		require.Equal(t, "x"+want, string(v.AppendText([]byte("x"))), doc)
		require.Equal(t, utf8.RuneCountInString(want), v.TextLen(), doc)
		require.True(t, v.Equal(want), doc)
		for _, other := range []string{want + "x", "x" + want, want + "\x00", doc, strings.TrimSuffix(want, "a")[:len(want)/2] + "?"} {
			require.False(t, v.Equal(other), "%s %q", doc, other)
		}
		for i := range want {
			require.False(t, v.Equal(want[:i]), "%s %q", doc, want[:i])
		}
	}
}

// Keys of one hash and different text are too rare to meet in a document.
func TestSameText(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{{`a\u0062`, `ab`, true}, {`é`, `\u00e9`, true}, {`\n`, `n`, false}, {`a`, `a\n`, false}, {``, ``, true}, {`\u0061`, `\u0062`, false}} {
		require.Equal(t, c.same, sameText([]byte(c.a), []byte(c.b)), c)
		require.Equal(t, c.same, sameText([]byte(c.b), []byte(c.a)), c)
	}
}

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		doc     string
		integer bool
		n       int64
		ok      bool
	}{
		{`0`, true, 0, true}, {`-0`, true, 0, true}, {`42`, true, 42, true}, {`-7`, true, -7, true},
		{`9223372036854775807`, true, 1<<63 - 1, true}, {`9223372036854775808`, true, 0, false},
		{`-9223372036854775808`, true, -1 << 63, true}, {`-9223372036854775809`, true, 0, false},
		{`10000000000000000000`, true, 0, false}, {strings.Repeat("1", 5000), true, 0, false},
		{`1.0`, false, 0, false}, {`1e2`, false, 0, false}, {`1E2`, false, 0, false}, {`"1"`, false, 0, false}, {`true`, false, 0, false},
	} {
		v := parse(t, c.doc)
		require.Equal(t, c.integer, v.IsInteger(), "%.30s", c.doc)
		n, ok := v.Int64()
		require.Equal(t, c.n, n, "%.30s", c.doc)
		require.Equal(t, c.ok, ok, "%.30s", c.doc)
	}
}

func TestWrongKind(t *testing.T) {
	kinds := map[string]Kind{"null": Null, "true": Bool, "false": Bool, "-1": Number, `"1"`: String, "[1]": Array, `{"a":1}`: Object}
	values := map[Kind]Value{Invalid: {}}
	for doc, kind := range kinds {
		v := parse(t, doc)
		require.Equal(t, kind, v.Kind(), doc)
		require.Equal(t, doc == "true", v.Bool(), doc)
		values[kind] = v
	}
	for kind, v := range values {
		if kind != String {
			require.Empty(t, v.Text())
			require.Nil(t, v.AppendText(nil))
			require.Zero(t, v.TextLen())
			require.False(t, v.Equal(""))
		}
		if kind != Number {
			require.False(t, v.IsInteger())
		}
		if kind != Object {
			for range v.Members() {
				t.Fatal(kind)
			}
			_, ok := v.Get("a")
			require.False(t, ok)
		}
		if kind != Array {
			require.Empty(t, maps.Collect(v.Elements()), kind)
		}
	}
	require.Nil(t, Value{}.Raw())
}

func TestWalk(t *testing.T) {
	doc := " { \"b\" : [ 1 , \"]\\\\\\\"}\" , { } ] ,\n\"\\u0061\":-1.5e3,\"c\":{\"x\":{\"b\":null}} } "
	v := parse(t, doc)
	var keys []string
	for key, member := range v.Members() {
		keys = append(keys, key.Text())
		require.Equal(t, doc[key.Offset():key.Offset()+len(key.Raw())], string(key.Raw()))
		require.Equal(t, doc[member.Offset():member.Offset()+len(member.Raw())], string(member.Raw()))
	}
	require.Equal(t, []string{"b", "a", "c"}, keys)

	b, ok := v.Get("b")
	require.True(t, ok)
	var raws []string
	for i, e := range b.Elements() {
		require.Len(t, raws, i)
		raws = append(raws, string(e.Raw()))
	}
	require.Equal(t, []string{"1", `"]\\\"}"`, "{ }"}, raws)

	a, ok := v.Get("a")
	require.True(t, ok)
	require.Equal(t, "-1.5e3", string(a.Raw()))
	_, ok = v.Get(`\u0061`)
	require.False(t, ok)
	_, ok = v.Get("x")
	require.False(t, ok, "only the object's own members")

	for range v.Members() {
		break
	}
	for range b.Elements() {
		break
	}
	raw := append(a.Raw(), "overwritten"...)
	require.NotEmpty(t, raw)
	require.Contains(t, string(v.Raw()), `"c"`, "appending to Raw leaves the document alone")
}
