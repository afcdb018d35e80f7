package trigger_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

func ExampleService_DeleteOrganization() {
	service := newService(nil)
	ctx := context.Background()
	event, err := service.Submit(ctx, "acme", "ann", trigger.Submission{Instructions: "Document the release."})
	check(err)

	for more := true; more; { // the first call hides everything, and the last one has removed it
		more, err = service.DeleteOrganization(ctx, "acme", "ann")
		check(err)
	}
	_, err = service.Event(ctx, "acme", event.ID)
	fmt.Println(errors.Is(err, mortise.ErrNotFound))
	_, err = service.Submit(ctx, "acme", "ann", trigger.Submission{Instructions: "Document the release."})
	fmt.Println(err)
	// Output:
	// true
	// mortise: deleted, and its ID is never reused; use another ID
}
