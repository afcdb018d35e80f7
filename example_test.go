package mortise_test

import (
	"context"
	"fmt"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// A host may use the queue for work of its own, besides that of the domains.
func Example() {
	ctx := context.Background()
	db, err := memory.Open(ctx, nil)
	if err != nil {
		panic(err)
	}
	queue := db.Queue(nil)
	job := mortise.Job{Kind: "newsletter", Organization: "acme", ID: "2026-11"}
	if err := queue.Enqueue(ctx, job); err != nil {
		panic(err)
	}
	for range 2 {
		found, err := queue.ConsumeOne(ctx, []string{"newsletter"},
			func(_ context.Context, d mortise.Delivery) mortise.Verdict {
				fmt.Println(d.Job, "for the first time:", d.Deliveries == 1)
				return mortise.Verdict{Kind: mortise.VerdictDone}
			})
		fmt.Println(found, err)
	}
	// Output:
	// newsletter/"acme"/2026-11 for the first time: true
	// true <nil>
	// false <nil>
}
