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
	return &backends{
		trigger:  newTriggerBackend(db.Trigger(), db.Queue(&mortise.LeaseOptions{Logger: log})),
		authmgmt: newAuthMgmtBackend(db.AuthMgmt()),
		vault:    db.Vault(),
		audio: audioBackend{store: db.AudioSearch(),
			queue: db.Queue(&mortise.LeaseOptions{Logger: log})},
		kept:  "in memory, and ends with the process",
		close: db.Close,
	}, nil
}
