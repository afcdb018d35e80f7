package audiosearch

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

// The bounds of a video's metadata.
const (
	MaxMetadataKeys  = 1000
	MaxMetadataBytes = 64 << 10 // of all keys and values together, as JSON
)

// Metadata is what a video's owner says of it: JSON scalars by name.
type Metadata map[string]Scalar

// ScalarKind is the type of a [Scalar].
type ScalarKind uint8

// The kinds of scalars.
const (
	ScalarNull ScalarKind = iota
	ScalarBool
	ScalarNumber
	ScalarString
)

// Scalar is a JSON value that is no list and no object. A number stays as it was written. The zero value is null. Scalars can be compared
// with ==, which tells 1 and 1.0 apart.
type Scalar struct {
	kind ScalarKind
	text string
}

// String returns a string. It must be valid UTF-8; [Service.PutVideos] refuses other.
func String(s string) Scalar { return Scalar{ScalarString, s} }

// Bool returns true or false.
func Bool(b bool) Scalar {
	if b {
		return Scalar{ScalarBool, "true"}
	}
	return Scalar{ScalarBool, "false"}
}

// Int returns a number.
func Int(n int64) Scalar { return Scalar{ScalarNumber, fmt.Sprint(n)} }

// ParseScalar returns the scalar that a JSON text is. A number may be of any length and size.
func ParseScalar(text []byte) (Scalar, error) {
	v, err := strictjson.Parse(text, 1)
	if err != nil {
		return Scalar{}, fmt.Errorf("audiosearch: %w", err)
	}
	s, ok := scalarOf(v)
	if !ok {
		return Scalar{}, errNoScalar
	}
	return s, nil
}

var errNoScalar = errors.New("audiosearch: a metadata value must be a string, a number, true, false or null")

func scalarOf(v strictjson.Value) (Scalar, bool) {
	switch v.Kind() {
	case strictjson.Null:
		return Scalar{}, true
	case strictjson.Bool:
		return Bool(v.Bool()), true
	case strictjson.Number:
		return Scalar{ScalarNumber, string(v.Raw())}, true
	case strictjson.String:
		return String(v.Text()), true
	}
	return Scalar{}, false
}

// Kind returns the type.
func (s Scalar) Kind() ScalarKind { return s.kind }

// Text returns what filters compare as text: a string without its quotes, another value as it is written in JSON, "" for null.
func (s Scalar) Text() string { return s.text }

// Decimal returns what filters compare as a number: a number, or a string that reads as one, within the bounds of [ParseDecimal].
func (s Scalar) Decimal() (Decimal, bool) {
	if s.kind != ScalarNumber && s.kind != ScalarString {
		return Decimal{}, false
	}
	return ParseDecimal(s.text)
}

// MarshalJSON writes the value as it was read.
func (s Scalar) MarshalJSON() ([]byte, error) {
	switch s.kind {
	case ScalarNull:
		return []byte("null"), nil
	case ScalarString:
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(s.text); err != nil {
			return nil, err
		}
		return []byte(strings.TrimSuffix(b.String(), "\n")), nil
	}
	return []byte(s.text), nil
}

// UnmarshalJSON is ParseScalar.
func (s *Scalar) UnmarshalJSON(text []byte) (err error) {
	*s, err = ParseScalar(text)
	return err
}

// ParseMetadata reads a JSON object of scalars. Names that come twice, and text that is not valid UTF-8, are refused.
func ParseMetadata(object []byte) (Metadata, error) {
	v, err := strictjson.Parse(object, 2)
	if err != nil {
		return nil, fmt.Errorf("audiosearch: %w", err)
	}
	if v.Kind() != strictjson.Object {
		return nil, errors.New("audiosearch: metadata must be a JSON object")
	}
	m := Metadata{}
	for key, member := range v.Members() {
		s, ok := scalarOf(member)
		if !ok {
			return nil, fmt.Errorf("%w: %q is none", errNoScalar, key.Text())
		}
		m[key.Text()] = s
	}
	return m, nil
}

// UnmarshalJSON is ParseMetadata, and none of null.
func (m *Metadata) UnmarshalJSON(object []byte) (err error) {
	if string(object) == "null" {
		*m = nil
		return nil
	}
	*m, err = ParseMetadata(object)
	return err
}

// size is how many bytes the metadata have as JSON, about.
func (m Metadata) size() int {
	size := 0
	for key, s := range m {
		size += len(key) + len(s.text) + len(`"":"",`)
	}
	return size
}

// check adds what is wrong with the metadata of the field.
func (m Metadata) check(p *problems, field string) {
	if len(m) > MaxMetadataKeys {
		p.add(field, ProblemInvalid, "must have at most %d keys", MaxMetadataKeys)
		return
	}
	for key, s := range m {
		switch {
		case !isKey(key):
			p.add(field, ProblemInvalid, "keys must be valid UTF-8, not empty, and without U+0000")
			return
		case !utf8.ValidString(s.text):
			p.add(field, ProblemInvalid, "values must be valid UTF-8")
			return
		}
	}
	if m.size() > MaxMetadataBytes {
		p.add(field, ProblemInvalid, "must be at most %d bytes", MaxMetadataBytes)
	}
}

// isKey reports whether metadata may have the key.
func isKey(key string) bool { return key != "" && validText(key) }
