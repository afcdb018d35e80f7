package openapi

import (
	"fmt"
	"iter"

	"github.com/pb33f/libopenapi"
	"github.com/pb33f/libopenapi-validator/config"
	"github.com/pb33f/libopenapi-validator/schema_validation"
	"github.com/pb33f/libopenapi-validator/strict"
	"github.com/pb33f/libopenapi/datamodel/high/base"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"
	"github.com/pb33f/libopenapi/orderedmap"
)

// Examples holds every example of a document against its schema, and returns how many
// there are. It is an error if a parameter, body or header that has a schema has none.
// anything is as for [New].
func Examples(text []byte, anything ...string) (seen int, err error) {
	parsed, err := libopenapi.NewDocument(text)
	if err != nil {
		return 0, err
	}
	model, err := parsed.BuildV3Model()
	if err != nil {
		return 0, err
	}
	opts := strictly(anything)
	e := &exampleWalk{validator: schema_validation.NewSchemaValidator(opts...), options: config.NewValidationOptions(opts...)}
	e.document(&model.Model)
	return e.seen, e.err
}

// exampleWalk finds the examples of a document and holds each against its schema.
type exampleWalk struct {
	validator schema_validation.SchemaValidator
	options   *config.ValidationOptions
	seen      int
	err       error // the first one
}

func (e *exampleWalk) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// node is an example as it is written.
type node interface{ Decode(any) error }

func (e *exampleWalk) document(doc *v3.Document) {
	for path, item := range doc.Paths.PathItems.FromOldest() {
		for method, op := range item.GetOperations().FromOldest() {
			at := method + " " + path
			for _, p := range op.Parameters {
				e.examples(at+" "+p.Name, p.Schema, p.Example, p.Examples)
			}
			if op.RequestBody != nil {
				e.content(at, op.RequestBody.Content)
			}
			for status, r := range op.Responses.Codes.FromOldest() {
				e.content(at+" "+status, r.Content)
				for name, h := range all(r.Headers) {
					e.examples(at+" "+status+" "+name, h.Schema, h.Example, h.Examples)
				}
			}
		}
	}
	for name, schema := range doc.Components.Schemas.FromOldest() {
		e.schema(name, schema)
	}
}

// all yields what is in a map that may not be there.
func all[V any](m *orderedmap.Map[string, V]) iter.Seq2[string, V] {
	if m == nil {
		return func(func(string, V) bool) {}
	}
	return m.FromOldest()
}

func (e *exampleWalk) content(where string, content *orderedmap.Map[string, *v3.MediaType]) {
	for _, m := range all(content) {
		e.examples(where, m.Schema, m.Example, m.Examples)
	}
}

func (e *exampleWalk) examples(where string, schema *base.SchemaProxy, one node, named *orderedmap.Map[string, *base.Example]) {
	if schema == nil {
		return
	}
	before := e.seen
	e.check(where, schema.Schema(), one)
	for name, example := range all(named) {
		e.check(where+" "+name, schema.Schema(), example.Value)
	}
	if e.seen == before {
		e.fail(fmt.Errorf("%s has no example", where))
	}
}

// schema checks the examples within a schema.
func (e *exampleWalk) schema(where string, proxy *base.SchemaProxy) {
	s := proxy.Schema()
	for _, example := range s.Examples {
		e.check(where, s, example)
	}
	for name, property := range all(s.Properties) {
		if !property.IsReference() {
			e.schema(where+"."+name, property)
		}
	}
	if s.Items != nil && s.Items.IsA() && !s.Items.A.IsReference() {
		e.schema(where+"[]", s.Items.A)
	}
}

func (e *exampleWalk) check(where string, schema *base.Schema, example node) {
	if example == nil || fmt.Sprint(example) == "<nil>" {
		return
	}
	e.seen++
	var value any
	if err := example.Decode(&value); err != nil {
		e.fail(fmt.Errorf("%s: %w", where, err))
		return
	}
	if err := broken(e.validator.ValidateSchemaObjectWithVersion(schema, value, 3.1)); err != nil {
		e.fail(fmt.Errorf("%s: %w", where, err))
	}
	for _, direction := range []strict.Direction{strict.DirectionRequest, strict.DirectionResponse} {
		if undeclared := strict.ValidateBody(schema, value, direction, e.options, 3.1); !undeclared.Valid {
			e.fail(fmt.Errorf("%s: %+v", where, undeclared.UndeclaredValues))
		}
	}
}
