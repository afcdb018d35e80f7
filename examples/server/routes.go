package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"

	"github.com/seed-6363c74e/mortise/httpadapter"
)

// routes puts the services together at the root, and the program's own pages beside them.
func routes(ctx context.Context, s *settings, all *services, log *slog.Logger) (http.Handler, error) {
	var handlers []*httpadapter.Handler
	for _, m := range all.all() {
		handlers = append(handlers, m.handler())
	}
	joined, err := httpadapter.Join("", handlers...)
	if err != nil {
		return nil, err
	}
	pages := map[string]http.Handler{
		"/healthz": http.HandlerFunc(healthz),
		"/readyz":  readyz(ctx, all.needed(), log),
	}
	if s.docs {
		if err := addDocs(pages, s.publicURL, handlers); err != nil {
			return nil, err
		}
	}
	search := all.audio.page
	search.stopping = ctx
	sandbox := http.StripPrefix(sandboxPrefix, all.vault.sandbox.routes)
	// Not a ServeMux: it would redirect unclean paths, which the services refuse.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 && r.ProtoMinor == 0 {
			// net/http knows nothing of its Transfer-Encoding, and would take the body for the
			// next request (RFC 9112 section 6.1).
			w.Header().Set("Connection", "close")
		}
		page, ok := pages[r.URL.Path]
		switch {
		case !ok && strings.HasPrefix(r.URL.Path, sandboxPrefix+"/"):
			sandbox.ServeHTTP(w, r)
		case !ok && search.serves(r.URL.Path):
			search.ServeHTTP(w, r)
		case !ok:
			joined.ServeHTTP(w, r)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", strings.Join([]string{http.MethodGet, http.MethodHead}, ", "))
			writeJSON(w, http.StatusMethodNotAllowed, map[string]string{
				"error": "method_not_allowed", "message": "This address answers to GET and HEAD.",
			})
		default:
			page.ServeHTTP(w, bodyless(r))
		}
	}), nil
}

// bodyless returns the request for a handler that needs no body, and gets none, whatever
// it calls: [http.Request.FormValue] would read one of any size. What becomes of the body
// that was sent is up to net/http, which takes a little of it, or ends the connection.
func bodyless(r *http.Request) *http.Request {
	without := *r
	without.Body, without.ContentLength, without.TransferEncoding = http.NoBody, 0, nil
	return &without
}

// writeJSON answers with one of the program's own small objects.
func writeJSON(w http.ResponseWriter, status int, v map[string]string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the caller is gone if this fails
}
