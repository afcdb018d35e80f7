package httpadapter

import (
	"net/http"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

var triggerErrors = errorTable{classify: triggerFailures.or(refusedTrigger), reply: replyTrigger}

// triggerBulkErrors answers callers with access tokens.
var triggerBulkErrors = errorTable{classify: triggerErrors.classify, reply: replyTriggerBulk}

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
	{trigger.ErrTooManyWaiting, problem{kind: domain, status: http.StatusTooManyRequests, code: "too_many_waiting", header: afterSomeEvents,
		message: "Too many triggers of the organization are waiting. Send the request again later."}},
	{trigger.ErrNotCancellable, problem{kind: domain, status: http.StatusConflict, code: "not_cancellable",
		message: "The event has ended, and cannot be cancelled: it is completed, failed or superseded."}},
	{trigger.ErrNotRetryable, problem{kind: domain, status: http.StatusConflict, code: "not_retryable",
		message: "Only an event that is failed, cancelled or superseded can be retried."}},
	{trigger.ErrNotRunnable, problem{kind: domain, status: http.StatusConflict, code: "not_runnable",
		message: "The event has ended. Only one that waits can be run now."}},
}, commonFailures...)

// afterSomeEvents is when a place may be free.
var afterSomeEvents = http.Header{"Retry-After": {"10"}}

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
	"not_before":      {"header", headerNotBefore},
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
		return response{status: p.status, body: mustJSON(triggerErrorBody{p.code, p.message}), header: p.header}
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

func replyTriggerBulk(p problem) response {
	if p.kind == unauthenticated {
		p.message = p.text()
	}
	return replyTrigger(p)
}
