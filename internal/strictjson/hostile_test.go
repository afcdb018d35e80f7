package strictjson

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const mebibyte = 1 << 20

// fill repeats what member(i) writes up to size, without the last comma.
func fill(size int, before string, member func(i int) string, after string) []byte {
	doc := append(make([]byte, 0, size), before...)
	for i := 0; ; i++ {
		m := member(i) + ","
		if len(doc)+len(m)+len(after) > size {
			break
		}
		doc = append(doc, m...)
	}
	return append(doc[:len(doc)-1], after...)
}

func hostile() map[string][]byte {
	object := func(member func(i int) string) []byte { return fill(mebibyte, "{", member, "}") }
	always := func(s string) func(int) string { return func(int) string { return s } }
	escaped := func(i int) string { return fmt.Sprintf(`"\u%04x\u%04x":1`, 0x100+i%0xd00, 0x100+i/0xd00) }
	return map[string][]byte{
		"distinct keys":     object(func(i int) string { return `"` + strconv.FormatInt(int64(i), 36) + `":1` }),
		"escaped keys":      object(escaped),
		"one key":           object(always(`"a":1`)),
		"empty key":         object(always(`"":1`)),
		"long equal keys":   object(always(`"` + strings.Repeat("a", 1000) + `":1`)),
		"long escaped keys": object(always(`"` + strings.Repeat(`\u0061`, 1000) + `":1`)),
		"pairs of keys":     object(func(i int) string { return `"` + strconv.Itoa(i/2) + `":1` }),
		"small objects":     fill(mebibyte, "[", always(`{"a":1}`), "]"),
		"objects of ten": fill(mebibyte, "[", func(i int) string {
			return string(fill(70, "{", func(i int) string { return `"` + strconv.Itoa(i%10) + `":1` }, "}"))
		}, "]"),
		"small objects, two": fill(mebibyte, "[", always(`{"a":1,"a":1}`), "]"),
		"empty containers":   fill(mebibyte, "[", always(`{},[]`), "]"),
		"keys then string":   []byte(`{` + strings.Repeat(`"":1,`, 40) + `"x":"` + strings.Repeat("x", mebibyte) + `"}`),
		"512 deep":           fill(mebibyte, strings.Repeat(`{"a":`, 511)+"{", func(i int) string { return `"` + strconv.Itoa(i) + `":1` }, strings.Repeat("}", 512)),
		"512 deep, often":    fill(mebibyte, "[", always(strings.Repeat(`{"":`, 511)+"1"+strings.Repeat("}", 511)), "]"),
		"512 deep, short":    []byte(strings.Repeat(`{"":`, 512) + "1" + strings.Repeat("}", 512)),
		"objects after keys": fill(mebibyte, "{", func(i int) string { return `"` + strconv.Itoa(i) + `":{"a":{},"b":[]}` }, "}"),
		"backslashes":        []byte(`["` + strings.Repeat(`\\`, mebibyte/2) + `"]`),
		"quotes":             []byte(`["` + strings.Repeat(`\"`, mebibyte/2) + `"]`),
		"surrogates":         []byte(`["` + strings.Repeat(`\ud800`, mebibyte/6) + `"]`),
		"one number":         []byte(strings.Repeat("7", mebibyte)),
		"not ASCII":          []byte(`"` + strings.Repeat("é", mebibyte/2) + `"`),
		"brackets":           []byte(strings.Repeat("[", mebibyte)),
		// One key more than fits is what costs most.
		"a key too many":       []byte(`{` + strings.Repeat(`"":0,`, 32<<12) + `"":0}`),
		"an object too many":   []byte(strings.Repeat(`{"":`, 32<<12+1) + "0" + strings.Repeat("}", 32<<12+1)),
		"open, a key too many": []byte(strings.Repeat(`{"":`, 32<<12+1)),
		"open objects":         []byte(strings.Repeat(`{"":`, mebibyte/4)),
	}
}

// The memory bound is that of Parse's doc comment. Each document takes some 10 ms;
// the time bound leaves room for the race detector on a busy machine, and none for
// work that grows with the square of the length.
func TestHostileBounds(t *testing.T) {
	for name, doc := range hostile() {
		for _, depth := range []int{DefaultDepth, mebibyte} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, err := Parse(doc, depth)
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			ratio := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(doc))
			t.Logf("%-20s %7d bytes, depth %7d: %9v, %.2f bytes per byte, %v", name, len(doc), depth, took.Round(10*time.Microsecond), ratio, err)
			require.Less(t, ratio, 4.0, name)
			require.Less(t, took, 5*time.Second, name)
		}
	}
}

func TestManyKeys(t *testing.T) {
	doc := []byte{'{'}
	for i := range 100_000 {
		doc = append(doc, `"`+strconv.Itoa(i)+`":`+strconv.Itoa(i)+`,`...)
	}
	doc[len(doc)-1] = '}'
	v, err := Parse(doc, 0)
	require.NoError(t, err)
	last, ok := v.Get("99999")
	require.True(t, ok)
	n, ok := last.Int64()
	require.True(t, ok)
	require.EqualValues(t, 99999, n)

	end := len(doc)
	doc = append(doc[:end-1], `,"500\u0030\u0030":0}`...)
	_, err = Parse(doc, 0)
	require.Equal(t, &Error{Offset: end, Reason: reasonDuplicate}, err)
}

const rich = ` {"a":[1,-2.5e+3,true,false,null,"x\u00e9\ud83d\ude00\\\""],"é":{"":{}, "k" : [ ] },` + "\n\t" +
	`"1":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0,"\u0031\u0030":"ü€😀"} `

func TestEveryTruncation(t *testing.T) {
	parse(t, rich)
	for n := range strings.TrimRight(rich, " ") {
		_, err := Parse([]byte(rich[:n]), 0)
		var e *Error
		require.ErrorAs(t, err, &e, "%q", rich[:n])
		require.True(t, e.Syntax, "%q", rich[:n])
		require.LessOrEqual(t, e.Offset, n)
	}
}

func TestEveryByte(t *testing.T) {
	for i := range rich {
		doc := []byte(rich)
		for c := range 256 {
			doc[i] = byte(c)
			v, err := Parse(doc, 0)
			if err != nil {
				continue
			}
			require.True(t, json.Valid(doc), "%q", doc)
			require.Equal(t, decode(t, doc), tree(v), "%q", doc)
		}
	}
}

func TestAllocations(t *testing.T) {
	doc := []byte(rich)
	root := parse(t, rich)
	list, _ := root.Get("a")
	var plain, escaped Value
	plain = parse(t, `"a plain text that is too long for a small buffer"`)
	escaped = parse(t, `"an \u00e9scaped text that is too long for a small buffer"`)
	buf := make([]byte, 0, 100)
	none := map[string]func(){
		"Parse":      func() { _, _ = Parse(doc, 0) },
		"TextLen":    func() { escaped.TextLen() },
		"Equal":      func() { escaped.Equal("an éscaped text that is too long for a small buffer!") },
		"AppendText": func() { buf = escaped.AppendText(buf[:0]) },
		"Get":        func() { root.Get("10") },
		"Int64":      func() { list.Int64() },
		"Members": func() {
			for k, v := range root.Members() {
				_, _ = k, v
			}
		},
		"Elements": func() {
			for i, v := range list.Elements() {
				_, _ = i, v
			}
		},
	}
	for name, f := range none {
		require.Zero(t, testing.AllocsPerRun(100, f), name)
	}
	require.Equal(t, 1.0, testing.AllocsPerRun(100, func() { sink = plain.Text() }))
	require.Equal(t, 1.0, testing.AllocsPerRun(100, func() { sink = escaped.Text() }))
}

var sink string
