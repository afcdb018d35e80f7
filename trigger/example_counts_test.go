package trigger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// The numbers of an organization's dashboard.
func ExampleService_Counts() {
	ctx := context.Background()
	db, err := memory.Open(ctx, nil)
	check(err)
	service, err := trigger.New(db.Trigger(), nil)
	check(err)
	for _, page := range []string{"releases", "nowhere", "index"} {
		_, err := service.Submit(ctx, "acme", "ann", trigger.Submission{Instructions: "Mend the page: " + page})
		check(err)
	}
	write := func(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
		if strings.HasSuffix(e.Instructions, "nowhere") {
			return trigger.Outcome{}, trigger.Permanent(errors.New("there is no such page"))
		}
		return trigger.Outcome{}, nil
	}
	worker, err := trigger.NewWorker(service, write, nil)
	check(err)
	for range 2 {
		_, err := worker.RunOnce(ctx)
		check(err)
	}

	counts, err := service.Counts(ctx, "acme")
	check(err)
	fmt.Printf("%s wait, %s are running, %s are completed, %s have failed\n",
		counts.Waiting, counts.Running, counts.Completed, counts.Failed)
	// Output:
	// 1 wait, 0 are running, 1 are completed, 1 have failed
}

// What a service's metrics tell those who run it, and by which they know that there are
// too few workers.
func ExampleService_Backlog() {
	service := newService(nil)
	ctx := context.Background()
	event, err := service.Submit(ctx, "acme", "ann", trigger.Submission{Instructions: "Document the release."})
	check(err)
	backlog, err := service.Backlog(ctx)
	check(err)
	fmt.Println("triggers_waiting", backlog.Waiting.N)
	fmt.Println("triggers_running", backlog.Running.N)
	fmt.Println("triggers_failed", backlog.Failed.N)
	fmt.Println("the next one is the one just made:", backlog.NextDue.Equal(event.DueAt))
	// Output:
	// triggers_waiting 1
	// triggers_running 0
	// triggers_failed 0
	// the next one is the one just made: true
}
