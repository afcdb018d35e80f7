package main

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

// docReader walks a parsed document and notes everything that is wrong with it. A note says where and what, and never repeats a
// value, which might be a secret.
type docReader struct {
	data     []byte
	lines    []int // where each begins; made when it is first needed
	problems []docProblem
	secrets  map[string]string // credentials seen, and where
}

type docProblem struct {
	offset int
	text   string
}

// maxProblems bounds an error message.
const maxProblems = 10

// err puts all problems on one line, in the order of the document.
func (r *docReader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b docProblem) int { return a.offset - b.offset })
	var texts []string
	for i, p := range r.problems {
		if i == maxProblems {
			texts = append(texts, fmt.Sprintf("and %d more", len(r.problems)-i))
			break
		}
		line, column := r.lineColumn(p.offset)
		texts = append(texts, fmt.Sprintf("line %d, column %d: %s", line, column, p.text))
	}
	return errors.New(strings.Join(texts, "; "))
}

// lineColumn is strictjson.LineColumn for one of many places of a document.
func (r *docReader) lineColumn(offset int) (line, column int) {
	if r.lines == nil {
		r.lines = []int{0}
		for i, c := range r.data {
			if c == '\n' {
				r.lines = append(r.lines, i+1)
			}
		}
	}
	line, here := slices.BinarySearch(r.lines, offset)
	if here {
		line++
	}
	return line, offset - r.lines[line-1] + 1
}

func (r *docReader) fail(v strictjson.Value, format string, args ...any) {
	r.problems = append(r.problems, docProblem{v.Offset(), fmt.Sprintf(format, args...)})
}

// docMember is a value with its path, as in organizations[0].id.
type docMember struct {
	r     *docReader
	value strictjson.Value
	path  string
}

func (m docMember) place() string {
	line, column := m.r.lineColumn(m.value.Offset())
	return fmt.Sprintf("line %d, column %d", line, column)
}

// where is place with the path.
func (m docMember) where() string { return m.place() + ": " + m.path }

// docObject is an object whose keys are known to be allowed. The zero members of one that was no object at all are silent.
type docObject struct {
	docMember
	members map[string]strictjson.Value
}

// object takes v for an object that may have the given keys.
func (r *docReader) object(v strictjson.Value, path string, keys ...string) docObject {
	o := docObject{docMember: docMember{r, v, path}}
	if v.Kind() != strictjson.Object {
		r.fail(v, "%s: must be an object", path)
		return o
	}
	o.members = make(map[string]strictjson.Value)
	for key, member := range v.Members() {
		name := key.Text()
		if !slices.Contains(keys, name) {
			r.fail(key, "%s: unknown key%s", path, harmless(name))
			continue
		}
		o.members[name] = member
	}
	return o
}

// harmless returns a key for a message if it looks like a key: a secret in the wrong place has digits or is long.
func harmless(key string) string {
	if len(key) > 30 {
		return ""
	}
	for _, c := range key {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' {
			return ""
		}
	}
	return fmt.Sprintf(" %q", key)
}

func (o docObject) member(key string) docMember {
	path := o.path + "." + key
	if o.path == documentPath {
		path = key
	}
	return docMember{o.r, o.members[key], path}
}

func (o docObject) fail(key, format string, args ...any) {
	m := o.member(key)
	o.r.fail(m.value, "%s: %s", m.path, fmt.Sprintf(format, args...))
}

// has looks for a member of a kind. Its absence is a problem if it is required, another kind always.
func (o docObject) has(key string, required bool, kind strictjson.Kind, what string) (strictjson.Value, bool) {
	v, ok := o.members[key]
	switch {
	case !ok && required && o.members != nil:
		o.r.fail(o.value, "%s: %s is missing", o.path, key)
		return v, false
	case ok && v.Kind() != kind:
		o.fail(key, "must be %s", what)
		return v, false
	}
	return v, ok
}

func (o docObject) text(key string, required bool) (string, bool) {
	v, ok := o.has(key, required, strictjson.String, "a string")
	if !ok {
		return "", false
	}
	text := v.Text()
	if text == "" || strings.ContainsRune(text, 0) {
		o.fail(key, "must not be empty or contain U+0000")
		return "", false
	}
	return text, true
}

// name reads a required name or ID.
func (o docObject) name(key string) string {
	text, ok := o.text(key, true)
	if ok && len(text) > 255 {
		o.fail(key, "must be at most 255 bytes long")
	}
	return text
}

// nullableText reads an optional string, "" for null.
func (o docObject) nullableText(key string) string {
	if o.members[key].Kind() == strictjson.Null {
		return ""
	}
	text, _ := o.text(key, false)
	return text
}

// boolean reads an optional boolean; absent means false.
func (o docObject) boolean(key string) bool {
	if v, ok := o.members[key]; ok && v.Kind() != strictjson.Bool {
		o.fail(key, "must be true or false")
	}
	return o.members[key].Bool()
}

func (o docObject) uuid(key string) uuid.UUID {
	text, ok := o.text(key, true)
	if !ok {
		return uuid.Nil
	}
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 || id == uuid.Nil {
		o.fail(key, "must be a UUID in its usual form, and not all zeros")
		return uuid.Nil
	}
	return id
}

// object reads a required object.
func (o docObject) object(key string, keys ...string) (docObject, bool) {
	v, ok := o.has(key, true, strictjson.Object, "an object")
	if !ok {
		return docObject{}, false
	}
	return o.r.object(v, o.member(key).path, keys...), true
}

// objects iterates over an optional list of objects.
func (o docObject) objects(key string, keys ...string) iter.Seq[docObject] {
	return func(yield func(docObject) bool) {
		list, ok := o.has(key, false, strictjson.Array, "a list")
		if !ok {
			return
		}
		for i, v := range list.Elements() {
			if !yield(o.r.object(v, fmt.Sprintf("%s[%d]", o.member(key).path, i), keys...)) {
				return
			}
		}
	}
}

// uniqueNames finds a name that stands twice in a list.
type uniqueNames struct{ seen map[string]string }

func (r *docReader) unique() *uniqueNames { return &uniqueNames{make(map[string]string)} }

// add notes the name that o has at key. An empty one was no name, which has been said.
func (u *uniqueNames) add(o docObject, key, name string) {
	if name == "" || name == uuid.Nil.String() {
		return
	}
	if earlier, ok := u.seen[name]; ok {
		o.fail(key, "is the same as at %s", earlier)
		return
	}
	u.seen[name] = o.member(key).place()
}
