package river_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	riverqueue "github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/pgserver"
	"github.com/seed-6363c74e/mortise/storage/river"
)

// bare is a job of River's that names the same, and is not unique.
type bare struct {
	JobKind      string `json:"kind"`
	Organization string `json:"organization"`
	ID           string `json:"id"`
}

func (bare) Kind() string { return "bare" }

// BenchmarkEnqueue enqueues jobs on a server that syncs to the disk, by 1, 16 and 64 callers
// at a time, in turns with a bare Insert of River's. of-bare is the speed as a part of the
// bare one's.
func BenchmarkEnqueue(b *testing.B) {
	server := pgserver.Start(b, nil)
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, server.DSN("postgres")+" pool_max_conns=64")
	require.NoError(b, err)
	defer pool.Close()
	opts := &river.Options{Logger: quiet}
	require.NoError(b, river.Migrate(ctx, pool, opts))
	q, err := river.New(pool, opts)
	require.NoError(b, err)
	client, err := riverqueue.NewClient(riverpgxv5.New(pool), &riverqueue.Config{Schema: "mortise_river", Logger: quiet})
	require.NoError(b, err)
	contenders := []func() error{
		func() error { return q.Enqueue(ctx, job("docs")) },
		func() error {
			j := job("docs")
			_, err := client.Insert(ctx, bare{JobKind: j.Kind, Organization: j.Organization, ID: j.ID}, &riverqueue.InsertOpts{Queue: "docs"})
			return err
		},
	}
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			var took [2]time.Duration
			for b.Loop() {
				for i, insert := range contenders {
					began := time.Now()
					var all sync.WaitGroup
					for range callers {
						all.Go(func() {
							for range 20 {
								if err := insert(); err != nil {
									b.Error(err)
								}
							}
						})
					}
					all.Wait()
					took[i] += time.Since(began)
				}
			}
			calls := float64(b.N * callers * 20)
			b.ReportMetric(calls/took[0].Seconds(), "jobs/s")
			b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "of-bare")
		})
	}
}
