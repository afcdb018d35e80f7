package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/seed-6363c74e/mortise/examples/server/apipage"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// routes puts the services together at the root, and the program's own pages beside them.
func routes(ctx context.Context, s *settings, all *services, log *slog.Logger) (http.Handler, error) {
	handlers := all.handlers()
	joined, err := httpadapter.Join("", handlers...)
	if err != nil {
		return nil, err
	}
	// Not ready any more with the first signal, which ends ctx.
	ready := httpadapter.NewReadiness(all.needed(), &httpadapter.ReadinessOptions{Leaving: func() bool { return ctx.Err() != nil }, Logger: log})
	pages := map[string]http.Handler{"/healthz": http.HandlerFunc(healthz), "/readyz": ready}
	if s.meters != nil {
		pages["/metrics"] = s.meters.handler(all, ready, log)
	}
	if s.docs {
		if err := addDocs(pages, s.publicURL, handlers); err != nil {
			return nil, err
		}
	}
	all.audio.page.stopping = ctx
	if err := addHome(s, all); err != nil {
		return nil, err
	}
	sandbox := http.StripPrefix(sandboxPrefix, all.vault.trial)
	// Not a ServeMux: it would redirect unclean paths, which the services refuse.
	return s.proxies.in(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 && (r.ProtoMinor == 0 || r.ContentLength < 0) {
			// net/http passes over a Transfer-Encoding in HTTP/1.0, and over a Content-Length
			// beside it in HTTP/1.1: a proxy in front may see another end of the body (RFC 9112
			// section 6.1).
			w.Header().Set("Connection", "close")
		}
		page, ok := pages[r.URL.Path]
		switch {
		case !ok && strings.HasPrefix(r.URL.Path, sandboxPrefix+"/"):
			sandbox.ServeHTTP(w, r)
		case all.site.serves(r.URL.Path):
			all.site.ServeHTTP(w, r)
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
	})), nil
}

// addDocs adds the OpenAPI document and the API reference.
func addDocs(pages map[string]http.Handler, publicURL string, handlers []*httpadapter.Handler) error {
	document, err := httpadapter.OpenAPI([]string{publicURL}, handlers...)
	if err != nil {
		return err
	}
	// The page takes a third of the processor's time of a start, and few starts are asked for it.
	page := sync.OnceValues(func() (http.Handler, error) { return apipage.New(document) })
	pages["/openapi.json"] = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(document) // the caller is gone if this fails
	})
	pages["/docs"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, err := page()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		h.ServeHTTP(w, r)
	})
	// Relative, for the sake of a proxy that mounts this program under a path.
	pages["/docs/"] = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "../docs")
		w.WriteHeader(http.StatusFound)
	})
	return nil
}

// healthz answers while the process lives.
func healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
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
