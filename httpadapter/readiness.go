package httpadapter

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-6363c74e/mortise/internal/hook"
)

// Part is what a program needs to be ready: a service, by its Ping, or anything else. A part
// whose Ping panics, which is logged with its stack, is away.
type Part struct {
	Name string
	Ping func(ctx context.Context) error
}

// ReadinessOptions are the settings of NewReadiness. The zero value means the defaults.
type ReadinessOptions struct {
	Leaving func() bool  // reports whether the program is about to end; nil: it never is
	Logger  *slog.Logger // is told why a part is away, then once a minute; slog.Default()
}

// Readiness says whether all parts of a program answer, as a proxy asks before it sends
// requests there. It is safe for concurrent use.
type Readiness struct {
	parts   []*pinged
	leaving func() bool
	log     *slog.Logger
}

// pinged is a part, and the ping that is under way.
type pinged struct {
	Part

	mu  sync.Mutex
	now *ping // nil: none

	told time.Time // when the log was told that it is away; zero: it is not
}

// pingTimeout is the time in which all parts must have answered.
const pingTimeout = 2 * time.Second

// repeat is how long the log is not told again that a part is away: a proxy asks all the time.
const repeat = time.Minute

type ping struct {
	well atomic.Bool
	done chan struct{}
}

// NewReadiness returns the Readiness of a program of these parts. All of them together have
// two seconds to answer.
func NewReadiness(parts []Part, opts *ReadinessOptions) *Readiness {
	if opts == nil {
		opts = new(ReadinessOptions)
	}
	r := &Readiness{nil, opts.Leaving, cmp.Or(opts.Logger, slog.Default())}
	for _, p := range parts {
		r.parts = append(r.parts, &pinged{Part: p})
	}
	if r.leaving == nil {
		r.leaving = func() bool { return false }
	}
	return r
}

// Away pings all parts at once, and returns the names of those whose ping has failed, or has
// not returned in time. It does not wait for one that ignores the end of its context: a
// hanging disk can hold a read up for as long as it likes. Each part has one ping under way at
// a time, which all share who ask meanwhile.
func (r *Readiness) Away(ctx context.Context) (names []string) {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	asked := make([]*ping, len(r.parts))
	for i, p := range r.parts {
		asked[i] = r.ask(ctx, p)
	}
	for i, p := range asked {
		select {
		case <-p.done:
		case <-ctx.Done():
		}
		if !p.well.Load() {
			names = append(names, r.parts[i].Name)
		}
	}
	return names
}

// ask returns the ping of a part that is under way. It begins one if there is none, which goes
// on if the caller leaves: others may wait for it.
func (r *Readiness) ask(ctx context.Context, p *pinged) *ping {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now != nil {
		return p.now
	}
	now := &ping{done: make(chan struct{})}
	p.now = now
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	go func() {
		defer cancel()
		defer func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.now = nil
			close(now.done)
		}()
		defer hook.Recover(ctx, r.log, "a ping", nil)
		err := p.Ping(ctx)
		switch at := time.Now(); {
		case err != nil && at.Sub(p.told) >= repeat:
			p.told = at
			r.log.WarnContext(ctx, "not ready", "service", p.Name, "error", err)
		case err == nil && !p.told.IsZero():
			p.told = time.Time{}
			r.log.InfoContext(ctx, "ready again", "service", p.Name)
		}
		now.well.Store(err == nil)
	}()
	return now
}

// ServeHTTP answers 200 with {"status": "ok"} if no part is away. Otherwise it answers 503
// with {"status": "unavailable", "away": "vault, disk"}, the names of those that are. Once
// the program is about to end it is 503 with {"status": "shutting down"}, and nobody is
// pinged. A 503 has Retry-After.
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
	if status == http.StatusServiceUnavailable && w.Header()["Retry-After"] == nil {
		w.Header()["Retry-After"] = retryAfter
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // the caller is gone if this fails
}
