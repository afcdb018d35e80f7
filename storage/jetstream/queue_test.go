package jetstream_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/jetstream"
	"github.com/seed-6363c74e/mortise/storage/queuetest"
)

// TestQueue is the conformance suite of queues. To reopen is to restart the server, and to
// break is to stop it.
func TestQueue(t *testing.T) {
	t.Parallel()
	rigs := make(map[mortise.Queue]*rig)
	open := func(t *testing.T, r *rig) queuetest.Backend {
		q := r.queue(t, &jetstream.Options{AckWait: 5 * time.Second}) // rules wait for ten
		rigs[q] = r
		return queuetest.Backend{Queue: q}
	}
	queuetest.Run(t, queuetest.Harness{
		Open: func(t *testing.T) queuetest.Backend { return open(t, newRig(t)) },
		Reopen: func(t *testing.T, b queuetest.Backend) queuetest.Backend {
			r := rigs[b.Queue]
			r.stop()
			require.NoError(t, r.start())
			return open(t, r)
		},
		Break: func(t *testing.T, b queuetest.Backend) (heal func()) {
			r := rigs[b.Queue]
			r.stop()
			return func() { require.NoError(t, r.start()) }
		},
		Skip: map[string]string{
			"queue/turns":  "JetStream hands out the messages of a subject filter in the order of the stream",
			"queue/beside": "a consumer cannot be told to leave out the subjects of one organization",
		},
	})
}
