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

// replyDetail gives a problem the shape {"detail": ...}.
func replyDetail(p problem) response {
	if p.kind == invalid {
		return response{status: http.StatusUnprocessableEntity, body: mustJSON(detailBody{p.details})}
	}
	return response{status: p.answer(), body: mustJSON(detailText{p.text()}), header: p.header}
}
