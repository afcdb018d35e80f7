package sqlite_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/trigger"
)

// BenchmarkListStall measures what an organization waits for its lists and submissions
// while ten clients of another one, which has 10^6 events, ask for the lists that are
// hardest to find, 20 times a second each; beside the same without them, in turns.
//
//	go test ./storage/sqlite -run '^$' -bench ListStall -benchtime 10x
//
// Each turn is a second of each.
func BenchmarkListStall(b *testing.B) {
	const history, clients = 1_000_000, 10
	db := filledStall(b, history)
	service, err := stallService(db)
	require.NoError(b, err)
	worst := worstLists(history)
	var others latencies
	var quiet, beside stallTimes
	for b.Loop() {
		quiet.second(b, service)
		ctx, stop := context.WithCancel(b.Context())
		var running sync.WaitGroup
		for client := range clients {
			running.Go(func() { others.ask(ctx, b, service, worst, client) })
		}
		beside.second(b, service)
		stop()
		running.Wait()
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(quiet.lists.at(0.5)), "quiet-list-ms")
	b.ReportMetric(ms(beside.lists.at(0.5)), "list-ms")
	b.ReportMetric(ms(quiet.lists.at(0.99)), "quiet-list-p99-ms")
	b.ReportMetric(ms(beside.lists.at(0.99)), "list-p99-ms")
	b.ReportMetric(ms(quiet.submits.at(0.5)), "quiet-submit-ms")
	b.ReportMetric(ms(beside.submits.at(0.5)), "submit-ms")
	b.ReportMetric(ms(beside.submits.at(0.99)), "submit-p99-ms")
	b.ReportMetric(float64(beside.submits.at(0.5))/float64(quiet.submits.at(0.5)), "submit-of-quiet")
	b.ReportMetric(ms(others.at(0.5)), "others-ms")
	b.ReportMetric(float64(len(others.all))/float64(b.N), "others/s")
	b.ReportMetric(0, "ns/op")
}

// filledStall opens a database with so many events of acme, and a hundredth of it of
// other.
func filledStall(b *testing.B, history int) *sqlite.DB {
	db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "test.db"), nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	// All but a few are completed, from the API, and everything else is at the far end of
	// the history.
	const fill = "WITH RECURSIVE n (i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)" +
		" INSERT INTO trigger_events (id, organization, submitted_at, source, submitted_by, instructions, status, attempts, last_error, generation)" +
		" SELECT unhex(printf('%012x7000', i) || hex(randomblob(8))), ?3, i * 1000, iif(i < 20, 'rare', 'api'), ''," +
		" 'Update the API reference: the endpoint /v2/orders now takes a currency field.', iif(i < 100, 3, 2), 0, '', 0 FROM n"
	const step = 50_000
	for from := 0; from < history; from += step {
		require.NoError(b, db.File().Write(b.Context(), func(tx *file.Tx) error {
			_, err := tx.Exec(fill, from, min(from+step, history), "acme")
			return err
		}))
	}
	require.NoError(b, db.File().Write(b.Context(), func(tx *file.Tx) error {
		_, err := tx.Exec(fill, 0, history/100, "other")
		return err
	}))
	readyStall(b, db)
	return db
}

func stallService(db *sqlite.DB) (*trigger.Service, error) {
	backend := db.Trigger()
	backend.Directory = backend.Store.(trigger.Organizations)
	return trigger.New(backend, nil)
}

// readyStall lets other submit.
func readyStall(b *testing.B, db *sqlite.DB) {
	require.NoError(b, db.Trigger().Store.(trigger.Organizations).UpdateOrganization(b.Context(), "other", func(o *trigger.Organization) error {
		o.SetupComplete = true
		o.SetCollection(uuid.UUID{1}, true)
		return nil
	}))
}

// worstLists are those that pass over everything, if nothing helps.
func worstLists(history int) []trigger.EventQuery {
	at := func(i int) time.Time { return time.UnixMicro(int64(i) * 1000) }
	deep := mortise.Position{At: at(200), ID: "\xff" + strings.Repeat("\x00", 15)}.Cursor()
	return []trigger.EventQuery{
		{Source: "unknown"},
		{Source: "rare"},
		{Source: "rare", Status: trigger.StatusCompleted},
		{Source: "api", Status: trigger.StatusFailed},
		{Status: trigger.StatusProcessing, From: at(10), To: at(history)},
		{Source: "unknown", Status: trigger.StatusCompleted, From: at(10), To: at(history)},
		{After: deep},
		{After: deep, Source: "api"},
		{After: deep, Status: trigger.StatusCompleted},
		{Source: "rare", To: at(history / 2)},
	}
}

// latencies are what calls took.
type latencies struct {
	mu  sync.Mutex
	all []time.Duration
}

func (l *latencies) add(since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, time.Since(since))
}

// at returns the one below which so many are.
func (l *latencies) at(part float64) time.Duration {
	slices.Sort(l.all)
	return l.all[min(int(part*float64(len(l.all))), len(l.all)-1)]
}

// ask is a client that asks 20 times a second until ctx ends, and no more often when
// answers are late.
func (l *latencies) ask(ctx context.Context, b *testing.B, service *trigger.Service, queries []trigger.EventQuery, first int) {
	ticker := time.NewTicker(time.Second / 20)
	defer ticker.Stop()
	for i := first; ; i++ {
		begun := time.Now()
		if _, err := service.ListEvents(ctx, "acme", queries[i%len(queries)]); ctx.Err() != nil {
			return
		} else if err != nil {
			b.Error(err)
		}
		l.add(begun)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// stallTimes are what the other organization waits.
type stallTimes struct{ lists, submits latencies }

// second lists and submits in turn for a second.
func (s *stallTimes) second(b *testing.B, service *trigger.Service) {
	ctx, cancel := context.WithTimeout(b.Context(), time.Second)
	defer cancel()
	s.measure(ctx, b, service)
}

// measure lists and submits in turn until ctx ends.
func (s *stallTimes) measure(ctx context.Context, b *testing.B, service *trigger.Service) {
	for ; ctx.Err() == nil; time.Sleep(2 * time.Millisecond) {
		begun := time.Now()
		_, err := service.ListEvents(b.Context(), "other", trigger.EventQuery{Source: "api", Status: trigger.StatusCompleted})
		require.NoError(b, err)
		s.lists.add(begun)
		begun = time.Now()
		_, err = service.Submit(b.Context(), "other", "", trigger.Submission{Instructions: "Document the --json flag."})
		require.NoError(b, err)
		s.submits.add(begun)
	}
}
