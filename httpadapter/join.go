package httpadapter

import (
	"errors"
	"fmt"
	"net/http"
	urlpath "path"
	"strings"
)

// Join puts several services under one prefix ("" or "/" for none), which the host mounts
// once:
//
//	joined, err := httpadapter.Join("/internal", triggers, vaults)
//	mux.Handle("/internal/", joined)
//
// It strips the prefix, and answers 404 and 405 itself, in the shape of the service that
// the path belongs to. Services that would answer the same requests are an error.
func Join(prefix string, handlers ...*Handler) (http.Handler, error) {
	if len(handlers) == 0 {
		return nil, errors.New("httpadapter: Join needs a handler")
	}
	prefix = strings.TrimSuffix(prefix, "/")
	if prefix != "" && !cleanPath(prefix) {
		return nil, fmt.Errorf("httpadapter: %q is no prefix: it must begin with a slash and be a clean path", prefix)
	}
	j := &joined{prefix: prefix, handlers: handlers, mux: http.NewServeMux()}
	for _, h := range handlers {
		for _, op := range h.ops {
			if err := register(j.mux, op.Method+" "+op.Pattern, h); err != nil {
				return nil, err
			}
		}
	}
	j.mux.HandleFunc(catchAll, j.serveNoMatch)
	if prefix == "" {
		return http.HandlerFunc(j.serve), nil
	}
	return http.HandlerFunc(j.serveStripped), nil
}

type joined struct {
	prefix   string
	handlers []*Handler
	mux      *http.ServeMux
}

func (j *joined) serveStripped(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != j.prefix && !strings.HasPrefix(r.URL.Path, j.prefix+"/") {
		j.notFound(w, r)
		return
	}
	stripped := *r.URL
	stripped.Path = strings.TrimPrefix(stripped.Path, j.prefix)
	stripped.RawPath = "" // what http.ServeMux matches is made of Path again
	if raw, ok := strings.CutPrefix(r.URL.RawPath, j.prefix); ok {
		stripped.RawPath = raw
	}
	inner := *r
	inner.URL = &stripped
	j.serve(w, &inner)
}

func (j *joined) serve(w http.ResponseWriter, r *http.Request) {
	if !cleanPath(r.URL.EscapedPath()) {
		j.nearest(urlpath.Clean("/"+r.URL.Path)).ServeHTTP(w, r)
		return
	}
	j.mux.ServeHTTP(w, r)
}

// serveNoMatch hands the request to the nearest service, which then says 404 or 405.
func (j *joined) serveNoMatch(w http.ResponseWriter, r *http.Request) {
	j.nearest(r.URL.Path).ServeHTTP(w, r)
}

// nearest returns the service whose paths a path is nearest to.
func (j *joined) nearest(path string) *Handler {
	nearest, most := j.handlers[0], 0
	for _, h := range j.handlers {
		if n := h.sharedSegments(path); n > most {
			nearest, most = h, n
		}
	}
	return nearest
}

func (j *joined) notFound(w http.ResponseWriter, r *http.Request) {
	first := j.handlers[0]
	endUncertain(w, r)
	first.writeUnread(w, identify(w, r), first.errors.reply(problem{kind: notFound}))
}

// sharedSegments counts the leading segments that the path has in common with the nearest
// of the service's patterns.
func (h *Handler) sharedSegments(path string) int {
	most := 0
	for _, op := range h.ops {
		n, rest := 0, path[1:]
		for segment := range strings.SplitSeq(op.Pattern[1:], "/") {
			var first string
			if first, rest, _ = strings.Cut(rest, "/"); first != segment {
				break
			}
			n++
		}
		most = max(most, n)
	}
	return most
}

// register is mux.Handle with the panic for a conflict turned into an error.
func register(mux *http.ServeMux, pattern string, h http.Handler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("httpadapter: two of the services answer %q", pattern)
		}
	}()
	mux.Handle(pattern, h)
	return nil
}
