package audiosearch_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

func digestOf(content []byte) [32]byte { return sha256.Sum256(content) }

// countedStore counts the calls that a service makes, by method.
type countedStore struct {
	audiosearch.Store
	mu    sync.Mutex
	calls map[string]int
}

func (c *countedStore) count(method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = make(map[string]int)
	}
	c.calls[method]++
}

func (c *countedStore) PutScoring(
	ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16,
) error {
	c.count("PutScoring")
	return c.Store.PutScoring(ctx, org, dataset, video, path, s, columns)
}

func (c *countedStore) PutPart(ctx context.Context, org, dataset string, p audiosearch.Part, columns [][]uint16) (int, error) {
	c.count("PutPart")
	return c.Store.PutPart(ctx, org, dataset, p, columns)
}

func (c *countedStore) Parts(ctx context.Context, org, dataset string, p audiosearch.Part) (int, error) {
	c.count("Parts")
	return c.Store.Parts(ctx, org, dataset, p)
}

// TestSearchMakesFewCalls: a search that finds a thousand videos asks the store six
// times.
func TestSearchMakesFewCalls(t *testing.T) {
	const videos = 1000
	var mu sync.Mutex
	var calls []string
	faults := &audiosearchtest.Faults{Before: func(method string) error {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, method)
		return nil
	}}
	db := newMemory(t)
	r := newRigOn(t, db, faults.Store(db.AudioSearch().Store), nil)
	all := make([]audiosearch.Video, videos)
	for i := range all {
		id := fmt.Sprintf("video %03d", i)
		all[i] = audiosearch.Video{ID: id, Path: id, Metadata: metadata.Map{"i": metadata.Int(int64(i))}}
	}
	require.NoError(t, r.PutVideos(t.Context(), org, "", "d", all...))
	for _, v := range all {
		require.NoError(t, db.AudioSearch().Store.PutScoring(t.Context(), org, "d", v.ID, v.Path, audiosearch.Scoring{
			Model: "volume/1", Media: r.media.ID(), Window: 2e9, Hop: 1e9, Windows: 1, Duration: 2e9, Classes: []sound.Class{loud, quiet},
		}, [][]uint16{{1}, {2}}))
	}
	q := audiosearch.Query{Dataset: "d", Class: loud, Limit: videos, Filters: []metadata.Filter{{Key: "i", Op: ">=", Value: "0"}}}
	for range 2 { // the first one makes the model the current one
		calls = nil
		found, err := r.Search(t.Context(), org, "", q)
		require.NoError(t, err)
		require.Len(t, found.Results, videos)
	}
	assert.Equal(t, []string{
		"Store.Models", "Store.MissingKeys", "Store.Unscored", "Store.Search", "Store.Scorings", "Store.Videos",
	}, calls)

	id := r.start(q)
	calls = nil
	r.drain(1)
	reads := slices.DeleteFunc(calls, func(method string) bool {
		return !slices.Contains([]string{"Store.Models", "Store.Unscored", "Store.Search", "Store.Scorings", "Store.Videos"}, method)
	})
	assert.Len(t, reads, 5, "of a run: each once")
	assert.Len(t, r.results(id).Results, videos)
}
