package metadata

import (
	"errors"
	"fmt"

	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

// The bounds of the metadata of a video. A service refuses more.
const (
	MaxKeys  = 1000
	MaxBytes = 64 << 10 // of all keys and values together, as JSON
)

// Map is what a video's owner says of it: JSON scalars by name. nil is none.
type Map map[string]Scalar

// Parse reads a JSON object of scalars. Names that come twice, and text that is
// not valid UTF-8, are refused.
func Parse(object []byte) (Map, error) {
	v, err := strictjson.Parse(object, 2)
	if err != nil {
		return nil, fmt.Errorf("audiosearch: %w", err)
	}
	if v.Kind() != strictjson.Object {
		return nil, errors.New("audiosearch: metadata must be a JSON object")
	}
	m := Map{}
	for key, member := range v.Members() {
		s, ok := scalarOf(member)
		if !ok {
			return nil, fmt.Errorf("%w: %q is none", errNoScalar, key.Text())
		}
		m[key.Text()] = s
	}
	return m, nil
}

// UnmarshalJSON is [Parse], and none of null.
func (m *Map) UnmarshalJSON(object []byte) (err error) {
	if string(object) == "null" {
		*m = nil
		return nil
	}
	*m, err = Parse(object)
	return err
}
