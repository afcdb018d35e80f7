package httpadapter

import (
	"context"
	"net/http"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/hook"
)

// recoverHook is deferred by a function that calls a hook of the host's. A panic is
// logged and becomes the function's error, but for http.ErrAbortHandler, which goes on to
// the server. A nil err is for hooks whose panic changes nothing.
func (h *Handler) recoverHook(ctx context.Context, name string, err *error) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler {
		panic(p)
	}
	panicked := hook.Panicked(ctx, h.opts.Logger, name, p, "service", h.name, "request_id", RequestID(ctx))
	if err != nil {
		*err = panicked
	}
}

// whoIsAsking asks the host's Authenticator.
func (h *Handler) whoIsAsking(r *http.Request) (p Principal, err error) {
	defer h.recoverHook(r.Context(), "the authenticator", &err)
	p, err = h.auth.Authenticate(r)
	hook.Probe(err)
	return p, err
}

// askPolicy asks the host's Authorize.
func (h *Handler) askPolicy(c *call, action access.Action, resource access.Resource) (err error) {
	defer h.recoverHook(c.r.Context(), "Authorize", &err)
	err = h.opts.Authorize(c.r.Context(), c.principal, action, resource)
	hook.Probe(err)
	return err
}

// observe tells the host's Observer, if there is one.
func (h *Handler) observe(ctx context.Context, o RequestObservation) {
	if h.opts.Observer == nil {
		return
	}
	defer h.recoverHook(ctx, "the observer", nil)
	h.opts.Observer(ctx, o)
}
