package mortise

import (
	"io"
	"log/slog"
	"time"
)

// Env is the environment that the services of all domains take from their host. A host
// sets it once, and gives it to each service in its Options. Each zero field means its
// default.
type Env struct {
	Now      func() time.Time // time.Now
	Rand     io.Reader        // crypto/rand.Reader; safe for concurrent use
	Logger   *slog.Logger     // slog.Default()
	Observer Observer         // none
	Tracer   Tracer           // none
}

// Actor is the caller of a service, as the host names it: for observers, logs and audit
// trails. It gives no rights. "" is an unnamed caller.
type Actor string
