package sqlite

import "github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"

// File shows the file of a database.
func (db *DB) File() *file.File { return db.file }
