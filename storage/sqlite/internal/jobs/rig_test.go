package jobs

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
)

// DB is a file with its jobs.
type DB struct {
	*file.File
	jobs *Jobs
}

// Open opens the file at path. Options may be nil.
func Open(ctx context.Context, path string, opts *file.Options) (*DB, error) {
	added, o := new(Notifier), filetest.Options(opts)
	o.Working = added.Heard
	f, err := file.Open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	claimed := func(*file.Tx, []mortise.Lease) error { return nil }
	return &DB{f, New(f, added, time.Now, claimed)}, nil
}
