package httpadapter

import "net/http"

// detailBody is the body of a 422 as FastAPI writes it.
type detailBody struct {
	Detail []detail `json:"detail"`
}

// detailText is the body of a failure as FastAPI's HTTPException writes it. Problems of
// fields are a list in the same place.
type detailText struct {
	Detail string `json:"detail"`
}

// detailTexts are the words for the kinds that all services know, but for [bodyTooLarge].
var detailTexts = map[kind]string{
	unavailable:          "The service is temporarily unavailable. Send the request again later.",
	unauthenticated:      refusalOf("access token"),
	deleted:              organizationDeleted,
	forbidden:            "These credentials do not allow this operation.",
	notFound:             "There is nothing at this address.",
	methodNotAllowed:     "This address does not answer to this method. The Allow header names those it does.",
	unsupportedMediaType: "Send the body as application/json in UTF-8, not compressed.",
	requestTimeout:       "The body did not arrive in time.",
	tooManyRequests:      "There are too many requests. Send this one again later: the Retry-After header says when.",
}

// replyDetail gives a problem the shape {"detail": ...}.
func replyDetail(p problem) response {
	if p.kind == invalid {
		return response{status: http.StatusUnprocessableEntity, body: mustJSON(detailBody{p.details})}
	}
	text := p.message
	if text == "" {
		text = detailTexts[p.kind]
	}
	return response{status: p.answer(), body: mustJSON(detailText{text}), header: p.header}
}
