package openapi

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Valid returns an error if the document is not one of OpenAPI, or a schema in it not one of
// JSON Schema 2020-12.
func (d *Document) Valid() error {
	if err := d.model.Validate(context.Background()); err != nil {
		return err
	}
	// The rest are what kin-openapi does not look at.
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(d.text))
	if err != nil {
		return err
	}
	if err := nulls("", root); err != nil {
		return err
	}
	for i, tag := range d.model.Tags {
		if tag.Name == "" {
			return fmt.Errorf("tag %d has no name", i)
		}
	}
	if c := d.model.Components; c != nil {
		if err := fields(c.Headers); err != nil {
			return err
		}
	}
	for path, item := range d.model.Paths.Map() {
		for method, op := range item.Operations() {
			if err := responses(op.Responses); err != nil {
				return fmt.Errorf("%s %s: %w", method, path, err)
			}
		}
	}
	return d.model.WalkSchemas(func(at string, s *openapi3.SchemaRef) error {
		if _, err := d.schemas.compile(s); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		return nil
	})
}

// nulls returns an error if there is a null but in a value that the document gives.
func nulls(at string, node any) error {
	switch node := node.(type) {
	case nil:
		return fmt.Errorf("%s is null", at)
	case []any:
		for i, item := range node {
			if err := nulls(fmt.Sprint(at, "/", i), item); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, field := range node {
			_, list := field.([]any)
			switch {
			case name == "example", name == "value", name == "default", name == "const",
				name == "enum" && list, name == "examples" && list, strings.HasPrefix(name, "x-"):
				continue
			}
			if err := nulls(at+"/"+name, field); err != nil {
				return err
			}
		}
	}
	return nil
}

var statuses = regexp.MustCompile(`^(default|[1-5]([0-9]{2}|XX))$`)

func responses(all *openapi3.Responses) error {
	for status, response := range all.Map() {
		if !statuses.MatchString(status) {
			return fmt.Errorf("%s is no status", status)
		}
		if err := fields(response.Value.Headers); err != nil {
			return fmt.Errorf("%s: %w", status, err)
		}
	}
	return nil
}

// fields returns an error if a header has a field that headers have not.
func fields(headers openapi3.Headers) error {
	for name, header := range headers {
		for field := range header.Value.Extensions {
			if !strings.HasPrefix(field, "x-") {
				return fmt.Errorf("header %s has a field %s", name, field)
			}
		}
	}
	return nil
}
