package triggerdb

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
	"github.com/seed-6363c74e/mortise/trigger"
)

const (
	keyColumns = "digest, id, organization, name, created_at, revoked_at, last_used_at"

	// Its first argument is the organization.
	insertKey = "INSERT INTO @.trigger_api_keys (organization, digest, id, name, created_at, revoked_at, last_used_at)" +
		" SELECT $1, $2, $3::uuid, $4, $5::timestamptz, $6::timestamptz, $7::timestamptz WHERE " + triggerNotDeleted + " ON CONFLICT DO NOTHING"
	keyByDigest = "SELECT " + keyColumns + " FROM @.trigger_api_keys WHERE digest = $1 AND " + apiKeyNotDeleted
	keyByID     = "SELECT " + keyColumns + " FROM @.trigger_api_keys WHERE " + idAndOrg + " AND " + apiKeyNotDeleted + " FOR UPDATE"
	updateKey   = "UPDATE @.trigger_api_keys SET name = $3, revoked_at = $4, last_used_at = $5 WHERE " + idAndOrg
	keysAfter   = "SELECT " + keyColumns + " FROM @.trigger_api_keys WHERE organization = $1 AND (created_at, id) > ($2, $3)" +
		" AND " + triggerNotDeleted + " ORDER BY created_at, id LIMIT $4"
)

// CreateKey implements [trigger.APIKeys].
func (t *Store) CreateKey(ctx context.Context, k trigger.APIKey) error {
	org := k.Organization
	return t.db.Transact(ctx, k.Organization, func(s *engine.Session) error {
		if err := keepFromDeletion(s, k.Organization); err != nil {
			return err
		}
		created, err := s.Exec(insertKey, org, k.Digest[:], k.ID, k.Name, sqltext.Bound(k.CreatedAt), sqltext.Stamp(k.RevokedAt), sqltext.Stamp(k.LastUsedAt))
		if err != nil || created == 1 {
			return err
		}
		deleted, err := triggerDeleted(s, k.Organization)
		switch {
		case err != nil:
			return err
		case deleted:
			return mortise.ErrDeleted
		}
		return mortise.ErrExists
	})
}

// KeyByDigest implements [trigger.APIKeys].
func (t *Store) KeyByDigest(ctx context.Context, digest [32]byte) (k trigger.APIKey, err error) {
	return engine.FirstOf(ctx, t.db, engine.NoOrg, scanKey, keyByDigest, digest[:])
}

// UpdateKey implements [trigger.APIKeys].
func (t *Store) UpdateKey(ctx context.Context, org string, id uuid.UUID, update func(*trigger.APIKey) error) error {
	return t.db.Transact(ctx, org, func(s *engine.Session) error {
		k, err := engine.One(engine.Collect(s, scanKey, keyByID, id, org))
		if err != nil {
			return err
		}
		was := k.RevokedAt
		if err := update(&k); err != nil {
			return err
		}
		if !k.RevokedAt.Equal(was) {
			if err := s.TookAway(k.RevokedAt); err != nil {
				return err
			}
		}
		_, err = s.Exec(updateKey, id, org, k.Name, sqltext.Stamp(k.RevokedAt), sqltext.Stamp(k.LastUsedAt))
		return err
	})
}

// ListKeys implements [trigger.APIKeys].
func (t *Store) ListKeys(
	ctx context.Context, org string, after mortise.Cursor, limit int,
) (page mortise.Page[trigger.APIKey], err error) {
	at, id, behind, err := pages.ByUUID(after)
	if err != nil {
		return page, err
	}
	if !behind {
		at = sqltext.FirstTime
	}
	keys, err := engine.ListOf(ctx, t.db, org, scanKey, keysAfter, org, sqltext.Bound(at), id, limit+1)
	if err != nil {
		return page, err
	}
	return pages.Cut(keys, limit, (*trigger.APIKey).Position), nil
}

// scanKey reads a row of keyColumns.
func scanKey(rows pgx.Rows) (k trigger.APIKey, err error) {
	var digest, org, name []byte
	var created, revoked, used pgtype.Timestamptz
	err = rows.Scan(&digest, &k.ID, &org, &name, &created, &revoked, &used)
	k.Organization, k.Name = string(org), string(name)
	k.CreatedAt, k.RevokedAt, k.LastUsedAt = sqltext.TimeOf(created), sqltext.TimeOf(revoked), sqltext.TimeOf(used)
	copy(k.Digest[:], digest)
	return k, err
}
