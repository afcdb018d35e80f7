package reference

import (
	"strings"
	"unicode/utf8"

	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

// lineWidth is how long a line of an example may be, in characters, where it could be broken.
const lineWidth = 76

// pretty formats JSON for people: what fits on a line stands on one line.
func pretty(v strictjson.Value) string {
	var b strings.Builder
	writePretty(&b, v, 0, 0)
	return b.String()
}

func writePretty(b *strings.Builder, v strictjson.Value, depth, used int) {
	line := oneLine(v)
	count, isObject := 0, v.Kind() == strictjson.Object
	for range v.Members() {
		count++
	}
	for range v.Elements() {
		count++
	}
	// The outermost object is broken even if it fits: it is easier to read and to change.
	if count == 0 || used+utf8.RuneCountInString(line) <= lineWidth && (depth > 0 || !isObject) {
		b.WriteString(line)
		return
	}
	indent := strings.Repeat("  ", depth+1)
	brackets := "[]"
	if isObject {
		brackets = "{}"
	}
	b.WriteByte(brackets[0])
	separator := "\n"
	item := func(label string, value strictjson.Value) {
		b.WriteString(separator + indent + label)
		writePretty(b, value, depth+1, len(indent)+utf8.RuneCountInString(label)+1)
		separator = ",\n"
	}
	for key, value := range v.Members() {
		item(string(key.Raw())+": ", value)
	}
	for _, value := range v.Elements() {
		item("", value)
	}
	b.WriteString("\n" + indent[2:])
	b.WriteByte(brackets[1])
}

// oneLine formats JSON on one line, with a space after commas and colons.
func oneLine(v strictjson.Value) string {
	var parts []string
	switch v.Kind() {
	case strictjson.Object:
		for key, value := range v.Members() {
			parts = append(parts, string(key.Raw())+": "+oneLine(value))
		}
		if parts == nil {
			return "{}"
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	case strictjson.Array:
		for _, value := range v.Elements() {
			parts = append(parts, oneLine(value))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return string(v.Raw())
}

// plain is how a scalar of an example stands in an address or a header: without the quotes of a string.
func plain(v strictjson.Value) string {
	if v.Kind() == strictjson.String {
		return v.Text()
	}
	return oneLine(v)
}
