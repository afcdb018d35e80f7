package apipage

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// node is a value of the document, with the keys of an object in their order. A nil one is
// missing, and can be asked like any other.
type node struct {
	open, end string // brackets of an object or an array
	text      string // JSON of a scalar; a string's is without quotes
	isString  bool
	keys      []string // of an object
	list      []*node  // of an object or an array
	root      *node
}

func (n *node) read(d *json.Decoder, root *node) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	n.root = root
	open, nested := token.(json.Delim)
	if !nested {
		n.text, n.isString = token.(string)
		if !n.isString {
			n.text = encode(token)
		}
		return nil
	}
	for n.open = open.String(); d.More(); {
		if open == '{' {
			key, _ := d.Token() // an error comes again
			name, _ := key.(string)
			n.keys = append(n.keys, name)
		}
		child := new(node)
		if err := child.read(d, root); err != nil {
			return err
		}
		n.list = append(n.list, child)
	}
	end, err := d.Token()
	if err == nil {
		n.end = end.(json.Delim).String()
	}
	return err
}

// encode writes a scalar as JSON.
func encode(scalar any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(scalar) // it was read from JSON
	return strings.TrimSpace(b.String())
}

// JSON is the value on one line, with a space after commas and colons.
func (n *node) JSON() string {
	switch {
	case n.isString:
		return encode(n.text)
	case n.list == nil:
		return n.open + n.text + n.end
	}
	parts := make([]string, len(n.list))
	for i, child := range n.list {
		parts[i] = n.label(i) + child.JSON()
	}
	space := ""
	if n.keys != nil {
		space = " "
	}
	return n.open + space + strings.Join(parts, ", ") + space + n.end
}

// label is what stands before a value of an object.
func (n *node) label(i int) string {
	if n.keys == nil {
		return ""
	}
	return encode(n.keys[i]) + ": "
}

// lineWidth is how long a line of an example may be, in characters, where it can be broken.
const lineWidth = 76

// pretty formats JSON for people: what fits on a line stands on one line, but for the
// outermost object, which is easier to read and to change when it is broken.
func (n *node) pretty(depth, used int) string {
	line := n.JSON()
	if n.list == nil || used+utf8.RuneCountInString(line) <= lineWidth && (depth > 0 || n.keys == nil) {
		return line
	}
	indent := "\n" + strings.Repeat("  ", depth)
	parts := make([]string, len(n.list))
	for i, child := range n.list {
		label := n.label(i)
		used := 2*depth + 3 + utf8.RuneCountInString(label)
		parts[i] = indent + "  " + label + child.pretty(depth+1, used)
	}
	return n.open + strings.Join(parts, ",") + indent + n.end
}

// String is the text of a scalar.
func (n *node) String() string {
	if n == nil {
		return ""
	}
	return n.text
}

// own returns the value of a key. What stands beside a reference counts before what the
// reference leads to.
func (n *node) own(key string) *node {
	for range maxReferences {
		if n == nil {
			break
		}
		if i := slices.Index(n.keys, key); i >= 0 {
			return n.list[i]
		}
		n = n.target()
	}
	return nil
}

// maxReferences is how many references may lead to each other: more of them are a circle.
const maxReferences = 10

// At goes from object to object by keys, and to what a reference at the end leads to.
func (n *node) At(keys ...string) *node {
	for _, key := range keys {
		n = n.own(key)
	}
	for range maxReferences {
		if target := n.target(); target != nil {
			n = target
		}
	}
	return n
}

// each lists the values of an object or array. In it, keys are as many.
func (n *node) each() []*node {
	if n == nil {
		return nil
	}
	return n.list
}

// target is what a reference leads to, nil if this is none.
func (n *node) target() *node {
	if n == nil || !slices.Contains(n.keys, "$ref") {
		return nil
	}
	target := n.root
	for part := range strings.SplitSeq(n.own("$ref").text, "/") {
		if part != "#" {
			target = target.own(part)
		}
	}
	return target
}
