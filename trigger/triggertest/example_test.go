package triggertest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

func ExampleNew() {
	t := new(testing.T) // a test has its own

	f := triggertest.New(t, &triggertest.Options{
		Processor: func(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
			if e.Attempts == 1 {
				return trigger.Outcome{}, trigger.RetryAfter(errors.New("the wiki is locked"), time.Minute)
			}
			return trigger.Outcome{Summary: "Wrote the page."}, nil
		},
	})
	ctx := context.Background()
	if _, err := f.Submit(ctx, "acme", "ann", trigger.Submission{Instructions: "Document the release."}); err != nil {
		panic(err)
	}
	for range 2 {
		f.Drain(ctx)
		e := f.History()[0]
		fmt.Println(e.Status, e.Attempts, e.LastError)
		f.Advance(time.Minute)
	}
	fmt.Println(len(f.Observations()), "observations")
	// Output:
	// received 1 the wiki is locked
	// completed 2 the wiki is locked
	// 5 observations
}

func ExampleFake_Break() {
	t := new(testing.T) // a test has its own

	f := triggertest.New(t, &triggertest.Options{SeparateQueue: true})
	ctx := context.Background()
	heal := f.Break(triggertest.QueuePart)
	_, err := f.Submit(ctx, "acme", "ann", trigger.Submission{Instructions: "Document the release."})
	fmt.Println(errors.Is(err, trigger.ErrEnqueueFailed), f.History()[0].Status)

	heal()
	f.Advance(time.Second)
	_, err = f.Submit(ctx, "acme", "ann", trigger.Submission{Instructions: "Document the release."})
	fmt.Println(err, f.History()[1].Status)
	// Output:
	// true failed
	// <nil> received
}

// The test of a host that keeps orders, each with a request to document it: the two are stored
// together, or not at all. The host's own table is a map here.
func ExampleFake_InTx() {
	t := new(testing.T) // a test has its own

	f := triggertest.New(t, nil)
	orders := make(map[string]int)
	order := func(customer string, amount int) error {
		before := orders[customer]
		err := f.InTx(context.Background(), func(ctx context.Context) error {
			orders[customer] += amount
			s := trigger.Submission{Instructions: "Document the order of " + customer + "."}
			if _, err := f.Submit(ctx, "acme", "shop", s); err != nil {
				return err
			}
			if orders[customer] > 10 {
				return errors.New("over the limit")
			}
			return nil
		})
		if err != nil {
			orders[customer] = before // InTx undoes what is the fake's
		}
		return err
	}
	for range 2 {
		err := order("Ann", 7)
		fmt.Println(err, orders["Ann"], len(f.History()))
	}
	// Output:
	// <nil> 7 1
	// over the limit 7 1
}

func ExampleFaults() {
	db, err := memory.Open(context.Background(), nil)
	if err != nil {
		panic(err)
	}
	// The second CreateEvent is done, and its answer is lost.
	faults := &triggertest.Faults{After: triggertest.On(triggertest.Nth(2), "Store.CreateEvent")}
	queue := leases.New(struct{ mortise.Leases }{db.Jobs()}, nil) // which does not share
	service, err := trigger.New(trigger.Backend{Store: faults.Store(db.Trigger().Store), Queue: queue}, nil)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	for range 3 {
		_, err := service.Submit(ctx, "acme", "ann", trigger.Submission{Instructions: "Document the release."})
		fmt.Println(err)
	}
	page, err := service.ListEvents(ctx, "acme", trigger.EventQuery{})
	fmt.Println(len(page.Items), err)
	// Output:
	// <nil>
	// mortise: unavailable: store event: triggertest: injected failure
	// <nil>
	// 3 <nil>
}

func ExampleOutage() {
	hook, heal := triggertest.Outage()
	fmt.Println(hook("Store.Event"))
	heal()
	fmt.Println(hook("Store.Event"))
	// Output:
	// triggertest: injected failure
	// <nil>
}

func ExampleSometimes() {
	hook := triggertest.Sometimes(0.5, 42)
	failed := 0
	for range 1000 {
		if hook("Store.Event") != nil {
			failed++
		}
	}
	fmt.Println(failed > 400 && failed < 600)
	// Output: true
}
