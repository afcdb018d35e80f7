package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/seed-6363c74e/mortise/storage/memory"
)

// openMemory is the storage of -memory: everything ends with the process.
func openMemory(ctx context.Context, log *slog.Logger) (*backends, error) {
	db, err := memory.Open(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("open memory: %w", err)
	}
	return backendsOf(db, "in memory, and ends with the process", log), nil
}
