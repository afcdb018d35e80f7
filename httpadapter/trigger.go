package httpadapter

import (
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/trigger"
)

// TriggerOptions are what the trigger service can be mounted with. The zero value means
// the defaults.
type TriggerOptions struct {
	Options

	// History adds GET /triggers and GET /triggers/{id}.
	History bool

	// Actions adds POST /triggers/{id}/cancel, /retry and /run. [NewTriggerBulk] has the
	// actions on many events.
	Actions bool

	// NotBefore accepts the header Trigger-Not-Before of a submission: a time in RFC 3339, at
	// most [trigger.MaxNotBefore] ahead, before which no attempt begins. Without it, a
	// submission with the header is refused.
	NotBefore bool

	// CollectionField accepts the optional field doc_collection_id, a UUID, in the
	// intake's body. Without it the body is just that of the document: instructions and
	// context.
	CollectionField bool
}

// NewTrigger mounts a trigger service: POST /triggers, and the history and the actions if
// asked for.
//
// All operations are governed by roles (see [Options]), on the event as the resource, or
// on triggers as such. An API key ([TriggerKeys]) allows all of them.
func NewTrigger(s *trigger.Service, auth Authenticator, opts *TriggerOptions) (*Handler, error) {
	if s == nil {
		return nil, errors.New("httpadapter: NewTrigger needs a service")
	}
	var o TriggerOptions
	if opts != nil {
		o = *opts
	}
	t := &triggerAdapter{service: s, history: o.History, collectionField: o.CollectionField, notBefore: o.NotBefore}
	const events = access.Trigger
	ops := []*operation{governed(access.SubmitTrigger, events, http.MethodPost, "/triggers", t.submit)}
	if o.History {
		ops = append(ops,
			governed(access.ListTriggers, events, http.MethodGet, "/triggers", t.list),
			governed(access.GetTrigger, events, http.MethodGet, "/triggers/{id}", t.get),
		)
	}
	if o.Actions {
		ops = append(ops,
			governed(access.CancelTrigger, events, http.MethodPost, "/triggers/{id}/cancel", t.cancel).withoutBody(),
			governed(access.RetryTrigger, events, http.MethodPost, "/triggers/{id}/retry", t.retry).withoutBody(),
			governed(access.RunTrigger, events, http.MethodPost, "/triggers/{id}/run", t.run).withoutBody(),
		)
	}
	h, err := newHandler("trigger", auth, triggerErrors, o.Options, ops)
	if err != nil {
		return nil, err
	}
	for feature, on := range map[string]bool{
		featureCollectionField: o.CollectionField, featureHistory: o.History, featureNotBefore: o.NotBefore,
	} {
		if on {
			h.features = append(h.features, feature)
		}
	}
	t.h = h
	return h, nil
}

type triggerAdapter struct {
	h               *Handler
	service         *trigger.Service
	history         bool // is mounted
	collectionField bool
	notBefore       bool // its header is taken
}

// submit is submitApiTrigger.
func (t *triggerAdapter) submit(c *call) response {
	var d decoder
	sub := trigger.Submission{Source: "api"}
	sub.IdempotencyKey = idempotencyKey(&d, c.r.Header)
	sub.NotBefore = t.headerNotBefore(&d, c.r.Header)
	if c.r.Header[headerSupersedeKey] != nil {
		d.add([]any{"header", headerSupersedeKey}, "extra_forbidden", msgExtra)
	}
	body, ok := d.body(c.body)
	if ok {
		sub.Instructions, _ = body.text("instructions", required, textRule{min: 1})
		sub.Context, _ = body.rawObject("context", optional)
		if t.collectionField {
			sub.Collection, _ = body.uuid("doc_collection_id", optional)
			body.only("instructions", "context", "doc_collection_id")
		} else {
			body.only("instructions", "context")
		}
	}
	if len(d.details) > 0 {
		return *c.refuse(problem{kind: invalid, details: d.details})
	}
	if failed := t.h.authorize(c, ""); failed != nil {
		return *failed
	}
	e, err := t.service.Submit(c.r.Context(), c.principal.Organization, mortise.Actor(c.principal.Subject), sub)
	if err != nil {
		return t.h.fail(c, err)
	}
	resp := response{status: http.StatusAccepted, body: accepted(e.ID)}
	if t.history {
		resp.header = location(c.r, e.ID.String())
	}
	return resp
}

// accepted is the body of a 202.
func accepted(id uuid.UUID) []byte {
	const before, after = `{"trigger_event_id":"`, `"}`
	b := make([]byte, len(before)+36, len(before)+36+len(after))
	copy(b, before)
	text, _ := id.MarshalText() // cannot fail
	copy(b[len(before):], text)
	return append(b, after...)
}

// idempotencyPattern is what the header must be.
const idempotencyPattern = "^[!-~]{1,255}$"

// idempotencyKey reads the optional header (IETF
// draft-ietf-httpapi-idempotency-key-header, without the quotes of a structured field): 1
// to 255 visible ASCII characters, once.
func idempotencyKey(d *decoder, header http.Header) string {
	values := header["Idempotency-Key"]
	if len(values) == 0 {
		return ""
	}
	refuse := func(typ, msg string) string {
		d.add([]any{"header", "idempotency-key"}, typ, msg)
		return ""
	}
	key := values[0]
	switch {
	case len(values) > 1:
		return refuse("string_type", msgString+", given once")
	case key == "":
		return refuse("string_too_short", tooShort(1))
	case len(key) > 255:
		return refuse("string_too_long", tooLong(255))
	}
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return refuse("string_pattern_mismatch", "String should match pattern '"+idempotencyPattern+"'")
		}
	}
	return key
}

const (
	headerNotBefore    = "Trigger-Not-Before"
	headerSupersedeKey = "Supersede-Key" // not taken yet
)

// headerNotBefore reads the optional header: a time in RFC 3339, once.
func (t *triggerAdapter) headerNotBefore(d *decoder, header http.Header) time.Time {
	values := header[headerNotBefore]
	if len(values) == 0 {
		return time.Time{}
	}
	at, ok := parseInstant(values[0])
	loc := []any{"header", headerNotBefore}
	switch {
	case !t.notBefore:
		d.add(loc, "extra_forbidden", msgExtra)
	case len(values) > 1:
		d.add(loc, "string_type", msgString+", given once")
	case !ok:
		d.add(loc, "datetime_parsing", msgInstant)
	case at.After(time.Now().Add(trigger.MaxNotBefore)):
		d.add(loc, "value_error", msgValue+"must be at most a year ahead")
	}
	return at
}
