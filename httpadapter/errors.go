package httpadapter

import (
	"errors"
	"net/http"
)

// kind is a failure that every service knows. Each writes it in its own shape.
type kind uint8

const (
	unavailable kind = iota // the zero value: what nobody has classified
	unauthenticated
	forbidden
	notFound
	methodNotAllowed
	unsupportedMediaType
	tooLarge
	requestTimeout
	invalid // details say what
	domain  // of one service: code and message are the problem's own
)

// problem is a failure before it has a shape.
type problem struct {
	kind    kind
	status  int    // of kind domain
	code    string // of kind domain
	message string // "" for the kind's own
	details []Detail
	items   []itemDetail // of the vault service, in place of details
	header  http.Header  // of kind domain; nil for none
}

// errorTable is one service's way to answer failures.
type errorTable struct {
	// classify turns an error of the domain into a problem. known is false for an error that it has never heard of.
	classify func(err error) (p problem, known bool)
	// reply gives a problem its status and the service's shape.
	reply func(p problem) response
}

// commonStatus is the status of the kinds that are the same in all services.
var commonStatus = map[kind]int{
	unavailable:          http.StatusServiceUnavailable,
	unauthenticated:      http.StatusUnauthorized,
	forbidden:            http.StatusForbidden,
	notFound:             http.StatusNotFound,
	methodNotAllowed:     http.StatusMethodNotAllowed,
	unsupportedMediaType: http.StatusUnsupportedMediaType,
	tooLarge:             http.StatusRequestEntityTooLarge,
	requestTimeout:       http.StatusRequestTimeout,
	invalid:              http.StatusUnprocessableEntity,
}

// refused answers what a service refused and the adapter let through. A problem that has
// no place in the request is the host's mistake, as its name for the organization.
func refused[P any](problems []P, detail func(P) (loc []any, typ, msg string)) (problem, bool) {
	var d decoder
	for _, one := range problems {
		loc, typ, msg := detail(one)
		if loc == nil {
			return problem{kind: unavailable}, false
		}
		d.add(loc, typ, msg)
	}
	if len(d.details) == 0 {
		return problem{kind: unavailable}, false
	}
	return problem{kind: invalid, details: d.details}, true
}

// commonProblem classifies the errors that are not of a domain.
func commonProblem(err error) (problem, bool) {
	switch {
	case errors.Is(err, ErrUnauthenticated):
		return problem{kind: unauthenticated}, true
	case errors.Is(err, ErrForbidden):
		return problem{kind: forbidden}, true
	}
	return problem{kind: unavailable}, false
}
