package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/trigger"
)

// Organization implements [trigger.Directory].
func (t *Trigger) Organization(ctx context.Context, org string) (trigger.Organization, error) {
	if err := ctx.Err(); err != nil {
		return trigger.Organization{}, err
	}
	t.db.mu.RLock()
	defer t.db.mu.RUnlock()
	if o, ok := t.db.trigger.orgs[org]; ok && o.record != nil {
		return o.record.Clone(), nil
	}
	return trigger.Organization{}, trigger.ErrNotFound
}

// UpdateOrganization implements [trigger.Organizations].
func (t *Trigger) UpdateOrganization(ctx context.Context, org string, update func(*trigger.Organization) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	changed := trigger.Organization{ID: org}
	if o, ok := t.db.trigger.orgs[org]; ok && o.record != nil {
		changed = o.record.Clone()
	}
	if err := update(&changed); err != nil {
		return err
	}
	kept := changed.Clone()
	kept.ID = org
	slices.SortFunc(kept.Collections, func(a, b trigger.Collection) int { return slices.Compare(a.ID[:], b.ID[:]) })
	t.db.trigger.org(org).record = &kept
	return nil
}

// CreateKey implements [trigger.Keys].
func (t *Trigger) CreateKey(ctx context.Context, k trigger.APIKey) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	for digest, other := range t.db.trigger.keys {
		if digest == k.Digest || other.ID == k.ID {
			return trigger.ErrExists
		}
	}
	t.db.trigger.keys[k.Digest] = &k
	return nil
}

// KeyByDigest implements [trigger.Keys].
func (t *Trigger) KeyByDigest(ctx context.Context, digest [32]byte) (trigger.APIKey, error) {
	if err := ctx.Err(); err != nil {
		return trigger.APIKey{}, err
	}
	t.db.mu.RLock()
	defer t.db.mu.RUnlock()
	if k, ok := t.db.trigger.keys[digest]; ok {
		return *k, nil
	}
	return trigger.APIKey{}, trigger.ErrNotFound
}

// UpdateKey implements [trigger.Keys].
func (t *Trigger) UpdateKey(ctx context.Context, org string, id uuid.UUID, update func(*trigger.APIKey) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	for _, k := range t.db.trigger.keys {
		if k.ID != id || k.Organization != org {
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
	return trigger.ErrNotFound
}

// ListKeys implements [trigger.Keys].
func (t *Trigger) ListKeys(ctx context.Context, org string) ([]trigger.APIKey, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t.db.mu.RLock()
	defer t.db.mu.RUnlock()
	var keys []trigger.APIKey
	for _, k := range t.db.trigger.keys {
		if k.Organization == org {
			keys = append(keys, *k)
		}
	}
	slices.SortFunc(keys, func(a, b trigger.APIKey) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), slices.Compare(a.ID[:], b.ID[:]))
	})
	return keys, nil
}
