package sqlite_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/audiosearchdb"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
)

// sounds is the harness of the domain's suites, with something done to each database.
func sounds(each ...func(*sqlite.DB)) audiosearchtest.Harness {
	files := make(map[any]*opened)
	open := func(t *testing.T, path string) audiosearchtest.Backend {
		db := openAt(t, path, &sqlite.Options{BusyTimeout: 50 * time.Millisecond})
		for _, do := range each {
			do(db)
		}
		tables := db.AudioSearch().Store.(*audiosearchdb.Store)
		files[tables] = &opened{db, path}
		return audiosearchtest.Backend{
			Datasets: tables, Catalog: tables, Scores: tables, Parts: tables, Models: tables,
			Runs: tables, Results: tables, Counter: tables, Deletion: tables,
			Leases: db.Jobs(), Queue: db.Queue(nil),
		}
	}
	return audiosearchtest.Harness{
		Open: func(t *testing.T) audiosearchtest.Backend { return open(t, filetest.EmptyFile(t)) },
		Reopen: func(t *testing.T, b audiosearchtest.Backend) audiosearchtest.Backend {
			require.NoError(t, files[b.Datasets].db.Close())
			return open(t, files[b.Datasets].path)
		},
		Break: func(t *testing.T, b audiosearchtest.Backend) (heal func()) {
			return lockFile(t, files[b.Datasets].path)
		},
	}
}

func TestAudioSearch(t *testing.T) {
	t.Parallel()
	audiosearchtest.Run(t, sounds())
}

func TestAudioSearchModel(t *testing.T) {
	t.Parallel()
	audiosearchtest.RunModel(t, sounds(), &audiosearchtest.ModelOptions{Sequences: 5})
}
