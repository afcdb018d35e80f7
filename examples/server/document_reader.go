package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/vault"
)

// The bounds of a document, beside maxDocument.
const (
	maxNesting = 64
	maxValues  = 1_000_000
)

// parseDocument reads a document. The error is that of one that is not JSON, or not such
// that all readers take it for the same, or too large, or of which nothing is right. What
// else is wrong is noted in the document.
func parseDocument(file string, data []byte, env []string) (*document, error) {
	d := &document{
		file: file, data: data, places: make(map[string]int), bad: make(map[string]bool),
		sources: make(map[string]string), exposed: make(map[string]fs.FileMode),
	}
	r := &docReader{
		document: d, tokens: json.NewDecoder(bytes.NewReader(data)), fields: make(map[reflect.Type][]docField), known: make(map[string]int),
		env: variablesOf(env),
	}
	r.tokens.UseNumber()
	if r.checkSyntax(); r.invalid == nil {
		r.value("", 1, reflect.ValueOf(d).Elem(), false)
	}
	if r.invalid != nil {
		d.problems = []docProblem{*r.invalid}
	}
	if r.invalid != nil || len(d.problems) >= maxKept {
		return nil, d.err()
	}
	return d, nil
}

// docReader reads a document in one pass over its tokens.
type docReader struct {
	*document
	tokens  *json.Decoder
	invalid *docProblem // ends the reading
	values  int         // how many there were
	fields  map[reflect.Type][]docField
	known   map[string]int    // where what may stand only once stands
	env     map[string]string // the environment
}

// stop ends the reading.
func (r *docReader) stop(offset int, reason string) {
	if r.invalid == nil {
		r.invalid = &docProblem{offset, "not valid JSON: " + reason}
	}
}

// invalidCharacter is what package encoding/json begins with. No error repeats any content.
var invalidCharacter = regexp.MustCompile(`^invalid character '.+?' `)

// checkSyntax says where a document is malformed, as package encoding/json sees it, or not
// UTF-8, over which that passes.
func (r *docReader) checkSyntax() {
	var syntax *json.SyntaxError
	if !errors.As(json.Unmarshal(r.data, new(json.RawMessage)), &syntax) {
		if at := bytes.IndexByte(bytes.ToValidUTF8(r.data, []byte{0xff}), 0xff); at >= 0 {
			r.stop(at, "invalid UTF-8")
		}
		return
	}
	if where := invalidCharacter.ReplaceAllString(syntax.Error(), ""); where != syntax.Error() {
		r.stop(int(syntax.Offset)-1, "unexpected character, "+where)
	}
	for err := error(nil); err == nil; { // it ends too early
		_, err = r.tokens.Token()
	}
	if start := r.start(); start < len(r.data) && r.data[start] == '"' {
		r.stop(start, "a string that does not end")
	}
	r.stop(len(r.data), syntax.Error())
}

// start returns where the next token begins.
func (r *docReader) start() int {
	start := int(r.tokens.InputOffset())
	for start < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[start]) >= 0 {
		start++
	}
	return start
}

// next returns the next token, and where it begins.
func (r *docReader) next() (token json.Token, start int) {
	start = r.start()
	token, _ = r.tokens.Token() // checkSyntax knows that there is one
	if text, ok := token.(string); ok {
		// Package encoding/json puts U+FFFD in the place of half a surrogate pair.
		written := strings.ReplaceAll(string(r.written(start)), `\\`, "") // a backslash that begins no escape
		meant := strings.Count(written, "\ufffd") + strings.Count(strings.ToLower(written), `\ufffd`)
		if strings.Count(text, "\ufffd") > meant {
			r.stop(start, "lone surrogate")
		}
	}
	return token, start
}

// written returns what was read since start, as it stands in the document.
func (r *docReader) written(start int) []byte { return r.data[start:r.tokens.InputOffset()] }

// value reads a value into what it is meant for: a string, a bool, a list, an object by
// its json tags, or what set knows. What is meant for nothing, because its key is unknown,
// is read all the same, so that what is not valid is found.
func (r *docReader) value(path string, depth int, into reflect.Value, mayBeNull bool) {
	token, start := r.next()
	delim, nested := token.(json.Delim)
	if r.values++; r.values > maxValues {
		r.stop(start, fmt.Sprintf("more than %d values", maxValues))
	} else if nested && depth > maxNesting {
		r.stop(start, "nested too deeply")
	}
	at := place{start, path}
	if into.IsValid() {
		if into.Type() != reflect.TypeFor[fieldDoc]() { // which has its own
			r.places[path] = start
		}
		wanted, ok := wants(into, token)
		if !ok && !(token == nil && mayBeNull) {
			r.fail(at, "must be %s", wanted)
		}
		if !ok {
			into = reflect.Value{}
		}
	}
	switch {
	case delim == '{' && into.IsValid() && into.Type() == reflect.TypeFor[secretText]():
		r.secret(at, depth, into)
	case delim == '{':
		r.object(at, depth, into)
	case delim == '[':
		r.list(at, depth, into)
	case into.IsValid():
		if problem := r.set(into, token, at); problem != "" {
			r.fail(at, "%s", problem)
		}
	}
}

// more reports whether an object or a list goes on, and whether that is worth reading.
func (r *docReader) more() bool {
	return r.invalid == nil && len(r.problems) < maxKept && r.tokens.More()
}

// list reads what a list holds, and its end.
func (r *docReader) list(at place, depth int, into reflect.Value) {
	for i := 0; r.more(); i++ {
		if !into.IsValid() {
			r.value(at.path, depth+1, into, false)
			continue
		}
		item := reflect.New(into.Type().Elem()).Elem()
		if r.value(at.path+"["+strconv.Itoa(i)+"]", depth+1, item, false); !item.IsZero() {
			into.Set(reflect.Append(into, item))
		}
	}
	r.next()
}

// object reads the members of a struct or a map, and its end.
func (r *docReader) object(at place, depth int, into reflect.Value) {
	if into.IsValid() && into.Kind() == reflect.Map {
		into.Set(reflect.MakeMap(into.Type()))
	} else if into.IsValid() {
		if placed, ok := into.Addr().Interface().(interface{ setPlace(at place) }); ok {
			placed.setPlace(at)
		}
	}
	seen := make(map[string]bool)
	for r.more() {
		token, start := r.next()
		key, _ := token.(string)
		if seen[key] {
			r.stop(start, "duplicate key")
		}
		seen[key] = true
		switch {
		case !into.IsValid():
			r.value(at.path, depth+1, into, false)
		case into.Kind() == reflect.Map:
			r.entry(place{start, at.path}, key, depth, into)
		default:
			r.member(place{start, at.path}, key, depth, into)
		}
	}
	r.next()
	if into.IsValid() && into.Kind() == reflect.Struct {
		for _, f := range r.fieldsOf(into.Type()) {
			if !f.optional && !seen[f.key] {
				r.fail(at, "%s is missing", f.key)
				r.spoil(at.in(f.key))
			}
		}
	}
}

// member reads a member of a struct.
func (r *docReader) member(at place, key string, depth int, into reflect.Value) {
	fields := r.fieldsOf(into.Type())
	i := slices.IndexFunc(fields, func(f docField) bool { return f.key == key })
	if i < 0 {
		r.fail(at, "unknown key%s", quoted(key))
		r.value(at.path, depth+1, reflect.Value{}, false)
		return
	}
	path, member := at.in(key), into.Field(fields[i].index)
	r.value(path, depth+1, member, fields[i].nullable)
	if fields[i].unique && !r.bad[path] {
		r.once(parent(at.path)+"="+fmt.Sprint(member), r.nearest(path), "is the same")
	}
}

// entry reads an entry of a map.
func (r *docReader) entry(at place, key string, depth int, into reflect.Value) {
	if key == "" || strings.ContainsRune(key, 0) {
		r.fail(at, "a key must not be empty or contain U+0000")
	}
	path := at.in("*")
	if quoted(key) != "" { // else it may be a secret
		path = at.in(key)
	}
	value := reflect.New(into.Type().Elem()).Elem()
	r.value(path, depth+1, value, false)
	into.SetMapIndex(reflect.ValueOf(key), value)
}

// docField is a field of a struct that has a key.
type docField struct {
	key                        string
	index                      int
	optional, nullable, unique bool
}

func (r *docReader) fieldsOf(t reflect.Type) []docField {
	if r.fields[t] == nil {
		ofVault := t == reflect.TypeFor[vault.Table]() || t == reflect.TypeFor[vault.Column]()
		for i := range t.NumField() {
			f := t.Field(i)
			key, _, omitted := strings.Cut(f.Tag.Get("json"), ",")
			if key != "" {
				r.fields[t] = append(r.fields[t], docField{key: key, index: i,
					optional: omitted || f.Type.Kind() == reflect.Bool || f.Type.Kind() == reflect.Slice,
					nullable: omitted && t == reflect.TypeFor[access.Role](),
					unique:   f.Tag.Get("unique") != "" || ofVault && key == "name",
				})
			}
		}
	}
	return r.fields[t]
}

// quoted returns a key for a message if it looks like a key: a secret in the wrong place
// has digits or is long.
func quoted(key string) string {
	other := func(c rune) bool { return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' }
	if len(key) > 30 || strings.ContainsFunc(key, other) {
		return ""
	}
	return fmt.Sprintf(" %q", key)
}

// once notes what stands at another place, too.
func (r *docReader) once(what string, at place, problem string) {
	if earlier, ok := r.known[what]; ok {
		r.fail(at, "%s as at %s", problem, r.position(earlier))
	} else {
		r.known[what] = at.offset
	}
}

// wants says what a value must be, and whether one that begins with a token is that.
func wants(into reflect.Value, token json.Token) (what string, ok bool) {
	delim, nested := token.(json.Delim)
	_, isText := token.(string)
	_, isBool := token.(bool)
	switch into.Interface().(type) {
	case metadata.Scalar:
		return "a string, a number, true, false or null", !nested
	case fieldDoc:
		return "a string", isText
	case secretText:
		return "a string, or an object with env or file", isText || delim == '{'
	}
	switch into.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object", delim == '{'
	case reflect.Slice:
		return "a list", delim == '['
	case reflect.Bool:
		return "true or false", isBool
	}
	return "a string", isText
}

type (
	secretText string // a credential: what an Authorization header can carry, once in a document
	mediaPath  string // within the document's folder
)

// set gives a scalar to what it is meant for, and says what is wrong with it.
func (r *docReader) set(into reflect.Value, token json.Token, at place) (problem string) {
	text, _ := token.(string)
	switch v := into.Addr().Interface().(type) {
	case *bool:
		*v = token == true
		return ""
	case *metadata.Scalar:
		_ = v.UnmarshalJSON(r.written(at.offset)) // it refuses no scalar that is valid
		return ""
	case *fieldDoc: // of any content
		*v = fieldDoc{at, vault.NewValue(text)}
		return ""
	}
	if text == "" || strings.ContainsRune(text, 0) {
		return "must not be empty or contain U+0000"
	}
	var err error
	switch v := into.Addr().Interface().(type) {
	case *uuid.UUID:
		if *v, err = uuid.Parse(text); err != nil || len(text) != 36 || *v == uuid.Nil {
			return "must be a UUID in its usual form, and not all zeros"
		}
	case *time.Duration:
		if *v, err = time.ParseDuration(text); err != nil || *v <= 0 {
			*v = -1 // which the service refuses, as it does what is too long
		}
	case *mediaPath: // where links lead to is seen when the file is opened
		if *v = mediaPath(text); !filepath.IsLocal(filepath.FromSlash(text)) {
			return "must be relative and stay in the document's folder"
		}
	case *secretText:
		if *v = secretText(text); strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' }) {
			return "must be visible ASCII without spaces, as an Authorization header carries it"
		}
		r.once("secret="+text, at, "is the same secret")
	default:
		into.SetString(text)
	}
	return ""
}
