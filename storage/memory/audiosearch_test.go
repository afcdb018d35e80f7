package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// sounds is the harness of the domain's suites.
var sounds = audiosearchtest.Harness{Open: func(t *testing.T) audiosearchtest.Backend {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	tables := db.AudioSearch().Store.(*memory.AudioSearch)
	return audiosearchtest.Backend{
		Datasets: tables, Catalog: tables, Scores: tables, Parts: tables, Models: tables,
		Runs: tables, Results: tables, Counter: tables, Deletion: tables,
		Leases: db.Jobs(), Queue: db.Queue(nil),
	}
}}

func TestAudioSearch(t *testing.T) { audiosearchtest.Run(t, sounds) }

func TestAudioSearchModel(t *testing.T) { audiosearchtest.RunModel(t, sounds, nil) }
