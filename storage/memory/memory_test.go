package memory_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

func TestTrigger(t *testing.T) {
	t.Parallel() // it waits most of the time
	jobs := make(map[trigger.Store]*memory.Jobs)
	triggertest.Run(t, triggertest.Harness{
		Open: func(t *testing.T) trigger.Backend {
			db, err := memory.Open(t.Context(), nil)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			b := db.Trigger()
			b.Directory = b.Store.(trigger.Organizations)
			jobs[b.Store] = db.Jobs()
			return b
		},
		Leases: func(b trigger.Backend) mortise.Leases { return jobs[b.Store] },
	})
}

func ExampleOpen() {
	ctx := context.Background()
	db, err := memory.Open(ctx, nil)
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close() }()

	backend := db.Trigger()
	backend.Directory = backend.Store.(trigger.Organizations) // without it, no organization needs a setup
	service, err := trigger.New(backend, nil)
	if err != nil {
		panic(err)
	}
	e, err := service.Submit(ctx, "acme", "", trigger.Submission{Instructions: "Document the --json flag."})
	if err != nil {
		fmt.Println("refused:", err)
	}
	err = service.UpdateOrganization(ctx, "acme", "", func(o *trigger.Organization) error {
		o.SetupComplete = true
		o.SetCollection([16]byte{1}, true)
		return nil
	})
	if err != nil {
		panic(err)
	}
	if e, err = service.Submit(ctx, "acme", "", trigger.Submission{Instructions: "Document the --json flag."}); err != nil {
		panic(err)
	}
	fmt.Println(e.Status)
	// Output:
	// refused: trigger: the organization has not finished setup
	// received
}
