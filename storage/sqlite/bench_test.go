package sqlite_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/triggerdb"
	"github.com/seed-6363c74e/mortise/trigger"
)

// These benchmarks measure the way from the services to the disk beside what a Go service
// would write by hand, on databases of their own in the folder for temporary files. The
// contenders take turns within one run, and ratios are reported: what slows the machine
// for a moment slows all. Run them with
//
//	go test ./storage/sqlite -run '^$' -bench . -benchtime 20x

const (
	benchInstructions = "Update the API reference: the endpoint /v2/orders now takes a currency field."
	benchContext      = `{"repo":"acme/shop","commit":"9f0e0c9a4a3f2b11","author":{"name":"Ada","id":17},"labels":["api","docs"],"urgent":false,"ratio":0.25}`
)

// call is what one of the contenders does.
type call func(ctx context.Context) error

// turn makes total calls from so many goroutines and returns how long that took.
func turn(b *testing.B, callers, total int, do call) time.Duration {
	var wg sync.WaitGroup
	begun := time.Now()
	for range callers {
		wg.Go(func() {
			for range total / callers {
				if err := do(b.Context()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(begun)
}

// benchOrganization has one ready collection.
func benchOrganization(b *testing.B, orgs trigger.Organizations) {
	require.NoError(b, orgs.UpdateOrganization(b.Context(), "acme", func(o *trigger.Organization) error {
		o.SetupComplete = true
		o.SetCollection(uuid.UUID{1}, true)
		return nil
	}))
}

// benchService submits to a database at a path.
func benchService(b *testing.B, path string) call {
	db := openAt(b, path, nil)
	benchOrganization(b, db.Trigger().Store.(*triggerdb.Store))
	service, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil), Directory: db.Trigger().Store.(trigger.Organizations)}, nil)
	require.NoError(b, err)
	return func(ctx context.Context) error {
		_, err := service.Submit(ctx, "acme", "", trigger.Submission{Instructions: benchInstructions, Context: []byte(benchContext)})
		return err
	}
}

// emptySchema makes a file with our tables and the organization, for a contender.
func emptySchema(b *testing.B) (path string) {
	path = filepath.Join(b.TempDir(), "bare.db")
	db, err := sqlite.Open(b.Context(), path, nil)
	require.NoError(b, err)
	benchOrganization(b, db.Trigger().Store.(*triggerdb.Store))
	require.NoError(b, db.Close())
	return path
}
