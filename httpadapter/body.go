package httpadapter

import (
	"errors"
	"fmt"
	"io"
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
	var data []byte
	var err error
	if h.limitBody(w, r) {
		data, err = readAll(body, r.ContentLength, limit)
	} else {
		data, err = readAllWithin(h.opts.BodyTimeout, body, r.ContentLength, limit)
	}
	var tooLong *http.MaxBytesError
	switch {
	case err == nil:
		c.left = none
		return data, nil
	case errors.As(err, &tooLong):
		return nil, c.refuse(bodyTooLarge(limit))
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

// firstRead bounds what is allocated on the word of a Content-Length alone.
const firstRead = 64 << 10

// readAll is io.ReadAll with a first buffer of the announced size. A body of unknown
// length is bounded by its reader.
func readAll(body io.Reader, announced, limit int64) ([]byte, error) {
	if announced == 0 {
		return nil, nil
	}
	size := int64(512)
	if announced > 0 {
		size = min(announced, firstRead)
	}
	data := make([]byte, 0, size)
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
			grown := announced // by now there is reason to believe it
			if announced < 0 {
				grown = min(2*int64(cap(data)), limit+1) // one more byte tells the end from the limit
			}
			data = append(make([]byte, 0, grown), data...)
		}
	}
}

// readAllWithin is readAll in a goroutine of its own, which keeps the buffer if the time
// is over first.
func readAllWithin(d time.Duration, body io.Reader, announced, limit int64) ([]byte, error) {
	type outcome struct {
		data []byte
		err  error
	}
	got, inTime, _ := within(d, func() outcome {
		data, err := readAll(body, announced, limit)
		return outcome{data, err}
	})
	if !inTime {
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
