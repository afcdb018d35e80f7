package httpadapter

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	urlpath "path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/hook"
)

// Options are what every service can be mounted with. The zero value means the defaults.
//
// A panic of an [Authenticator], of Authorize, of [VaultOptions].Redaction, or of a handler
// that Wrap put round an operation goes on to the server: net/http logs it and closes the
// connection. That of an Observer is logged with its stack at ERROR and changes nothing.
type Options struct {
	// Authorize replaces the roles with a host's own policy. Nil asks Principal.Access,
	// whose zero value allows nothing. Operations that need no credentials ask neither.
	// What a caller can give to others is bounded by Principal.Access in any case.
	Authorize func(ctx context.Context, p Principal, action access.Action, resource access.Resource) error

	// Wrap puts a host's handler round each operation, outside authentication: for
	// metrics, spans, limits by address. It knows no caller: [CallerLimit] does.
	Wrap func(op Operation, next http.Handler) http.Handler

	// Credential is the host's name for the credential of its callers: "session token",
	// "JWT of acme.example". It is in the body of a 401, as in "The session token is
	// missing, invalid, expired or revoked.", and is the realm of its WWW-Authenticate. It
	// is singular, without an article: 1 to 100 visible ASCII characters, with spaces only
	// between them, and without quotes and backslashes. If it is "", a 401 has no realm,
	// and says "API key" for triggers, and "access token" for the other services. The
	// OpenAPI document always describes a 401 in these words.
	Credential string

	MaxBody int64 // bytes of a request body: 1 MiB, and 8 MiB for a vault

	// BodyTimeout is for the arrival of a body: 30 s. A host's ResponseWriter should have
	// an Unwrap method, as http.ResponseController wants it. Behind one that has none,
	// which each Handler logs once, the answer still comes in time and says that the
	// connection ends, but the connection may stay until the client ends it, or sends
	// what is missing. If the http.Server has a ReadTimeout, that one holds there in
	// place of BodyTimeout, and ends the connection, too.
	BodyTimeout time.Duration

	Observer Observer     // none
	Logger   *slog.Logger // slog.Default()
}

func (o *Options) setDefaults() {
	if o.MaxBody <= 0 {
		o.MaxBody = 1 << 20
	}
	if o.BodyTimeout <= 0 {
		o.BodyTimeout = 30 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}

// Operation names one operation of a service: a label for metrics and spans. A service does
// not know where a host mounts it: the route of a request, as http.route of OpenTelemetry, is
// the prefix that the host strips, or gives to [Join], and Pattern after it.
type Operation struct {
	Service string // "trigger", "authmgmt", "vault", "audiosearch"
	ID      string // the operationId of the OpenAPI document
	Method  string
	Pattern string // the path as a pattern of http.ServeMux, without the prefix of the mount
}

// Route is an operation and what serves it. Handler is the handler of the whole service,
// so that it finds its path values on routers that know nothing of http.ServeMux.
type Route struct {
	Operation
	Handler http.Handler
}

// Observer hears of every request that reached an operation, after it was answered. It is
// called on the request's goroutine, must be safe for concurrent use, and should return
// quickly.
type Observer func(ctx context.Context, r RequestObservation)

// RequestObservation is one answered request. It holds nothing of its content.
type RequestObservation struct {
	Operation    Operation
	Organization string // "" if the request was not authenticated
	Status       int
	Duration     time.Duration
}

// Handler serves one domain service. It is safe for concurrent use.
type Handler struct {
	name   string
	mux    *http.ServeMux
	ops    []*operation
	routes []Route
	auth   Authenticator
	errors errorTable
	opts   Options

	features []string                   // of the service's OpenAPI document, beyond what every handler has
	enums    func() map[string][]string // schemas of that document that have other values here; may be nil
	servers  json.RawMessage            // of the service's paths there, if they are not the document's
	hidden   sync.Once                  // warns of a ResponseWriter that hides its deadlines
}

// catchAll is where a service's own mux sends what no operation matches.
const catchAll = "/"

// newHandler puts a service together. Its operations are all it serves.
func newHandler(name string, auth Authenticator, errs errorTable, opts Options, ops []*operation) (*Handler, error) {
	if auth == nil && slices.ContainsFunc(ops, func(op *operation) bool { return !op.public }) {
		return nil, errors.New("httpadapter: an authenticator is needed")
	}
	if err := checkAuthenticator(auth); err != nil {
		return nil, err
	}
	if err := checkCredential(opts.Credential); err != nil {
		return nil, err
	}
	opts.setDefaults()
	h := &Handler{name: name, mux: http.NewServeMux(), ops: ops, auth: auth, errors: errs, opts: opts}
	for _, op := range ops {
		op.Service = name
		if op.errors.reply == nil {
			op.errors = errs
		}
		var handler http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.serve(op, w, r) })
		if opts.Wrap != nil {
			if handler = opts.Wrap(op.Operation, handler); handler == nil {
				return nil, errors.New("httpadapter: Options.Wrap returned nil for " + op.ID)
			}
		}
		h.mux.Handle(op.Method+" "+op.Pattern, handler)
		h.routes = append(h.routes, Route{Operation: op.Operation, Handler: h})
	}
	h.mux.HandleFunc(catchAll, h.serveNoMatch)
	return h, nil
}

// Routes lists the operations, for hosts that register them one by one.
func (h *Handler) Routes() []Route { return append([]Route(nil), h.routes...) }

// ServeHTTP answers a request whose path, without the prefix that the host stripped,
// begins at the service's root.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = identify(w, r)
	endUncertain(w, r)
	if !cleanPath(r.URL.EscapedPath()) { // http.ServeMux would redirect, to an address that lacks the host's prefix
		h.writeUnread(w, r, h.errorsAt(urlpath.Clean(r.URL.Path)).reply(problem{kind: notFound}))
		return
	}
	h.mux.ServeHTTP(w, r)
}

// cleanPath reports whether a path is rooted and has no empty, "." or ".." segment. A
// slash at the end is left to the patterns.
func cleanPath(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.Contains(path, "//") &&
		!strings.Contains(path, "/./") && !strings.Contains(path, "/../") &&
		!strings.HasSuffix(path, "/.") && !strings.HasSuffix(path, "/..")
}

// serveNoMatch answers 405 if the path is right and the method is not, else 404.
func (h *Handler) serveNoMatch(w http.ResponseWriter, r *http.Request) {
	allow, op := h.allowed(r)
	if op == nil {
		h.writeUnread(w, r, h.errorsAt(r.URL.Path).reply(problem{kind: notFound}))
		return
	}
	if !op.public {
		if _, failed := h.authenticate(r); failed != nil {
			h.writeUnread(w, r, *failed)
			return
		}
	}
	resp := op.errors.reply(problem{kind: methodNotAllowed})
	resp.allow = strings.Join(allow, ", ")
	h.writeUnread(w, r, resp)
}

// errorsAt returns the table for a path that no operation matches: that of the operations
// below the same path, if there are any, else the service's. A link that was copied with
// a slash at its end still leads to a page.
func (h *Handler) errorsAt(path string) errorTable {
	for _, op := range h.ops {
		if fixed := op.fixedPart(); strings.HasSuffix(fixed, "/") && strings.HasPrefix(path, fixed) {
			return op.errors
		}
	}
	return h.errors
}

// allowed returns the methods that the path of r can be asked with, and the first of
// their operations. It returns none if it is no path of this service.
func (h *Handler) allowed(r *http.Request) (methods []string, first *operation) {
	tried := make(map[string]bool)
	for _, op := range h.ops {
		if tried[op.Method] {
			continue
		}
		tried[op.Method] = true
		probe := &http.Request{Method: op.Method, URL: r.URL, Host: r.Host}
		_, pattern := h.mux.Handler(probe)
		if pattern == catchAll || pattern == "" {
			continue
		}
		if first == nil {
			first = h.operation(pattern)
		}
		methods = append(methods, op.Method)
		if op.Method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	return methods, first
}

// operation returns the one that is registered with the pattern.
func (h *Handler) operation(pattern string) *operation {
	for _, op := range h.ops {
		if pattern == op.Method+" "+op.Pattern {
			return op
		}
	}
	return nil
}

// serve takes a request through an operation, in the order that the package documentation
// gives.
func (h *Handler) serve(op *operation, w http.ResponseWriter, r *http.Request) {
	c := call{r: r, op: op}
	defer func() {
		c.held.end()
		c.page.end()
	}()
	start := time.Now()
	resp := response{status: http.StatusInternalServerError} // of a panic, which goes on to net/http
	defer func() {                                           // also if the answer is cut off
		h.observe(r.Context(), RequestObservation{
			Operation: op.Operation, Organization: c.principal.Organization, Status: resp.status, Duration: time.Since(start),
		})
	}()
	resp = c.holdAnswer(h.answer(w, &c))
	h.write(w, r, resp, c.left)
}

// observe tells the host's Observer, if there is one.
func (h *Handler) observe(ctx context.Context, o RequestObservation) {
	if h.opts.Observer == nil {
		return
	}
	defer hook.Recover(ctx, h.opts.Logger, "the observer", nil, "service", h.name, "request_id", RequestID(ctx))
	h.opts.Observer(ctx, o)
}

func (h *Handler) answer(w http.ResponseWriter, c *call) response {
	if !c.op.public {
		p, failed := h.authenticate(c.r)
		c.principal = p
		if failed != nil {
			return *failed
		}
	}
	if c.op.body {
		body, failed := h.readBody(w, c)
		if failed != nil {
			return *failed
		}
		c.body = body
		switch {
		case c.op.public: // the body has arrived, and is short
			c.held.end()
		case !c.mayAnswer():
			return *c.noRoom()
		}
	}
	if c.op.unkeyed && c.r.Header["Idempotency-Key"] != nil {
		return *c.refuse(keyUnsupported)
	}
	return c.op.handle(c)
}

func (h *Handler) authenticate(r *http.Request) (Principal, *response) {
	p, err := h.auth.Authenticate(r)
	if err == nil && p.Organization == "" {
		err = errors.New("the authenticator returned a principal without an organization")
	}
	if err == nil {
		return p, nil
	}
	var limit *RateLimitError
	if !errors.As(err, &limit) { // such a caller is known, for the observer
		p = Principal{}
	}
	return p, h.failHook(r, err)
}

// authorize asks the host's policy, or else the roles, with the ID in its canonical form
// or "". Handlers call it after the fields are known to be valid, which is where the
// order of checks has it.
func (h *Handler) authorize(c *call, id string) *response {
	op, resource := c.op, access.Resource{Type: c.op.resource, ID: id}
	if h.opts.Authorize == nil {
		if !c.principal.Access.Allows(op.action, resource) {
			return c.refuse(problem{kind: forbidden})
		}
		return nil
	}
	if err := h.opts.Authorize(c.r.Context(), c.principal, op.action, resource); err != nil {
		return h.failHook(c.r, err)
	}
	return nil
}

// failHook answers an error of a host's hook. The domain's errors mean nothing there.
func (h *Handler) failHook(r *http.Request, err error) *response {
	var limit *RateLimitError
	if errors.As(err, &limit) {
		resp := h.reply(r, h.errors, problem{kind: tooManyRequests})
		resp.header = limit.header()
		return &resp
	}
	p, known := hookFailures.classify(err)
	h.log(r, err, known)
	resp := h.reply(r, h.errors, p)
	return &resp
}

// fail answers an error by the operation's table. What the table does not know is logged
// and answered as unavailable.
func (h *Handler) fail(c *call, err error) response { return h.failAs(c.op.errors, c, err) }

// failAs is fail by another table. A credential of this module has ended with its
// organization, and gets the 401 that it gets from then on.
func (h *Handler) failAs(table errorTable, c *call, err error) response {
	p, known := table.classify(err)
	h.log(c.r, err, known)
	if p.kind == deleted && c.principal.endsWithOrganization {
		p.kind = unauthenticated
	}
	return h.reply(c.r, table, p)
}

// log tells the operator of an error that is not the caller's. It names the path's
// pattern, for a path may hold a secret.
func (h *Handler) log(r *http.Request, err error, known bool) {
	if known || r.Context().Err() != nil {
		return
	}
	h.opts.Logger.ErrorContext(r.Context(), "request failed", "service", h.name, "method", r.Method, "pattern", r.Pattern,
		"error", err, "request_id", RequestID(r.Context()))
}
