package routers

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// MountEcho4 mounts on echo/v4.
func MountEcho4(e *echo.Echo, prefix string, h http.Handler) {
	wrapped := echo.WrapHandler(http.StripPrefix(prefix, h))
	e.Any(prefix+"/triggers", wrapped)
	e.Any(prefix+"/triggers/*", wrapped)
}
