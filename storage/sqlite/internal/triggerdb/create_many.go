package triggerdb

import (
	"context"
	"errors"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/jobs"
	"github.com/seed-6363c74e/mortise/trigger"
)

var errTaken = errors.New("sqlite: another event has the ID or the idempotency key of one of these")

// CreateEvents implements [trigger.Store].
func (t *Store) CreateEvents(ctx context.Context, events []trigger.Event, js []mortise.Job) error {
	if len(events) == 0 {
		return ctx.Err()
	}
	creations := make([]*creation, len(events))
	for i := range events {
		var err error
		if creations[i], err = newCreation(&events[i], events[i].SubmittedAt); err != nil {
			return err
		}
	}
	added := make([]*jobs.NewJob, len(js))
	for i := range js {
		added[i] = jobs.NewJobOf(&js[i])
	}
	org := events[0].Organization
	return t.db.Bring(ctx, org, func(tx *file.Tx) error {
		if deleted, err := triggerDeleted(tx, org); err != nil {
			return err
		} else if deleted {
			return mortise.ErrDeleted
		}
		for _, c := range creations {
			if err := c.insert(tx); err != nil {
				return err
			}
			if !c.created {
				return errTaken
			}
		}
		for _, j := range added {
			if err := t.jobs.AddIn(tx, j); err != nil {
				return err
			}
		}
		return nil
	})
}
