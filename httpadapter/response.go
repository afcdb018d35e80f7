package httpadapter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// response is an answer that is ready to be written.
type response struct {
	status    int
	body      []byte      // nil for none
	stream    stream      // writes the body piece by piece instead; JSON
	mediaType []string    // of the body, if it is not JSON
	header    http.Header // further ones, shared by answers
	allow     string      // the Allow header of a 405
	challenge []string    // the WWW-Authenticate header of a 401
	brief     bool        // waits only briefly for the rest of the request's body
}

// stream writes a body to w. It returns an error if it cannot get hold of the rest of it,
// and nil if w takes no more.
type stream func(w io.Writer) error

// Header values are shared by all answers: net/http reads them only.
var (
	jsonType        = []string{"application/json"}
	closeConnection = []string{"close"}
	noStore         = []string{"no-store"}
	noSniff         = []string{"nosniff"}

	// In seconds: longer than a lock is waited for, and short for a person.
	retryAfter = []string{"5"}
)

func (resp response) write(w http.ResponseWriter) {
	header := w.Header()
	// An answer belongs to its caller: no cache keeps it, and no browser takes it for a page.
	header["Cache-Control"], header["X-Content-Type-Options"] = noStore, noSniff
	for name, values := range resp.header {
		header[name] = values
	}
	if resp.challenge != nil {
		header["Www-Authenticate"] = resp.challenge
	}
	if resp.status == http.StatusServiceUnavailable && header["Retry-After"] == nil {
		header["Retry-After"] = retryAfter
	}
	if resp.allow != "" {
		header.Set("Allow", resp.allow)
	}
	switch {
	case resp.mediaType != nil:
		header["Content-Type"] = resp.mediaType
	case resp.body != nil, resp.stream != nil:
		header["Content-Type"] = jsonType
	}
	if resp.body != nil {
		header["Content-Length"] = []string{strconv.Itoa(len(resp.body))}
	}
	w.WriteHeader(resp.status)
	if resp.stream != nil {
		if resp.stream(w) != nil {
			// It cuts the connection: a caller must not take a part for the whole.
			panic(http.ErrAbortHandler)
		}
		return
	}
	_, _ = w.Write(resp.body) // the caller is gone if this fails; there is nobody left to tell
}

// jsonBody encodes v without escaping <, > and &, which are harmless in application/json.
func jsonBody(v any) ([]byte, error) {
	var b bytes.Buffer
	err := writeJSON(&b, v)
	return b.Bytes(), err
}

// writeJSON appends v to b, as jsonBody encodes it.
func writeJSON(b *bytes.Buffer, v any) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	b.Truncate(b.Len() - 1) // the line's end
	return nil
}

// mustJSON encodes one of our own wire types, of strings and numbers only.
func mustJSON(v any) []byte {
	b, err := jsonBody(v)
	if err != nil { // unreachable for such a type; an empty body beats a panic
		return []byte("{}")
	}
	return b
}
