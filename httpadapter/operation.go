package httpadapter

import (
	"net/http"
	"strings"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// operation is a row of a service's routing table.
type operation struct {
	Operation
	action   access.Action
	resource access.ResourceType    // type of the resource acted on
	public   bool                   // asks for no credentials
	body     bool                   // takes a JSON body
	optional bool                   // the body may be left out, its content type too
	form     bool                   // the body may also be a form
	unkeyed  bool                   // refuses an Idempotency-Key
	maxBody  int64                  // if less than Options.MaxBody
	errors   errorTable             // if not the service's
	handle   func(c *call) response // after authentication and body; asks for authorization itself
}

// fixedPart is the path as far as it is the same for all requests.
func (op *operation) fixedPart() string {
	fixed, _, _ := strings.Cut(op.Pattern, "{")
	return fixed
}

// call is one request on its way through an operation.
type call struct {
	r         *http.Request
	op        *operation
	principal Principal
	body      []byte
	left      remainder // of the body
	held      *hold     // of the body
	page      *hold     // of the answer, if it is long
}

// governed declares an operation that roles govern: an action on resources of a type,
// which is also its ID. With POST and PUT it takes a JSON body.
func governed(
	action access.Action, resource access.ResourceType, method, pattern string, handle func(*call) response,
) *operation {
	return &operation{
		Operation: Operation{ID: string(action), Method: method, Pattern: pattern},
		action:    action, resource: resource, handle: handle,
		body: method == http.MethodPost || method == http.MethodPut,
	}
}

// open declares an operation without credentials and without a body, which answers errors
// in a way of its own.
func open(id, method, pattern string, errs errorTable, handle func(*call) response) *operation {
	return &operation{
		Operation: Operation{ID: id, Method: method, Pattern: pattern},
		public:    true, errors: errs, handle: handle,
	}
}

// withoutBody takes no body, whatever the method.
func (op *operation) withoutBody() *operation {
	op.body = false
	return op
}

// withOptionalBody takes a body that may be left out.
func (op *operation) withOptionalBody() *operation {
	op.body, op.optional = true, true
	return op
}

// withoutKey refuses an Idempotency-Key. The operation makes something, and its answer, which
// may hold a secret, cannot be given again.
func (op *operation) withoutKey() *operation {
	op.unkeyed = true
	return op
}

// answering answers errors by another table than the service's.
func (op *operation) answering(errs errorTable) *operation {
	op.errors = errs
	return op
}
