package reference

import (
	"cmp"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

// body reads the JSON form of a body, or else the first form that the document gives. It returns nil if there is none.
func (d *document) body(where string, content strictjson.Value) *body {
	var b *body
	var form strictjson.Value
	var others []string
	for key, v := range content.Members() {
		switch mediaType := key.Text(); {
		case b == nil:
			b, form = &body{MediaType: mediaType}, v
		case isJSON(mediaType) && !isJSON(b.MediaType):
			others = append(others, b.MediaType)
			b, form = &body{MediaType: mediaType}, v
		default:
			others = append(others, mediaType)
		}
	}
	if b == nil {
		return nil
	}
	b.Others = strings.Join(others, ", ")
	s := at(form, "schema")
	flat := d.flatten(s)
	b.Type, b.Name = d.typeText(s), flat.name
	b.Fields = d.fields("", s)
	b.Rules = flat.rules()
	if b.Closed = flat.closed && len(b.Fields) > 0; b.Closed {
		b.Rules = slices.DeleteFunc(b.Rules, func(rule string) bool { return rule == ruleClosed })
	}
	for _, e := range d.examples(where, form, s) {
		text := pretty(e.value)
		if e.value.Kind() == strictjson.String && !isJSON(b.MediaType) {
			text = e.value.Text()
		}
		if b.Examples == nil {
			b.first = e.value
		}
		b.Examples = append(b.Examples, example{Title: e.title, Text: text})
	}
	return b
}

// titled is an example before it is formatted.
type titled struct {
	title string
	value strictjson.Value
}

// examples are those that stand beside a schema, or else those within it.
func (d *document) examples(where string, v, schema strictjson.Value) []titled {
	var list []titled
	for key, e := range at(v, "examples").Members() {
		e, _ = d.resolve(e)
		if value, ok := e.Get("value"); ok {
			list = append(list, titled{cmp.Or(at(e, "summary").Text(), key.Text()), value})
		}
	}
	if e, ok := v.Get("example"); ok && list == nil {
		list = append(list, titled{value: e})
	}
	schema, _ = d.resolve(schema)
	for _, e := range at(schema, "examples").Elements() {
		if list != nil {
			break
		}
		list = append(list, titled{value: e})
	}
	return list
}
