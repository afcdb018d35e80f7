package sqlite_test

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkProcess compares the time from the first submission to the end of the last
// event, worker and submitters at once, with that of a worker written by hand over the same
// tables (bareWorker), and with that of the submissions alone: for the default of four
// attempts at a time, and for 64, with 64 callers. The processor time is that of the whole
// process.
func BenchmarkProcess(b *testing.B) {
	for _, c := range []struct {
		attempts, total int
		work            time.Duration
	}{
		{4, 2560, 0}, {4, 256, 10 * time.Millisecond}, {64, 2560, 0}, {64, 2560, 10 * time.Millisecond},
	} {
		b.Run(fmt.Sprintf("attempts=%d/work=%v", c.attempts, c.work), func(b *testing.B) {
			const callers = 64
			total := c.total
			alone := benchService(b, filepath.Join(b.TempDir(), "alone.db"))
			p := startProcessing(b, c.attempts, c.work)
			bare := newBareWorker(b, c.attempts, func() { time.Sleep(c.work) })
			var aloneTime, oursTime, bareTime, oursCPU, bareCPU time.Duration
			until := func(done *atomic.Int64, submit call) (wall, cpu time.Duration) {
				target := done.Load() + int64(total)
				begun, used := time.Now(), processorUse(b)
				turn(b, callers, total, submit)
				for done.Load() < target {
					time.Sleep(100 * time.Microsecond)
				}
				return time.Since(begun), processorUse(b) - used
			}
			for b.Loop() {
				aloneTime += turn(b, callers, total, alone)
				wall, cpu := until(&p.done, p.submit)
				oursTime, oursCPU = oursTime+wall, oursCPU+cpu
				for len(p.started) > 0 {
					<-p.started
				}
				wall, cpu = until(&bare.ended, bare.submit)
				bareTime, bareCPU = bareTime+wall, bareCPU+cpu
			}
			events := float64(b.N * total)
			b.ReportMetric(events/oursTime.Seconds(), "processed/s")
			b.ReportMetric(events/bareTime.Seconds(), "bare/s")
			b.ReportMetric(bareTime.Seconds()/oursTime.Seconds(), "of-bare")
			b.ReportMetric(aloneTime.Seconds()/oursTime.Seconds(), "of-submit")
			b.ReportMetric(float64(oursCPU.Microseconds())/events, "us-cpu")
			b.ReportMetric(float64(bareCPU.Microseconds())/events, "us-cpu-bare")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// processorUse is how long processors have worked for this process.
func processorUse(b *testing.B) time.Duration {
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
