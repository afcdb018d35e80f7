// Package openapi holds requests, answers and examples against an OpenAPI document, by
// github.com/pb33f/libopenapi-validator. Whoever so much as imports a type that has one of
// that library in it makes the compiler work for 13 s more, for all the generic types
// behind it. So nothing that is exported here has one.
package openapi

import (
	"errors"
	"net/http"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	validation "github.com/pb33f/libopenapi-validator/errors"
)

// Document is a parsed document.
type Document interface {
	// Valid returns an error if the document is not one of OpenAPI.
	Valid() error

	// Request returns an error if the document does not allow the request.
	Request(r *http.Request) error

	// Response returns an error if the document does not describe the answer to the request.
	Response(r *http.Request, answer *http.Response) error

	// Close frees what the validator holds.
	Close()
}

type document struct{ validator.Validator }

// New parses a document. Nothing may stand in what it describes that it does not mention,
// except where anything is allowed: by JSONPaths such as "$.body.context.**". The caller
// closes the Document.
func New(text []byte, anything ...string) (Document, error) {
	parsed, err := libopenapi.NewDocument(text)
	if err != nil {
		return nil, err
	}
	v, errs := validator.NewValidator(parsed, append(strictly(anything), config.WithURLEncodedBodyValidation())...)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return document{v}, nil
}

func strictly(anything []string) []config.Option {
	return []config.Option{config.WithStrictMode(), config.WithFormatAssertions(), config.WithStrictIgnorePaths(anything...)}
}

func (d document) Valid() error                  { return broken(d.ValidateDocument()) }
func (d document) Request(r *http.Request) error { return broken(d.ValidateHttpRequestSync(r)) }
func (d document) Close()                        { d.Release() }

func (d document) Response(r *http.Request, answer *http.Response) error {
	return broken(d.ValidateHttpResponse(r, answer))
}

// broken returns an error that says all unless ok.
func broken(ok bool, errs []*validation.ValidationError) error {
	if ok {
		return nil
	}
	all := []error{errors.New("it is not as described")}
	for _, e := range errs {
		all = append(all, errors.New(e.Message+": "+e.Reason))
		for _, s := range e.SchemaValidationErrors {
			all = append(all, errors.New("  "+s.Reason))
		}
	}
	return errors.Join(all...)
}
