package httpadapter

import (
	"net/http"
	"net/url"
	"strings"
)

// location returns the Location of a resource that a request to its collection created: its
// path from the root, with the prefix that the host has stripped. It is nil if the host rewrote
// the path in another way.
func location(r *http.Request, id string) http.Header {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if !cleanPath(path) || !strings.HasSuffix(path, r.URL.EscapedPath()) {
		return nil
	}
	return http.Header{"Location": {path + "/" + url.PathEscape(id)}}
}
