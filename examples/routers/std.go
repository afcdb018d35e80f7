package routers

import (
	"net/http"

	"github.com/seed-6363c74e/mortise/httpadapter"
)

// MountStd mounts on the standard library's router. The mux must have no "GET /" or the
// like: see MountStdRoutes.
func MountStd(mux *http.ServeMux, prefix string, h http.Handler) {
	h = http.StripPrefix(prefix, h)
	mux.Handle(prefix+"/triggers", h)
	mux.Handle(prefix+"/triggers/", h)
}

// MountStdRoutes mounts beside a host's own "GET /", which http.ServeMux does not let
// stand beside "/triggers/": one pattern is narrower by method, the other by path. A
// wrong method is answered by the mux then, with 405 in its own words.
func MountStdRoutes(mux *http.ServeMux, prefix string, h *httpadapter.Handler) {
	for _, route := range h.Routes() {
		mux.Handle(route.Method+" "+prefix+route.Pattern, http.StripPrefix(prefix, route.Handler))
	}
}
