package httpadapter

import (
	"errors"
	"net/http"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/trigger"
)

// TriggerOptions are what the trigger service can be mounted with. The zero value means the defaults.
type TriggerOptions struct {
	Options

	// History adds GET /triggers and GET /triggers/{id}.
	History bool

	// CollectionField accepts the optional field doc_collection_id, a UUID, in the intake's body. Without it the body is just that
	// of the document: instructions and context.
	CollectionField bool
}

// NewTrigger mounts a trigger service: POST /triggers, and the history if asked for.
//
// All operations are governed by roles (see [Options]), on the event as the resource, or
// on triggers as such. An API key ([TriggerKeys]) has full access.
func NewTrigger(s *trigger.Service, auth Authenticator, opts *TriggerOptions) (*Handler, error) {
	if s == nil {
		return nil, errors.New("httpadapter: NewTrigger needs a service")
	}
	var o TriggerOptions
	if opts != nil {
		o = *opts
	}
	t := &triggerAdapter{service: s, collectionField: o.CollectionField}
	t.submitOp = &operation{
		Operation: Operation{ID: "submitApiTrigger", Method: http.MethodPost, Pattern: "/triggers"},
		action:    authmgmt.ActionSubmitTrigger, resource: authmgmt.ResourceTrigger, body: true, handle: t.submit,
	}
	ops := []*operation{t.submitOp}
	if o.History {
		t.listOp = &operation{
			Operation: Operation{ID: "listTriggers", Method: http.MethodGet, Pattern: "/triggers"},
			action:    authmgmt.ActionListTriggers, resource: authmgmt.ResourceTrigger, handle: t.list,
		}
		t.getOp = &operation{
			Operation: Operation{ID: "getTrigger", Method: http.MethodGet, Pattern: "/triggers/{id}"},
			action:    authmgmt.ActionGetTrigger, resource: authmgmt.ResourceTrigger, handle: t.get,
		}
		ops = append(ops, t.listOp, t.getOp)
	}
	h, err := newHandler("trigger", auth, triggerErrors, o.Options, ops)
	if err != nil {
		return nil, err
	}
	if o.CollectionField {
		h.features = append(h.features, featureCollectionField)
	}
	t.h = h
	return h, nil
}

type triggerAdapter struct {
	h                       *Handler
	service                 *trigger.Service
	collectionField         bool
	submitOp, listOp, getOp *operation
}

// submit is submitApiTrigger.
func (t *triggerAdapter) submit(c *call) response {
	var d decoder
	sub := trigger.Submission{Source: trigger.SourceAPI}
	sub.IdempotencyKey = idempotencyKey(&d, c.r.Header)
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
		return triggerErrors.reply(problem{kind: invalid, details: d.details})
	}
	if failed := t.h.authorize(c, t.submitOp, ""); failed != nil {
		return *failed
	}
	e, err := t.service.Submit(c.r.Context(), c.principal.Organization, trigger.Actor(c.principal.Subject), sub)
	if err != nil {
		return t.h.fail(c.r, err)
	}
	return response{status: http.StatusAccepted, body: accepted(e.ID)}
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

// idempotencyKey reads the optional header (IETF draft-ietf-httpapi-idempotency-key-header, without the quotes of a structured
// field): 1 to 255 visible ASCII characters, once.
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

// triggerErrors is the error table of the trigger service.
var triggerErrors = errorTable{classify: classifyTrigger, reply: replyTrigger}

func classifyTrigger(err error) (problem, bool) {
	var failure *trigger.ValidationError
	switch {
	case errors.Is(err, trigger.ErrNotConfigured):
		return problem{kind: domain, status: http.StatusConflict, code: "org_not_configured",
			message: "The organization has not finished setup. Finish it, then send the request again."}, true
	case errors.Is(err, trigger.ErrNoEligibleCollection):
		return problem{kind: domain, status: http.StatusConflict, code: "no_eligible_doc_collection",
			message: "The requested doc collection is not configured or not ready, or the organization has none that is."}, true
	case errors.Is(err, trigger.ErrIdempotencyKeyReused):
		return problem{kind: domain, status: http.StatusConflict, code: "idempotency_key_reused",
			message: "The Idempotency-Key was used for a different request. Send this one with a new key."}, true
	case errors.Is(err, trigger.ErrNotFound):
		return problem{kind: notFound, message: "There is no such trigger event."}, true
	case errors.Is(err, trigger.ErrEnqueueFailed):
		return problem{kind: domain, status: http.StatusInternalServerError, code: "enqueue_failed",
			message: "The trigger could not be enqueued and will not run. Send the request again."}, false
	case errors.As(err, &failure):
		return triggerDetails(failure)
	}
	return commonProblem(err)
}

// triggerFields says where in a request the fields of a trigger.Problem stand.
var triggerFields = map[string][]any{
	"instructions":    {"body", "instructions"},
	"context":         {"body", "context"},
	"idempotency_key": {"header", "idempotency-key"},
	"limit":           {"query", "limit"},
	"source":          {"query", "source"},
	"status":          {"query", "status"},
}

// triggerDetails answers what the service refused and the adapter let through: limits of the service that are narrower than ours. A
// problem that the caller has no part in, as the host's name for the organization, is the host's mistake.
func triggerDetails(failure *trigger.ValidationError) (problem, bool) {
	return refused(failure.Problems, func(one trigger.Problem) (loc []any, typ, msg string) {
		return triggerFields[one.Path.String()], "value_error", msgValue + one.Message
	})
}

// triggerCodes are the trigger service's words for the kinds that all services know. The
// message of tooLarge is that of [bodyTooLarge].
var triggerCodes = map[kind]triggerErrorBody{
	unavailable:          {"runtime_store_unavailable", "Trigger intake is temporarily unavailable. Send the request again later."},
	unauthenticated:      {"authentication_failed", refusalOf("API key or access token")},
	forbidden:            {"forbidden", "These credentials do not allow this operation."},
	notFound:             {"not_found", "There is nothing at this address."},
	methodNotAllowed:     {"method_not_allowed", "This address does not answer to this method. The Allow header names those it does."},
	unsupportedMediaType: {"unsupported_media_type", "Send the body as application/json in UTF-8, not compressed."},
	tooLarge:             {"payload_too_large", ""},
	requestTimeout:       {"request_timeout", "The body did not arrive in time."},
}

type triggerErrorBody struct {
	Error   string `json:"error"`
	Message string `json:"message"`
}

type detailBody struct {
	Detail []Detail `json:"detail"`
}

func replyTrigger(p problem) response {
	if p.kind == invalid {
		return response{status: http.StatusUnprocessableEntity, body: mustJSON(detailBody{p.details})}
	}
	if p.kind == domain {
		return response{status: p.status, body: mustJSON(triggerErrorBody{p.code, p.message})}
	}
	body := triggerCodes[p.kind]
	if p.message != "" {
		body.Message = p.message
	}
	return response{status: commonStatus[p.kind], body: mustJSON(body), authenticate: p.kind == unauthenticated}
}
