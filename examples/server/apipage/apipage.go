// Package apipage makes a page for people of the OpenAPI document of a server.
//
// The page is one HTML file that loads nothing. It can be read without scripts, in light
// and dark, on a phone and with a screen reader. It shows what the documents of
// httpadapter use of OpenAPI 3.1, and trusts in their being valid. None of their schemas
// contains itself, or has several forms with fields of their own.
package apipage

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

//go:embed page.html
var pageText string

//go:embed page.css
var style string

//go:embed page.js
var script string

// New makes the page of a document, once, and returns a handler that serves it at every
// path. Descriptions may hold headings ("## "), paragraphs, lists and `code` in the notation
// of CommonMark. The error is about a document that is not JSON, or not a server's.
func New(document []byte) (http.Handler, error) {
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	root := new(node)
	if err := root.read(d, root); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	t := template.Must(template.New("page").Funcs(template.FuncMap{
		"anchor": anchor, "prose": prose, "operations": operations, "servers": servers, "reason": reason,
		"type": typeOf, "name": nameOf, "rules": rulesOf, "inline": inline, "enum": enumOf, "fields": fieldsOf,
		"style":  func() template.CSS { return template.CSS(style) }, //nolint:gosec // of this package
		"script": func() template.JS { return template.JS(script) },  //nolint:gosec // likewise
	}).Parse(pageText))
	var b bytes.Buffer
	if err := t.Execute(&b, root); err != nil {
		return nil, fmt.Errorf("write the API page: %w", err)
	}
	content := b.Bytes()
	digest := sha256.Sum256(content)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'; style-src '"+sourceHash(style)+"'; script-src '"+
			sourceHash(script)+"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache") // may be kept, but must be asked for by its ETag before use
		h.Set("Etag", strconv.Quote(base64.RawURLEncoding.EncodeToString(digest[:12])))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}), nil
}

// sourceHash is how a Content-Security-Policy names an inline style or script.
func sourceHash(text string) string {
	digest := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(digest[:])
}

// operations lists those of a tag.
func operations(tag *node) (list []*operation) {
	for path, item := range tag.root.At("paths").Each() {
		for method, op := range item.Each() {
			for _, name := range op.At("tags").Each() {
				if name.text == tag.At("name").String() {
					list = append(list, &operation{op, strings.ToUpper(method), path, servers(item)})
				}
			}
		}
	}
	return list
}

// server is a base address, with its variables set to their defaults.
type server struct {
	URL         string
	Description *node
}

// servers are those of the document or of a path.
func servers(v *node) (all []server) {
	for _, s := range v.At("servers").Each() {
		address := s.At("url").String()
		for name, variable := range s.At("variables").Each() {
			address = strings.ReplaceAll(address, "{"+name+"}", variable.At("default").String())
		}
		all = append(all, server{address, s.At("description")})
	}
	return all
}

// reason is what a status is called.
func reason(status string) string {
	code, _ := strconv.Atoi(status) // "default" has no name
	return http.StatusText(code)
}

// anchor returns an id of letters, digits and hyphens.
func anchor(kind string, name any) string {
	return kind + "-" + special.ReplaceAllString(fmt.Sprint(name), "-")
}

var special = regexp.MustCompile("[^a-zA-Z0-9]")

// prose turns a description into HTML: paragraphs, lists of lines that begin with "- ",
// headings of a line that begins with "## ", and `code`. All else is text, so that nothing
// in a description becomes markup.
func prose(description *node) template.HTML {
	var b strings.Builder
	for block := range strings.SplitSeq(description.String(), "\n\n") {
		block = strings.TrimSpace(block)
		list, isList := strings.CutPrefix(block, "- ")
		heading, isHeading := strings.CutPrefix(block, "## ")
		switch {
		case isHeading:
			b.WriteString("<h2>" + string(inline(heading)) + "</h2>")
		case isList:
			items := strings.ReplaceAll(string(inline(list)), "\n- ", "</li><li>")
			b.WriteString("<ul><li>" + items + "</li></ul>")
		case block != "":
			b.WriteString("<p>" + string(inline(block)) + "</p>")
		}
	}
	return template.HTML(b.String()) //nolint:gosec // every part of the text went through inline
}

// inline escapes text and marks what stands between two backquotes.
func inline(text string) template.HTML {
	return template.HTML(between.ReplaceAllString(html.EscapeString(text), "<code>$1</code>")) //nolint:gosec // escaped
}

var between = regexp.MustCompile("`([^`]*)`")
