package authmgmtdb

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

const (
	// notDeleted is for statements whose first value is the organization. It is evaluated
	// once, however many rows a statement reads.
	notDeleted = " AND NOT EXISTS (SELECT 1 FROM authmgmt_deleted WHERE organization = ?1)"

	// notDeletedOf begins a condition on each row: what follows is a column, and ")".
	notDeletedOf = " AND NOT EXISTS (SELECT 1 FROM authmgmt_deleted d WHERE d.organization = "

	deletedAt   = "SELECT at FROM authmgmt_deleted WHERE organization = ?"
	markDeleted = "INSERT INTO authmgmt_deleted (organization, at) VALUES (?, ?) ON CONFLICT DO NOTHING"
	noteEvent   = "UPDATE authmgmt_deleted SET event = last_insert_rowid() WHERE organization = ?"

	// A row's number may be given again once the event was pruned, but not to another
	// event of the organization.
	eventOfDeleted = "SELECT " + auditColumns + " FROM authmgmt_audit WHERE organization = ?1" +
		" AND seq = (SELECT event FROM authmgmt_deleted WHERE organization = ?1)"
	eventsButThat = " FROM authmgmt_audit WHERE organization = ?1" +
		" AND seq IS NOT (SELECT event FROM authmgmt_deleted WHERE organization = ?1)"
)

// removals take rows of an organization, at most a limit of them. Tokens go before their
// secrets, and those before their clients: none drags others with it.
var removals = []string{
	"DELETE FROM authmgmt_invitations WHERE organization = ?1 AND id IN" +
		" (SELECT id FROM authmgmt_invitations WHERE organization = ?1 LIMIT 0 + ?2)",
	"DELETE FROM authmgmt_tokens WHERE digest IN (SELECT digest FROM authmgmt_tokens WHERE organization = ?1 LIMIT 0 + ?2)",
	"DELETE FROM authmgmt_secrets WHERE digest IN (SELECT digest FROM authmgmt_secrets WHERE organization = ?1 LIMIT 0 + ?2)",
	"DELETE FROM authmgmt_clients WHERE organization = ?1 AND id IN" +
		" (SELECT id FROM authmgmt_clients WHERE organization = ?1 LIMIT 0 + ?2)",
	"DELETE FROM authmgmt_audit WHERE seq IN (SELECT seq" + eventsButThat + " LIMIT 0 + ?2)",
	"DELETE FROM authmgmt_organizations WHERE id = ?1 AND ?2 > 0",
}

// MarkDeleted implements [authmgmt.Deletion].
func (a *Store) MarkDeleted(
	ctx context.Context, org string, at time.Time, e authmgmt.AuditEvent,
) (since time.Time, err error) {
	event, err := auditChange(&e)
	if err != nil {
		return time.Time{}, err
	}
	err = a.db.Write(ctx, func(tx *file.Tx) error {
		marked, err := tx.Exec(markDeleted, org, at.UnixMicro())
		if err == nil && marked > 0 {
			err = tx.Apply(file.TookAway(at))
		}
		if err != nil || marked == 0 || len(event) == 0 {
			return err
		}
		if err := tx.Apply(event...); err != nil {
			return err
		}
		_, err = tx.Exec(noteEvent, org)
		return err
	})
	if err != nil {
		return time.Time{}, err
	}
	return a.DeletedAt(ctx, org)
}

// DeletedAt implements [authmgmt.Deletion].
func (a *Store) DeletedAt(ctx context.Context, org string) (since time.Time, err error) {
	err = a.db.Find(ctx, org, deletedAt, []any{org}, func(r *file.Row) error {
		since = r.Moment(0)
		return nil
	})
	if err != nil {
		return time.Time{}, err
	}
	return since, nil
}

// RemoveDeleted implements [authmgmt.Deletion].
func (a *Store) RemoveDeleted(ctx context.Context, org string, limit int) (n int, more bool, err error) {
	limit = min(limit, file.PruneStep)
	removed := 0
	err = a.db.Write(ctx, func(tx *file.Tx) error {
		found, err := tx.Exists(deletedAt, org)
		if err == nil && !found {
			err = mortise.ErrNotFound
		}
		if err != nil {
			return err
		}
		removed, err = removeDeleted(tx, org, limit)
		return err
	})
	if err != nil { // the writer may still be at it
		return 0, false, err
	}
	return removed, removed == limit, nil
}

// removeDeleted removes rows of an organization. If they are fewer than the limit, nothing
// is left.
func removeDeleted(t *file.Tx, org string, limit int) (removed int, err error) {
	for _, removal := range removals {
		n, err := t.Exec(removal, org, limit-removed)
		if removed += int(n); err != nil || removed == limit {
			return removed, err
		}
	}
	return removed, nil
}

// mayCreate returns ErrDeleted if an organization was deleted, before everything else that
// stands in the way of something new. (As a condition of the INSERT it would cost more:
// SQLite takes one with a SELECT for many rows, of which a later one may fail, and copies
// every page before it changes it.)
func mayCreate(t *file.Tx, org string) error {
	deleted, err := t.Exists(deletedAt, org)
	if err == nil && deleted {
		err = mortise.ErrDeleted
	}
	return err
}
