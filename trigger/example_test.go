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

// check ends an example that does not work.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// newService is what most examples begin with: a service over a database in RAM, for
// which every organization is set up.
func newService(opts *trigger.Options) *trigger.Service {
	db, err := memory.Open(context.Background(), nil)
	check(err)
	service, err := trigger.New(db.Trigger(), opts)
	check(err)
	return service
}

// The whole way of a request: accepted, processed by a worker, found in the history.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	db, err := memory.Open(ctx, nil)
	check(err)
	service, err := trigger.New(db.Trigger(), nil)
	check(err)

	worker, err := trigger.NewWorker(service, func(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
		fmt.Println("processing:", e.Instructions)
		stop() // an ordinary host ends its worker when it is told to exit
		return trigger.Outcome{Summary: "Added a section on rate limits."}, nil
	}, nil)
	check(err)

	event, err := service.Submit(ctx, "acme", "ann", trigger.Submission{
		Instructions: "Document the new rate limits.",
		Context:      []byte(`{"repository":"acme/api","pull_request":42}`),
	})
	check(err)
	fmt.Println("accepted:", event.Status)

	check(worker.Run(ctx))
	event, err = service.Event(context.Background(), "acme", event.ID)
	check(err)
	fmt.Println(event.Status, "-", event.Outcome.Summary)
	// Output:
	// accepted: received
	// processing: Document the new rate limits.
	// completed - Added a section on rate limits.
}

func ExampleNew() {
	db, err := memory.Open(context.Background(), nil)
	check(err)
	service, err := trigger.New(db.Trigger(), &trigger.Options{
		IdempotencyWindow: time.Hour,
		MaxBytes:          64 << 10,
	})
	check(err)
	fmt.Println(service.Ping(context.Background()))
	// Output: <nil>
}

func ExampleService_Submit() {
	service := newService(nil)
	ctx := context.Background()
	request := trigger.Submission{Instructions: "Document the release.", IdempotencyKey: "release-7"}
	first, err := service.Submit(ctx, "acme", "ann", request)
	check(err)
	again, err := service.Submit(ctx, "acme", "ann", request)
	check(err)
	fmt.Println("the same event:", first.ID == again.ID)

	request.Instructions = "Document something else."
	_, err = service.Submit(ctx, "acme", "ann", request)
	fmt.Println(errors.Is(err, trigger.ErrIdempotencyKeyReused))

	_, err = service.Submit(ctx, "acme", "ann", trigger.Submission{Context: []byte("[]")})
	var invalid *mortise.ValidationError
	if errors.As(err, &invalid) {
		for _, problem := range invalid.Problems {
			fmt.Println(problem)
		}
	}
	// Output:
	// the same event: true
	// true
	// instructions: must not be empty
	// context: must be a JSON object
}

func ExampleService_Events() {
	service := newService(nil)
	ctx := context.Background()
	for _, instructions := range []string{"first", "second", "third"} {
		_, err := service.Submit(ctx, "acme", "ann", trigger.Submission{Instructions: instructions, Source: "ci"})
		check(err)
		time.Sleep(time.Millisecond) // only so that the example's order is certain
	}
	for event, err := range service.Events(ctx, "acme", trigger.EventQuery{Source: "ci", Status: trigger.StatusReceived}) {
		check(err)
		fmt.Println(event.Instructions)
	}
	// Output:
	// third
	// second
	// first
}

// A Processor says by its error what is to happen next.
func ExampleProcessor() {
	service := newService(nil)
	ctx := context.Background()
	worker, err := trigger.NewWorker(service, func(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
		switch {
		case e.Instructions == "impossible":
			return trigger.Outcome{}, trigger.Permanent(errors.New("there is no such page"))
		case e.Attempts == 1:
			return trigger.Outcome{}, trigger.RetryAfter(errors.New("the wiki is locked"), 0)
		}
		return trigger.Outcome{Summary: "Done."}, nil
	}, &trigger.WorkerOptions{MaxAttempts: 3})
	check(err)
	for _, instructions := range []string{"possible", "impossible"} {
		e, err := service.Submit(ctx, "acme", "ann", trigger.Submission{Instructions: instructions})
		check(err)
		for {
			found, err := worker.RunOnce(ctx)
			check(err)
			if !found {
				break
			}
		}
		e, err = service.Event(ctx, "acme", e.ID)
		check(err)
		fmt.Println(e.Instructions, e.Status, e.Attempts, e.LastError)
	}
	// Output:
	// possible completed 2 the wiki is locked
	// impossible failed 1 there is no such page
}

// A host with a table of its own implements Store; what it does not change, it can embed.
func ExampleStore() {
	db, err := memory.Open(context.Background(), nil)
	check(err)
	store := auditedStore{db.Trigger().Store}
	service, err := trigger.New(trigger.Backend{Store: store, Queue: db.Queue(nil)}, nil)
	check(err)
	_, err = service.Submit(context.Background(), "acme", "ann", trigger.Submission{Instructions: "Document the release."})
	check(err)
	// Output: stored for acme: true
}

// auditedStore is a Store that says what it stores.
type auditedStore struct{ trigger.Store }

func (s auditedStore) CreateEvent(ctx context.Context, e trigger.Event, keySince time.Time) (trigger.Event, bool, error) {
	stored, created, err := s.Store.CreateEvent(ctx, e, keySince)
	fmt.Printf("stored for %s: %v\n", e.Organization, created)
	return stored, created, err
}

// A host that is pushed jobs, by HTTP say, gives each of them to Handle, and tells by the
// verdict what it wants.
func ExampleWorker_Handle() {
	db, err := memory.Open(context.Background(), nil)
	check(err)
	service, err := trigger.New(db.Trigger(), nil)
	check(err)
	worker, err := trigger.NewWorker(service, func(context.Context, trigger.Event) (trigger.Outcome, error) {
		return trigger.Outcome{Summary: "Wrote the page."}, nil
	}, nil)
	check(err)
	ctx := context.Background()
	e, err := service.Submit(ctx, "acme", "ann", trigger.Submission{Instructions: "Document the release."})
	check(err)

	verdict := worker.Handle(ctx, mortise.Delivery{Job: e.Job(), Deliveries: 1})
	fmt.Println(verdict.Kind == mortise.VerdictDone)
	e, err = service.Event(ctx, "acme", e.ID)
	fmt.Println(e.Status, err)
	// Output:
	// true
	// completed <nil>
}

func ExampleObserver() {
	service := newService(&trigger.Options{
		Env: mortise.Env{Observer: func(_ context.Context, o mortise.Observation) {
			fmt.Println(o.Kind, o.Organization, o.Actor, o.Err) // a host counts them
		}},
	})
	_, _ = service.Submit(context.Background(), "acme", "ann", trigger.Submission{Instructions: "Document the release."})
	_, _ = service.Submit(context.Background(), "acme", "ann", trigger.Submission{})
	// Output:
	// submitted acme ann <nil>
	// refused acme ann mortise: invalid request: instructions: must not be empty
}

type requestID struct{}

// idTracer carries a request's id from the caller to the processor. A real one carries a
// W3C trace context.
type idTracer struct{}

func (idTracer) Inject(ctx context.Context, carrier map[string]string) {
	if id, ok := ctx.Value(requestID{}).(string); ok {
		carrier["request-id"] = id
	}
}

func (idTracer) Start(ctx context.Context, w mortise.Work, carrier map[string]string) (context.Context, func(error)) {
	ctx = context.WithValue(ctx, requestID{}, carrier["request-id"])
	return ctx, func(err error) { fmt.Println(w.Op, "of", carrier["request-id"], "ended:", err) }
}

func ExampleOptions_tracer() {
	service := newService(&trigger.Options{Env: mortise.Env{Tracer: idTracer{}}})
	ctx := context.WithValue(context.Background(), requestID{}, "r-17")
	_, err := service.Submit(ctx, "acme", "ann", trigger.Submission{Instructions: "Document the release."})
	check(err)
	worker, err := trigger.NewWorker(service, func(ctx context.Context, _ trigger.Event) (trigger.Outcome, error) {
		fmt.Println("processing", ctx.Value(requestID{}))
		return trigger.Outcome{}, nil
	}, nil)
	check(err)
	_, err = worker.RunOnce(context.Background())
	check(err)
	// Output:
	// processing r-17
	// trigger.process of r-17 ended: <nil>
}

// accounts is a host's own directory of organizations.
type accounts map[string]trigger.Organization

func (a accounts) Setup(_ context.Context, org string) (trigger.Organization, error) {
	o, ok := a[org]
	if !ok {
		return trigger.Organization{}, mortise.ErrNotFound
	}
	return o, nil
}

func ExampleDirectory() {
	manual := trigger.Collection{ID: uuid.Max, Ready: true}
	db, err := memory.Open(context.Background(), nil)
	check(err)
	backend := db.Trigger()
	backend.Directory = accounts{
		"acme":   {ID: "acme", SetupComplete: true, Collections: []trigger.Collection{manual}},
		"globex": {ID: "globex", SetupComplete: true},
	}
	service, err := trigger.New(backend, nil)
	check(err)
	for _, org := range []string{"acme", "globex", "initech"} {
		_, err := service.Submit(context.Background(), org, "ann", trigger.Submission{Instructions: "Document the release."})
		fmt.Println(org, err)
	}
	// Output:
	// acme <nil>
	// globex trigger: no doc collection is configured and ready
	// initech trigger: the organization has not finished setup
}

func ExampleAPIKeys() {
	db, err := memory.Open(context.Background(), nil)
	check(err)
	service, err := trigger.New(db.Trigger(), nil)
	check(err)
	ctx := context.Background()
	record, key, err := service.IssueKey(ctx, "acme", "ann", "release pipeline")
	check(err)
	fmt.Println(len(key.Reveal()), "characters, shown once")

	who, err := service.VerifyKey(ctx, key.Reveal())
	fmt.Println(who.Organization, err)
	check(service.RevokeKey(ctx, "acme", "ann", record.ID))
	_, err = service.VerifyKey(ctx, key.Reveal())
	fmt.Println(err)
	// Output:
	// 67 characters, shown once
	// acme <nil>
	// trigger: invalid API key
}

// An iterator goes through all keys of an organization, page by page.
func ExampleService_Keys() {
	db, err := memory.Open(context.Background(), nil)
	check(err)
	service, err := trigger.New(db.Trigger(), nil)
	check(err)
	ctx := context.Background()
	for _, name := range []string{"release pipeline", "nightly build"} {
		_, _, err := service.IssueKey(ctx, "acme", "ann", name)
		check(err)
	}
	for k, err := range service.Keys(ctx, "acme") {
		check(err)
		fmt.Println(k.Name, k.RevokedAt.IsZero())
	}
	// Output:
	// release pipeline true
	// nightly build true
}
