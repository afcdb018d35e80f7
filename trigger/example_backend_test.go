package trigger_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// The examples of this file are for those who write a backend: what its interfaces do, shown on memory.

func ExampleOrganizations() {
	db, err := memory.Open(context.Background(), nil)
	check(err)
	ctx := context.Background()
	var orgs trigger.Organizations = db.Trigger()
	check(orgs.UpdateOrganization(ctx, "acme", func(o *trigger.Organization) error {
		o.SetupComplete = true
		o.SetCollection(uuid.Max, true)
		return nil
	}))
	refused := errors.New("not today")
	err = orgs.UpdateOrganization(ctx, "acme", func(o *trigger.Organization) error {
		o.SetupComplete = false
		return refused
	})
	fmt.Println(errors.Is(err, refused))
	acme, err := orgs.Organization(ctx, "acme")
	check(err)
	fmt.Println(acme.SetupComplete, len(acme.Collections))
	// Output:
	// true
	// true 1
}

func ExamplePruner() {
	db, err := memory.Open(context.Background(), nil)
	check(err)
	ctx := context.Background()
	service, err := trigger.New(db.Trigger(), db.Trigger().Queue(nil), nil)
	check(err)
	_, err = service.Submit(ctx, "acme", trigger.Submission{Instructions: "Document the release."})
	check(err)
	worker, err := trigger.NewWorker(service, trigger.ProcessorFunc(func(context.Context, trigger.Event) (trigger.Outcome, error) {
		return trigger.Outcome{}, nil
	}), nil)
	check(err)
	later := time.Now().Add(time.Hour)

	var pruner trigger.Pruner = db.Trigger()
	removed, err := pruner.Prune(ctx, later, 100)
	fmt.Println(removed, err) // it is not finished yet
	_, err = worker.RunOnce(ctx)
	check(err)
	removed, err = pruner.Prune(ctx, later, 100)
	fmt.Println(removed, err)
	// Output:
	// 0 <nil>
	// 1 <nil>
}

// A claimed job is held until its lease ends, then anybody may claim it, and the former holder can do nothing to it.
func ExampleLeases() {
	db, err := memory.Open(context.Background(), nil)
	check(err)
	ctx := context.Background()
	var leases trigger.Leases = db.Trigger()
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	until := noon.Add(15 * time.Second)
	check(leases.Add(ctx, trigger.Job{Organization: "acme", EventID: uuid.Max}, noon))

	first, err := leases.Claim(ctx, uuid.New(), noon, until, 10)
	check(err)
	none, err := leases.Claim(ctx, uuid.New(), noon, until, 10)
	check(err)
	fmt.Println(len(first), len(none))

	second, err := leases.Claim(ctx, uuid.New(), until, until.Add(15*time.Second), 10)
	check(err)
	fmt.Println(leases.Remove(ctx, first[0], false))
	fmt.Println(second[0].Deliveries, leases.Remove(ctx, second[0], false))
	// Output:
	// 1 0
	// trigger: the lease of the job is lost
	// 2 <nil>
}

// event is one that a backend could be given.
func event(instructions string) trigger.Event {
	return trigger.Event{
		ID: uuid.New(), Organization: "acme", Status: trigger.StatusReceived, Source: trigger.SourceAPI,
		Instructions: instructions, SubmittedAt: time.Now().UTC().Truncate(time.Microsecond),
	}
}

// The job table of memory stands beside its events, so both are written at once.
func ExampleTxLeases() {
	db, err := memory.Open(context.Background(), nil)
	check(err)
	ctx := context.Background()
	var leases trigger.TxLeases = db.Trigger()
	fmt.Println(leases.Shares(db.Trigger()))

	e := event("Document the release.")
	_, created, err := leases.CreateAndAdd(ctx, e, time.Time{}, e.Job(), e.SubmittedAt)
	check(err)
	claimed, err := leases.Claim(ctx, uuid.New(), time.Now(), time.Now().Add(time.Minute), 10)
	check(err)
	fmt.Println(created, claimed[0].Job.EventID == e.ID)
	// Output:
	// true
	// true true
}

// A queue made of such a table has the transaction too. The service uses it by itself.
func ExampleTxQueue() {
	db, err := memory.Open(context.Background(), nil)
	check(err)
	ctx := context.Background()
	queue, ok := trigger.LeaseQueue(db.Trigger(), nil).(trigger.TxQueue)
	fmt.Println(ok, queue.Shares(db.Trigger()))

	e := event("Document the release.")
	_, created, err := queue.CreateAndEnqueue(ctx, e, time.Time{}, e.Job())
	fmt.Println(created, err)
	_, created, err = queue.CreateAndEnqueue(ctx, e, time.Time{}, e.Job())
	fmt.Println(created, err)
	// Output:
	// true true
	// true <nil>
	// false <nil>
}

// Tests drive such a queue by hand, without waiting.
func ExampleStepQueue() {
	db, err := memory.Open(context.Background(), nil)
	check(err)
	ctx := context.Background()
	queue := trigger.LeaseQueue(db.Trigger(), nil).(trigger.StepQueue)
	check(queue.Enqueue(ctx, trigger.Job{Organization: "acme", EventID: uuid.Max}))
	for range 2 {
		found, err := queue.ConsumeOne(ctx, func(_ context.Context, d trigger.Delivery) trigger.Verdict {
			fmt.Println("took", d.Job.ID())
			return trigger.Verdict{Kind: trigger.VerdictDone}
		})
		fmt.Println(found, err)
	}
	// Output:
	// took ffffffff-ffff-ffff-ffff-ffffffffffff/0
	// true <nil>
	// false <nil>
}
