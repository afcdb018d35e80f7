package jetstream_test

import (
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/jetstream"
)

// TestAtOnce: four programs that start at once create one stream and one consumer, and
// share the jobs.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var queues [4]*jetstream.Queue
	var conns [4]js.JetStream
	for i := range conns {
		conns[i] = r.connect(t)
	}
	var errs [4]error
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i, conn := range conns {
		all.Go(func() {
			<-begin
			queues[i], errs[i] = jetstream.New(t.Context(), conn, nil)
		})
	}
	close(begin)
	all.Wait()
	require.Equal(t, [4]error{}, errs)

	var want, got []mortise.Delivery
	for range 40 {
		want = append(want, mortise.Delivery{Job: enqueue(t, queues[0], job("docs"))})
	}
	given := make(chan mortise.Delivery, 100)
	for _, q := range queues {
		c := consume(t, q, 2, nil)
		go func() {
			for {
				select {
				case d := <-c.given:
					given <- d
				case <-t.Context().Done():
					return
				}
			}
		}()
	}
	for range want {
		got = append(got, await(t, given, "a job"))
	}
	assert.Equal(t, ids(want...), ids(got...))
	names := r.connect(t).StreamNames(t.Context())
	var streams []string
	for name := range names.Name() {
		streams = append(streams, name)
	}
	assert.ElementsMatch(t, []string{"MORTISE", "MORTISE_DEAD"}, streams)
}

// TestSettingsStay: what operators have set stays, and counts.
func TestSettingsStay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	conn := r.connect(t)
	q := queueOn(t, conn, &jetstream.Options{AckWait: time.Hour})
	enqueue(t, q, job("docs"))
	c := consume(t, q, 1, nil)
	c.next()
	c.stop()

	stream, err := conn.Stream(t.Context(), "MORTISE")
	require.NoError(t, err)
	config := stream.CachedInfo().Config
	config.Description = "looked after by ann"
	_, err = conn.UpdateStream(t.Context(), config)
	require.NoError(t, err)
	q = queueOn(t, conn, &jetstream.Options{AckWait: time.Second})
	enqueue(t, q, job("docs"))
	c = consume(t, q, 1, nil)
	c.next()
	c.stop()
	stream, err = conn.Stream(t.Context(), "MORTISE")
	require.NoError(t, err)
	assert.Equal(t, "looked after by ann", stream.CachedInfo().Config.Description)
	consumer, err := conn.Consumer(t.Context(), "MORTISE", "docs")
	require.NoError(t, err)
	assert.Equal(t, time.Hour, consumer.CachedInfo().Config.AckWait)
}

// TestLittleRoom: a server that has room for the streams once goes on when they are there.
func TestLittleRoom(t *testing.T) {
	t.Parallel()
	r := &rig{dir: t.TempDir(), room: 100 << 20} // dead letters take 64 MiB of it
	require.NoError(t, r.start())
	t.Cleanup(r.stop)
	r.queue(t, nil)
	q := r.queue(t, nil) // another program
	j := enqueue(t, q, job("docs"))
	require.Equal(t, j, consume(t, q, 1, nil).next().Job)
}

// TestNoJetStream: the error of a server without it says how it is turned on.
func TestNoJetStream(t *testing.T) {
	t.Parallel()
	srv, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, NoLog: true})
	require.NoError(t, err)
	srv.Start()
	t.Cleanup(srv.Shutdown)
	require.True(t, srv.ReadyForConnections(20*time.Second))
	conn, err := nats.Connect("", nats.InProcessServer(srv))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	stream, err := js.New(conn)
	require.NoError(t, err)
	_, err = jetstream.New(t.Context(), stream, nil)
	require.ErrorContains(t, err, "turn it on, by -js or by a jetstream block")
}

// TestNewRefuses: options that make no sense, and streams of others.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	conn := newRig(t).connect(t)
	for _, c := range []struct {
		opts jetstream.Options
		says string
	}{
		{jetstream.Options{Name: "a.b"}, "Options.Name"},
		{jetstream.Options{Name: "*"}, "Options.Name"},
		{jetstream.Options{AckWait: time.Millisecond}, "Options.AckWait"},
		{jetstream.Options{AckWait: -1}, "Options.AckWait"},
		{jetstream.Options{Replicas: -1}, "Options.Replicas"},
		{jetstream.Options{Replicas: 3}, "replicas > 1 not supported in non-clustered mode"},
	} {
		_, err := jetstream.New(t.Context(), conn, &c.opts)
		assert.ErrorContains(t, err, c.says)
	}
	_, err := jetstream.New(t.Context(), nil, nil)
	require.Error(t, err)

	for name, config := range map[string]js.StreamConfig{
		"message schedules": {Name: "A", Subjects: []string{"A.>"}, Retention: js.WorkQueuePolicy, MaxMsgsPerSubject: 1},
		"retention":         {Name: "B", Subjects: []string{"B.>"}, AllowMsgSchedules: true, MaxMsgsPerSubject: 1},
	} {
		_, err := conn.CreateStream(t.Context(), config)
		require.NoError(t, err)
		_, err = jetstream.New(t.Context(), conn, &jetstream.Options{Name: config.Name})
		assert.ErrorContains(t, err, name)
	}
}
