package memory_test

import (
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// TestResultsBesideTheCatalog: what a run found is stored while the videos of its dataset
// are replaced. The race detector, or the runtime, notices if both touch them.
func TestResultsBesideTheCatalog(t *testing.T) {
	const rounds = 500
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	tables := db.AudioSearch().Store.(*memory.AudioSearch)
	require.NoError(t, tables.CreateDataset(t.Context(), audiosearch.Dataset{Organization: "acme", ID: "d"}))
	video := func(i int) []audiosearch.Video {
		m := metadata.Map{"n": metadata.Int(int64(i % 2))}
		return []audiosearch.Video{{ID: string(rune('a' + i%20)), Path: "p", Metadata: m}}
	}
	require.NoError(t, tables.CreateRun(t.Context(), audiosearch.Run{
		Organization: "acme", ID: 1, State: audiosearch.StateRunning, Query: audiosearch.Query{Dataset: "d"},
	}, 1))
	var all sync.WaitGroup
	all.Go(func() {
		for i := range rounds {
			assert.NoError(t, tables.PutVideos(t.Context(), "acme", "d", video(i)))
		}
	})
	all.Go(func() {
		for i := range rounds {
			assert.NoError(t, tables.PutResultVideos(t.Context(), "acme", 1, uuid.New(), video(i)))
		}
	})
	all.Wait()

	// A dataset that is gone does not matter.
	require.NoError(t, tables.DeleteDataset(t.Context(), "acme", "d"))
	require.NoError(t, tables.PutResultVideos(t.Context(), "acme", 1, uuid.New(), video(0)))
}
