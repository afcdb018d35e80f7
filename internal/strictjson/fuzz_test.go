package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// decode gives encoding/json's view of a document, tree this package's.
func decode(t testing.TB, doc []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	require.NoError(t, d.Decode(&v), "%q", doc)
	return v
}

func tree(v Value) any {
	switch v.Kind() {
	case Bool:
		return v.Bool()
	case Number:
		return json.Number(v.Raw())
	case String:
		return v.Text()
	case Array:
		list := []any{}
		for _, e := range v.Elements() {
			list = append(list, tree(e))
		}
		return list
	case Object:
		object := map[string]any{}
		for k, e := range v.Members() {
			object[k.Text()] = tree(e)
		}
		return object
	}
	return nil
}

func seed(f *testing.F) {
	for _, c := range malformed {
		f.Add([]byte(c.doc))
	}
	for _, c := range malformedHere {
		f.Add([]byte(c.doc))
	}
	for _, doc := range []string{
		rich, `{"a":1,"\u0061":2}`, `{"a":{"a":[{"b":1},{"b":1}]}}`, `["\ud800","\udc00\ud800"]`, `"\ud83d\ude00"`, `[-0.1e+5,1E9,0]`,
		`{"0":0,"1":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0,"10":0,"\u0030":0}`, "\"\u07ff\u0800\uffff\U0010ffff\"",
	} {
		f.Add([]byte(doc))
	}
}

// encoding/json stops at 10000 levels, too. It takes bad UTF-8, repeated keys and
// lone surrogates, and nothing else that this package refuses.
func FuzzParse(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, doc []byte) {
		v, err := Parse(doc, 10000)
		valid := json.Valid(doc)
		if err == nil {
			require.True(t, valid && utf8.Valid(doc), "accepted %q", doc)
			require.Equal(t, bytes.Trim(doc, " \t\r\n"), v.Raw())
			return
		}
		var e *Error
		require.True(t, errors.As(err, &e))
		require.True(t, e.Offset >= 0 && e.Offset <= len(doc), "%d", e.Offset)
		require.Equal(t, Value{}, v)
		if e.Reason != reasonDeep {
			require.Equal(t, !valid || !utf8.Valid(doc), e.Syntax, "%q: %v", doc, err)
		}
	})
}

func FuzzWalk(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, doc []byte) {
		root, err := Parse(doc, 0)
		if err != nil {
			return
		}
		require.Equal(t, decode(t, doc), tree(root))
		check(t, doc, root)
	})
}

// check compares what the methods say of one value, and of all that is in it.
func check(t *testing.T, doc []byte, v Value) {
	require.Equal(t, doc[v.Offset():v.Offset()+len(v.Raw())], v.Raw())
	require.True(t, json.Valid(v.Raw()))
	switch v.Kind() {
	case Number:
		var want int64
		n, ok := v.Int64()
		require.Equal(t, json.Unmarshal(v.Raw(), &want) == nil, ok)
		require.Equal(t, want, n)
	case String:
		text := v.Text()
		require.True(t, utf8.ValidString(text))
		require.Equal(t, text, string(v.AppendText(nil)))
		require.Equal(t, utf8.RuneCountInString(text), v.TextLen())
		require.True(t, v.Equal(text))
		require.False(t, v.Equal(text+"x"))
	case Array:
		for _, e := range v.Elements() {
			check(t, doc, e)
		}
	case Object:
		for k, e := range v.Members() {
			check(t, doc, k)
			check(t, doc, e)
			got, ok := v.Get(k.Text())
			require.True(t, ok)
			require.Equal(t, e, got)
		}
	}
}
