package jetstream_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/storage/jetstream"
)

// TestStreamDeleted: a stream that is gone is made anew, and LostJobs then names a time that
// all its jobs were added before.
func TestStreamDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	conn := r.connect(t)
	q := queueOn(t, conn, &jetstream.Options{Synced: true})
	before, err := q.LostJobs(t.Context())
	require.NoError(t, err)
	enqueue(t, q, job("docs"))
	added := time.Now()
	require.NoError(t, conn.DeleteStream(t.Context(), "MORTISE"))
	lost, err := q.LostJobs(t.Context())
	require.NoError(t, err)
	require.True(t, lost.After(before), "no loss was told")
	require.False(t, lost.Before(added), "the job was added at %v, and what was lost before %v", added, lost)
	again := enqueue(t, q, job("docs"))
	require.Equal(t, again, consume(t, q, 1, nil).next().Job)
}

// TestBackupPutBack: what was added after a backup is told as lost when that is put back.
func TestBackupPutBack(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	r := newRig(t)
	q := r.queue(t, &jetstream.Options{Synced: true})
	enqueue(t, q, job("docs"))
	r.stop()
	backup := filepath.Join(t.TempDir(), "backup")
	require.NoError(t, os.CopyFS(backup, os.DirFS(r.dir)))
	require.NoError(t, r.start())
	require.Eventually(t, func() bool { return q.Enqueue(t.Context(), job("docs")) == nil }, time.Minute, 10*time.Millisecond)
	before, err := q.LostJobs(t.Context())
	require.NoError(t, err)
	// What is lost so shortly after the stream was made, its age tells already.
	require.Eventually(t, func() bool { return time.Now().After(before) }, time.Minute, 10*time.Millisecond)
	added := time.Now()
	r.stop()
	require.NoError(t, os.RemoveAll(r.dir))
	require.NoError(t, os.CopyFS(r.dir, os.DirFS(backup)))
	require.NoError(t, r.start())
	var lost time.Time
	require.Eventually(t, func() bool {
		lost, err = q.LostJobs(t.Context())
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	require.True(t, lost.After(before) && !lost.Before(added), "told: %v, before that %v, added at %v", lost, before, added)
}

// TestRestarts: jobs are added and handled while the server is stopped and started again and
// again. Each whose Enqueue had succeeded is handled; while the server is away, it fails.
func TestRestarts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	q := r.queue(t, &jetstream.Options{Synced: true, AckWait: 2 * time.Second})
	var mu sync.Mutex
	handled, accepted := make(map[string]bool), make(map[string]bool)
	refused := make(chan error, 1)
	consume(t, q, 8, func(_ context.Context, d mortise.Delivery) mortise.Verdict {
		mu.Lock()
		defer mu.Unlock()
		handled[d.Job.ID] = true
		return done
	})
	ctx, stop := context.WithCancel(t.Context())
	var adding sync.WaitGroup
	for range 4 {
		adding.Go(func() {
			for ctx.Err() == nil {
				j := job("docs")
				one, cancel := context.WithTimeout(ctx, time.Second)
				if err := q.Enqueue(one, j); err == nil {
					mu.Lock()
					accepted[j.ID] = true
					mu.Unlock()
				} else {
					select {
					case refused <- err:
					default:
					}
				}
				cancel()
			}
		})
	}
	counts := func() (n, left int) {
		mu.Lock()
		defer mu.Unlock()
		for id := range accepted {
			if !handled[id] {
				left++
			}
		}
		return len(accepted), left
	}
	for round := range 4 {
		before, _ := counts()
		require.Eventually(t, func() bool { n, _ := counts(); return n > before+20 }, time.Minute, time.Millisecond)
		r.stop()
		if round == 0 {
			select {
			case <-refused:
			case <-time.After(time.Minute):
				t.Fatal("no Enqueue has failed while the server is away")
			}
		}
		require.NoError(t, r.start())
	}
	stop()
	adding.Wait()
	require.Eventually(t, func() bool { _, left := counts(); return left == 0 }, time.Minute, 10*time.Millisecond)
}
