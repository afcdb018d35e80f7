package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/seed-6363c74e/mortise"
)

// node is a value of a JSON document, with its place.
type node struct {
	token      json.Token // what it begins with; of a string, number, boolean or null: the value
	start, end int        // where it stands, in bytes
	up         *node      // the object or list that it is in
	index      int        // there
	key        string     // there, in an object
	keyStart   int        // where the key stands
	parts      []*node    // of an object or a list
	bad        bool       // something is wrong with it, or with something in it
}

const (
	anObject = json.Delim('{')
	aList    = json.Delim('[')
)

// maxNesting bounds the depth of a document.
const maxNesting = 64

// jsonError is why a document is not JSON, or not such that all readers take it for the
// same. It holds nothing of the content.
type jsonError struct {
	offset int
	reason string
}

func (e *jsonError) Error() string { return "not valid JSON: " + e.reason }

// invalidCharacter is what package encoding/json begins with.
var invalidCharacter = regexp.MustCompile(`^invalid character '.+?' `)

// readJSON reads a whole document. Package encoding/json says where it is malformed, and
// where its tokens end. It passes over what is refused here besides: a key that comes
// twice, half a surrogate pair, bytes that are not UTF-8.
func readJSON(data []byte) (*node, error) {
	var syntax *json.SyntaxError
	if errors.As(json.Unmarshal(data, new(json.RawMessage)), &syntax) {
		if where := invalidCharacter.ReplaceAllString(syntax.Error(), ""); where != syntax.Error() {
			return nil, &jsonError{int(syntax.Offset) - 1, "unexpected character, " + where}
		}
		return nil, &jsonError{int(syntax.Offset), syntax.Error()}
	}
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			return nil, &jsonError{at, "invalid UTF-8"}
		}
		at += size
	}
	r := &jsonReader{data: data, tokens: json.NewDecoder(bytes.NewReader(data))}
	r.tokens.UseNumber()
	return r.value(1)
}

// jsonReader makes nodes of a document that is well-formed.
type jsonReader struct {
	data   []byte
	tokens *json.Decoder
}

// next returns the next token, and where it begins.
func (r *jsonReader) next() (token json.Token, start int, err error) {
	start = int(r.tokens.InputOffset())
	for start < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[start]) >= 0 {
		start++
	}
	token, err = r.tokens.Token()
	if text, ok := token.(string); ok {
		// Package encoding/json puts U+FFFD in the place of half a surrogate pair.
		written := string(r.data[start:r.tokens.InputOffset()])
		meant := strings.Count(written, "\ufffd") + strings.Count(strings.ToLower(written), `\ufffd`)
		if strings.Count(text, "\ufffd") > meant {
			err = &jsonError{start, "lone surrogate"}
		}
	}
	return token, start, err
}

func (r *jsonReader) value(depth int) (*node, error) {
	token, start, err := r.next()
	n := &node{token: token, start: start}
	if _, ok := token.(json.Delim); ok && err == nil {
		if depth > maxNesting {
			return nil, &jsonError{start, "nested too deeply"}
		}
		err = r.parts(n, depth)
	}
	n.end = int(r.tokens.InputOffset())
	return n, err
}

// parts reads what an object or a list holds, and its end.
func (r *jsonReader) parts(n *node, depth int) error {
	known := make(map[string]bool)
	for r.tokens.More() {
		var key string
		var keyStart int
		if n.token == anObject {
			token, start, err := r.next()
			if err != nil {
				return err
			}
			if key, keyStart = token.(string), start; known[key] {
				return &jsonError{start, "duplicate key"}
			}
			known[key] = true
		}
		part, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		part.up, part.index, part.key, part.keyStart = n, len(n.parts), key, keyStart
		n.parts = append(n.parts, part)
	}
	_, _, err := r.next()
	return err
}

// The methods of a node can be called on nil, which is what has no place in a document.

// at returns a member of an object, nil if it has none of that name.
func (n *node) at(key string) *node {
	if n != nil && n.token == anObject {
		for _, part := range n.parts {
			if part.key == key {
				return part
			}
		}
	}
	return nil
}

// walk returns what a path leads to, or what comes closest to it.
func (n *node) walk(path mortise.Path) *node {
	for _, step := range path {
		next := n.at(step.Field)
		if step.Field == "" && n != nil && step.Index < len(n.parts) {
			next = n.parts[step.Index]
		}
		if next == nil {
			break
		}
		n = next
	}
	return n
}

// isBad reports whether something is wrong with a value.
func (n *node) isBad() bool { return n != nil && n.bad }

// lacks reports whether a member that is required is missing or wrong.
func (n *node) lacks(key string) bool { return n != nil && (n.at(key) == nil || n.at(key).bad) }

// path is as in organizations[0].id. What is no key of ours is left out: a secret may stand
// in the wrong place.
func (n *node) path() string {
	switch {
	case n.up == nil:
		return "the document"
	case n.up.token == aList:
		return fmt.Sprintf("%s[%d]", n.up.path(), n.index)
	case n.up.up == nil:
		return n.key
	case harmless(n.key) == "":
		return n.up.path()
	}
	return n.up.path() + "." + n.key
}

// harmless returns a key for a message if it looks like a key: a secret in the wrong place
// has digits or is long.
func harmless(key string) string {
	other := func(c rune) bool { return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' }
	if len(key) > 30 || strings.ContainsFunc(key, other) {
		return ""
	}
	return fmt.Sprintf(" %q", key)
}
