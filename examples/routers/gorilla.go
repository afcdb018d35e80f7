package routers

import (
	"net/http"

	"github.com/gorilla/mux"
)

// MountGorilla mounts on gorilla/mux.
func MountGorilla(r *mux.Router, prefix string, h http.Handler) {
	h = http.StripPrefix(prefix, h)
	r.Handle(prefix+"/triggers", h)
	r.PathPrefix(prefix + "/triggers/").Handler(h)
}
