// Package reference makes a page for people of an OpenAPI 3.1 document, as
// httpadapter.OpenAPI returns it:
//
//	document, err := httpadapter.OpenAPI([]string{"https://api.example.com"}, triggers)
//	page, err := reference.New(document)
//	mux.Handle("GET /docs", page)
//
// The page is one HTML file that loads nothing: no font, no script and no style from
// elsewhere. It can be read without scripts, in light and dark, on a phone and with a
// screen reader.
//
// It covers what the documents of this module use of OpenAPI: references within the
// document, parameters, bodies, headers, examples, security schemes, and schemas with
// nested fields. Callbacks, links and webhooks are left out.
package reference

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"time"

	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

//go:embed page.html
var pageText string

//go:embed page.css
var style string

//go:embed page.js
var script string

// New reads an OpenAPI 3.1 document and returns a handler that serves its page at every path, to GET and HEAD. The page is made
// once, here. The error says what is wrong with the document.
//
// Descriptions may hold paragraphs, lists and `code` in the notation of CommonMark; everything else in them is shown as text.
func New(document []byte) (http.Handler, error) {
	content, err := render(document)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(content)
	header := http.Header{
		"Content-Type": {"text/html; charset=utf-8"},
		"Content-Security-Policy": {"default-src 'none'; style-src '" + sourceHash(style) + "'; script-src '" + sourceHash(script) +
			"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
		"X-Content-Type-Options": {"nosniff"},
		"Referrer-Policy":        {"no-referrer"},
		"Cache-Control":          {"no-cache"}, // may be kept, but must be asked for by its ETag before use
		"Etag":                   {strconv.Quote(base64.RawURLEncoding.EncodeToString(digest[:12]))},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		for key, values := range header {
			w.Header()[key] = append([]string(nil), values...)
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}), nil
}

// sourceHash is how a Content-Security-Policy names an inline style or script.
func sourceHash(text string) string {
	digest := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(digest[:])
}

func render(data []byte) ([]byte, error) {
	root, err := strictjson.Parse(data, 0)
	if err != nil {
		return nil, fmt.Errorf("reference: the document is not JSON: %w", err)
	}
	d := &document{root: root, ids: make(anchors), schemes: make(map[string]*scheme), targets: make(map[string]strictjson.Value), fieldsLeft: maxFields}
	p := d.page()
	if d.err != nil {
		return nil, d.err
	}
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return nil, fmt.Errorf("reference: parse the template: %w", err)
	}
	p.Style, p.Script = template.CSS(style), template.JS(script) //nolint:gosec // both are files of this package
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("reference: write the page: %w", err)
	}
	return b.Bytes(), nil
}
