package apipage

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// node is a value of the document, with the keys of an object in their order. A nil one is
// missing, and can be asked like any other.
type node struct {
	json string // on one line, with a space after commas and colons
	text string // of a string, without quotes; of another scalar its JSON
	keys []string
	list []*node // of an object or an array
	root *node
}

func (n *node) read(d *json.Decoder, root *node) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	n.root = root
	open, nested := token.(json.Delim)
	if !nested {
		n.json = encode(token)
		n.text = n.json
		if text, ok := token.(string); ok {
			n.text = text
		}
		return nil
	}
	var parts []string
	for d.More() {
		key := "" // of an array
		if open == '{' {
			token, _ := d.Token() // an error comes again
			key, _ = token.(string)
		}
		child := new(node)
		if err := child.read(d, root); err != nil {
			return err
		}
		n.keys, n.list, parts = append(n.keys, key), append(n.list, child), append(parts, label(key)+child.json)
	}
	end, err := d.Token()
	if err != nil {
		return err
	}
	n.json = open.String() + strings.Join(parts, ", ") + end.(json.Delim).String()
	if open == '{' && parts != nil {
		n.json = "{ " + n.json[1:len(n.json)-1] + " }"
	}
	return nil
}

// encode writes a scalar as JSON.
func encode(scalar any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(scalar) // it was read from JSON
	return strings.TrimSpace(b.String())
}

// label is what stands before a value of an object, and nothing in an array.
func label(key string) string {
	if key == "" {
		return ""
	}
	return encode(key) + ": "
}

// lineWidth is how long a line of an example may be, in characters, where it can be broken.
const lineWidth = 76

// pretty formats JSON for people: what fits on a line stands on one line, but for the
// outermost object, which is easier to read and to change when it is broken.
func (n *node) pretty(depth, used int) string {
	if n.list == nil || used+utf8.RuneCountInString(n.json) <= lineWidth && (depth > 0 || n.json[0] == '[') {
		return n.json
	}
	indent := "\n" + strings.Repeat("  ", depth)
	parts := make([]string, len(n.list))
	for i, child := range n.list {
		label := label(n.keys[i])
		parts[i] = indent + "  " + label + child.pretty(depth+1, 2*depth+3+utf8.RuneCountInString(label))
	}
	return n.json[:1] + strings.Join(parts, ",") + indent + n.json[len(n.json)-1:]
}

// String is the text of a scalar.
func (n *node) String() string {
	if n == nil {
		return ""
	}
	return n.text
}

// At goes from object to object by keys, and follows references. What stands beside a
// reference counts before what the reference leads to.
func (n *node) At(keys ...string) *node {
	for _, key := range keys {
		n = n.at(key)
	}
	return n
}

func (n *node) at(key string) *node {
	if n == nil {
		return nil
	}
	if i := slices.Index(n.keys, key); i >= 0 {
		return n.list[i]
	}
	return n.target().at(key)
}

// target is what a reference leads to, nil if this is none.
func (n *node) target() *node {
	if n == nil || !slices.Contains(n.keys, "$ref") {
		return nil
	}
	path, _ := strings.CutPrefix(n.At("$ref").text, "#/")
	return n.root.At(strings.Split(path, "/")...)
}

// Each goes through the values of an object, with their keys, or of an array.
func (n *node) Each() iter.Seq2[string, *node] {
	return func(yield func(string, *node) bool) {
		for i := 0; n != nil && i < len(n.list); i++ {
			if !yield(n.keys[i], n.list[i]) {
				return
			}
		}
	}
}
