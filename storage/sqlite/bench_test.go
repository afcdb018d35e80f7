package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/trigger"
)

// These benchmarks measure the way from trigger.Service to the disk beside what a Go
// service would write by hand, on databases of their own in the folder for temporary
// files. The two take turns within one run, and ratios are reported: what slows the
// machine for a moment slows both. Run them with
//
//	go test ./storage/sqlite -run '^$' -bench . -benchtime 20x

const (
	benchInstructions = "Update the API reference: the endpoint /v2/orders now takes a currency field."
	benchContext      = `{"repo":"acme/shop","commit":"9f0e0c9a4a3f2b11","author":{"name":"Ada","id":17},"labels":["api","docs"],"urgent":false,"ratio":0.25}`
)

// submitter is one of the contenders.
type submitter func(ctx context.Context) error

// BenchmarkSubmit compares Service.Submit on sqlite, the read of the organization
// included, with a bare group commit of the same rows with the same read, and with a bare
// transaction for each call.
func BenchmarkSubmit(b *testing.B) {
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			ours := benchService(b)
			group := newBareGroup(b)
			single := newBareSingle(b)
			var oursTime, groupTime, singleTime time.Duration
			for b.Loop() {
				oursTime += turn(b, callers, 20*callers, ours)
				groupTime += turn(b, callers, 20*callers, group)
				singleTime += turn(b, callers, 20*callers, single)
			}
			rate := func(d time.Duration) float64 { return float64(b.N*20*callers) / d.Seconds() }
			b.ReportMetric(rate(oursTime), "submits/s")
			b.ReportMetric(rate(groupTime), "bare-group/s")
			b.ReportMetric(rate(singleTime), "bare-single/s")
			b.ReportMetric(rate(oursTime)/rate(groupTime), "of-group")
			b.ReportMetric(rate(oursTime)/rate(singleTime), "of-single")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// turn makes total submissions from so many goroutines and returns how long that took.
func turn(b *testing.B, callers, total int, submit submitter) time.Duration {
	var wg sync.WaitGroup
	begun := time.Now()
	for range callers {
		wg.Go(func() {
			for range total / callers {
				if err := submit(b.Context()); err != nil {
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

func benchService(b *testing.B) submitter {
	db := openAt(b, filepath.Join(b.TempDir(), "ours.db"), nil)
	benchOrganization(b, db.Trigger().Store.(*sqlite.Trigger))
	service, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil), Directory: db.Trigger().Directory}, nil)
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
	benchOrganization(b, db.Trigger().Store.(*sqlite.Trigger))
	require.NoError(b, db.Close())
	return path
}
