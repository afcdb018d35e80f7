package metadata

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

// Kind is the type of a [Scalar].
type Kind uint8

// The kinds of scalars.
const (
	KindNull Kind = iota
	KindBool
	KindNumber
	KindString
)

// Scalar is a JSON value that is no list and no object. The zero value is null. [String],
// [Bool] and [Int] make others, and [Scalar.UnmarshalJSON] reads any. A number may be of
// any length and size, and stays as it was written. Scalars can be compared with ==, which
// tells 1 and 1.0 apart.
type Scalar struct {
	kind Kind
	text string
}

// String returns a string. It must be valid UTF-8: a service takes no video with another
// one.
func String(s string) Scalar { return Scalar{KindString, s} }

// Bool returns true or false.
func Bool(b bool) Scalar {
	if b {
		return Scalar{KindBool, "true"}
	}
	return Scalar{KindBool, "false"}
}

// Int returns a whole number.
func Int(n int64) Scalar { return Scalar{KindNumber, fmt.Sprint(n)} }

// Kind returns the type.
func (s Scalar) Kind() Kind { return s.kind }

// Text returns what filters compare as text: a string without its quotes, another value as
// it is written in JSON, "" for null.
func (s Scalar) Text() string { return s.text }

// MarshalJSON writes the value as it was read.
func (s Scalar) MarshalJSON() ([]byte, error) {
	switch s.kind {
	case KindNull:
		return []byte("null"), nil
	case KindString:
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

// UnmarshalJSON reads any scalar. Lists, objects, and text that is not valid UTF-8 are
// refused.
func (s *Scalar) UnmarshalJSON(text []byte) error {
	v, err := strictjson.Parse(text, 1)
	if err != nil {
		return fmt.Errorf("audiosearch: %w", err)
	}
	read, ok := scalarOf(v)
	if !ok {
		return errNoScalar
	}
	*s = read
	return nil
}

var errNoScalar = errors.New("audiosearch: a metadata value must be a string, a number, true, false or null")

func scalarOf(v strictjson.Value) (Scalar, bool) {
	switch v.Kind() {
	case strictjson.Null:
		return Scalar{}, true
	case strictjson.Bool:
		return Bool(v.Bool()), true
	case strictjson.Number:
		return Scalar{KindNumber, string(v.Raw())}, true
	case strictjson.String:
		return String(v.Text()), true
	}
	return Scalar{}, false
}
