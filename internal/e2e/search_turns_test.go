package e2e

import (
	"context"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/turns"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
)

// told is a context that tells when a search with it waits for its turn.
type told struct {
	context.Context
	waits chan struct{}
}

// Done is asked by whatever can wait, for a connection too. Only a turn is waited for by
// turns.Turn.wait.
func (c told) Done() <-chan struct{} {
	var callers [4]uintptr
	caller, _ := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])]).Next()
	if strings.HasSuffix(caller.Function, "turns.(*Turn).wait") {
		select {
		case c.waits <- struct{}{}:
		default:
		}
	}
	return c.Context.Done()
}

// TestSearchesThatWaitForTheirTurn: whatever waits for its turn holds nothing that others
// need, be they other organizations or the same one in another dataset, for reading and
// for writing.
func TestSearchesThatWaitForTheirTurn(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) searchBackend{
		"memory": func(t *testing.T) searchBackend {
			db, err := memory.Open(t.Context(), nil)
			require.NoError(t, err)
			return searchBackend{db.AudioSearch().Store, db.Queue(nil)}
		},
		"sqlite": func(t *testing.T) searchBackend {
			db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "turns.db"), nil)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			return searchBackend{db.AudioSearch().Store, db.Queue(nil)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := open(t)
			put := func(ctx context.Context, org, dataset string) {
				video := audiosearch.Video{ID: "v", Path: "p", Metadata: metadata.Map{"title": metadata.String(strings.Repeat("night ", 8000))}}
				require.NoError(t, store.PutVideos(ctx, org, dataset, []audiosearch.Video{video}))
			}
			for _, d := range [][2]string{{"a", "long"}, {"a", "other"}, {"b", "own"}} {
				require.NoError(t, store.CreateDataset(t.Context(), audiosearch.Dataset{Organization: d[0], ID: d[1]}))
				put(t.Context(), d[0], d[1])
			}
			search := func(ctx context.Context, org, dataset string) error {
				parts := []metadata.Filter{{Key: "title", Op: metadata.OpContains, Value: "n"}}
				_, err := store.Search(ctx, org, dataset, audiosearch.ScoreQuery{Model: "m", Limit: 1, Filters: parts})
				return err
			}
			require.NoError(t, search(t.Context(), "a", "long")) // its view is built

			shared := turns.New(1, 1)
			place, err := turns.Begin(shared.With(t.Context(), "somebody"))
			require.NoError(t, err)
			require.NoError(t, place.Step(1e6)) // nanoseconds: more than is light
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			const searches = 8 // more than there are connections
			ended := make(chan error, searches)
			for range searches {
				waits := make(chan struct{}, 1)
				go func() { ended <- search(told{shared.With(ctx, "a"), waits}, "a", "long") }()
				<-waits
			}

			for _, d := range [][2]string{{"b", "own"}, {"a", "other"}} {
				put(t.Context(), d[0], d[1])
				require.NoError(t, search(t.Context(), d[0], d[1]))
				_, err := store.ListVideos(t.Context(), d[0], d[1], "", 10)
				require.NoError(t, err)
				_, err = store.ListDatasets(t.Context(), d[0], "", 10)
				require.NoError(t, err)
				_, err = store.MissingKeys(t.Context(), d[0], d[1], []string{"title"})
				require.NoError(t, err)
			}
			require.NoError(t, store.CreateDataset(t.Context(), audiosearch.Dataset{Organization: "c", ID: "new"}))
			require.NoError(t, store.DeleteDataset(t.Context(), "c", "new"))

			cancel()
			for range searches {
				require.ErrorIs(t, <-ended, context.Canceled)
			}
			put(t.Context(), "a", "long")
			place.End()
			require.NoError(t, search(shared.With(t.Context(), "a"), "a", "long"))
		})
	}
}
