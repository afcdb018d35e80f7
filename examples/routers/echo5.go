package routers

import (
	"net/http"

	"github.com/labstack/echo/v5"
)

// MountEcho5 mounts on echo/v5.
func MountEcho5(e *echo.Echo, prefix string, h http.Handler) {
	wrapped := echo.WrapHandler(http.StripPrefix(prefix, h))
	e.Any(prefix+"/triggers", wrapped)
	e.Any(prefix+"/triggers/*", wrapped)
}
