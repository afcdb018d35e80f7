package httpadapter

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"
)

// readBody reads the whole body of a request, within the limits of size and time, if it
// is in a form that the operation takes.
func (h *Handler) readBody(w http.ResponseWriter, c *call) ([]byte, *response) {
	r := c.r
	if c.op.optional && r.ContentLength == 0 {
		c.left = none
		return nil, nil
	}
	if !isJSON(r.Header) && !(c.op.form && isForm(r.Header)) {
		return nil, c.refuse(problem{kind: unsupportedMediaType})
	}
	limit := h.opts.MaxBody
	if c.op.maxBody > 0 {
		limit = min(limit, c.op.maxBody)
	}
	if r.ContentLength > limit {
		return nil, c.refuse(bodyTooLarge(limit))
	}
	body := io.Reader(r.Body)
	if r.ContentLength < 0 {
		// Without a writer, which would end the connection: writeUnread sees to the rest.
		body = http.MaxBytesReader(nil, r.Body, limit)
	}
	c.held = c.bodyHold()
	var data []byte
	var err error
	if h.limitBody(w, r) {
		data, err = readAll(body, r.ContentLength, limit, c.held)
	} else {
		data, err = c.readAllWithin(h.opts.BodyTimeout, body, limit)
	}
	var tooLong *http.MaxBytesError
	switch {
	case err == nil:
		c.left = none
		return data, nil
	case errors.As(err, &tooLong):
		return nil, c.refuse(bodyTooLarge(limit))
	case errors.Is(err, errNoRoom):
		return nil, c.noRoom()
	}
	c.left = broken
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, c.refuse(problem{kind: requestTimeout})
	}
	// cut off, or broken chunks: a document that ends too early
	return nil, c.refuse(problem{kind: invalid, details: []detail{{Loc: []any{"body", len(data)}, Msg: msgJSON, Type: "json_invalid"}}})
}

// bodyTooLarge is a body over the limit, in bytes.
func bodyTooLarge(limit int64) problem {
	return problem{kind: tooLarge, message: fmt.Sprintf("The body is larger than the %d bytes that this service accepts.", limit)}
}

// refuse answers a failure in the operation's shape.
func (c *call) refuse(p problem) *response {
	resp := c.op.errors.reply(p)
	return &resp
}

// tooMany answers 429 in the operation's shape.
func (c *call) tooMany(limit *RateLimitError) *response {
	resp := c.refuse(problem{kind: tooManyRequests})
	header := limit.header()
	maps.Copy(header, resp.header)
	resp.header = header
	return resp
}

// readAll is io.ReadAll for a body of an announced length, or of -1 if the length is unknown;
// then the reader ends at the limit. The buffer grows with the bytes that arrive, not with
// the announced length, and held counts it.
func readAll(body io.Reader, announced, limit int64, held *hold) ([]byte, error) {
	if announced == 0 {
		return nil, nil
	}
	most := announced
	if announced < 0 {
		most = max(limit, limit+1) // one more byte tells the end from the limit
	}
	if !held.grow(minBody) {
		return nil, errNoRoom
	}
	data := make([]byte, 0, min(most, minBody))
	for {
		n, err := body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case err == io.EOF || int64(len(data)) == announced:
			return data, nil
		case err != nil:
			return data, err
		}
		if len(data) == cap(data) {
			grown := min(4*int64(cap(data)), most)
			if !held.grow(max(grown, minBody)) {
				return nil, errNoRoom
			}
			data = append(make([]byte, 0, grown), data...)
		}
	}
}

// readAllWithin is readAll in a goroutine of its own. If the time is over first, the goroutine
// keeps the buffer and its hold until the read ends.
func (c *call) readAllWithin(d time.Duration, body io.Reader, limit int64) ([]byte, error) {
	type outcome struct {
		data []byte
		err  error
	}
	held := c.held
	got, inTime, over := within(d, func() outcome {
		data, err := readAll(body, c.r.ContentLength, limit, held)
		return outcome{data, err}
	})
	if !inTime {
		c.held = nil
		go func() {
			<-over
			held.end()
		}()
		return nil, os.ErrDeadlineExceeded
	}
	return got.data, got.err
}

// isJSON reports whether the request declares a JSON body (RFC 8259 section 11), or one
// whose structure is JSON (RFC 6839), in UTF-8 and not compressed.
func isJSON(header http.Header) bool {
	return declares(header, "application/json", func(media string) bool {
		return strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")
	})
}

// isForm reports whether the request declares a form, in UTF-8 and not compressed.
func isForm(header http.Header) bool {
	return declares(header, "application/x-www-form-urlencoded", nil)
}

// declares reports whether the body is declared to be of a media type, or of another one
// that will do. also may be nil.
func declares(header http.Header, mediaType string, also func(string) bool) bool {
	types := header["Content-Type"]
	if len(types) != 1 || len(header["Content-Encoding"]) != 0 && header.Get("Content-Encoding") != "identity" {
		return false
	}
	if types[0] == mediaType {
		return true
	}
	media, params, err := mime.ParseMediaType(types[0])
	if err != nil || media != mediaType && (also == nil || !also(media)) {
		return false
	}
	charset, given := params["charset"]
	return !given || strings.EqualFold(charset, "utf-8")
}
