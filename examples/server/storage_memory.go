package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// openMemory is the storage of -memory: everything ends with the process.
func openMemory(ctx context.Context, log *slog.Logger) (*backends, error) {
	db, err := memory.Open(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("open memory: %w", err)
	}
	t := db.Trigger()
	return &backends{
		trigger: triggerBackend{
			store:         t,
			organizations: t,
			keys:          t,
			queue:         t.Queue(&trigger.LeaseOptions{Logger: log}),
		},
		kept:  "in memory, and ends with the process",
		close: db.Close,
	}, nil
}
