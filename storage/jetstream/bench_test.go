package jetstream_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// BenchmarkEnqueue enqueues jobs on a server that syncs each write, by 1, 16 and 64 callers
// at a time, in turns with a bare publish of an equally long subject to a stream of its own.
// of-bare is the speed as a part of the bare one's.
func BenchmarkEnqueue(b *testing.B) {
	r := newRig(b)
	q, stream := r.queue(b, nil), r.connect(b)
	const subject = "BAREXXX.ready.docs.acme." // as long as MORTISE.ready
	_, err := stream.CreateStream(b.Context(), js.StreamConfig{Name: "BARE", Subjects: []string{subject + ">"}, Storage: js.FileStorage})
	require.NoError(b, err)
	contenders := []func() error{
		func() error { return q.Enqueue(b.Context(), job("docs")) },
		func() error {
			_, err := stream.PublishMsg(b.Context(), &nats.Msg{Subject: subject + job("docs").ID})
			return err
		},
	}
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			var took [2]time.Duration
			for b.Loop() {
				for i, publish := range contenders {
					began := time.Now()
					var all sync.WaitGroup
					for range callers {
						all.Go(func() {
							for range 20 {
								if err := publish(); err != nil {
									b.Error(err)
								}
							}
						})
					}
					all.Wait()
					took[i] += time.Since(began)
				}
			}
			calls := float64(b.N * callers * 20)
			b.ReportMetric(calls/took[0].Seconds(), "jobs/s")
			b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "of-bare")
		})
	}
}
