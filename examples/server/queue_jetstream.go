package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/seed-6363c74e/mortise/storage/jetstream"
)

// jetStream is the queue of -queue nats://...
type jetStream struct {
	*jetstream.Queue
	conn *nats.Conn
	js   natsjs.JetStream
}

// openJetStream connects to a NATS server, and goes on to look for it whenever it is away.
// The errors do not repeat the URL: it may hold a password.
func openJetStream(ctx context.Context, url string, log *slog.Logger) (*jetStream, error) {
	conn, err := nats.Connect(url, nats.Name("mortise"), nats.Timeout(5*time.Second), nats.MaxReconnects(-1), nats.NoCallbacksAfterClientClose(),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { log.Warn("the queue is away", "error", err) }),
		nats.ReconnectHandler(func(*nats.Conn) { log.Info("the queue is back") }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			log.Warn("the queue reports an error", "error", err)
		}))
	if err != nil {
		return nil, fmt.Errorf("-queue: %w", err)
	}
	q := &jetStream{conn: conn}
	if q.js, err = natsjs.New(conn); err == nil {
		q.Queue, err = jetstream.New(ctx, q.js, &jetstream.Options{Logger: log})
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("-queue: %w", err)
	}
	return q, nil
}

// ping returns an error unless the server's JetStream answers.
func (q *jetStream) ping(ctx context.Context) error {
	if !q.conn.IsConnected() {
		return errors.New("not connected to the NATS server")
	}
	_, err := q.js.AccountInfo(ctx)
	return err
}
