package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/audiosearchdb"
)

// sounds is the harness of the suites of package audiosearch.
func sounds(from func(testing.TB) *database) audiosearchtest.Harness {
	type opened struct {
		db *postgres.DB
		d  *database
	}
	bases := make(map[any]opened)
	open := func(t *testing.T, d *database) audiosearchtest.Backend {
		db := d.open(t, nil)
		tables := db.AudioSearch().Store.(*audiosearchdb.Store)
		bases[tables] = opened{db, d}
		return audiosearchtest.Backend{
			Datasets: tables, Catalog: tables, Scores: tables, Parts: tables, Models: tables,
			Runs: tables, Results: tables, Counter: tables, Deletion: tables,
			Leases: db.Jobs(), Queue: db.Queue(nil),
		}
	}
	return audiosearchtest.Harness{
		Open: func(t *testing.T) audiosearchtest.Backend { return open(t, from(t)) },
		Reopen: func(t *testing.T, b audiosearchtest.Backend) audiosearchtest.Backend {
			require.NoError(t, bases[b.Datasets].db.Close())
			return open(t, bases[b.Datasets].d)
		},
		Break: func(t *testing.T, b audiosearchtest.Backend) (heal func()) { return bases[b.Datasets].d.refuse(t) },
	}
}

func TestAudioSearch(t *testing.T) {
	t.Parallel()
	audiosearchtest.Run(t, sounds(newDatabase))
}

func TestAudioSearchModel(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	audiosearchtest.RunModel(t, sounds(newDatabase), &audiosearchtest.ModelOptions{Sequences: 2})
}

func TestAudioSearchModelExecMode(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	audiosearchtest.RunModel(t, sounds(execDatabase), &audiosearchtest.ModelOptions{Sequences: 2})
}
