package httpadapter

import (
	"errors"
	"net/http"

	"github.com/seed-6363c74e/mortise"
)

// kind is a failure that every service knows. Each writes it in its own shape.
type kind uint8

const (
	unavailable kind = iota // the zero value: what nobody has classified
	unauthenticated
	deleted // the caller's organization; see failAs
	forbidden
	notFound
	methodNotAllowed
	unsupportedMediaType
	tooLarge
	requestTimeout
	tooManyRequests
	invalid // details say what
	domain  // of one service: code and message are the problem's own
)

// keyUnsupported is a header that would promise more than the operation does.
var keyUnsupported = problem{
	kind: domain, status: http.StatusBadRequest, message: textKeyUnsupported,
	items: []itemDetail{{Field: "Idempotency-Key", Reason: reasonKeyUnsupported, text: textKeyUnsupported}},
}

const textKeyUnsupported = "The header Idempotency-Key is not supported here: a repeated request is not recognized. Leave the header out."

// organizationDeleted is the text of a 403 to a caller that the host vouches for.
const organizationDeleted = "The organization was deleted, and its ID is never reused. Use another organization."

// problem is a failure before it has a shape.
type problem struct {
	kind    kind
	status  int    // of kind domain
	code    string // of kind domain
	message string // "" for the kind's own
	details []detail
	items   []itemDetail // in place of details, where a service answers by items
	header  http.Header  // of kind domain; nil for none
}

// itemDetail is one problem of a request that is a list of items, as it stands in
// error.details. It never holds a value.
type itemDetail struct {
	Index  *int   `json:"index,omitempty"` // of the item, if it is one's
	Field  string `json:"field,omitempty"` // of the body or of the item
	Reason string `json:"reason"`
	Offset *int   `json:"offset,omitempty"` // of what is not JSON, in bytes

	text string // for people
}

// errorTable is one service's way to answer failures.
type errorTable struct {
	// classify turns an error of the domain into a problem. known is false for an error
	// that the operator has to be told of.
	classify func(err error) (p problem, known bool)
	// reply gives a problem its status and the service's shape.
	reply func(p problem) response
}

// failure is what is answered to an error of a domain.
type failure struct {
	err error
	problem
}

// failures are those of a domain. The first one that an error is counts.
type failures []failure

// find returns what is answered to an error, and whether it is one of these.
func (f failures) find(err error) (problem, bool) {
	if errors.Is(err, mortise.ErrUnavailable) { // it may wrap any error of another part
		return problem{kind: unavailable}, true
	}
	for i := range f {
		if errors.Is(err, f[i].err) {
			return f[i].problem, true
		}
	}
	return problem{kind: unavailable}, false
}

// classify is an errorTable's. The operator is told of an error that is none of these,
// and of what is not the caller's to mend.
func (f failures) classify(err error) (problem, bool) {
	p, found := f.find(err)
	return p, found && p.answer() < http.StatusInternalServerError
}

// or is classify, and for what is none of these another one.
func (f failures) or(classify func(error) (problem, bool)) func(error) (problem, bool) {
	return func(err error) (problem, bool) {
		if _, found := f.find(err); found {
			return f.classify(err)
		}
		return classify(err)
	}
}

// hookFailures are the failures of a host's Authenticator and Authorize.
var hookFailures = failures{
	{ErrUnauthenticated, problem{kind: unauthenticated}},
	{ErrForbidden, problem{kind: forbidden}},
}

// commonFailures are in the table of every service.
var commonFailures = append(failures{{mortise.ErrDeleted, problem{kind: deleted}}}, hookFailures...)

// refusals classifies the ValidationErrors of a domain: what a service refused and the
// adapter let through. detail returns no loc for a problem of what is not in the request,
// as the host's name for the organization: that is the host's mistake.
func refusals(detail func(mortise.Problem) (loc []any, typ, msg string)) func(error) (problem, bool) {
	return func(err error) (problem, bool) {
		var failure *mortise.ValidationError
		if !errors.As(err, &failure) {
			return problem{kind: unavailable}, false
		}
		var d decoder
		for _, one := range failure.Problems {
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
}

// kinds has the status and the words of every kind that all services share: the code
// is the trigger service's "error", the text is the message of all services. The text of
// tooLarge is that of [bodyTooLarge], and a 401 of triggers names an API key.
var kinds = map[kind]struct {
	status     int
	code, text string
}{
	unavailable: {http.StatusServiceUnavailable, "runtime_store_unavailable",
		"The service is temporarily unavailable. Send the request again later."},
	unauthenticated: {http.StatusUnauthorized, "authentication_failed", refusalOf("access token")},
	deleted:         {http.StatusForbidden, "forbidden", organizationDeleted},
	forbidden:       {http.StatusForbidden, "forbidden", "These credentials do not allow this operation."},
	notFound:        {http.StatusNotFound, "not_found", "There is nothing at this address."},
	methodNotAllowed: {http.StatusMethodNotAllowed, "method_not_allowed",
		"This address does not answer to this method. The Allow header names those it does."},
	unsupportedMediaType: {http.StatusUnsupportedMediaType, "unsupported_media_type",
		"Send the body as application/json in UTF-8, not compressed."},
	tooLarge:       {http.StatusRequestEntityTooLarge, "payload_too_large", ""},
	requestTimeout: {http.StatusRequestTimeout, "request_timeout", "The body did not arrive in time."},
	tooManyRequests: {http.StatusTooManyRequests, "too_many_requests",
		"There are too many requests. Send this one again later: the Retry-After header says when."},
	invalid: {http.StatusUnprocessableEntity, "", ""},
}

// text is the message of a problem.
func (p problem) text() string {
	if p.message != "" {
		return p.message
	}
	return kinds[p.kind].text
}

// answer is the status of a problem, where no service has another one for it.
func (p problem) answer() int {
	if p.kind == domain {
		return p.status
	}
	return kinds[p.kind].status
}
