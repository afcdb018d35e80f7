package main

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// pingLimit bounds how long a store may take to say that it is there.
const pingLimit = 2 * time.Second

// healthz answers while the process lives.
func healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// readyz answers 200 only while the stores of all services answer and ctx, which ends with the first signal, has not ended.
func readyz(ctx context.Context, members []member, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if ctx.Err() != nil {
			writeJSON(w, http.StatusServiceUnavailable, map[string]string{"status": "shutting down"})
			return
		}
		limited, cancel := context.WithTimeout(r.Context(), pingLimit)
		defer cancel()
		var g errgroup.Group
		for _, m := range members {
			g.Go(func() error {
				err := m.ping(limited)
				if err != nil && r.Context().Err() == nil {
					log.WarnContext(r.Context(), "not ready", "service", m.name(), "error", err)
				}
				return err
			})
		}
		if g.Wait() != nil {
			writeJSON(w, http.StatusServiceUnavailable, map[string]string{"status": "unavailable"})
			return
		}
		writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	})
}
