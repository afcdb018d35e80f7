package httpadapter

import (
	"net/http"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

var triggerErrors = errorTable{classify: triggerFailures.or(refusedTrigger), reply: replyTrigger}

var triggerFailures = append(failures{
	{trigger.ErrNotConfigured, problem{kind: domain, status: http.StatusConflict, code: "org_not_configured",
		message: "The organization has not finished setup. Finish it, then send the request again."}},
	{trigger.ErrNoEligibleCollection, problem{kind: domain, status: http.StatusConflict, code: "no_eligible_doc_collection",
		message: "The requested doc collection is not configured or not ready, or the organization has none that is."}},
	{trigger.ErrIdempotencyKeyReused, problem{kind: domain, status: http.StatusConflict, code: "idempotency_key_reused",
		message: "The Idempotency-Key was used for a different request. Send this one with a new key."}},
	{mortise.ErrNotFound, problem{kind: notFound, message: "There is no such trigger event."}},
	{trigger.ErrEnqueueFailed, problem{kind: domain, status: http.StatusInternalServerError, code: "enqueue_failed",
		message: "The trigger could not be enqueued and will not run. Send the request again."}},
}, commonFailures...)

// refusedTrigger answers limits of the service that are narrower than ours.
var refusedTrigger = refusals(
	func(one mortise.Problem) (loc []any, typ, msg string) {
		return triggerFields[one.Path.String()], "value_error", msgValue + one.Message
	})

// triggerFields says where in a request the fields of a mortise.Problem stand.
var triggerFields = map[string][]any{
	"instructions":    {"body", "instructions"},
	"context":         {"body", "context"},
	"idempotency_key": {"header", "idempotency-key"},
	"limit":           {"query", "limit"},
	"source":          {"query", "source"},
	"status":          {"query", "status"},
}

type triggerErrorBody struct {
	Error   string `json:"error"`
	Message string `json:"message"`
}

func replyTrigger(p problem) response {
	if p.kind == invalid {
		return response{status: http.StatusUnprocessableEntity, body: mustJSON(detailBody{p.details})}
	}
	if p.kind == domain {
		return response{status: p.status, body: mustJSON(triggerErrorBody{p.code, p.message})}
	}
	body := triggerErrorBody{kinds[p.kind].code, p.text()}
	if p.message == "" {
		switch p.kind {
		case unavailable:
			body.Message = "Trigger intake is temporarily unavailable. Send the request again later."
		case unauthenticated:
			body.Message = refusalOf("API key")
		}
	}
	return response{status: p.answer(), body: mustJSON(body)}
}
