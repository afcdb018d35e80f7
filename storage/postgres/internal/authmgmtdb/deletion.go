package authmgmtdb

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
)

const (
	// authNotDeleted is for statements whose first argument is the organization. NOT EXISTS
	// would take twice as long as all the rest of a statement that looks for one row.
	authNotDeleted = " AND (SELECT at FROM @.authmgmt_deleted WHERE organization = $1) IS NULL"

	// oneNotDeletedOf begins the same on the one row that is looked for: what follows is a
	// column, and ") IS NULL".
	oneNotDeletedOf = " AND (SELECT d.at FROM @.authmgmt_deleted d WHERE d.organization = "

	// authNotDeletedOf begins a condition on each row: what follows is a column, and ")".
	authNotDeletedOf = " AND NOT EXISTS (SELECT FROM @.authmgmt_deleted d WHERE d.organization = "

	authDeletedAt   = "SELECT at FROM @.authmgmt_deleted WHERE organization = $1"
	markAuthDeleted = "INSERT INTO @.authmgmt_deleted (organization, at) VALUES ($1, $2) ON CONFLICT DO NOTHING"
	noteAuthEvent   = "UPDATE @.authmgmt_deleted SET event = $2 WHERE organization = $1"

	eventsButThat = " FROM @.authmgmt_audit WHERE organization = $1" +
		" AND seq IS DISTINCT FROM (SELECT event FROM @.authmgmt_deleted WHERE organization = $1)"
)

// authRemovals take rows of an organization, at most a limit of them. Each locks before it
// removes, and so passes over what others have removed meanwhile. Tokens go before their
// secrets, and those before their clients: none drags others with it.
var authRemovals = []string{
	"DELETE FROM @.authmgmt_invitations WHERE organization = $1 AND id = ANY (ARRAY" +
		"(SELECT id FROM @.authmgmt_invitations WHERE organization = $1 ORDER BY id LIMIT $2 FOR UPDATE))",
	"DELETE FROM @.authmgmt_tokens WHERE digest = ANY (ARRAY(SELECT digest FROM @.authmgmt_tokens WHERE organization = $1 ORDER BY created_at, id LIMIT $2 FOR UPDATE))",
	"DELETE FROM @.authmgmt_secrets WHERE digest = ANY (ARRAY(SELECT digest FROM @.authmgmt_secrets WHERE organization = $1 ORDER BY client, position LIMIT $2 FOR UPDATE))",
	"DELETE FROM @.authmgmt_clients WHERE organization = $1 AND id = ANY (ARRAY" +
		"(SELECT id FROM @.authmgmt_clients WHERE organization = $1 ORDER BY id LIMIT $2 FOR UPDATE))",
	"DELETE FROM @.authmgmt_audit WHERE seq = ANY (ARRAY(SELECT seq" + eventsButThat + " ORDER BY at, id LIMIT $2 FOR UPDATE))",
	"DELETE FROM @.authmgmt_organizations WHERE id = $1 AND $2::bigint > 0",
}

// authDeletion is of what the locks are.
const authDeletion = "authmgmt deletion"

// MarkDeleted implements [authmgmt.Deletion].
func (a *Store) MarkDeleted(ctx context.Context, org string, at time.Time, e authmgmt.AuditEvent) (since time.Time, err error) {
	err = a.db.Transact(ctx, org, func(s *engine.Session) error {
		if err := s.Lock(authDeletion, org, false); err != nil {
			return err
		}
		marked, err := s.Exec(markAuthDeleted, org, sqltext.Bound(at))
		if err != nil {
			return err
		}
		if marked > 0 {
			if err := s.TookAway(at); err != nil {
				return err
			}
			e.Organization = org
			event, err := auditSeq(s, &e)
			if err != nil {
				return err
			}
			if _, err := s.Exec(noteAuthEvent, org, event); err != nil {
				return err
			}
		}
		since, err = deletedAt(s, org)
		return err
	})
	if err != nil {
		return time.Time{}, err
	}
	return since, nil
}

// deletedAt returns the time of an organization's mark, or the zero time.
func deletedAt(s *engine.Session, org string) (time.Time, error) {
	var at pgtype.Timestamptz
	err := s.Row(authDeletedAt, []any{org}, &at)
	return sqltext.TimeOf(at), engine.IgnoreNoRow(err)
}

// DeletedAt implements [authmgmt.Deletion].
func (a *Store) DeletedAt(ctx context.Context, org string) (since time.Time, err error) {
	return engine.ReadOf(ctx, a.db, org, func(s *engine.Session) (time.Time, error) { return deletedAt(s, org) })
}

// RemoveDeleted implements [authmgmt.Deletion].
func (a *Store) RemoveDeleted(ctx context.Context, org string, limit int) (n int, more bool, err error) {
	limit = min(limit, engine.PruneStep)
	return a.db.RemoveSome(ctx, org, limit, func(s *engine.Session) (int, error) { return removeAuthDeleted(s, org, limit) })
}

// removeAuthDeleted removes rows of an organization. If they are fewer than the limit,
// nothing is left.
func removeAuthDeleted(s *engine.Session, org string, limit int) (removed int, err error) {
	if err := s.NeedsLatest(); err != nil {
		return 0, err
	}
	if deleted, err := s.Exists(authDeletedAt, org); err != nil || !deleted {
		if err == nil {
			err = mortise.ErrNotFound
		}
		return 0, err
	}
	for _, removal := range authRemovals {
		n, err := s.Exec(removal, org, limit-removed)
		if removed += int(n); err != nil || removed == limit {
			return removed, err
		}
	}
	return removed, nil
}

// mayCreate keeps an organization from being deleted before the transaction ends. It returns
// ErrDeleted if it was, before everything else that stands in the way of something new.
func mayCreate(s *engine.Session, org string) error {
	if err := s.Lock(authDeletion, org, true); err != nil {
		return err
	}
	deleted, err := s.Exists(authDeletedAt, org)
	if err == nil && deleted {
		err = mortise.ErrDeleted
	}
	return err
}
