package trigger_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// A job of a kind of the host's own follows each event. It is added by the transaction that
// ends the event.
func ExampleOptions_onEnd() {
	ctx := context.Background()
	db, err := memory.Open(ctx, nil)
	check(err)
	const kind = "mail"
	service, err := trigger.New(db.Trigger(), &trigger.Options{OnEnd: func(e trigger.Event) []mortise.Job {
		// With the generation, so that an event that is sent back has a job for each end.
		id := fmt.Sprintf("%s-%d", e.ID, e.Generation)
		return []mortise.Job{{Kind: kind, Organization: e.Organization, ID: id}}
	}})
	check(err)
	worker, err := trigger.NewWorker(service, func(context.Context, trigger.Event) (trigger.Outcome, error) {
		return trigger.Outcome{Summary: "It has two flags."}, nil
	}, nil)
	check(err)
	_, err = service.Submit(ctx, "acme", "ann", trigger.Submission{Instructions: "Document the flags."})
	check(err)
	_, err = worker.RunOnce(ctx)
	check(err)

	// In a program, Consume runs beside the worker.
	_, err = db.Queue(nil).ConsumeOne(ctx, []string{kind}, func(ctx context.Context, d mortise.Delivery) mortise.Verdict {
		const length = len("00000000-0000-0000-0000-000000000000")
		e, err := service.Event(ctx, d.Job.Organization, uuid.MustParse(d.Job.ID[:length]))
		if errors.Is(err, mortise.ErrNotFound) { // deleted meanwhile, or pruned
			return mortise.Verdict{Kind: mortise.VerdictDone}
		}
		if err != nil { // it comes again
			return mortise.Verdict{After: 10 * time.Second}
		}
		fmt.Printf("Dear %s: %s %s %s\n", e.Organization, e.Instructions, e.Status, e.Outcome.Summary)
		return mortise.Verdict{Kind: mortise.VerdictDone}
	})
	check(err)
	// Output:
	// Dear acme: Document the flags. completed It has two flags.
}
