package main

import (
	"net/http"

	"github.com/seed-6363c74e/mortise/examples/server/apipage"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// addDocs adds the OpenAPI document and the API reference, and a way there from the root.
func addDocs(pages map[string]http.Handler, publicURL string, handlers []*httpadapter.Handler) error {
	document, err := httpadapter.OpenAPI([]string{publicURL}, handlers...)
	if err != nil {
		return err
	}
	page, err := apipage.New(document)
	if err != nil {
		return err
	}
	pages["/openapi.json"] = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(document) // the caller is gone if this fails
	})
	pages["/docs"] = page
	pages["/"] = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "docs") // relative, for the sake of a proxy that mounts this program under a path
		w.WriteHeader(http.StatusFound)
	})
	return nil
}
