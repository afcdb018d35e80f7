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
	Limit   time.Duration // for all parts to answer: 2 s
	Leaving func() bool   // reports whether the program is about to end; nil: it never is
	Logger  *slog.Logger  // slog.Default(); is told what a part has answered
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

// Parts returns the names of all parts.
func (r *Readiness) Parts() (names []string) {
	for _, p := range r.parts {
		names = append(names, p.Name)
	}
	return names
}

// Away asks all parts, and returns the names of those that have not answered well in time.
// It does not wait for one that ignores the end of its context: a hanging disk can hold a
// read up for as long as it likes.
func (r *Readiness) Away(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	away, answers := r.Parts(), make(chan string, len(r.parts))
	for _, p := range r.parts {
		go func() {
			answer := ""
			defer func() { answers <- answer }()
			defer hook.Recover(ctx, r.log, "a ping", nil)
			if err := p.Ping(ctx); err == nil {
				answer = p.Name
			} else if !errors.Is(ctx.Err(), context.Canceled) {
				r.log.WarnContext(ctx, "not ready", "service", p.Name, "error", err)
			}
		}()
	}
	for range r.parts {
		select {
		case name := <-answers:
			away = slices.DeleteFunc(away, func(n string) bool { return n == name })
		case <-ctx.Done():
			return away
		}
	}
	return away
}

// ServeHTTP answers 200 if no part is away, else 503 with the names of those that are. It
// is 503 once the program is about to end, too.
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
