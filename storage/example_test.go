package storage_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// A service takes its parts as interfaces, so that any backend fits. This one has its
// store and its jobs in RAM.
func Example() {
	ctx := context.Background()
	db, err := memory.Open(ctx, nil)
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close() }()

	var (
		store trigger.Store  = db.Trigger().Store
		jobs  mortise.Leases = db.Jobs()
	)
	service, err := trigger.New(trigger.Backend{Store: store, Queue: leases.New(jobs, nil)}, nil)
	if err != nil {
		panic(err)
	}
	e, err := service.Submit(ctx, "acme", "ann", trigger.Submission{Instructions: "Document the --json flag."})
	if err != nil {
		panic(err)
	}
	fmt.Println(e.Status)

	worker, err := trigger.NewWorker(service, func(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
		return trigger.Outcome{Summary: "Done: " + e.Instructions}, nil
	}, nil)
	if err != nil {
		panic(err)
	}
	if _, err := worker.RunOnce(ctx); err != nil {
		panic(err)
	}
	if e, err = service.Event(ctx, "acme", e.ID); err != nil {
		panic(err)
	}
	fmt.Println(e.Status, "-", e.Outcome.Summary)
	// Output:
	// received
	// completed - Done: Document the --json flag.
}

// A host has jobs of its own kind worked beside the jobs of package trigger, looks at the job
// that was given up, and revives it.
func Example_jobsOfAHost() {
	ctx, stop := context.WithCancel(context.Background())
	db, err := memory.Open(ctx, nil)
	check(err)
	defer func() { check(db.Close()) }()

	service, err := trigger.New(db.Trigger(), nil)
	check(err)
	worker, err := trigger.NewWorker(service, func(context.Context, trigger.Event) (trigger.Outcome, error) {
		return trigger.Outcome{}, nil
	}, nil)
	check(err)

	const kind = "invoice"
	queue, jobs := db.Queue(nil), db.Jobs()
	var postOpen atomic.Bool
	sent := make(chan string, 1)
	send := func(_ context.Context, d mortise.Delivery) mortise.Verdict {
		switch {
		case postOpen.Load():
			sent <- d.Job.ID // the work, which must be idempotent
			return mortise.Verdict{Kind: mortise.VerdictDone}
		case d.Deliveries >= 3:
			return mortise.Verdict{Kind: mortise.VerdictDead}
		}
		return mortise.Verdict{After: time.Millisecond}
	}
	var running sync.WaitGroup
	running.Go(func() { check(worker.Run(ctx)) })
	running.Go(func() { check(queue.Consume(ctx, mortise.ConsumeOptions{Kinds: []string{kind}, Workers: 2}, send)) })

	check(queue.Enqueue(ctx, mortise.Job{Kind: kind, Organization: "acme", ID: "2026-0042"}))
	for count := (mortise.Count{}); count.N == 0; time.Sleep(time.Millisecond) {
		count, err = jobs.CountDead(ctx, kind, mortise.MaxCount) // a metric to watch
		check(err)
	}

	page, err := jobs.ListDead(ctx, kind, "", mortise.MaxPageSize)
	check(err)
	postOpen.Store(true)
	for _, d := range page.Items {
		fmt.Println(d.Job, "was given up after", d.Deliveries, "deliveries")
		check(jobs.Revive(ctx, d.Job))
	}
	fmt.Println("sent", <-sent)
	stop()
	running.Wait()
	// Output:
	// invoice/"acme"/2026-0042 was given up after 3 deliveries
	// sent 2026-0042
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
