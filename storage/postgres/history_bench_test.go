package postgres_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// fillHistory stores so many events of one organization, a second apart, one of 20 failed,
// one of 50 from a host, each with a key.
const fillHistory = "INSERT INTO mortise.trigger_events (id, version, organization, submitted_at, finished_at, due_at, attempts," +
	" generation, status, source, instructions, idempotency_key, last_error, submitted_by)" +
	" SELECT gen_random_uuid(), 0, 'acme', t, t, t, 1, 0, CASE WHEN n %% 20 = 0 THEN 3 ELSE 2 END," +
	" CASE WHEN n %% 50 = 0 THEN 'host'::text ELSE 'api' END, 'Document it.', n::text, '', ''" +
	" FROM (SELECT n, now() - n * interval '1 second' AS t FROM generate_series(1, %d) AS n) AS e"

// BenchmarkHistory measures what must not depend on how many events are kept: 10^4, then
// 10^6, and with MORTISE_SOAK=1 also 10^7. Each operation is done 200 times, and the metrics
// are microseconds of both sides' processor time of one. It prunes what it has stored: so it
// runs once, with -benchtime 1x.
func BenchmarkHistory(b *testing.B) {
	sizes := []int{10_000, 1_000_000}
	if os.Getenv("MORTISE_SOAK") == "1" {
		sizes = append(sizes, 10_000_000)
	}
	for _, size := range sizes {
		b.Run(fmt.Sprintf("events=%d", size), func(b *testing.B) {
			m, ctx := openToMeasure(b), context.Background()
			store := triggerStore(m.DB)
			for _, statement := range []string{fmt.Sprintf(fillHistory, size), "VACUUM ANALYZE", "CHECKPOINT"} {
				_, err := m.pool.Exec(ctx, statement)
				require.NoError(b, err)
			}
			began := time.Now()
			list := func(full int, q trigger.EventQuery) func() {
				q.Limit = 50
				return func() {
					page, err := store.ListEvents(ctx, "acme", q)
					if err != nil || len(page.Items) != full {
						b.Fatal(err, len(page.Items), q)
					}
				}
			}
			deepAt := began.Add(-time.Duration(size) * 9 / 10 * time.Second)
			deep := mortise.Position{At: deepAt, ID: string(uuid.Max[:])}.Cursor()
			// Of 10^4, 200 are from the host, and half of these failed: behind this there are still
			// a page of these and one of the others to be read, as among more.
			half := mortise.Position{At: began.Add(-time.Duration(size) / 2 * time.Second), ID: string(uuid.Max[:])}.Cursor()
			operations := []struct {
				name string
				do   func()
			}{
				{"submit", func() {
					e := measuredEvent()
					_, _, err := store.CreateEventAndAdd(ctx, *e, time.Time{}, e.Job())
					require.NoError(b, err)
				}},
				{"list", list(50, trigger.EventQuery{})},
				{"list-deep", list(50, trigger.EventQuery{After: deep})},
				{"failed", list(50, trigger.EventQuery{Status: trigger.StatusFailed})},
				{"source", list(50, trigger.EventQuery{Source: "host"})},
				{"source-deep", list(50, trigger.EventQuery{Source: "host", After: half})},
				{"failed-deep", list(50, trigger.EventQuery{Status: trigger.StatusFailed, After: deep})},
				{"key", list(1, trigger.EventQuery{IdempotencyKey: "77"})},
				{"from-to", list(50, trigger.EventQuery{From: deepAt.Add(-time.Hour), To: deepAt})},
				{"prune", func() {
					before := began.Add(-time.Duration(size) * 19 / 20 * time.Second)
					n, _, err := store.Prune(ctx, trigger.StatusCompleted, before, before, 2)
					require.NoError(b, err)
					require.Equal(b, 2, n)
				}},
			}
			const times = 200
			for b.Loop() {
				for _, o := range operations {
					s := m.server.Measure(func() {
						for range times {
							o.do()
						}
					})
					b.ReportMetric(float64((s.Client+s.Server).Microseconds())/times, o.name+"-us")
				}
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
