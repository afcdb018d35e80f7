package triggerdb

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/trigger"
)

const (
	organizationByID = "SELECT o.setup_complete, c.id, c.ready FROM @.trigger_organizations AS o" +
		" LEFT JOIN @.trigger_collections AS c ON c.organization = o.id WHERE o.id = $1 AND " + triggerNotDeleted + " ORDER BY c.id"

	addOrganization = "INSERT INTO @.trigger_organizations (id, setup_complete)" +
		" SELECT $1, false WHERE " + triggerNotDeleted + " ON CONFLICT DO NOTHING"
	lockOrganization   = "SELECT FROM @.trigger_organizations WHERE id = $1 AND " + triggerNotDeleted + " FOR UPDATE"
	updateOrganization = "UPDATE @.trigger_organizations SET setup_complete = $2 WHERE id = $1"
	dropCollections    = "DELETE FROM @.trigger_collections WHERE organization = $1 AND id <> ALL ($2::text[]::uuid[])"
	putCollections     = "INSERT INTO @.trigger_collections AS c (organization, id, ready)" +
		" SELECT $1, n.id, n.ready FROM unnest($2::text[]::uuid[], $3::boolean[]) AS n (id, ready)" +
		" ON CONFLICT (organization, id) DO UPDATE SET ready = excluded.ready WHERE c.ready <> excluded.ready"
)

// Setup implements [trigger.Directory].
func (t *Store) Setup(ctx context.Context, org string) (o trigger.Organization, err error) {
	return engine.ReadOf(ctx, t.db, org, func(s *engine.Session) (trigger.Organization, error) { return organization(s, org) })
}

// organization reads an organization by one statement, so that what it returns was there at
// one time.
func organization(s *engine.Session, org string) (trigger.Organization, error) {
	o, found := trigger.Organization{ID: org}, false
	err := s.Query(func(rows pgx.Rows) error {
		var id pgtype.UUID
		var ready pgtype.Bool
		found = true
		err := rows.Scan(&o.SetupComplete, &id, &ready)
		if id.Valid {
			o.Collections = append(o.Collections, trigger.Collection{ID: id.Bytes, Ready: ready.Bool})
		}
		return err
	}, organizationByID, org)
	if err == nil && !found {
		err = mortise.ErrNotFound
	}
	return o, err
}

// UpdateOrganization implements [trigger.Organizations]. An organization that is new has a
// row already while update runs, which nobody else sees: it keeps others out.
func (t *Store) UpdateOrganization(ctx context.Context, org string, update func(*trigger.Organization) error) error {
	return t.db.Transact(ctx, org, func(s *engine.Session) error {
		if err := keepFromDeletion(s, org); err != nil {
			return err
		}
		if _, err := s.Exec(addOrganization, org); err != nil {
			return err
		}
		locked, err := s.Exec(lockOrganization, org)
		if err == nil && locked == 0 {
			err = mortise.ErrDeleted
		}
		if err != nil {
			return err
		}
		changed, err := organization(s, org)
		if errors.Is(err, mortise.ErrNotFound) {
			return errors.New("postgres: the organization that was read a moment ago is not there")
		}
		if err != nil {
			return err
		}
		if err := update(&changed); err != nil {
			return err
		}
		return writeOrganization(s, org, &changed)
	})
}

// writeOrganization writes an organization that the transaction has locked.
func writeOrganization(s *engine.Session, org string, o *trigger.Organization) error {
	if _, err := s.Exec(updateOrganization, org, o.SetupComplete); err != nil {
		return err
	}
	// Of two entries with one ID, either one can make the collection ready.
	// IDs are texts here: in QueryExecModeExec, pgx does not know what an array of others is.
	ids, ready, places := make([]string, 0, len(o.Collections)), make([]bool, 0, len(o.Collections)), make(map[uuid.UUID]int)
	for _, c := range o.Collections {
		if i, ok := places[c.ID]; ok {
			ready[i] = ready[i] || c.Ready
			continue
		}
		places[c.ID] = len(ids)
		ids, ready = append(ids, c.ID.String()), append(ready, c.Ready)
	}
	if _, err := s.Exec(dropCollections, org, ids); err != nil {
		return err
	}
	_, err := s.Exec(putCollections, org, ids, ready)
	return err
}
