package pushed_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/examples/pushed"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

func Example() {
	ctx := context.Background()
	pushes, stop := newPushService(time.Now)
	defer stop()
	db, err := memory.Open(ctx, nil)
	check(err)
	service, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: &pushed.Queue{URL: pushes.url, Secret: secret}}, &trigger.Options{Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
	check(err)
	processor := func(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
		return trigger.Outcome{Summary: "wrote the page"}, nil
	}
	worker, err := trigger.NewWorker(service, processor, nil)
	check(err)
	handler, err := pushed.NewHandler(secret, map[string]mortise.Handler{trigger.JobKind: worker.Handle})
	check(err)
	pushes.host = handler // a push service of the world is told the URL of this handler

	e, err := service.Submit(ctx, "acme", "ann", trigger.Submission{Instructions: "Describe the sign-in page."})
	check(err)
	fmt.Println("left to push:", pushes.push())
	e, err = service.Event(ctx, "acme", e.ID)
	check(err)
	fmt.Println(e.Status, "-", e.Outcome.Summary)
	// Output:
	// left to push: 0
	// completed - wrote the page
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
