package e2e

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// Where the server has the jobs of events.
const (
	natsStream   = "MORTISE"
	natsConsumer = "trigger"
)

// as does something at the server, as an operator does with the program nats.
func (n *natsServer) as(do func(ctx context.Context, js jetstream.JetStream) error) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	defer cancel()
	conn, err := nats.Connect(n.url)
	require.NoError(n.t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(n.t, err)
	require.NoError(n.t, do(ctx, js))
}

// hold keeps the jobs of events from being handed out, until release is called or the
// consumer is made anew. They wait.
func (n *natsServer) hold() {
	n.t.Helper()
	n.as(func(ctx context.Context, js jetstream.JetStream) error {
		_, err := js.PauseConsumer(ctx, natsStream, natsConsumer, time.Now().Add(time.Hour))
		return err
	})
}

func (n *natsServer) release() {
	n.t.Helper()
	n.as(func(ctx context.Context, js jetstream.JetStream) error {
		_, err := js.ResumeConsumer(ctx, natsStream, natsConsumer)
		return err
	})
}

// waiting returns how many jobs the stream has.
func (n *natsServer) waiting() (jobs uint64) {
	n.t.Helper()
	n.as(func(ctx context.Context, js jetstream.JetStream) error {
		stream, err := js.Stream(ctx, natsStream)
		if err == nil {
			jobs = stream.CachedInfo().State.Msgs
		}
		return err
	})
	return jobs
}

// lose deletes the stream of jobs.
func (n *natsServer) lose() {
	n.t.Helper()
	n.t.Logf("%d jobs wait", n.waiting())
	n.as(func(ctx context.Context, js jetstream.JetStream) error { return js.DeleteStream(ctx, natsStream) })
}

// onDisk returns a copy of the server's files. It is made while the server works, so they
// are of different moments, as the disk gets them from a server that seldom syncs.
func (n *natsServer) onDisk() (image string) {
	n.t.Helper()
	image = filepath.Join(n.t.TempDir(), "image")
	root := n.opts.StoreDir
	require.NoError(n.t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was replaced meanwhile
		}
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(image, relative), 0o700)
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(image, relative), content, 0o600)
	}))
	return image
}

// crash ends the server as if its machine had stopped: what it wrote after the image is gone,
// and the last thing that it wrote before is there in part. Then it starts it.
func (n *natsServer) crash(image string) {
	n.t.Helper()
	before := n.waiting()
	n.stop()
	require.NoError(n.t, os.RemoveAll(n.opts.StoreDir))
	require.NoError(n.t, os.CopyFS(n.opts.StoreDir, os.DirFS(image)))
	blocks, err := filepath.Glob(filepath.Join(n.opts.StoreDir, "jetstream", "*", "streams", natsStream, "msgs", "*.blk"))
	require.NoError(n.t, err)
	require.NotEmpty(n.t, blocks, "blocks of messages")
	last := slices.Max(blocks)
	info, err := os.Stat(last)
	require.NoError(n.t, err)
	require.NoError(n.t, os.Truncate(last, max(info.Size()-10, 0)))
	n.start()
	after := n.waiting()
	require.Less(n.t, after, before, "no job is lost")
	n.t.Logf("%d jobs wait, %d after the crash", before, after)
}
