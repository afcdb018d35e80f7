package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// openMemory is the storage of -memory: everything ends with the process.
func openMemory(ctx context.Context, log *slog.Logger) (*backends, error) {
	db, err := memory.Open(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("open memory: %w", err)
	}
	// Both services take their jobs from one table. What befalls it is told in the
	// server's log.
	triggers, audio := db.Trigger(), db.AudioSearch()
	triggers.Queue = db.Queue(&mortise.LeaseOptions{Logger: log})
	audio.Queue = db.Queue(&mortise.LeaseOptions{Logger: log})
	return &backends{
		trigger:  triggers,
		authmgmt: db.AuthMgmt(),
		vault:    db.Vault(),
		audio:    audioBackend{Backend: audio},
		kept:     "in memory, and ends with the process",
		close:    db.Close,
	}, nil
}
