package httpadapter

import (
	"io"
	"net/http"
	"strconv"
	"time"
)

// A request may be refused before its body has been read. Left alone, net/http reads up to 256 KiB of the body before it sends the
// answer, for as long as the client cares to take, and cuts a longer one off, so that many clients see a broken connection in
// place of the answer. So the answer is sent first, and then the rest is taken in, within these limits.
const (
	drainBytes = 16 << 20
	drainTime  = 2 * time.Second
)

// writeAfter writes the answer to a call, whose body may be unread.
func (resp response) writeAfter(w http.ResponseWriter, c *call) {
	if c.bodyDone {
		resp.write(w)
		return
	}
	resp.writeUnread(w, c.r)
}

// writeUnread writes an answer to a request whose body has not been read to its end.
func (resp response) writeUnread(w http.ResponseWriter, r *http.Request) {
	// A client that waits for "100 Continue" sends nothing, and HTTP/2 can end one direction alone.
	if r.ContentLength == 0 || r.ProtoMajor != 1 || r.Header.Get("Expect") != "" || !enableFullDuplex(w) {
		resp.write(w)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(resp.body)))
	resp.write(w)
	if http.NewResponseController(w).Flush() != nil {
		return
	}
	setReadDeadline(w, time.Now().Add(drainTime))
	_, _ = io.CopyN(io.Discard, r.Body, drainBytes) // what still comes, comes to nothing
}

// enableFullDuplex lets the answer go out while the body is still coming in, if the writer can do that.
func enableFullDuplex(w http.ResponseWriter) bool {
	for {
		switch t := w.(type) {
		case interface{ EnableFullDuplex() error }:
			return t.EnableFullDuplex() == nil
		case interface{ Unwrap() http.ResponseWriter }:
			w = t.Unwrap()
		default:
			return false
		}
	}
}
