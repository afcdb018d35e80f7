package audiosearch_test

import (
	"context"
	"fmt"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

// The numbers of an organization's dashboard.
func ExampleService_Counts() {
	service, done := newService(audiosearch.Options{}, "440")
	defer done()
	ctx := context.Background()
	for range 3 {
		_, err := service.Start(ctx, "acme", "ada", audiosearch.Query{Dataset: "d", Class: "Shout"})
		check(err)
	}
	counts, err := service.Counts(ctx, "acme")
	check(err)
	fmt.Printf("%s searches wait, %s are running, %s were successful\n",
		counts.Waiting, counts.Running, counts.Succeeded)
	// A number that is too large to be counted is shown as "10000+".
	fmt.Println(mortise.CountUpTo(25_000, mortise.MaxCount))
	// Output:
	// 3 searches wait, 0 are running, 0 were successful
	// 10000+
}

// What a service's metrics tell those who run it, and by which they know that there are
// too few workers.
func ExampleService_Backlog() {
	service, done := newService(audiosearch.Options{}, "440")
	defer done()
	ctx := context.Background()
	run, err := service.Start(ctx, "acme", "ada", audiosearch.Query{Dataset: "d", Class: "Shout"})
	check(err)
	backlog, err := service.Backlog(ctx)
	check(err)
	fmt.Println("searches_waiting", backlog.Waiting.N)
	fmt.Println("searches_running", backlog.Running.N)
	fmt.Println("the next one is the one just made:", backlog.NextDue.Equal(run.CreatedAt))
	// Output:
	// searches_waiting 1
	// searches_running 0
	// the next one is the one just made: true
}
