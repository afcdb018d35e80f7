package routers

import (
	"net/http"

	"github.com/go-chi/chi/v5"
)

// MountChi mounts on chi.
func MountChi(r chi.Router, prefix string, h http.Handler) {
	h = http.StripPrefix(prefix, h)
	r.Handle(prefix+"/triggers", h)
	r.Handle(prefix+"/triggers/*", h)
}
