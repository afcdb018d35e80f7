package authmgmtdb

import (
	"context"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
)

// DB is a file with the store of package authmgmt.
type DB struct {
	*file.File
	authmgmt *Store
}

// Open opens the file at path. Options may be nil.
func Open(ctx context.Context, path string, opts *file.Options) (*DB, error) {
	f, err := file.Open(ctx, path, filetest.Options(opts))
	if err != nil {
		return nil, err
	}
	return &DB{f, New(f)}, nil
}
