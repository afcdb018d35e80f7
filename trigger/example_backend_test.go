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

// The examples of this file are for those who write a backend: what its interfaces do,
// shown on memory.

func ExampleOrganizations() {
	db, err := memory.Open(context.Background(), nil)
	check(err)
	ctx := context.Background()
	var orgs trigger.Organizations = db.Trigger().Store.(*memory.Trigger)
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
	acme, err := orgs.Setup(ctx, "acme")
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
	service, err := trigger.New(db.Trigger(), nil)
	check(err)
	_, err = service.Submit(ctx, "acme", "ann", trigger.Submission{Instructions: "Document the release."})
	check(err)
	worker, err := trigger.NewWorker(service, func(context.Context, trigger.Event) (trigger.Outcome, error) {
		return trigger.Outcome{}, nil
	}, nil)
	check(err)
	later := time.Now().Add(time.Hour)

	var pruner trigger.Pruner = db.Trigger().Store.(*memory.Trigger)
	n, more, err := pruner.Prune(ctx, trigger.StatusCompleted, later, later, 100)
	fmt.Println(n, more, err) // it is not finished yet
	_, err = worker.RunOnce(ctx)
	check(err)
	n, more, err = pruner.Prune(ctx, trigger.StatusCompleted, later, later, 100)
	fmt.Println(n, more, err)
	// Output:
	// 0 false <nil>
	// 1 false <nil>
}

// event is one that a backend could be given.
func event(instructions string) trigger.Event {
	return trigger.Event{
		ID: uuid.New(), Organization: "acme", Status: trigger.StatusReceived, Source: "api",
		Instructions: instructions, SubmittedAt: time.Now().UTC().Truncate(time.Microsecond),
	}
}

// The jobs of memory stand beside its events, so both are written at once.
func ExampleTxStore() {
	db, err := memory.Open(context.Background(), nil)
	check(err)
	ctx := context.Background()
	var store trigger.TxStore = db.Trigger().Store.(*memory.Trigger)
	fmt.Println(db.Queue(nil).Shares(store))

	e := event("Document the release.")
	_, created, err := store.CreateEventAndAdd(ctx, e, time.Time{}, e.Job())
	check(err)
	claim := mortise.Claim{Token: uuid.New(), Kinds: []string{trigger.JobKind}, Limit: 10, TTL: time.Minute}
	claimed, err := db.Jobs().Claim(ctx, claim)
	check(err)
	fmt.Println(created, claimed[0].Job.ID == e.Job().ID)

	check(store.UpdateEventAndJobs(ctx, "acme", e.ID, func(e *trigger.Event) ([]mortise.Job, error) {
		e.Status = trigger.StatusCompleted
		return nil, nil
	}, claimed[0], false))
	fmt.Println(db.Jobs().Extend(ctx, claimed[0], time.Minute))
	// Output:
	// true
	// true true
	// mortise: the lease is lost
}
