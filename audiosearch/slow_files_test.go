package audiosearch_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// TestLongDownloadsAndProbes: neither Files nor Probe can tell how far they are, and both
// may take as long as to copy the file.
func TestLongDownloadsAndProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(2 * time.Hour) // what was left behind ends
		const long = 10 * time.Minute   // a file of 60 GB at 100 MB/s
		var o *audiosearch.Options
		r := newRig(t, func(opts *audiosearch.Options, _ *audiosearch.WorkerOptions) { o = opts })
		o.Files = slowFiles{o.Files, long}
		o.Media = &fakeMedia{
			probe: func() error { time.Sleep(long); return nil },
			pcm:   func(yield func([]float32, error) bool) { yield(make([]float32, 10), nil) },
		}
		var err error
		r.Service, err = audiosearch.New(r.db.AudioSearch(), o)
		require.NoError(t, err)
		r.video("a", 10, nil, nil)
		assert.Equal(t, audiosearch.Ingested{Scored: 1}, r.ingest())
	})
}
