package main

import (
	"net/http"
	"sync"

	"github.com/seed-6363c74e/mortise/examples/server/apipage"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// addDocs adds the OpenAPI document and the API reference, and a way there from the root.
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
	pages["/"] = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "docs") // relative, for the sake of a proxy that mounts this program under a path
		w.WriteHeader(http.StatusFound)
	})
	return nil
}
