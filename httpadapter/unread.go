package httpadapter

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// A request may be refused before its body has been read. Left alone, net/http reads up
// to 256 KiB of the body before it sends the answer, for as long as the client cares to
// take, and cuts a longer one off, so that many clients see a broken connection in place
// of the answer. So the answer is sent first, and then the rest is taken in, within these
// limits.
//
// What comes after an answer must not be taken for the next request as long as it may be
// the body of the last one: the connection goes on only if the body was read to its very
// end.
const (
	drainBytes = 16 << 20
	drainTime  = 2 * time.Second
	briefDrain = 50 * time.Millisecond // of a login that finds no room

	guardBytes = 256 << 10 // what net/http itself reads of a body before it answers

	lingerBytes = 1 << 20
	lingerTime  = 500 * time.Millisecond
)

// remainder is what is left of a request's body when it is answered.
type remainder uint8

const (
	unread remainder = iota // nobody has read it to its end
	none                    // it has been read to its end
	broken                  // it cannot be read to its end
)

// write writes an answer, and sees to what is left of the request's body.
func (h *Handler) write(w http.ResponseWriter, r *http.Request, resp response, left remainder) {
	switch left {
	case none:
		resp.write(w)
	case broken:
		resp.writeLast(w, r)
	default:
		h.writeUnread(w, r, resp)
	}
}

// writeUnread writes an answer to a request whose body has not been read to its end.
func (h *Handler) writeUnread(w http.ResponseWriter, r *http.Request, resp response) {
	if r.ContentLength == 0 || r.ProtoMajor != 1 { // HTTP/2 can end one direction alone
		resp.write(w)
		return
	}
	// "100 Continue" was not sent. net/http ends the connection once the body is there.
	if r.Header.Get("Expect") != "" {
		setReadDeadline(w, time.Now().Add(h.drainTime(&resp)))
		resp.write(w)
		return
	}
	hijacker, ok := innermost(w).(http.Hijacker)
	// A stream is not sent first: its end comes only when the handler returns.
	if resp.stream != nil || !ok || !enableFullDuplex(w) {
		h.writeGuarded(w, r, resp)
		return
	}
	complete := false
	// In full duplex net/http goes on reading requests wherever the last body was left.
	defer func() {
		if !complete {
			hangUp(hijacker, min(lingerTime, h.drainTime(&resp)))
		}
	}()
	w.Header().Set("Content-Length", strconv.Itoa(len(resp.body)))
	resp.write(w)
	if http.NewResponseController(w).Flush() != nil || !setReadDeadline(w, time.Now().Add(h.drainTime(&resp))) {
		return
	}
	if complete = readToEnd(r, drainBytes); complete {
		setReadDeadline(w, time.Time{})
	}
}

// writeGuarded reads the rest of the body before the answer, as net/http does by itself,
// and ends the connection if that fails. It leaves that to net/http where only a server's
// own time limit can end the read.
func (h *Handler) writeGuarded(w http.ResponseWriter, r *http.Request, resp response) {
	mayEnd := setReadDeadline(w, time.Time{})
	if !mayEnd && !timeless(r) {
		resp.write(w)
		return
	}
	complete, inTime, over := within(h.drainTime(&resp), func() bool { return readToEnd(r, guardBytes) })
	if complete && inTime {
		resp.write(w)
		return
	}
	resp.writeLast(w, r)
	if mayEnd { // not before: it ends the request's context, and a stream may need that
		setReadDeadline(w, time.Unix(1, 0))
		<-over
	}
}

// writeLast writes an answer after which the connection ends. net/http then leaves the
// rest of the body alone.
func (resp response) writeLast(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 {
		w.Header()["Connection"] = closeConnection
	}
	resp.write(w)
}

// drainTime is how long the rest of a body is waited for. No body is waited for longer
// than Options.BodyTimeout.
func (h *Handler) drainTime(resp *response) time.Duration {
	wait := drainTime
	if resp.brief {
		wait = briefDrain
	}
	return min(wait, h.opts.BodyTimeout)
}

// readToEnd reads what is left of a body, and reports whether it came to the end that was
// announced. For a body in chunks none was: what ended may be a host's reader that hides
// the rest, and net/http would read on in the middle of it.
func readToEnd(r *http.Request, limit int64) bool {
	n, err := io.Copy(io.Discard, io.LimitReader(r.Body, limit+1))
	return err == nil && n <= limit && n == r.ContentLength
}

// hangUp ends the connection of a request that has been answered. It takes the connection
// away from net/http: to panic with http.ErrAbortHandler does nothing if a host recovers.
func hangUp(hijacker http.Hijacker, wait time.Duration) {
	conn, _, err := hijacker.Hijack()
	switch {
	case err == nil:
		linger(conn, wait)
	case !errors.Is(err, http.ErrHijacked):
		panic(http.ErrAbortHandler)
	}
}

// linger closes a connection so that its last answer arrives: to close it while the client
// still sends would reset it, and the answer could be lost. So it waits for the client's end.
func linger(conn net.Conn, wait time.Duration) {
	defer conn.Close()
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || conn.SetReadDeadline(time.Now().Add(wait)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, conn, lingerBytes)
}

// innermost returns the writer that a host's writers are wrapped around.
func innermost(w http.ResponseWriter) http.ResponseWriter {
	for {
		t, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return w
		}
		w = t.Unwrap()
	}
}

// enableFullDuplex lets the answer go out while the body is still coming in, if the
// writer can do that.
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

// endUncertain makes the answer the last one on its connection where a proxy in front may
// see another end of the body than net/http does. To an HTTP/1.0 request net/http passes
// over a Transfer-Encoding, and would take the body for the next request. Of a request in
// chunks it forgets whether there was a Content-Length, too; after one with both the
// connection must end (RFC 9112 section 6.1), so it ends after each body in chunks.
func endUncertain(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 && (r.ProtoMinor == 0 || r.ContentLength < 0) {
		w.Header()["Connection"] = closeConnection
	}
}
