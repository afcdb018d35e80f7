package memory

import (
	"context"
	"slices"
	"sort"

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
	list := db.trigger.keyLists[k.Organization]
	at := sort.Search(len(list), func(i int) bool { return list[i].Position().Compare(k.Position()) > 0 })
	db.trigger.keyLists[k.Organization] = slices.Insert(list, at, &k)
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
		changed.ID, changed.Organization, changed.Digest, changed.CreatedAt = k.ID, k.Organization, k.Digest, k.CreatedAt
		*k = changed
		return nil
	}
	return mortise.ErrNotFound
}

// ListKeys implements [trigger.APIKeys].
func (t *Trigger) ListKeys(ctx context.Context, org string, q trigger.KeyQuery) (mortise.Page[trigger.APIKey], error) {
	db, err := t.db.read(ctx)
	if err != nil {
		return mortise.Page[trigger.APIKey]{}, err
	}
	defer db.end()
	var rest []*trigger.APIKey
	if !db.trigger.isDeleted(org) {
		rest = db.trigger.keyLists[org]
	}
	if !q.After.IsZero() {
		rest = rest[sort.Search(len(rest), func(i int) bool { return rest[i].Position().Compare(q.After) > 0 }):]
	}
	var page mortise.Page[trigger.APIKey]
	if q.Limit <= 0 {
		return page, nil
	}
	for _, k := range rest[:min(len(rest), q.Limit)] {
		page.Items = append(page.Items, *k)
	}
	if len(rest) > q.Limit {
		page.Next = page.Items[q.Limit-1].Position()
	}
	return page, nil
}
