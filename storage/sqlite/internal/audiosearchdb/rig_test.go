package audiosearchdb

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/jobs"
)

// DB is a file with the store of package audiosearch, and its jobs.
type DB struct {
	*file.File
	jobs        *jobs.Jobs
	audiosearch *Store
}

// Open opens the file at path. Options may be nil.
func Open(ctx context.Context, path string, opts *file.Options) (*DB, error) {
	added, o := new(jobs.Notifier), filetest.Options(opts)
	o.Working = added.Heard
	f, err := file.Open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	claimed := func(*file.Tx, []mortise.Lease) error { return nil }
	db := &DB{File: f, jobs: jobs.New(f, added, time.Now, claimed)}
	db.audiosearch = New(f, db.jobs, 256<<20) // as Open of package sqlite
	db.jobs.SharedBy(db.audiosearch)
	return db, nil
}
