package e2e

import (
	"fmt"
	"iter"
	"testing"

	"github.com/pb33f/libopenapi"
	"github.com/pb33f/libopenapi-validator/config"
	"github.com/pb33f/libopenapi-validator/schema_validation"
	"github.com/pb33f/libopenapi-validator/strict"
	"github.com/pb33f/libopenapi/datamodel/high/base"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"
	"github.com/pb33f/libopenapi/orderedmap"
	"github.com/stretchr/testify/require"
)

// TestOpenAPIExamplesFollowTheirSchemas: whatever has a schema has an example, and every
// example of every document is one that its schema allows.
func TestOpenAPIExamplesFollowTheirSchemas(t *testing.T) {
	for name, c := range map[string]struct {
		document []byte
		anything []string // fields whose names somebody chose
		least    int
	}{
		"trigger":     {newTriggerRig(t).document, []string{"$.body.context.**", "$.body.triggers[*].context.**", "$.body.outcome.data.**", "$.body.triggers[*].outcome.data.**"}, 25},
		"authmgmt":    {newAuthMgmtRig(t).document, nil, 60},
		"vault":       {newVaultAPI(t).document, []string{"$.body.records[*].fields.**", "$.body.records[*].tokens.**"}, 50},
		"audiosearch": {newSearchAPI(t).document, []string{"$.body.results[*].video.metadata.**"}, 30},
	} {
		t.Run(name, func(t *testing.T) {
			parsed, err := libopenapi.NewDocument(c.document)
			require.NoError(t, err)
			model, err := parsed.BuildV3Model()
			require.NoError(t, err)
			opts := []config.Option{config.WithStrictMode(), config.WithFormatAssertions(), config.WithStrictIgnorePaths(c.anything...)}
			e := &exampleWalk{t: t, validator: schema_validation.NewSchemaValidator(opts...), options: config.NewValidationOptions(opts...)}
			e.document(&model.Model)
			require.GreaterOrEqual(t, e.seen, c.least)
		})
	}
}

// exampleWalk finds the examples of a document and holds each against its schema.
type exampleWalk struct {
	t         *testing.T
	validator schema_validation.SchemaValidator
	options   *config.ValidationOptions
	seen      int
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
	require.Greater(e.t, e.seen, before, "%s has no example", where)
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
	e.t.Helper()
	var value any
	if example == nil || fmt.Sprint(example) == "<nil>" {
		return
	}
	require.NoError(e.t, example.Decode(&value), where)
	ok, errs := e.validator.ValidateSchemaObjectWithVersion(schema, value, 3.1)
	require.True(e.t, ok, "%s: %s", where, openapiErrors(errs))
	for _, direction := range []strict.Direction{strict.DirectionRequest, strict.DirectionResponse} {
		undeclared := strict.ValidateBody(schema, value, direction, e.options, 3.1)
		require.True(e.t, undeclared.Valid, "%s: %+v", where, undeclared.UndeclaredValues)
	}
	e.seen++
}
