package httpadapter

import (
	"fmt"
	"net/http"
	"time"
)

// The limit on a body's arrival is a deadline of the connection, where the ResponseWriter
// lets it be set. A wrapper without an Unwrap method hides it. Then the body is read in a
// goroutine of its own, which is left alone when the time is over: net/http ends its read
// after the answer was sent, and closes the connection once the client does, or after the
// rest of the body or 256 KiB of it.
//
// A server's own ReadTimeout ends such a read anyhow, and the connection with it. It
// stays in force alone: net/http would lift it when it ends the goroutine's read.

// timeless reports whether nothing but this package bounds the time that a request's body
// may take.
func timeless(r *http.Request) bool {
	server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	return ok && server.ReadTimeout <= 0
}

// limitBody sets the deadline for the body's arrival. It returns false if the body is to
// be read by [within].
func (h *Handler) limitBody(w http.ResponseWriter, r *http.Request) bool {
	server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if ok && server.ReadTimeout > 0 && server.ReadTimeout <= h.opts.BodyTimeout {
		return true
	}
	// net/http lifts it once the body has been read to its end.
	if setReadDeadline(w, time.Now().Add(h.opts.BodyTimeout)) || !ok {
		return true
	}
	h.hidden.Do(func() {
		h.opts.Logger.WarnContext(r.Context(), "a ResponseWriter without Unwrap hides its deadlines, so slow bodies cost more to end: give it an Unwrap method",
			"service", h.name, "writer", fmt.Sprintf("%T", w))
	})
	return server.ReadTimeout > 0
}

// setReadDeadline is http.ResponseController.SetReadDeadline for writers that may not
// support it. The controller itself makes an error value each time, on the hot path of
// every test and embedding that has such a writer.
func setReadDeadline(w http.ResponseWriter, at time.Time) bool {
	for {
		switch t := w.(type) {
		case interface{ SetReadDeadline(time.Time) error }:
			return t.SetReadDeadline(at) == nil
		case interface{ Unwrap() http.ResponseWriter }:
			w = t.Unwrap()
		default:
			return false
		}
	}
}

// within calls read in a goroutine of its own, and waits for so long. Whatever read works
// on belongs to that goroutine until read returns, which may be after within has given
// up; then over is closed. A panic of read becomes the caller's, if the caller is still
// there.
func within[T any](d time.Duration, read func() T) (result T, inTime bool, over <-chan struct{}) {
	type outcome struct {
		result   T
		panicked any
	}
	done, ended := make(chan outcome, 1), make(chan struct{})
	go func() {
		var o outcome
		defer func() {
			o.panicked = recover()
			done <- o
			close(ended)
		}()
		o.result = read()
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case o := <-done:
		if o.panicked != nil {
			panic(o.panicked)
		}
		return o.result, true, ended
	case <-timer.C:
		return result, false, ended
	}
}
