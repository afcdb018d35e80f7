package provision

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
	"github.com/seed-6363c74e/mortise/internal/strictjson"
	"github.com/seed-6363c74e/mortise/vault"
)

// The bounds of a document, beside maxDocument.
const (
	maxNesting = 64
	maxValues  = 1_000_000
)

// Parse reads a document, as Open does. file is its name, whose folder is that of paths
// and of files with secrets.
func Parse(file string, data []byte, env []string) (*Document, error) {
	d := &Document{
		file: file, data: data, places: make(map[string]int), bad: make(map[string]bool),
		sources: make(map[string]string), exposed: make(map[string]fs.FileMode),
	}
	root, invalid := parse(data)
	if invalid != nil {
		d.problems = []docProblem{{invalid.offset, "not valid JSON: " + invalid.text}}
		return nil, d.err()
	}
	r := &reader{
		Document: d, fields: make(map[reflect.Type][]docField), known: make(map[string]int), env: variablesOf(env),
	}
	if r.value("", root, reflect.ValueOf(&d.contents).Elem(), false); len(d.problems) >= maxKept {
		return nil, d.err()
	}
	return d, nil
}

// invalidCharacter is what package encoding/json begins with. No error repeats any
// content.
var invalidCharacter = regexp.MustCompile(`^invalid character '.+?' `)

// parse says where a document is malformed, as package encoding/json sees it, or such
// that two readers could understand it differently, or too large.
func parse(data []byte) (root strictjson.Value, invalid *docProblem) {
	root, err := strictjson.Parse(data, maxNesting)
	var syntax *json.SyntaxError
	var refused *strictjson.Error
	switch {
	case errors.As(err, &refused) && refused.Reason == strictjson.ByteOrderMark:
		return root, &docProblem{refused.Offset, refused.Reason}
	case errors.As(json.Unmarshal(data, new(json.RawMessage)), &syntax):
		return root, malformed(data, syntax)
	case !errors.As(err, &refused):
		values := 0
		return root, tooMany(root, &values)
	}
	at := refused.Offset
	for refused.Reason == "lone surrogate" && !beginsText(data, at) { // it is told of the text that it is in
		at--
	}
	return root, &docProblem{at, refused.Reason}
}

// beginsText reports whether the quote of a text is there, and no escaped one.
func beginsText(data []byte, at int) bool {
	before := data[:at]
	return data[at] == '"' && (len(before)-len(bytes.TrimRight(before, `\`)))%2 == 0
}

// malformed says where a document is not JSON.
func malformed(data []byte, syntax *json.SyntaxError) *docProblem {
	if where := invalidCharacter.ReplaceAllString(syntax.Error(), ""); where != syntax.Error() {
		return &docProblem{int(syntax.Offset) - 1, "unexpected character, " + where}
	}
	tokens := json.NewDecoder(bytes.NewReader(data))
	for err := error(nil); err == nil; { // it ends too early
		_, err = tokens.Token()
	}
	rest := bytes.TrimLeft(data[tokens.InputOffset():], " \t\r\n,:")
	if len(rest) > 0 && rest[0] == '"' {
		return &docProblem{len(data) - len(rest), "a string that does not end"}
	}
	return &docProblem{len(data), syntax.Error()}
}

// tooMany says where a document has more values than it may.
func tooMany(v strictjson.Value, values *int) (invalid *docProblem) {
	if *values++; *values > maxValues {
		return &docProblem{v.Offset(), fmt.Sprintf("more than %d values", maxValues)}
	}
	for _, e := range v.Elements() {
		if invalid = tooMany(e, values); invalid != nil {
			return invalid
		}
	}
	for _, m := range v.Members() {
		if invalid = tooMany(m, values); invalid != nil {
			return invalid
		}
	}
	return nil
}

// reader reads a document that is JSON.
type reader struct {
	*Document
	fields map[reflect.Type][]docField
	known  map[string]int    // where what may stand only once stands
	env    map[string]string // the environment
}

// value reads a value into what it is meant for: a string, a bool, a list, an object by
// its json tags, or what set knows.
func (r *reader) value(path string, v strictjson.Value, into reflect.Value, mayBeNull bool) {
	at := place{v.Offset(), path}
	if into.Type() != reflect.TypeFor[fieldDoc]() { // which has its own
		r.places[path] = at.offset
	}
	wanted, ok := wants(into, v.Kind())
	switch {
	case !ok && mayBeNull && v.Kind() == strictjson.Null:
	case !ok:
		r.fail(at, "must be %s", wanted)
	case v.Kind() == strictjson.Object && into.Type() == reflect.TypeFor[secretText]():
		r.secret(at, v, into)
	case v.Kind() == strictjson.Object:
		r.object(at, v, into)
	case v.Kind() == strictjson.Array:
		r.list(at, v, into)
	default:
		if problem := r.set(into, v.Text(), v.Raw(), at); problem != "" {
			r.fail(at, "%s", problem)
		}
	}
}

// full reports whether so much is wrong that the rest need not be read.
func (r *reader) full() bool { return len(r.problems) >= maxKept }

// list reads what a list holds.
func (r *reader) list(at place, v strictjson.Value, into reflect.Value) {
	for i, e := range v.Elements() {
		if r.full() {
			return
		}
		item := reflect.New(into.Type().Elem()).Elem()
		if r.value(at.path+"["+strconv.Itoa(i)+"]", e, item, false); !item.IsZero() {
			into.Set(reflect.Append(into, item))
		}
	}
}

// object reads the members of a struct or a map.
func (r *reader) object(at place, v strictjson.Value, into reflect.Value) {
	if into.Kind() == reflect.Map {
		into.Set(reflect.MakeMap(into.Type()))
	} else if placed, ok := into.Addr().Interface().(interface{ setPlace(at place) }); ok {
		placed.setPlace(at)
	}
	seen := make(map[string]bool)
	for k, m := range v.Members() {
		if r.full() {
			break
		}
		key, at := k.Text(), place{k.Offset(), at.path}
		seen[key] = true
		if into.Kind() == reflect.Map {
			r.entry(at, key, m, into)
		} else {
			r.member(at, key, m, into)
		}
	}
	if into.Kind() == reflect.Struct {
		for _, f := range r.fieldsOf(into.Type()) {
			if !f.optional && !seen[f.key] {
				r.fail(at, "%s is missing", f.key)
				r.spoil(at.in(f.key))
			}
		}
	}
}

// member reads a member of a struct.
func (r *reader) member(at place, key string, v strictjson.Value, into reflect.Value) {
	fields := r.fieldsOf(into.Type())
	i := slices.IndexFunc(fields, func(f docField) bool { return f.key == key })
	if i < 0 {
		r.fail(at, "unknown key%s", quoted(key))
		return
	}
	path, member := at.in(key), into.Field(fields[i].index)
	r.value(path, v, member, fields[i].nullable)
	if fields[i].unique && !r.bad[path] {
		r.once(parent(at.path)+"="+fmt.Sprint(member), r.nearest(path), "is the same")
	}
}

// entry reads an entry of a map.
func (r *reader) entry(at place, key string, v strictjson.Value, into reflect.Value) {
	if key == "" || strings.ContainsRune(key, 0) {
		r.fail(at, "a key must not be empty or contain U+0000")
	}
	path := at.in("*")
	if quoted(key) != "" { // else it may be a secret
		path = at.in(key)
	}
	value := reflect.New(into.Type().Elem()).Elem()
	r.value(path, v, value, false)
	into.SetMapIndex(reflect.ValueOf(key), value)
}

// docField is a field of a struct that has a key.
type docField struct {
	key                        string
	index                      int
	optional, nullable, unique bool
}

func (r *reader) fieldsOf(t reflect.Type) []docField {
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
func (r *reader) once(what string, at place, problem string) {
	if earlier, ok := r.known[what]; ok {
		r.fail(at, "%s as at %s", problem, r.position(earlier))
	} else {
		r.known[what] = at.offset
	}
}

// wants says what a value must be, and whether one of a kind is that.
func wants(into reflect.Value, kind strictjson.Kind) (what string, ok bool) {
	isText, isObject := kind == strictjson.String, kind == strictjson.Object
	switch into.Interface().(type) {
	case metadata.Scalar:
		return "a string, a number, true, false or null", !isObject && kind != strictjson.Array
	case fieldDoc:
		return "a string", isText
	case secretText:
		return "a string, or an object with env or file", isText || isObject
	}
	switch into.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object", isObject
	case reflect.Slice:
		return "a list", kind == strictjson.Array
	case reflect.Bool:
		return "true or false", kind == strictjson.Bool
	}
	return "a string", isText
}

type (
	secretText string // a credential: what an Authorization header can carry, once in a document
	mediaPath  string // within the document's folder
)

// set gives a scalar, a text or another one as it is written, to what it is meant for,
// and says what is wrong with it.
func (r *reader) set(into reflect.Value, text string, written []byte, at place) (problem string) {
	switch v := into.Addr().Interface().(type) {
	case *bool:
		*v = string(written) == "true"
		return ""
	case *metadata.Scalar:
		_ = v.UnmarshalJSON(written) // it refuses no scalar that is valid
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
