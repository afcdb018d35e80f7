package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// Shutdown takes at most 10 s: requests and workers wind down side by side.
const (
	requestDrain = 9 * time.Second // for requests in flight
	workDrain    = 8 * time.Second // for running attempts, before they are cut off
	workGrace    = time.Second     // for an attempt that was cut off to return

	leaveAfter = 9500 * time.Millisecond // for all of it together

	// proxyNotice is for a proxy to find out, by /readyz, that the server leaves. What it
	// sends until then is answered. A request on a connection that is closed in that moment,
	// or that nobody has accepted yet, is lost, and the proxy cannot know whether it was
	// carried out. The proxy that haproxy.cfg sets up looks every 500 ms.
	proxyNotice = 1500 * time.Millisecond
)

// serve answers requests and runs the workers until ctx ends. Then it goes on answering for
// notice, and finishes what is in flight. ready is called once connections are accepted,
// and returns when its context ends.
func serve(
	ctx context.Context, listener net.Listener, handler http.Handler, s *services, notice time.Duration, log *slog.Logger,
	ready func(context.Context) error,
) error {
	g, running := errgroup.WithContext(ctx)
	server := newServer(leaving(running, handler), log)
	g.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	for _, m := range s.all() {
		g.Go(func() error {
			if err := m.run(running); err != nil {
				return fmt.Errorf("%s worker: %w", m.Name, err)
			}
			return nil
		})
	}
	g.Go(func() error {
		<-running.Done()
		log.Info("shutting down")
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestDrain)
		defer cancel()
		time.Sleep(notice)
		if err := server.Shutdown(limit); err != nil {
			log.Warn("requests cut off at shutdown", "error", err)
			return server.Close()
		}
		return nil
	})
	g.Go(func() error { return ready(running) })
	return g.Wait()
}

// leaving ends each connection with the next answer once ctx has ended.
func leaving(ctx context.Context, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ctx.Err() != nil {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// newServer bounds what a client may take, in time and in bytes.
func newServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),

		DisableGeneralOptionsHandler: true, // it keeps connections that routes ends
	}
}

// errHangs is of what has not ended in time.
var errHangs = errors.New("left behind")

// inTime returns what do returns. Once ctx has ended, do has leaveAfter left. What hangs
// then, a disk most likely, is left behind: the process has to end, and a storage must be
// able to take that at any time.
func inTime(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(leaveAfter):
		return errHangs
	}
}

// closeStorage closes the storage once nothing uses it any more.
func closeStorage(b *backends, log *slog.Logger) {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	switch err := inTime(now, b.close); {
	case errors.Is(err, errHangs):
		log.Error("the storage does not close, and is left as it is")
	case err != nil:
		log.Error("the storage was not closed properly", "error", err)
	}
}
