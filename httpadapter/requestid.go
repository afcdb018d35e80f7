package httpadapter

import (
	"context"
	"net/http"

	"github.com/google/uuid"
)

const requestIDHeader = "X-Request-Id"

type requestIDKey struct{}

// RequestID returns what the answer will have as x-request-id. It works with the context
// of a request that has reached a [Handler]: in hooks, observers, and what a domain
// service calls. Elsewhere it returns "".
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// identify gives a request its ID, and the answer the header. A header that the host has
// set stays.
func identify(w http.ResponseWriter, r *http.Request) *http.Request {
	header := w.Header()
	id := header.Get(requestIDHeader)
	if id == "" {
		if given := r.Header[requestIDHeader]; len(given) == 1 && validRequestID(given[0]) {
			id = given[0]
		} else {
			id = uuid.NewString()
		}
		header[requestIDHeader] = []string{id}
	}
	return r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id))
}

// maxRequestID bounds the ID that a caller gives, in bytes.
const maxRequestID = 128

func validRequestID(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
