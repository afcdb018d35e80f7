package triggerdb

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/trigger"
)

const (
	keyColumns = "digest, id, organization, name, created_at, revoked_at, last_used_at"

	insertKey   = "INSERT INTO trigger_api_keys (" + keyColumns + ") VALUES (?,?,?,?,?,?,?) ON CONFLICT DO NOTHING"
	updateKey   = "UPDATE trigger_api_keys SET name = ?, revoked_at = ?, last_used_at = ? WHERE id = ?"
	keyByDigest = "SELECT " + keyColumns + " FROM trigger_api_keys WHERE digest = ? AND " + apiKeyNotDeleted
	keyByID     = "SELECT " + keyColumns + " FROM trigger_api_keys WHERE id = ? AND organization = ? AND " + apiKeyNotDeleted
	keysOf      = "SELECT " + keyColumns + " FROM trigger_api_keys WHERE organization = ? AND " + triggerNotDeleted + keyOrder
	keysAfter   = "SELECT " + keyColumns + " FROM trigger_api_keys WHERE organization = ? AND (created_at, id) > (?, ?) AND " + triggerNotDeleted + keyOrder
	keyOrder    = " ORDER BY created_at, id LIMIT 0 + ?"
)

// CreateKey implements [trigger.APIKeys].
func (t *Store) CreateKey(ctx context.Context, k trigger.APIKey) error {
	return t.db.Write(ctx, func(tx *file.Tx) error {
		if deleted, err := triggerDeleted(tx, k.Organization); err != nil {
			return err
		} else if deleted {
			return mortise.ErrDeleted
		}
		created, err := tx.Exec(insertKey, k.Digest[:], k.ID[:], k.Organization, k.Name,
			k.CreatedAt.UnixMicro(), file.Micros(k.RevokedAt), file.Micros(k.LastUsedAt))
		if err == nil && created == 0 {
			err = mortise.ErrExists
		}
		return err
	})
}

// KeyByDigest implements [trigger.APIKeys].
func (t *Store) KeyByDigest(ctx context.Context, digest [32]byte) (trigger.APIKey, error) {
	var k trigger.APIKey
	found := false
	err := t.db.Find(ctx, file.NoOrg, keyByDigest, []any{digest[:]}, func(r *file.Row) error {
		found = true
		return scanKey(r, &k)
	})
	if err == nil && !found {
		err = mortise.ErrNotFound
	}
	if err != nil {
		return trigger.APIKey{}, err
	}
	return k, nil
}

// UpdateKey implements [trigger.APIKeys].
func (t *Store) UpdateKey(ctx context.Context, org string, id uuid.UUID, update func(*trigger.APIKey) error) error {
	return t.db.Write(ctx, func(tx *file.Tx) error {
		var k trigger.APIKey
		found := false
		err := tx.Query(keyByID, []any{id[:], org}, func(r *file.Row) error {
			found = true
			return scanKey(r, &k)
		})
		if err != nil {
			return err
		}
		if !found {
			return mortise.ErrNotFound
		}
		was := k.RevokedAt
		err = tx.Host(func() error {
			given := k
			if err := update(&given); err != nil {
				return err
			}
			k = given
			return nil
		})
		if err != nil {
			return err
		}
		if !k.RevokedAt.Equal(was) {
			if err := tx.Apply(file.TookAway(k.RevokedAt)); err != nil {
				return err
			}
		}
		_, err = tx.Exec(updateKey, k.Name, file.Micros(k.RevokedAt), file.Micros(k.LastUsedAt), id[:])
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
	statement, args := keysOf, []any{org, limit + 1}
	if behind {
		statement, args = keysAfter, []any{org, at.UnixMicro(), id[:], limit + 1}
	}
	var keys []trigger.APIKey
	err = t.db.List(ctx, org, statement, args, func(r *file.Row) error {
		keys = append(keys, trigger.APIKey{})
		return scanKey(r, &keys[len(keys)-1])
	})
	if err != nil {
		return page, err
	}
	return pages.Cut(keys, limit, (*trigger.APIKey).Position), nil
}

// scanKey reads a row of keyColumns.
func scanKey(r *file.Row, k *trigger.APIKey) error {
	r.Blob(0, k.Digest[:])
	r.Blob(1, k.ID[:])
	k.Organization, k.Name = r.Text(2), r.Text(3)
	k.CreatedAt, k.RevokedAt, k.LastUsedAt = r.Moment(4), r.Moment(5), r.Moment(6)
	return nil
}
