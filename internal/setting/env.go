package setting

import (
	"crypto/rand"
	"log/slog"
	"time"

	"github.com/seed-6363c74e/mortise"
)

// Env fills in the defaults of the environment of a service.
func Env(e *mortise.Env) {
	if e.Now == nil {
		e.Now = time.Now
	}
	if e.Rand == nil {
		e.Rand = rand.Reader
	}
	if e.Logger == nil {
		e.Logger = slog.Default()
	}
}
