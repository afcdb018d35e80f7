package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"
)

// pingLimit bounds how long a store may take to say that it is there.
const pingLimit = 2 * time.Second

// healthz answers while the process lives.
func healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// pinger is what readiness depends on.
type pinger interface {
	name() string
	ping(ctx context.Context) error
}

// readyz answers 200 only while the stores of all services answer, writes succeed, and
// ctx, which ends with the first signal, has not ended.
func readyz(ctx context.Context, members []pinger, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if ctx.Err() != nil {
			writeJSON(w, http.StatusServiceUnavailable, map[string]string{"status": "shutting down"})
			return
		}
		limited, cancel := context.WithTimeout(r.Context(), pingLimit)
		defer cancel()
		if !pingAll(limited, members, log) {
			writeJSON(w, http.StatusServiceUnavailable, map[string]string{"status": "unavailable"})
			return
		}
		writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	})
}

// pingAll reports whether all stores answer before ctx ends. It does not wait for one
// that ignores the end of ctx: a hanging disk can hold a read up for as long as it likes.
func pingAll(ctx context.Context, members []pinger, log *slog.Logger) bool {
	answers := make(chan bool, len(members))
	for _, m := range members {
		go func() {
			err := m.ping(ctx)
			if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
				log.WarnContext(ctx, "not ready", "service", m.name(), "error", err)
			}
			answers <- err == nil
		}()
	}
	for range members {
		select {
		case ok := <-answers:
			if !ok {
				return false
			}
		case <-ctx.Done():
			return false
		}
	}
	return true
}
