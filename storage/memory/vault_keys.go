package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise/vault"
)

// Keys implements [vault.Keys].
func (s *Vault) Keys(ctx context.Context) ([]vault.Key, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.db.mu.RLock()
	defer s.db.mu.RUnlock()
	return s.db.vault.sortedKeys(), nil
}

// sortedKeys returns all keys, by purpose, then version.
func (t *vaultTables) sortedKeys() []vault.Key {
	var keys []vault.Key
	for _, k := range t.keys {
		keys = append(keys, *k)
	}
	slices.SortFunc(keys, func(a, b vault.Key) int {
		return cmp.Or(strings.Compare(string(a.Purpose), string(b.Purpose)), cmp.Compare(a.Version, b.Version))
	})
	return keys
}

// RegisterKey implements [vault.Keys].
func (s *Vault) RegisterKey(ctx context.Context, k vault.Key) (vault.Key, error) {
	if err := ctx.Err(); err != nil {
		return vault.Key{}, err
	}
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	t := &s.db.vault
	id := vaultKeyID{k.Purpose, k.Version}
	if kept, ok := t.keys[id]; ok {
		return *kept, nil
	}
	first := true
	for other := range t.keys {
		first = first && other.purpose != vault.FingerprintKey
	}
	k.Required, k.Retired = first && k.Purpose == vault.FingerprintKey, false
	t.keys[id] = &k
	return k, nil
}

// RequireKey implements [vault.Keys].
func (s *Vault) RequireKey(ctx context.Context, version int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	k, ok := s.db.vault.keys[vaultKeyID{vault.FingerprintKey, version}]
	switch {
	case !ok:
		return vault.ErrUnknownKey
	case k.Retired:
		return vault.ErrKeyRetired
	}
	k.Required = true
	return nil
}

// RetireKey implements [vault.Keys].
func (s *Vault) RetireKey(ctx context.Context, p vault.Purpose, version, successor int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	t := &s.db.vault
	k, ok := t.keys[vaultKeyID{p, version}]
	if !ok {
		return vault.ErrUnknownKey
	}
	if k.Retired {
		return nil
	}
	if p == vault.FingerprintKey {
		next, ok := t.keys[vaultKeyID{p, successor}]
		if !ok || !next.Required || successor == version {
			return vault.ErrKeyInUse
		}
	} else if t.sealed()[version] > 0 {
		return vault.ErrKeyInUse
	}
	k.Required, k.Retired = false, true
	return nil
}

// sealed counts rows by the version that they are sealed under.
func (t *vaultTables) sealed() map[int]int {
	count := make(map[int]int)
	for _, e := range t.vaults {
		for _, r := range e.rows {
			if !r.deleted {
				count[r.Sealed.Version]++
			}
		}
	}
	return count
}

// KeyUsage implements [vault.Keys].
func (s *Vault) KeyUsage(ctx context.Context) (vault.KeyUsage, error) {
	if err := ctx.Err(); err != nil {
		return vault.KeyUsage{}, err
	}
	s.db.mu.RLock()
	defer s.db.mu.RUnlock()
	usage := vault.KeyUsage{Fingerprints: make(map[int]int), Sealed: s.db.vault.sealed()}
	for _, e := range s.db.vault.vaults {
		for _, r := range e.rows {
			if r.deleted {
				continue
			}
			usage.Rows++
			if r.Deterministic {
				usage.Deterministic++
			}
			for _, f := range r.Fingerprints {
				usage.Fingerprints[f.Version]++
			}
		}
	}
	return usage, nil
}
