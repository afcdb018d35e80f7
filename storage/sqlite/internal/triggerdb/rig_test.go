package triggerdb

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/jobs"
	"github.com/seed-6363c74e/mortise/trigger"
)

// DB is a file with the store of package trigger, and its jobs.
type DB struct {
	*file.File
	jobs    *jobs.Jobs
	trigger *Store
}

// Open opens the file at path. Options may be nil.
func Open(ctx context.Context, path string, opts *file.Options) (*DB, error) {
	added, o := new(jobs.Notifier), filetest.Options(opts)
	o.Working = added.Heard
	f, err := file.Open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	db := &DB{File: f, jobs: jobs.New(f, added, time.Now, ReadAhead)}
	db.trigger = New(f, db.jobs)
	db.jobs.SharedBy(db.trigger)
	return db, nil
}

func someEvent() trigger.Event {
	return trigger.Event{
		ID: uuid.New(), Organization: "acme", Status: trigger.StatusReceived, Source: "api", Instructions: "Document it.",
		SubmittedAt: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
	}
}
