package jetstream_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/jetstream"
)

// A job is added twice, is there once, and is handled.
func ExampleNew() {
	folder, err := os.MkdirTemp("", "nats")
	check(err)
	defer func() { _ = os.RemoveAll(folder) }()
	// Here the server is in the program. A host connects to its own by nats.Connect(url).
	srv, err := server.NewServer(&server.Options{JetStream: true, StoreDir: folder, SyncAlways: true, DontListen: true, NoLog: true, NoSigs: true})
	check(err)
	srv.Start()
	defer srv.WaitForShutdown()
	defer srv.Shutdown()
	if !srv.ReadyForConnections(20 * time.Second) {
		panic("the server does not start")
	}
	conn, err := nats.Connect("", nats.InProcessServer(srv), nats.MaxReconnects(-1))
	check(err)
	defer conn.Close()
	stream, err := js.New(conn)
	check(err)

	ctx, cancel := context.WithCancel(context.Background())
	queue, err := jetstream.New(ctx, stream, &jetstream.Options{Synced: true})
	check(err)
	order := mortise.Job{Kind: "order", Organization: "acme", ID: "42"}
	check(queue.Enqueue(ctx, order))
	check(queue.Enqueue(ctx, order))
	check(queue.Consume(ctx, mortise.ConsumeOptions{Kinds: []string{"order"}}, func(_ context.Context, d mortise.Delivery) mortise.Verdict {
		fmt.Println("send", d.Job.ID)
		cancel()
		return mortise.Verdict{Kind: mortise.VerdictDone}
	}))
	// Output: send 42
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
