package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
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
func (t *Trigger) CreateKey(ctx context.Context, k trigger.APIKey) error {
	org := bytes(k.Organization)
	return t.db.transact(ctx, k.Organization, func(s *session) error {
		if err := s.keepFromDeletion(k.Organization); err != nil {
			return err
		}
		created, err := s.exec(insertKey, org, k.Digest[:], k.ID, bytes(k.Name), bound(k.CreatedAt), stamp(k.RevokedAt), stamp(k.LastUsedAt))
		if err != nil || created == 1 {
			return err
		}
		deleted, err := s.triggerDeleted(k.Organization)
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
func (t *Trigger) KeyByDigest(ctx context.Context, digest [32]byte) (k trigger.APIKey, err error) {
	return one(listOf(ctx, t.db, noOrg, scanKey, keyByDigest, digest[:]))
}

// UpdateKey implements [trigger.APIKeys].
func (t *Trigger) UpdateKey(ctx context.Context, org string, id uuid.UUID, update func(*trigger.APIKey) error) error {
	return t.db.transact(ctx, org, func(s *session) error {
		k, err := one(collect(s, scanKey, keyByID, id, bytes(org)))
		if err != nil {
			return err
		}
		if err := update(&k); err != nil {
			return err
		}
		_, err = s.exec(updateKey, id, bytes(org), bytes(k.Name), stamp(k.RevokedAt), stamp(k.LastUsedAt))
		return err
	})
}

// ListKeys implements [trigger.APIKeys].
func (t *Trigger) ListKeys(
	ctx context.Context, org string, after mortise.Cursor, limit int,
) (page mortise.Page[trigger.APIKey], err error) {
	at, id, behind, err := pages.ByUUID(after)
	if err != nil {
		return page, err
	}
	if !behind {
		at = firstTime
	}
	keys, err := listOf(ctx, t.db, org, scanKey, keysAfter, bytes(org), bound(at), id, limit+1)
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
	k.CreatedAt, k.RevokedAt, k.LastUsedAt = timeOf(created), timeOf(revoked), timeOf(used)
	copy(k.Digest[:], digest)
	return k, err
}
