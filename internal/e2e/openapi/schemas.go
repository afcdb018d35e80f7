package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// schemas holds values against the schemas of a document.
//
// kin-openapi would do so, too. But what it makes of a schema of 3.1 depends on the words
// in it, and one that it cannot compile it interprets in another way, without a word.
type schemas struct {
	components map[string]any // as a document has them, closed
	formats    map[string]openapi3.StringFormatValidator
}

func newSchemas(model *openapi3.T) (*schemas, error) {
	s := &schemas{
		components: make(map[string]any),
		formats:    make(map[string]openapi3.StringFormatValidator),
	}
	if model.Components != nil {
		for name, ref := range model.Components.Schemas {
			schema, err := plain(ref)
			if err != nil {
				return nil, err
			}
			// It stays open itself: it may be a part of a whole that has more.
			closeParts(schema)
			openIfEmpty(schema)
			s.components[name] = schema
		}
	}
	return s, model.WalkSchemas(func(_ string, ref *openapi3.SchemaRef) error {
		return s.addFormat(ref.Value.Format)
	})
}

// addFormat makes a validator of a format for kin-openapi, which knows few by itself.
func (s *schemas) addFormat(name string) error {
	if name == "" || s.formats[name] != nil {
		return nil
	}
	compiled, err := compile(map[string]any{"format": name})
	if err != nil {
		return err
	}
	s.formats[name] = openapi3.NewCallbackValidator(func(text string) error { return compiled.Validate(text) })
	return nil
}

// plain returns a schema as it stands in the document, as values of encoding/json.
func plain(schema *openapi3.SchemaRef) (any, error) {
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(text))
}

// allow returns an error if a value is not one of the schema. Without one, any is.
func (s *schemas) allow(schema *openapi3.SchemaRef, value any) error {
	if schema == nil {
		return nil
	}
	compiled, err := s.compile(schema)
	if err != nil {
		return err
	}
	if err := compiled.Validate(value); err != nil {
		return fmt.Errorf("it is not as described: %s", reason(err))
	}
	return nil
}

// reason returns what is wrong with a value. As soon as something within an object is, all
// its properties count as undeclared: so one that is must stand first to be named.
func reason(err error) string {
	var wrong, undeclared []string
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) > 0 {
			return
		}
		if _, ok := e.ErrorKind.(*kind.FalseSchema); ok {
			undeclared = append(undeclared, "/"+strings.Join(e.InstanceLocation, "/")+" is undeclared")
		} else {
			wrong = append(wrong, e.Error())
		}
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	if walk(invalid); len(wrong) == 0 {
		return undeclared[0]
	}
	return strings.Join(wrong, "; ")
}

// compile returns an error if the schema is not one of JSON Schema 2020-12.
func (s *schemas) compile(schema *openapi3.SchemaRef) (*jsonschema.Schema, error) {
	root, err := plain(schema)
	if err != nil {
		return nil, err
	}
	closeWhole(root)
	if root, ok := root.(map[string]any); ok {
		root["components"] = map[string]any{"schemas": s.components} // for its references
	}
	return compile(root)
}

func compile(root any) (*jsonschema.Schema, error) {
	const address = "document:schema"
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(address, root); err != nil {
		return nil, err
	}
	return c.Compile(address)
}

// closeWhole forbids what a schema does not mention, where it is all that is said about a
// value, and where one within it is.
func closeWhole(schema any) {
	closeParts(schema)
	if openIfEmpty(schema) {
		return
	}
	if s, ok := schema.(map[string]any); ok && s["unevaluatedProperties"] == nil {
		s["unevaluatedProperties"] = false
	}
}

// openIfEmpty says that anything is allowed in a schema that says nothing, as "data": {}.
// It returns whether it was one.
func openIfEmpty(schema any) bool {
	says := []string{"$ref", "type", "properties", "patternProperties", "required", "allOf", "anyOf", "oneOf"}
	s, ok := schema.(map[string]any)
	for _, word := range says {
		ok = ok && s[word] == nil
	}
	if ok && s["additionalProperties"] == nil {
		s["additionalProperties"] = true
	}
	return ok
}

// closeParts closes the schemas within one. What not, if and contains ask for stays as it
// is, as a condition is another one if it is closed.
func closeParts(schema any) {
	s, _ := schema.(map[string]any)
	for word, value := range s {
		switch word {
		case "properties", "patternProperties", "$defs", "prefixItems":
			each(value, closeWhole)
		case "items", "additionalProperties", "unevaluatedItems", "unevaluatedProperties":
			closeWhole(value)
		case "allOf", "anyOf", "oneOf", "dependentSchemas":
			each(value, closeParts) // each is a part of the same whole
		case "then", "else":
			closeParts(value)
		}
	}
}

func each(list any, do func(any)) {
	switch list := list.(type) {
	case map[string]any:
		for _, schema := range list {
			do(schema)
		}
	case []any:
		for _, schema := range list {
			do(schema)
		}
	}
}

// decode returns the value that a body stands for.
func decode(header http.Header, text []byte, m *openapi3.MediaType) (any, error) {
	mediaType, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	switch {
	case err != nil:
		return nil, err
	case mediaType == "application/json", strings.HasSuffix(mediaType, "+json"):
		return jsonschema.UnmarshalJSON(bytes.NewReader(text))
	case mediaType == "application/x-www-form-urlencoded":
		return form(header, text, m)
	default:
		return string(text), nil
	}
}

// form returns what a form holds, by the types that the schema has.
func form(header http.Header, text []byte, m *openapi3.MediaType) (any, error) {
	encoding := func(name string) *openapi3.Encoding { return m.Encoding[name] }
	value, err := openapi3filter.UrlencodedBodyDecoder(bytes.NewReader(text), header, m.Schema, encoding)
	if err != nil {
		return nil, err
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("a form is %T", value)
	}
	given, err := url.ParseQuery(string(text))
	if err != nil {
		return nil, err
	}
	for name, values := range given {
		_, list := fields[name].([]any)
		if len(values) > 1 && !list {
			return nil, fmt.Errorf("field %s stands there %d times", name, len(values))
		}
		if fields[name] == nil { // it is not in the schema, which is to say so
			fields[name] = values[0]
		}
	}
	return fields, nil
}
