package triggerdb

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/trigger"
)

var errTaken = errors.New("postgres: another event has the ID or the idempotency key of one of these")

// CreateEvents implements [trigger.Store].
func (t *Store) CreateEvents(ctx context.Context, events []trigger.Event, jobs []mortise.Job) error {
	if len(events) == 0 {
		return ctx.Err()
	}
	rows := make([][]any, len(events))
	for i := range events {
		var err error
		if rows[i], err = eventArgs(&events[i]); err != nil {
			return err
		}
	}
	org := events[0].Organization
	return t.db.Transact(ctx, org, func(s *engine.Session) error {
		if err := keepFromDeletion(s, org); err != nil {
			return err
		}
		if deleted, err := triggerDeleted(s, org); err != nil {
			return err
		} else if deleted {
			return mortise.ErrDeleted
		}
		inserts, created := s.Queued(), int64(0)
		for _, row := range rows {
			inserts.Add(insertEventAlone, row...).Exec(func(tag pgconn.CommandTag) error {
				created += tag.RowsAffected()
				return nil
			})
		}
		if err := inserts.Send(); err != nil {
			return err
		}
		if created < int64(len(rows)) {
			return errTaken
		}
		return t.jobs.AddMany(s, jobs)
	})
}
