package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Keys implements [vault.Keys].
func (s *Vault) Keys(ctx context.Context) ([]keyring.Key, error) {
	db, err := s.db.read(ctx)
	if err != nil {
		return nil, err
	}
	defer db.end()
	var keys []keyring.Key
	for _, k := range db.vault.keys {
		keys = append(keys, *k)
	}
	slices.SortFunc(keys, func(a, b keyring.Key) int {
		return cmp.Or(strings.Compare(string(a.Purpose), string(b.Purpose)), cmp.Compare(a.Version, b.Version))
	})
	return keys, nil
}

// RegisterKey implements [vault.Keys].
func (s *Vault) RegisterKey(ctx context.Context, k keyring.Key) (keyring.Key, error) {
	db, err := s.db.write(ctx)
	if err != nil {
		return keyring.Key{}, err
	}
	defer db.end()
	t := &db.vault
	id := vaultKeyID{k.Purpose, k.Version}
	if kept, ok := t.keys[id]; ok {
		return *kept, nil
	}
	first := true
	for other := range t.keys {
		first = first && other.purpose != keyring.FingerprintKey
	}
	k.Required, k.Retired = first && k.Purpose == keyring.FingerprintKey, false
	t.keys[id] = &k
	return k, nil
}

// RequireKey implements [vault.Keys].
func (s *Vault) RequireKey(ctx context.Context, version int) error {
	db, err := s.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	k, ok := db.vault.keys[vaultKeyID{keyring.FingerprintKey, version}]
	switch {
	case !ok:
		return keyring.ErrUnknownKey
	case k.Retired:
		return keyring.ErrRetired
	}
	k.Required = true
	return nil
}

// RetireKey implements [vault.Keys].
func (s *Vault) RetireKey(ctx context.Context, p keyring.Purpose, version, successor int) error {
	db, err := s.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	t := &db.vault
	k, ok := t.keys[vaultKeyID{p, version}]
	if !ok {
		return keyring.ErrUnknownKey
	}
	if k.Retired {
		return nil
	}
	if p == keyring.FingerprintKey {
		next, ok := t.keys[vaultKeyID{p, successor}]
		if !ok || !next.Required || successor == version {
			return keyring.ErrInUse
		}
	} else if t.sealed()[version] > 0 {
		return keyring.ErrInUse
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
func (s *Vault) KeyUsage(ctx context.Context) (keyring.Usage, error) {
	db, err := s.db.read(ctx)
	if err != nil {
		return keyring.Usage{}, err
	}
	defer db.end()
	usage := keyring.Usage{Fingerprints: make(map[int]int), Sealed: db.vault.sealed()}
	for _, e := range db.vault.vaults {
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
