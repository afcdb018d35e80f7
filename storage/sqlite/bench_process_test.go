package sqlite_test

import (
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/triggerdb"
	"github.com/seed-6363c74e/mortise/trigger"
)

// processed is a service with a worker whose work is to wait.
type processed struct {
	service *trigger.Service
	started chan time.Time // of each attempt
	done    atomic.Int64   // attempts that have ended and are written down
}

// startProcessing runs the worker until the benchmark ends.
func startProcessing(b *testing.B, concurrency int, work time.Duration) *processed {
	db := openAt(b, filepath.Join(b.TempDir(), "processed.db"), nil)
	benchOrganization(b, db.Trigger().Store.(*triggerdb.Store))
	p := &processed{started: make(chan time.Time, 1<<16)}
	var err error
	p.service, err = trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil), Directory: db.Trigger().Store.(trigger.Organizations)}, &trigger.Options{
		Env: mortise.Env{Observer: func(_ context.Context, o mortise.Observation) {
			if o.Kind == mortise.KindCompleted {
				p.done.Add(1)
			}
		}},
	})
	require.NoError(b, err)
	worker, err := trigger.NewWorker(p.service, func(context.Context, trigger.Event) (trigger.Outcome, error) {
		p.started <- time.Now()
		time.Sleep(work)
		return trigger.Outcome{Summary: "Nothing to do."}, nil
	}, &trigger.WorkerOptions{Concurrency: concurrency})
	require.NoError(b, err)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = worker.Run(ctx) })
	b.Cleanup(func() {
		stop()
		running.Wait()
	})
	return p
}

func (p *processed) submit(ctx context.Context) error {
	_, err := p.service.Submit(ctx, "acme", "", trigger.Submission{Instructions: benchInstructions, Context: []byte(benchContext)})
	return err
}

// BenchmarkIdleStart reports the time from the call of Submit, and from its return, to
// the start of the work, when the worker has nothing else to do.
func BenchmarkIdleStart(b *testing.B) {
	p := startProcessing(b, 4, 0)
	var fromCall, fromReturn, worst time.Duration
	for b.Loop() {
		called := time.Now()
		require.NoError(b, p.submit(b.Context()))
		returned := time.Now()
		started := <-p.started
		fromCall += started.Sub(called)
		fromReturn += started.Sub(returned)
		worst = max(worst, started.Sub(called))
		time.Sleep(5 * time.Millisecond) // the worker is idle again
	}
	b.ReportMetric(float64(fromCall.Microseconds())/float64(b.N), "us-from-call")
	b.ReportMetric(float64(fromReturn.Microseconds())/float64(b.N), "us-from-return")
	b.ReportMetric(float64(worst.Microseconds()), "us-worst")
	b.ReportMetric(0, "ns/op")
}
