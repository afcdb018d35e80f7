package sqlite_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkProcess compares the time from the first submission to the end of the last
// event, worker and submitters at once, with that of a worker written by hand over the same
// tables (bareWorker), and with that of the submissions alone: for the default of four
// attempts at a time, and for 64, with 64 callers. Of 25600 events more wait than the writer
// keeps. Ours and theirs take turns: of-bare is the median of the pairs. The processor time
// is that of the whole process.
func BenchmarkProcess(b *testing.B) {
	for _, c := range []struct {
		attempts, total int
		work            time.Duration
	}{
		{4, 2560, 0}, {4, 256, 10 * time.Millisecond}, {64, 2560, 0}, {64, 25600, 0}, {64, 2560, 10 * time.Millisecond},
	} {
		b.Run(fmt.Sprintf("attempts=%d/work=%v/events=%d", c.attempts, c.work, c.total), func(b *testing.B) {
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
			var pairs []float64
			for b.Loop() {
				aloneTime += turn(b, callers, total, alone)
				ours, cpu := until(&p.done, p.submit)
				oursTime, oursCPU = oursTime+ours, oursCPU+cpu
				for len(p.started) > 0 {
					<-p.started
				}
				byHand, cpu := until(&bare.ended, bare.submit)
				bareTime, bareCPU = bareTime+byHand, bareCPU+cpu
				pairs = append(pairs, byHand.Seconds()/ours.Seconds())
			}
			slices.Sort(pairs)
			events := float64(b.N * total)
			b.ReportMetric(events/oursTime.Seconds(), "processed/s")
			b.ReportMetric(events/bareTime.Seconds(), "bare/s")
			b.ReportMetric(pairs[len(pairs)/2], "of-bare")
			b.ReportMetric(pairs[0], "of-bare-least")
			b.ReportMetric(pairs[len(pairs)-1], "of-bare-most")
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
