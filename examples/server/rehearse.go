package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
)

// rehearse applies a document to services that hold nothing, and forgets them. So
// whatever a service refuses is told before anything is stored, even if the reader of the
// document does not know of it. What is left are contradictions to what is stored.
func rehearse(ctx context.Context, doc *document) error {
	if doc == nil {
		return nil
	}
	log := slog.New(slog.DiscardHandler)
	back, err := openMemory(ctx, log)
	if err != nil {
		return err
	}
	back.audio.files = new(mediaFolder) // no file is opened
	var key rootKey
	_, _ = rand.Read(key[:]) // never fails
	services, err := wire(&settings{memory: true, publicURL: "http://127.0.0.1"}, back, &key, log)
	if err == nil {
		err = doc.refusal(ctx, provision(ctx, services, doc, log))
	}
	return errors.Join(err, back.close())
}

// refusal makes a mistake in the document of an error in a rehearsal: services that hold
// nothing fail for no other reason.
func (d *document) refusal(ctx context.Context, err error) error {
	var usage *usageError
	if err == nil || ctx.Err() != nil || errors.As(err, &usage) {
		return err
	}
	return usagef("-config: %s: %w", d.file, fmt.Errorf("cannot be applied: %w", err))
}
