package memory

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// CreateKey implements [trigger.APIKeys].
func (t *Trigger) CreateKey(ctx context.Context, k trigger.APIKey) error {
	db, err := t.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	if db.trigger.isDeleted(k.Organization) {
		return mortise.ErrDeleted
	}
	for digest, other := range db.trigger.keys {
		if digest == k.Digest || other.ID == k.ID {
			return mortise.ErrExists
		}
	}
	db.trigger.keys[k.Digest] = &k
	db.trigger.keyLists[k.Organization] = insert(db.trigger.keyLists[k.Organization], &k)
	return nil
}

// KeyByDigest implements [trigger.APIKeys].
func (t *Trigger) KeyByDigest(ctx context.Context, digest [32]byte) (trigger.APIKey, error) {
	db, err := t.db.read(ctx)
	if err != nil {
		return trigger.APIKey{}, err
	}
	defer db.end()
	if k, ok := db.trigger.keys[digest]; ok && !db.trigger.isDeleted(k.Organization) {
		return *k, nil
	}
	return trigger.APIKey{}, mortise.ErrNotFound
}

// UpdateKey implements [trigger.APIKeys].
func (t *Trigger) UpdateKey(ctx context.Context, org string, id uuid.UUID, update func(*trigger.APIKey) error) error {
	db, err := t.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	for _, k := range db.trigger.keys {
		if k.ID != id || k.Organization != org || db.trigger.isDeleted(org) {
			continue
		}
		changed := *k
		if err := update(&changed); err != nil {
			return err
		}
		if !changed.RevokedAt.Equal(k.RevokedAt) {
			db.revocations.count(changed.RevokedAt)
		}
		changed.ID, changed.Organization, changed.Digest, changed.CreatedAt = k.ID, k.Organization, k.Digest, k.CreatedAt
		*k = changed
		return nil
	}
	return mortise.ErrNotFound
}

// ListKeys implements [trigger.APIKeys].
func (t *Trigger) ListKeys(
	ctx context.Context, org string, after mortise.Cursor, limit int,
) (page mortise.Page[trigger.APIKey], err error) {
	db, err := t.db.read(ctx)
	if err != nil {
		return page, err
	}
	defer db.end()
	var keys []*trigger.APIKey
	if !db.trigger.isDeleted(org) {
		keys = db.trigger.keyLists[org]
	}
	return oldestFirst(keys, after, limit, func(k *trigger.APIKey) trigger.APIKey { return *k })
}
