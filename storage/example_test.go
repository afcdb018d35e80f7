package storage_test

import (
	"context"
	"fmt"

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
