package trigger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// A host shows each problem beside the field that it is about.
func ExampleValidationError() {
	ctx := context.Background()
	db, err := memory.Open(ctx, nil)
	check(err)
	service, err := trigger.New(db.Trigger(), nil)
	check(err)
	_, err = service.Submit(ctx, "acme", "ann", trigger.Submission{Context: json.RawMessage(`["a list"]`)})
	if invalid, ok := errors.AsType[*mortise.ValidationError](err); ok {
		for _, p := range invalid.Problems {
			fmt.Println(p.Path, "-", p.Message)
		}
	}
	// Output:
	// instructions - must not be empty
	// context - must be a JSON object
}
