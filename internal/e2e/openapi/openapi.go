// Package openapi holds requests, answers and examples against an OpenAPI 3.1 document.
// github.com/getkin/kin-openapi reads the document, finds the operation of a request, and
// checks parameters and headers; bodies and examples are held against their schemas by
// github.com/santhosh-tekuri/jsonschema. Both compile in seconds, where others that do the
// same take minutes.
//
// It is stricter than a document is by itself: what a document does not mention is an
// error, as the documents here are meant to mention everything. See [New].
package openapi

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
)

// Document is a parsed document.
type Document struct {
	text    []byte
	model   *openapi3.T
	schemas *schemas
	router  routers.Router
	options *openapi3filter.Options
}

// New parses a document. Nothing may stand in what it describes that it does not mention:
// no property, unless its schema says additionalProperties or nothing at all, no query
// parameter, no cookie, and no header but those of HTTP itself.
func New(text []byte) (*Document, error) {
	model, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	s, err := newSchemas(model)
	if err != nil {
		return nil, err
	}
	// It refuses a document that is not valid, whose examples are for [Examples] to judge.
	router, err := legacy.NewRouter(model, openapi3.DisableExamplesValidation())
	if err != nil {
		return nil, err
	}
	return &Document{text, model, s, router, &openapi3filter.Options{
		AuthenticationFunc:  credentials,
		ExcludeRequestBody:  true, // held against a stricter schema
		MultiError:          true,
		SkipSettingDefaults: true,
		SchemaValidationOptions: []openapi3.SchemaValidationOption{
			openapi3.WithStringFormatValidators(s.formats),
		},
	}}, nil
}

// Request returns an error if the document does not allow the request. It reads the body.
func (d *Document) Request(r *http.Request) error {
	in, err := d.route(r)
	if err != nil {
		return err
	}
	if err := openapi3filter.ValidateRequest(r.Context(), in); err != nil {
		return err
	}
	if err := undeclared(in); err != nil {
		return err
	}
	if ref := in.Route.Operation.RequestBody; ref != nil {
		return d.body(r.Header, r.Body, ref.Value.Content, ref.Value.Required)
	}
	return d.body(r.Header, r.Body, nil, false)
}

// Response returns an error if the document does not describe the answer to the request.
// It reads the answer's body.
func (d *Document) Response(r *http.Request, answer *http.Response) error {
	in, err := d.route(r)
	if err != nil {
		return err
	}
	all := in.Route.Operation.Responses
	ref := all.Status(answer.StatusCode)
	if ref == nil {
		ref = all.Default()
	}
	if ref == nil {
		return fmt.Errorf("status %d is not described", answer.StatusCode)
	}
	if err := headers(in, answer.Header, ref.Value.Headers); err != nil {
		return err
	}
	return d.body(answer.Header, answer.Body, ref.Value.Content, true)
}

// route finds the operation that a request is for.
func (d *Document) route(r *http.Request) (*openapi3filter.RequestValidationInput, error) {
	route, path, err := d.router.FindRoute(r)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, err)
	}
	return &openapi3filter.RequestValidationInput{
		Request: r, PathParams: path, Route: route, Options: d.options,
	}, nil
}

// credentials says whether a request has such as a security scheme asks for. Whether they
// are good is not for a document to say.
func credentials(_ context.Context, in *openapi3filter.AuthenticationInput) error {
	if in.SecurityScheme.Type != "http" {
		return fmt.Errorf("credentials of type %s are not known here", in.SecurityScheme.Type)
	}
	given := in.RequestValidationInput.Request.Header.Get("Authorization")
	scheme, value, _ := strings.Cut(given, " ")
	if !strings.EqualFold(scheme, in.SecurityScheme.Scheme) || value == "" {
		return in.NewError(nil)
	}
	return nil
}

// ofHTTP are the headers that no document has to mention, as they are HTTP's, a proxy's or
// a browser's own.
var ofHTTP = []string{
	"Accept", "Accept-Encoding", "Accept-Language", "Authorization", "Cache-Control",
	"Connection", "Content-Length", "Content-Type", "Cookie", "Date", "Etag", "Expires",
	"Host", "If-Match", "If-Modified-Since", "If-None-Match", "Last-Modified", "Origin",
	"Pragma", "Referer", "Transfer-Encoding", "User-Agent", "Vary", "X-Forwarded-For",
	"X-Content-Type-Options", "X-Forwarded-Proto", "X-Real-Ip", "X-Request-Id",
}

// undeclared returns an error if a request has a parameter that the document does not
// mention, or one more than once that is no list: kin-openapi looks at the first alone.
func undeclared(in *openapi3filter.RequestValidationInput) error {
	query := in.GetQueryParams()
	given := map[string][]string{
		openapi3.ParameterInQuery:  slices.Collect(maps.Keys(query)),
		openapi3.ParameterInHeader: slices.Collect(maps.Keys(in.Request.Header)),
	}
	for _, c := range in.Request.Cookies() {
		given[openapi3.ParameterInCookie] = append(given[openapi3.ParameterInCookie], c.Name)
	}
	declared := map[string][]string{openapi3.ParameterInHeader: ofHTTP}
	for _, ref := range slices.Concat(in.Route.PathItem.Parameters, in.Route.Operation.Parameters) {
		p := ref.Value
		name := p.Name
		switch list := p.Schema != nil && p.Schema.Value.Type.Is("array"); {
		case p.In == openapi3.ParameterInHeader:
			name = http.CanonicalHeaderKey(name)
		case p.In == openapi3.ParameterInQuery && len(query[name]) > 1 && !list:
			return fmt.Errorf("query %s is there %d times", name, len(query[name]))
		}
		declared[p.In] = append(slices.Clip(declared[p.In]), name)
	}
	for where, names := range given {
		for _, name := range names {
			if !slices.Contains(declared[where], name) {
				return fmt.Errorf("%s %s is not described", where, name)
			}
		}
	}
	return nil
}

// headers holds the headers of an answer against their descriptions.
func headers(in *openapi3filter.RequestValidationInput, given http.Header, described openapi3.Headers) error {
	declared := append(slices.Clip(ofHTTP), "Set-Cookie")
	for name, ref := range described {
		p := ref.Value.Parameter // as is a parameter in a header
		p.Name, p.In = name, openapi3.ParameterInHeader
		declared = append(declared, http.CanonicalHeaderKey(name))
		if p.Required && given.Get(name) == "" {
			return fmt.Errorf("there is no header %s", name)
		}
		for _, value := range given.Values(name) {
			one := *in
			one.Request = &http.Request{Header: make(http.Header)}
			one.Request.Header.Set(name, value)
			if err := openapi3filter.ValidateParameter(context.Background(), &one, &p); err != nil {
				return err
			}
		}
	}
	for name := range given {
		if !slices.Contains(declared, name) {
			return fmt.Errorf("header %s is not described", name)
		}
	}
	return nil
}

// body holds a body against what may stand in it.
func (d *Document) body(header http.Header, body io.Reader, content openapi3.Content, required bool) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = io.ReadAll(body); err != nil {
			return err
		}
	}
	given := header.Get("Content-Type")
	switch m := content.Get(given); {
	case len(content) == 0 && len(text) > 0:
		return fmt.Errorf("a body is not described")
	case len(content) == 0, len(text) == 0 && given == "" && !required:
		return nil
	case m == nil:
		return fmt.Errorf("a body of media type %q is not described", given)
	case len(text) == 0 && !required:
		return nil
	default:
		value, err := decode(header, text, m)
		if err != nil {
			return fmt.Errorf("the body cannot be read: %w", err)
		}
		return d.schemas.allow(m.Schema, value)
	}
}
