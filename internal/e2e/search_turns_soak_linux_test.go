package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
)

// oneClass is a scorer that has nothing to do: all scores are there.
type oneClass struct{}

func (oneClass) Model(context.Context) (sound.Model, error) {
	return sound.Model{ID: "m", Family: "m", SampleRate: 16000, Window: time.Second, Hop: time.Second, Classes: []sound.Class{"0"}}, nil
}

func (oneClass) Score(context.Context, [][]float32) ([]sound.Scores, error) {
	return nil, errors.New("nothing is to be scored")
}

// searchBackend is a backend of searches.
type searchBackend struct {
	audiosearch.Store
	queue mortise.Queue
}

// soakVideos fills a dataset "d" of an organization: long notes, a number and a camera
// each, one window.
func soakVideos(t *testing.T, s searchBackend, org string, videos, text int) {
	ctx := t.Context()
	require.NoError(t, s.CreateDataset(ctx, audiosearch.Dataset{Organization: org, ID: "d"}))
	var all []audiosearch.Video
	for i := range videos {
		all = append(all, audiosearch.Video{ID: fmt.Sprintf("v%06d", i), Path: "p", Metadata: metadata.Map{
			"notes":  metadata.String(fmt.Sprintf("%06d", i) + strings.Repeat("a", text) + endings()),
			"camera": metadata.String(fmt.Sprint("camera ", i%10)),
		}})
	}
	for page := range slices.Chunk(all, 100) {
		require.NoError(t, s.PutVideos(ctx, org, "d", page))
	}
	scoring := audiosearch.Scoring{
		Model: "m", At: time.Now().UTC(), Duration: time.Second, Window: time.Second, Hop: time.Second, Windows: 1,
		Classes: []sound.Class{"0"},
	}
	for i, v := range all {
		require.NoError(t, s.PutScoring(ctx, org, "d", v.ID, "p", scoring, [][]uint16{{uint16(i)}}))
	}
}

// endings are what the worst filters end with: they begin alike, and are found at the end
// of a text.
func endings() string {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "%s%02d;", strings.Repeat("a", 40), i)
	}
	return b.String()
}

func worstFilters() (filters []metadata.Filter) {
	for i := range 100 {
		value := fmt.Sprintf("%s%02d", strings.Repeat("a", 40), i)
		filters = append(filters, metadata.Filter{Key: "notes", Op: metadata.OpContains, Value: value})
	}
	return filters
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestSearchTurnsSoak prints what heavy filters cost, and how long the searches of
// another organization take beside them. It asserts no times: machines differ.
//
//	MORTISE_SOAK=1 go test ./internal/e2e -run TestSearchTurnsSoak -v
func TestSearchTurnsSoak(t *testing.T) {
	if os.Getenv("MORTISE_SOAK") != "1" {
		t.Skip("only with MORTISE_SOAK=1")
	}
	t.Run("memory", func(t *testing.T) {
		db, err := memory.Open(t.Context(), nil)
		require.NoError(t, err)
		soakSearches(t, searchBackend{db.AudioSearch().Store, db.Queue(nil)})
	})
	t.Run("sqlite", func(t *testing.T) {
		db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "soak.db"), nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, db.Close()) }()
		soakSearches(t, searchBackend{db.AudioSearch().Store, db.Queue(nil)})
	})
}

func soakSearches(t *testing.T, store searchBackend) {
	const text = 55_000 // and the endings make 60 KB
	soakVideos(t, store, "heavy", 400, text)
	soakVideos(t, store, "light", 400, 100)
	s, err := audiosearch.New(audiosearch.Backend{Store: store.Store, Queue: store.queue}, &audiosearch.Options{Scorers: []sound.Scorer{oneClass{}}})
	require.NoError(t, err)
	search := func(org string, filters ...metadata.Filter) {
		_, err := s.Search(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: "0", Limit: 40, Filters: filters})
		require.NoError(t, err)
	}
	search("heavy", metadata.Filter{Key: "camera", Value: "camera 1"})
	search("light")
	measure := func(name string, filters []metadata.Filter) {
		began, used := time.Now(), cpu()
		search("heavy", filters...)
		t.Logf("%s: %v of CPU, %v", name, cpu()-used, time.Since(began))
	}
	measure("100 filters, the first leaves nothing", append([]metadata.Filter{{Key: "camera", Value: "none"}}, worstFilters()[1:]...))
	measure("the worst 100 that all match", worstFilters())

	light := func() time.Duration {
		began := time.Now()
		search("light", metadata.Filter{Key: "camera", Op: metadata.OpContains, Value: "3"})
		return time.Since(began)
	}
	var quiet []time.Duration
	for range 50 {
		quiet = append(quiet, light())
	}
	t.Logf("another organization's search, alone: %s", spread(quiet))

	const heavy = 8
	stop, heavies := make(chan struct{}), 0
	var mu sync.Mutex
	var running sync.WaitGroup
	for range heavy {
		running.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					search("heavy", worstFilters()...)
					mu.Lock()
					heavies++
					mu.Unlock()
				}
			}
		})
	}
	var beside []time.Duration
	for began := time.Now(); time.Since(began) < 8*time.Second; {
		beside = append(beside, light())
	}
	close(stop)
	running.Wait()
	t.Logf("beside %d in process (%d done): %s", heavy, heavies, spread(beside))

	w, err := audiosearch.NewWorker(s, nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	run := func() time.Duration {
		began := time.Now()
		r, err := s.Start(ctx, "light", "", audiosearch.Query{Dataset: "d", Class: "0", Limit: 40})
		require.NoError(t, err)
		for r.State != audiosearch.StateTerminated {
			time.Sleep(2 * time.Millisecond)
			r, err = s.Run(ctx, "light", "d", r.ID)
			require.NoError(t, err)
		}
		require.Equal(t, audiosearch.Success, r.Termination)
		return time.Since(began)
	}
	var runs []time.Duration
	for range 20 {
		runs = append(runs, run())
	}
	t.Logf("another organization's run, alone: %s", spread(runs))
	runs = nil
	for range 40 {
		_, err := s.Start(ctx, "heavy", "", audiosearch.Query{Dataset: "d", Class: "0", Limit: 40, Filters: worstFilters()})
		require.NoError(t, err)
	}
	for range 40 {
		runs = append(runs, run())
		open, err := store.ListRuns(ctx, "heavy", audiosearch.RunQuery{Open: true, Limit: 100})
		if err == nil && len(open.Items) < heavy {
			break // the heavy ones are nearly done
		}
	}
	t.Logf("as runs, beside 40 heavy ones and a worker: %s", spread(runs))
	cancel()
	require.NoError(t, <-ended)
}

// spread says how long calls took.
func spread(took []time.Duration) string {
	slices.Sort(took)
	n := len(took)
	return fmt.Sprintf("%d calls, median %v, p95 %v, at most %v", n, took[n/2], took[n*95/100], took[n-1])
}
