package jetstream_test

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/testmain"
	"github.com/seed-6363c74e/mortise/storage/jetstream"
)

func TestMain(m *testing.M) {
	testmain.Parallel(4)            // for leases, and for servers to start again
	defer testmain.TempInMemory()() // a server that is stopped has lost nothing that it wrote
	m.Run()
}

// rig is a NATS server in this process, which can be stopped and started again on the same
// folder.
type rig struct {
	dir   string
	hasty bool  // it does not sync
	room  int64 // bytes that it may store; 0: all that there are

	mu  sync.Mutex
	srv *server.Server
}

// newRig starts a server that syncs each write and ends with the test.
func newRig(t testing.TB) *rig {
	return startRig(t, false)
}

// newHastyRig starts one that does not sync, for tests with thousands of writes.
func newHastyRig(t testing.TB) *rig {
	return startRig(t, true)
}

func startRig(t testing.TB, hasty bool) *rig {
	r := &rig{dir: t.TempDir(), hasty: hasty}
	require.NoError(t, r.start())
	t.Cleanup(r.stop)
	return r
}

func (r *rig) start() error {
	srv, err := server.NewServer(&server.Options{
		ServerName: "rig", DontListen: true, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: r.dir, SyncAlways: !r.hasty, JetStreamMaxStore: r.room,
	})
	if err != nil {
		return err
	}
	srv.Start()
	if !srv.ReadyForConnections(20 * time.Second) {
		return nats.ErrTimeout
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.srv = srv
	return nil
}

func (r *rig) stop() {
	r.mu.Lock()
	srv := r.srv
	r.srv = nil
	r.mu.Unlock()
	if srv != nil {
		srv.Shutdown()
		srv.WaitForShutdown()
	}
}

// InProcessConn implements [nats.InProcessConnProvider]: of the server that runs now.
func (r *rig) InProcessConn() (net.Conn, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.srv == nil {
		return nil, nats.ErrNoServers
	}
	return r.srv.InProcessConn()
}

// connect returns a connection as a host should make it.
func (r *rig) connect(t testing.TB) js.JetStream {
	conn, err := nats.Connect("", nats.InProcessServer(r), nats.MaxReconnects(-1),
		nats.ReconnectWait(20*time.Millisecond), nats.ReconnectJitter(0, 0))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	stream, err := js.New(conn)
	require.NoError(t, err)
	return stream
}

// queue returns a queue over a connection of its own.
func (r *rig) queue(t testing.TB, opts *jetstream.Options) *jetstream.Queue {
	return queueOn(t, r.connect(t), opts)
}

func queueOn(t testing.TB, conn js.JetStream, opts *jetstream.Options) *jetstream.Queue {
	var o jetstream.Options
	if opts != nil {
		o = *opts
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	q, err := jetstream.New(t.Context(), conn, &o)
	require.NoError(t, err)
	return q
}

// job returns a job that nobody knows.
func job(kind string) mortise.Job {
	return mortise.Job{Kind: kind, Organization: "acme", ID: nats.NewInbox()[len("_INBOX."):]}
}

func enqueue(t testing.TB, q mortise.Queue, j mortise.Job) mortise.Job {
	require.NoError(t, q.Enqueue(t.Context(), j))
	return j
}

var done = mortise.Verdict{Kind: mortise.VerdictDone}

// consuming is a running Consume.
type consuming struct {
	t     testing.TB
	stop  func()                // ends Consume, and waits for it
	given chan mortise.Delivery // each job, before it is handled
}

// consume consumes docs until the test ends. A nil handle says done.
func consume(t testing.TB, q mortise.Queue, workers int, handle mortise.Handler) *consuming {
	if handle == nil {
		handle = func(context.Context, mortise.Delivery) mortise.Verdict { return done }
	}
	ctx, cancel := context.WithCancel(t.Context())
	c := &consuming{t: t, given: make(chan mortise.Delivery, 10_000)}
	ended := make(chan error, 1)
	go func() {
		ended <- q.Consume(ctx, mortise.ConsumeOptions{Kinds: []string{"docs"}, Workers: workers},
			func(ctx context.Context, d mortise.Delivery) mortise.Verdict {
				c.given <- d
				return handle(ctx, d)
			})
	}()
	c.stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, await(t, ended, "Consume to return"))
	})
	t.Cleanup(c.stop)
	return c
}

func (c *consuming) next() mortise.Delivery {
	return await(c.t, c.given, "a job")
}

// await returns the next value of a channel. The time only ends a test that has failed.
func await[T any](t testing.TB, from <-chan T, what string) T {
	select {
	case v := <-from:
		return v
	case <-time.After(2 * time.Minute):
		require.FailNow(t, "waited in vain for "+what)
		panic("unreachable")
	}
}

// ids returns which jobs they are, sorted.
func ids(deliveries ...mortise.Delivery) (list []string) {
	for _, d := range deliveries {
		list = append(list, d.Job.String())
	}
	slices.Sort(list)
	return list
}
