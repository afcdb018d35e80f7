package routers

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// MountGin mounts on gin.
func MountGin(r gin.IRouter, prefix string, h http.Handler) {
	wrapped := gin.WrapH(http.StripPrefix(prefix, h))
	r.Any(prefix+"/triggers", wrapped)
	r.Any(prefix+"/triggers/*path", wrapped)
}
