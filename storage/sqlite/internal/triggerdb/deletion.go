package triggerdb

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/trigger"
)

const (
	markTriggerDeleted  = "INSERT INTO trigger_deleted (organization, since) VALUES (?,?) ON CONFLICT DO NOTHING"
	triggerDeletedSince = "SELECT since FROM trigger_deleted WHERE organization = ?"

	// So organizationByID needs no look at the mark.
	hideTriggerOrg = "UPDATE trigger_organizations SET setup_complete = 2 WHERE id = ?"

	// These follow a condition, and hold for an organization, and for that of a row.
	triggerNotDeleted = "NOT EXISTS (SELECT 1 FROM trigger_deleted AS d WHERE d.organization = ?1)"
	eventNotDeleted   = "NOT EXISTS (SELECT 1 FROM trigger_deleted AS d WHERE d.organization = trigger_events.organization)"
	apiKeyNotDeleted  = "NOT EXISTS (SELECT 1 FROM trigger_deleted AS d WHERE d.organization = trigger_api_keys.organization)"

	// For an organization and a limit.
	removeAPIKeys = "DELETE FROM trigger_api_keys" +
		" WHERE digest IN (SELECT digest FROM trigger_api_keys WHERE organization = ?1 LIMIT 0 + ?2)"
	removeCollections = "DELETE FROM trigger_collections WHERE organization = ?1" +
		" AND id IN (SELECT id FROM trigger_collections WHERE organization = ?1 LIMIT 0 + ?2)"
	removeTriggerOrg = "DELETE FROM trigger_organizations WHERE id = ?"

	// Events of an organization, with their sizes.
	triggerEventsToRemove = "SELECT rowid, id, " + eventSize +
		" FROM trigger_events INDEXED BY trigger_events_status WHERE organization = ?1 LIMIT 0 + ?2"
	removeEvent     = "DELETE FROM trigger_events WHERE rowid = ?"
	removeEventJobs = "DELETE FROM mortise_jobs WHERE seq IN (SELECT seq FROM mortise_jobs INDEXED BY mortise_jobs_id" +
		" WHERE id > ?1 || '-' AND id < ?1 || '.' AND kind = '" + trigger.JobKind + "' AND organization = ?2 LIMIT 0 + ?3)"
)

// removeEventBytes is how many bytes of events go at a time, beside file.PruneStep rows: other
// writes wait for so long.
const removeEventBytes = 8 << 20

// MarkDeleted implements [trigger.Deletion].
func (t *Store) MarkDeleted(ctx context.Context, org string, at time.Time) (time.Time, error) {
	var since time.Time
	err := t.db.Write(ctx, func(tx *file.Tx) error {
		if err := markDeleted(tx, org, at); err != nil {
			return err
		}
		return tx.Query(triggerDeletedSince, []any{org}, func(r *file.Row) error {
			since = r.Moment(0)
			return nil
		})
	})
	if err != nil { // and the statements may still run
		return time.Time{}, err
	}
	return since, nil
}

// markDeleted marks an organization, unless it is marked.
func markDeleted(t *file.Tx, org string, at time.Time) error {
	marked, err := t.Exec(markTriggerDeleted, org, at.UnixMicro())
	if err == nil && marked > 0 {
		err = t.Apply(file.TookAway(at))
	}
	if err != nil {
		return err
	}
	*file.MemoryOf[alive](t.Shared()) = alive{}
	_, err = t.Exec(hideTriggerOrg, org)
	return err
}

// RemoveDeleted implements [trigger.Deletion].
func (t *Store) RemoveDeleted(ctx context.Context, org string, limit int) (n int, more bool, err error) {
	if limit <= 0 {
		return 0, true, t.isMarked(ctx, org)
	}
	r := &triggerRemoval{org: org, rows: min(file.PruneStep, limit)}
	if err := t.db.Write(ctx, r.do); err != nil { // the writer may still be at it
		return 0, false, err
	}
	return r.removed, r.more, nil
}

// isMarked returns [mortise.ErrNotFound] if an organization is not marked.
func (t *Store) isMarked(ctx context.Context, org string) error {
	found := false
	err := t.db.Find(ctx, org, triggerDeletedSince, []any{org}, func(*file.Row) error {
		found = true
		return nil
	})
	if err == nil && !found {
		err = mortise.ErrNotFound
	}
	return err
}

// alive remembers organizations that are not marked in package trigger, for the time of
// one transaction: a transaction that writes holds the lock of the file, so nobody else
// can mark one meanwhile. The events of a group are mostly those of few organizations.
type alive struct {
	orgs  [8]string
	known int
}

// has reports whether org is known not to be marked.
func (a *alive) has(org string) bool {
	for _, known := range a.orgs[:min(a.known, len(a.orgs))] {
		if known == org {
			return true
		}
	}
	return false
}

// add notes that org is not marked.
func (a *alive) add(org string) {
	a.orgs[a.known%len(a.orgs)] = org
	a.known++
}

// triggerDeleted reports whether an organization is marked.
func triggerDeleted(t *file.Tx, org string) (deleted bool, err error) {
	known := file.MemoryOf[alive](t.Shared())
	if known.has(org) {
		return false, nil
	}
	err = t.Query(triggerDeletedSince, []any{org}, func(*file.Row) error {
		deleted = true
		return nil
	})
	if err == nil && !deleted {
		known.add(org)
	}
	return deleted, err
}

// triggerRemoval is a transaction that removes some of what an organization has.
type triggerRemoval struct {
	org  string
	rows int // at most

	removed int
	more    bool // there may be more
}

func (r *triggerRemoval) do(t *file.Tx) error {
	r.removed, r.more = 0, true // it may run twice
	if deleted, err := triggerDeleted(t, r.org); err != nil {
		return err
	} else if !deleted {
		return mortise.ErrNotFound
	}
	for _, statement := range []string{removeAPIKeys, removeCollections} {
		if err := r.exec(t, statement, r.org, r.rows-r.removed); err != nil || r.removed == r.rows {
			return err
		}
	}
	if err := r.exec(t, removeTriggerOrg, r.org); err != nil || r.removed == r.rows {
		return err
	}
	events, all, err := r.events(t)
	if err != nil {
		return err
	}
	for _, e := range events {
		if err := r.exec(t, removeEventJobs, e.id.String(), r.org, r.rows-r.removed); err != nil || r.removed == r.rows {
			return err
		}
		if err := r.exec(t, removeEvent, e.row); err != nil || r.removed == r.rows {
			return err
		}
	}
	r.more = !all
	return nil
}

// exec runs a statement that removes rows.
func (r *triggerRemoval) exec(t *file.Tx, statement string, args ...any) error {
	n, err := t.Exec(statement, args...)
	r.removed += int(n)
	return err
}

// removedEvent is an event that is to go.
type removedEvent struct {
	row int64
	id  uuid.UUID
}

// events returns those that go now, and whether they are all that are left: one at least,
// if there is one, and no more than fit.
func (r *triggerRemoval) events(t *file.Tx) (events []removedEvent, all bool, err error) {
	limit, found, bytes := r.rows-r.removed, 0, 0
	err = t.Query(triggerEventsToRemove, []any{r.org, limit}, func(row *file.Row) error {
		e := removedEvent{row: file.Cell[int64](row, 0)}
		row.Blob(1, e.id[:])
		if found++; bytes < removeEventBytes {
			events = append(events, e)
		}
		bytes += row.Number(2)
		return nil
	})
	return events, found < limit && len(events) == found, err
}
