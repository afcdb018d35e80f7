package httpadapter

import (
	"context"
	"errors"
	"net/http"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/trigger"
)

// NewTriggerBulk mounts the actions of a trigger service on many events: POST
// /triggers/cancel and POST /triggers/retry, which take the filters of GET /triggers. They
// are a handler of their own, because an API key allows neither: they are for administrators
// ([access.ChangeTriggers]), who have [AccessTokens] or credentials of the host's. [Join]
// joins it with [NewTrigger]'s; give it after that one.
func NewTriggerBulk(s *trigger.Service, auth Authenticator, opts *Options) (*Handler, error) {
	if s == nil {
		return nil, errors.New("httpadapter: NewTriggerBulk needs a service")
	}
	var o Options
	if opts != nil {
		o = *opts
	}
	b := new(triggerBulk)
	h, err := newHandler("trigger", auth, triggerBulkErrors, o, []*operation{
		b.operation("cancelTriggers", "/triggers/cancel", s.CancelEvents),
		b.operation("retryTriggers", "/triggers/retry", s.RetryEvents),
	})
	b.h = h
	return h, err
}

type triggerBulk struct{ h *Handler }

// changedTriggers is the answer of a change of many events.
type changedTriggers struct {
	Changed int  `json:"changed"`
	More    bool `json:"more"` // send the request again
}

// operation declares an operation that calls do with the filters of the query.
func (b *triggerBulk) operation(
	id, pattern string, do func(context.Context, string, mortise.Actor, trigger.EventQuery) (int, bool, error),
) *operation {
	op := governed(access.ChangeTriggers, access.Trigger, http.MethodPost, pattern, func(c *call) response {
		var d decoder
		var q trigger.EventQuery
		p := newParams(&d, c.r)
		readFilters(p, &q)
		p.only("status", "source", "from", "to") // or a misspelt filter would select everything
		if c.r.ContentLength != 0 {
			d.add([]any{"body"}, "extra_forbidden", msgExtra) // and so would filters in a body
		}
		if len(d.details) > 0 {
			return *c.refuse(problem{kind: invalid, details: d.details})
		}
		if failed := b.h.authorize(c, ""); failed != nil {
			return *failed
		}
		n, more, err := do(c.r.Context(), c.principal.Organization, mortise.Actor(c.principal.Subject), q)
		if err != nil {
			return b.h.fail(c, err)
		}
		return response{status: http.StatusOK, body: mustJSON(changedTriggers{n, more})}
	})
	op.ID = id
	return op.withoutBody()
}
