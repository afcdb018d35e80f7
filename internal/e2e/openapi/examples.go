package openapi

import (
	"fmt"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// Examples holds every example of a document against its schema, and returns how many
// there are. It is an error if a parameter, body or header that has a schema has none. An
// example is held to what [New] says of bodies.
func Examples(text []byte) (seen int, err error) {
	model, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return 0, err
	}
	s, err := newSchemas(model)
	if err != nil {
		return 0, err
	}
	e := &exampleWalk{schemas: s}
	e.document(model)
	return e.seen, e.err
}

// exampleWalk finds the examples of a document and holds each against its schema.
type exampleWalk struct {
	schemas *schemas
	seen    int
	err     error // the first one
}

func (e *exampleWalk) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

func (e *exampleWalk) document(doc *openapi3.T) {
	for path, item := range doc.Paths.Map() {
		e.parameters(path, item.Parameters)
		for method, op := range item.Operations() {
			at := strings.ToLower(method) + " " + path
			e.parameters(at, op.Parameters)
			if op.RequestBody != nil {
				e.content(at, op.RequestBody.Value.Content)
			}
			for status, r := range op.Responses.Map() {
				e.content(at+" "+status, r.Value.Content)
				for name, h := range r.Value.Headers {
					e.examples(at+" "+status+" "+name, h.Value.Schema, h.Value.Example, h.Value.Examples)
				}
			}
		}
	}
	if doc.Components != nil {
		for name, schema := range doc.Components.Schemas {
			e.schema(name, schema)
		}
	}
}

func (e *exampleWalk) parameters(where string, list openapi3.Parameters) {
	for _, p := range list {
		e.examples(where+" "+p.Value.Name, p.Value.Schema, p.Value.Example, p.Value.Examples)
	}
}

func (e *exampleWalk) content(where string, content openapi3.Content) {
	for _, m := range content {
		e.examples(where, m.Schema, m.Example, m.Examples)
	}
}

func (e *exampleWalk) examples(where string, schema *openapi3.SchemaRef, one any, named openapi3.Examples) {
	if schema == nil {
		return
	}
	before := e.seen
	e.check(where, schema, one)
	for name, example := range named {
		e.check(where+" "+name, schema, example.Value.Value)
	}
	if e.seen == before {
		e.fail(fmt.Errorf("%s has no example", where))
	}
}

// schema checks the examples within a schema.
func (e *exampleWalk) schema(where string, schema *openapi3.SchemaRef) {
	err := schema.WalkSubtree(func(at string, s *openapi3.SchemaRef) error {
		if s.Ref != "" {
			return openapi3.SkipSubtree // it is looked at by its own name
		}
		e.check(where+at, s, s.Value.Example)
		for _, example := range s.Value.Examples {
			e.check(where+at, s, example)
		}
		return nil
	})
	if err != nil {
		e.fail(err)
	}
}

func (e *exampleWalk) check(where string, schema *openapi3.SchemaRef, example any) {
	if example == nil {
		return
	}
	e.seen++
	if err := e.schemas.allow(schema, example); err != nil {
		e.fail(fmt.Errorf("%s: %w", where, err))
	}
}
