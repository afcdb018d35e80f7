package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/vault"
)

// docProblem is something that is wrong with the document. It says where and what, and
// never repeats a value, which might be a secret.
type docProblem struct {
	offset int // -1 for what has no place in a document
	text   string
}

// maxProblems bounds an error message.
const maxProblems = 10

// fail notes that something is wrong with a value.
func (d *document) fail(n *node, format string, args ...any) {
	if text := fmt.Sprintf(format, args...); n == nil {
		d.problems = append(d.problems, docProblem{-1, text})
	} else {
		d.failAt(n, n.start, n.path()+": "+text)
	}
}

// failIn notes a problem with what a path leads to in a value, or should lead to.
func (d *document) failIn(n *node, path mortise.Path, text string) {
	at := n.walk(path)
	if text = path.String() + ": " + text; at == nil {
		d.fail(nil, "%s", text)
		return
	}
	d.failAt(at, at.start, n.path()+"."+text)
}

// failAt is fail with another place than where the value begins.
func (d *document) failAt(n *node, offset int, text string) {
	d.problems = append(d.problems, docProblem{offset, text})
	for ; n != nil && !n.bad; n = n.up {
		n.bad = true
	}
}

// err puts all problems on one line, in the order of the document. They are the
// operator's.
func (d *document) err() error {
	if len(d.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(d.problems, func(a, b docProblem) int { return a.offset - b.offset })
	var texts []string
	for _, p := range d.problems[:min(len(d.problems), maxProblems)] {
		if p.offset >= 0 {
			p.text = d.place(p.offset) + ": " + p.text
		}
		texts = append(texts, p.text)
	}
	if more := len(d.problems) - maxProblems; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return usagef("-config: %s: %s", d.file, strings.Join(texts, "; "))
}

// place says where a byte of the document is. Columns count bytes.
func (d *document) place(offset int) string {
	if d.lines == nil {
		d.lines = []int{0}
		for i, c := range d.data {
			if c == '\n' {
				d.lines = append(d.lines, i+1)
			}
		}
	}
	line, _ := slices.BinarySearch(d.lines, offset+1)
	return fmt.Sprintf("line %d, column %d", line, offset-d.lines[line-1]+1)
}

// where says where a value is, for logs and errors that are not about it.
func (d *document) where(n *node) string {
	if n == nil {
		return d.file
	}
	return d.place(n.start) + ": " + n.path()
}

// read reads a value into what it is meant for: a string, a bool, a list, or a struct by
// its json tags. What has a method read reads itself. Whether the values make sense the
// services say.
func (d *document) read(n *node, into reflect.Value) {
	if self, ok := into.Addr().Interface().(interface{ read(d *document, n *node) }); ok {
		self.read(d, n)
		return
	}
	switch into.Kind() {
	case reflect.String:
		into.SetString(d.text(n))
	case reflect.Bool:
		value, ok := n.token.(bool)
		if into.SetBool(value); !ok {
			d.fail(n, "must be true or false")
		}
	case reflect.Slice:
		if n.token != aList {
			d.fail(n, "must be a list")
			return
		}
		into.Set(reflect.MakeSlice(into.Type(), len(n.parts), len(n.parts)))
		for i, part := range n.parts {
			d.read(part, into.Index(i))
		}
		d.checkNames(n)
	case reflect.Struct:
		d.object(n, into)
	}
}

// object reads an object into a struct, whose field At, if it has one, is where it stands.
// A string or a struct is required unless its tag has omitempty.
func (d *document) object(n *node, into reflect.Value) {
	if at := into.FieldByName("At"); at.IsValid() {
		at.Set(reflect.ValueOf(n))
	}
	if n.token != anObject {
		d.fail(n, "must be an object")
		return
	}
	known := make(map[string]bool)
	for i := range into.NumField() {
		key, _, optional := strings.Cut(into.Type().Field(i).Tag.Get("json"), ",")
		if key == "" {
			continue
		}
		known[key] = true
		kind := into.Field(i).Kind()
		if part := n.at(key); part != nil {
			d.read(part, into.Field(i))
		} else if !optional && (kind == reflect.String || kind == reflect.Struct) {
			d.fail(n, "%s is missing", key)
		}
	}
	for _, part := range n.parts {
		if !known[part.key] {
			d.failAt(n, part.keyStart, n.path()+": unknown key"+harmless(part.key))
		}
	}
}

// text reads a string, "" if it is wrong.
func (d *document) text(n *node) string {
	text, ok := n.token.(string)
	switch {
	case !ok:
		d.fail(n, "must be a string")
	case text == "" || strings.ContainsRune(text, 0):
		d.fail(n, "must not be empty or contain U+0000")
		return ""
	}
	return text
}

// namedBy has the keys by which no two items of a list may be the same.
var namedBy = map[string]string{
	"organizations": "id", "doc_collections": "id", "vaults": "id", "tables": "name", "columns": "name",
	"clients": "client_id", "invitations": "invitation_id", "datasets": "id", "videos": "id",
}

func (d *document) checkNames(list *node) {
	key, named := namedBy[list.key]
	seen := make(map[string]*node)
	for _, item := range list.parts {
		name := item.at(key)
		if !named || name == nil || name.bad {
			continue
		}
		text, _ := name.token.(string) // else it would be bad
		if list.key == "doc_collections" {
			text = strings.ToLower(text) // of a UUID
		}
		if earlier := seen[text]; earlier != nil {
			d.fail(name, "is the same as at %s", d.place(earlier.start))
		} else {
			seen[text] = name
		}
	}
}

// What reads itself.
type (
	secretText   string // a credential
	nullableText string // "" for null
	uuidText     struct{ uuid.UUID }
	lifetime     time.Duration // -1 for what is none
	mediaPath    string        // within the document's folder
	scalars      struct{ metadata.Map }
	fieldDocs    struct{ list []fieldDoc }
)

// read takes what an Authorization header can carry, once in a document.
func (s *secretText) read(d *document, n *node) {
	text := d.text(n)
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		d.fail(n, "must be visible ASCII without spaces, as an Authorization header carries it")
	} else if earlier := d.secrets[text]; earlier != nil {
		d.fail(n, "is the same secret as at %s", d.place(earlier.start))
	} else if text != "" {
		d.secrets[text], *s = n, secretText(text)
	}
}

func (t *nullableText) read(d *document, n *node) {
	if n.token != nil {
		*t = nullableText(d.text(n))
	}
}

func (u *uuidText) read(d *document, n *node) {
	text := d.text(n)
	var err error
	if u.UUID, err = uuid.Parse(text); text != "" && (err != nil || len(text) != 36 || u.UUID == uuid.Nil) {
		d.fail(n, "must be a UUID in its usual form, and not all zeros")
	}
}

// read leaves it to the service to refuse what is none, and what is too long.
func (l *lifetime) read(d *document, n *node) {
	if parsed, err := time.ParseDuration(d.text(n)); err == nil && parsed > 0 {
		*l = lifetime(parsed)
	} else {
		*l = -1
	}
}

// read refuses what leaves the folder. Where links lead to is seen when the file is opened.
func (p *mediaPath) read(d *document, n *node) {
	text := d.text(n)
	if *p = mediaPath(text); text != "" && !filepath.IsLocal(filepath.FromSlash(text)) {
		d.fail(n, "must be relative and stay in the document's folder")
	}
}

// read takes an object of scalars. Numbers stay as they are written.
func (s *scalars) read(d *document, n *node) {
	if n.token != anObject {
		d.fail(n, "must be an object")
		return
	}
	for _, part := range n.parts {
		if part.key == "" || strings.ContainsRune(part.key, 0) {
			d.failAt(n, part.keyStart, n.path()+": a key must not be empty or contain U+0000")
		} else if _, nested := part.token.(json.Delim); nested {
			name := cmp.Or(harmless(part.key), " this key")
			d.failAt(n, part.start, n.path()+": the value of"+name+" must be a string, a number, true, false or null")
		}
	}
	if !n.bad {
		s.Map, _ = metadata.Parse(d.data[n.start:n.end]) // it refuses nothing else
	}
}

// read takes values for a vault: strings of any content.
func (f *fieldDocs) read(d *document, n *node) {
	if n.token != anObject {
		d.fail(n, "must be an object")
		return
	}
	for _, part := range n.parts {
		if text, ok := part.token.(string); ok {
			f.list = append(f.list, fieldDoc{At: part, column: part.key, value: vault.NewValue(text)})
		} else {
			d.fail(part, "must be a string")
		}
	}
}

// parseDocument reads a document. The error is that of one that is not JSON; what else is
// wrong is noted in the document.
func parseDocument(file string, data []byte) (*document, error) {
	d := &document{file: file, data: data, secrets: make(map[string]*node)}
	root, err := readJSON(data)
	var malformed *jsonError
	if errors.As(err, &malformed) {
		d.problems = []docProblem{{malformed.offset, malformed.Error()}}
		return nil, d.err()
	}
	if err != nil {
		return nil, err
	}
	d.object(root, reflect.ValueOf(d).Elem())
	return d, nil
}
