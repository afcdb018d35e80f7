package strictjson

import (
	"encoding/json"
	"strings"
	"testing"
)

const small = `{"idempotency_key":"6f1c2f8e-1b1c-4f0b-9c53-1d3f5a5d7c11","instructions":"Update the page on rate limits: the default is now 500 requests a minute, per key.",` +
	`"doc_collection_id":"9b2d5e0a-7c64-4b1e-8f3a-2f1f4f1f9a10","context":{"pull_request":1234,"draft":false,"labels":["docs","api"],"score":0.75}}`

func documents() map[string][]byte {
	large := "[" + strings.TrimSuffix(strings.Repeat(small+",", 64<<10/len(small)), ",") + "]"
	return map[string][]byte{"300B": []byte(small), "64KiB": []byte(large)}
}

func bench(b *testing.B, f func(doc []byte) error) {
	for name, doc := range documents() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				if err := f(doc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	bench(b, func(doc []byte) error { _, err := Parse(doc, 0); return err })
}

func BenchmarkParseAndRead(b *testing.B) {
	bench(b, func(doc []byte) error {
		root, err := Parse(doc, 0)
		read(root)
		return err
	})
}

// read decodes every string under v.
func read(v Value) {
	switch v.Kind() {
	case String:
		sink = v.Text()
	case Array:
		for _, e := range v.Elements() {
			read(e)
		}
	case Object:
		for _, e := range v.Members() {
			read(e)
		}
	}
}

func BenchmarkStdValid(b *testing.B) {
	bench(b, func(doc []byte) error { json.Valid(doc); return nil })
}

func BenchmarkStdUnmarshal(b *testing.B) {
	bench(b, func(doc []byte) error {
		if doc[0] == '[' {
			var list []map[string]any
			return json.Unmarshal(doc, &list)
		}
		var object map[string]any
		return json.Unmarshal(doc, &object)
	})
}

func BenchmarkText(b *testing.B) {
	for name, doc := range map[string]string{
		"plain":   `"Update the page on rate limits: the default is now 500 requests a minute."`,
		"escaped": `"Update the page on \"rate limits\":\nthe default is now 500 requests \u2013 a minute."`,
	} {
		b.Run(name, func(b *testing.B) {
			v := parse(b, doc)
			b.ReportAllocs()
			for b.Loop() {
				sink = v.Text()
			}
		})
	}
}
