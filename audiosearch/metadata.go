package audiosearch

import (
	"errors"
	"fmt"

	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

// The bounds of a video's metadata.
const (
	MaxMetadataKeys  = 1000
	MaxMetadataBytes = 64 << 10 // of all keys and values together, as JSON
)

// Metadata is what a video's owner says of it: JSON scalars by name.
type Metadata map[string]Scalar

// ParseMetadata reads a JSON object of scalars. Names that come twice, and text that is
// not valid UTF-8, are refused.
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

// UnmarshalJSON is [ParseMetadata], and none of null.
func (m *Metadata) UnmarshalJSON(object []byte) (err error) {
	if string(object) == "null" {
		*m = nil
		return nil
	}
	*m, err = ParseMetadata(object)
	return err
}
