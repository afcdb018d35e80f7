package sqlite_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/trigger"
)

// BenchmarkSubmitGrown makes submissions by 64 callers until a file has so many events, of
// one organization or of any of many, and compares the last tenth with the first.
// MORTISE_SOAK=1 adds 10^5 and 10^6, and MORTISE_SOAK=10 makes 10^7. The bytes are those of
// the file after Close, event and job.
func BenchmarkSubmitGrown(b *testing.B) {
	sizes := []int{20_000}
	switch os.Getenv("MORTISE_SOAK") {
	case "1":
		sizes = append(sizes, 100_000, 1_000_000)
	case "10":
		sizes = []int{10_000_000}
	}
	for _, size := range sizes {
		for _, orgs := range []int{1, 1000} {
			b.Run(fmt.Sprintf("events=%d/organizations=%d", size, orgs), func(b *testing.B) {
				for b.Loop() {
					growEvents(b, size, orgs)
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

func growEvents(b *testing.B, size, orgs int) {
	path := filepath.Join(b.TempDir(), "grown.db")
	db, err := sqlite.Open(b.Context(), path, nil)
	require.NoError(b, err)
	service, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil)}, nil)
	require.NoError(b, err)
	submit := func(ctx context.Context) error {
		org := fmt.Sprint("organization-", rand.IntN(orgs))
		_, err := service.Submit(ctx, org, "", trigger.Submission{Instructions: benchInstructions, Context: []byte(benchContext)})
		return err
	}
	const callers, stretches = 64, 10
	each := size / stretches / callers * callers
	var took, used [stretches]time.Duration
	for i := range stretches {
		before := processorUse(b)
		took[i] = turn(b, callers, each, submit)
		used[i] = processorUse(b) - before
		b.Logf("to %d: %.0f/s, %.1f us of CPU", (i+1)*each, float64(each)/took[i].Seconds(), float64(used[i].Microseconds())/float64(each))
	}
	require.NoError(b, db.Close())
	file, err := os.Stat(path)
	require.NoError(b, err)
	last := stretches - 1
	b.ReportMetric(float64(each)/took[0].Seconds(), "first/s")
	b.ReportMetric(float64(each)/took[last].Seconds(), "last/s")
	b.ReportMetric(took[0].Seconds()/took[last].Seconds(), "of-first")
	b.ReportMetric(float64(used[0].Microseconds())/float64(each), "us-cpu-first")
	b.ReportMetric(float64(used[last].Microseconds())/float64(each), "us-cpu-last")
	b.ReportMetric(float64(file.Size())/float64(stretches*each), "B/event")
}
