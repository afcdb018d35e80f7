package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/jetstream"
)

// useJetStream has the jobs queued by a NATS server, which it goes on to look for whenever
// it is away. The errors do not repeat the URL: it may hold a password.
func (b *backends) useJetStream(ctx context.Context, s *settings, log *slog.Logger) error {
	conn, err := nats.Connect(s.queue, nats.Name("mortise"), nats.Timeout(5*time.Second), nats.MaxReconnects(-1), nats.NoCallbacksAfterClientClose(),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { log.Warn("the queue is away", "error", err) }),
		nats.ReconnectHandler(func(*nats.Conn) { log.Info("the queue is back") }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			log.Warn("the queue reports an error", "error", err)
		}))
	if err != nil {
		return about("-queue", err)
	}
	closeTables := b.close
	b.close = func() error {
		defer conn.Close()
		return closeTables()
	}
	js, err := natsjs.New(conn)
	if err != nil {
		return about("-queue", err)
	}
	queue, err := jetstream.New(ctx, js, &jetstream.Options{AckWait: s.lease, Logger: log})
	if err != nil {
		return about("-queue", err)
	}
	b.trigger.Queue, b.audio.Queue = queue, queue
	b.others = append(b.others, httpadapter.Part{Name: "queue", Ping: func(ctx context.Context) error {
		if !conn.IsConnected() {
			return errors.New("not connected to the NATS server")
		}
		_, err := js.AccountInfo(ctx)
		return err
	}})
	return nil
}
