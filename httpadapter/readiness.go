package httpadapter

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise/internal/hook"
)

// Part is what a program needs to be ready: a service, by its Ping, or anything else.
type Part struct {
	Name string
	Ping func(ctx context.Context) error
}

// ReadinessOptions are the settings of NewReadiness. The zero value means the defaults.
type ReadinessOptions struct {
	Limit   time.Duration // in which all parts must have answered: 2 s
	Leaving func() bool   // reports whether the program is about to end; nil: it never is
	Logger  *slog.Logger  // is told the error of each ping that fails; slog.Default()
}

// Readiness says whether all parts of a program answer, as a proxy asks before it sends
// requests there. It is safe for concurrent use.
type Readiness struct {
	parts   []Part
	limit   time.Duration
	leaving func() bool
	log     *slog.Logger
}

// NewReadiness returns the Readiness of a program of these parts.
func NewReadiness(parts []Part, opts *ReadinessOptions) *Readiness {
	if opts == nil {
		opts = new(ReadinessOptions)
	}
	r := &Readiness{slices.Clone(parts), 2 * time.Second, opts.Leaving, cmp.Or(opts.Logger, slog.Default())}
	if opts.Limit > 0 {
		r.limit = opts.Limit
	}
	if r.leaving == nil {
		r.leaving = func() bool { return false }
	}
	return r
}

// Away pings all parts at once, and returns the names of those whose ping has failed, or has
// not returned in time. It does not wait for one that ignores the end of its context: a
// hanging disk can hold a read up for as long as it likes.
func (r *Readiness) Away(ctx context.Context) (names []string) {
	ctx, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	type answer struct {
		part int
		well bool
	}
	answers, well := make(chan answer, len(r.parts)), make([]bool, len(r.parts))
	for i, p := range r.parts {
		go func() {
			a := answer{part: i}
			defer func() { answers <- a }()
			defer hook.Recover(ctx, r.log, "a ping", nil)
			err := p.Ping(ctx)
			if a.well = err == nil; !a.well && !errors.Is(ctx.Err(), context.Canceled) {
				r.log.WarnContext(ctx, "not ready", "service", p.Name, "error", err)
			}
		}()
	}
	for left := len(r.parts); left > 0; left-- {
		select {
		case a := <-answers:
			well[a.part] = a.well
		case <-ctx.Done():
			left = 0
		}
	}
	for i, p := range r.parts {
		if !well[i] {
			names = append(names, p.Name)
		}
	}
	return names
}

// ServeHTTP answers 200 with {"status": "ok"} if no part is away. Otherwise it answers 503
// with {"status": "unavailable", "away": "vault, disk"}, the names of those that are. Once the
// program is about to end it is 503 with {"status": "shutting down"}, and nobody is pinged.
func (r *Readiness) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	status, answer := http.StatusOK, map[string]string{"status": "ok"}
	if r.leaving() {
		status, answer = http.StatusServiceUnavailable, map[string]string{"status": "shutting down"}
	} else if away := r.Away(req.Context()); len(away) > 0 {
		status = http.StatusServiceUnavailable
		answer = map[string]string{"status": "unavailable", "away": strings.Join(away, ", ")}
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // the caller is gone if this fails
}
