package vaultdb

import (
	"bytes"
	"context"
	"maps"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

const (
	vaultKeyColumns = "purpose, version, check_value, required, retired"

	vaultKeys      = "SELECT " + vaultKeyColumns + " FROM vault_keys ORDER BY purpose, version"
	vaultKeyByID   = "SELECT " + vaultKeyColumns + " FROM vault_keys WHERE purpose = ? AND version = ?"
	insertVaultKey = "INSERT INTO vault_keys (" + vaultKeyColumns + ") SELECT ?1, ?2, ?3," +
		" ?1 = 'fingerprint' AND NOT EXISTS (SELECT 1 FROM vault_keys WHERE purpose = 'fingerprint'), 0 WHERE TRUE ON CONFLICT DO NOTHING"
	requireVaultKey = "UPDATE vault_keys SET required = 1 WHERE purpose = 'fingerprint' AND version = ?"
	retireVaultKey  = "UPDATE vault_keys SET (required, retired) = (0, 1) WHERE purpose = ? AND version = ?"

	sealedUnder = "SELECT 1 FROM vault_counts WHERE sealed = ? AND scope NOT IN (" + goneScopes + ") LIMIT 1"
	// Everything is counted before the first row, see [file.File.List]: all fingerprints, and
	// less than none of vaults that were deleted.
	vaultKeyUsage = storedVersions + ", counted AS MATERIALIZED (SELECT sealed, n, n * deterministic, 0 FROM vault_counts" +
		" WHERE scope NOT IN (" + goneScopes + ")" +
		" UNION ALL SELECT version, count(*), NULL, 1 FROM vault_fingerprints INDEXED BY vault_fingerprints_row GROUP BY version" +
		" UNION ALL SELECT f.version, -count(*), NULL, 1 FROM (" + goneVaults + ") g CROSS JOIN vault_tokens t ON t.vault = g.seq" +
		" CROSS JOIN stored CROSS JOIN vault_fingerprints f INDEXED BY vault_fingerprints_row" +
		" ON f.version = stored.version AND f.row = t.seq GROUP BY f.version)" +
		" SELECT * FROM counted"
)

// Keys implements [vault.Keys].
func (s *Store) Keys(ctx context.Context) ([]keyring.Key, error) {
	var keys []keyring.Key
	err := s.db.Find(ctx, file.NoOrg, vaultKeys, nil, func(r *file.Row) error {
		keys = append(keys, scanVaultKey(r))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return keys, nil
}

// scanVaultKey reads a row of vaultKeyColumns.
func scanVaultKey(r *file.Row) keyring.Key {
	k := keyring.Key{Purpose: keyring.Purpose(r.Text(0)), Version: r.Number(1), Required: r.Number(3) != 0, Retired: r.Number(4) != 0}
	r.Blob(2, k.Check[:])
	return k
}

// RegisterKey implements [vault.Keys].
func (s *Store) RegisterKey(ctx context.Context, k keyring.Key) (keyring.Key, error) {
	var stored keyring.Key
	found := false
	read := func(r *file.Row) error {
		stored, found = scanVaultKey(r), true
		return nil
	}
	id := []any{string(k.Purpose), k.Version}
	// Every start asks, and only the first one of all has to write.
	err := s.db.Find(ctx, file.NoOrg, vaultKeyByID, id, read)
	if err == nil && !found {
		check := bytes.Clone(k.Check[:])
		err = s.db.Write(ctx, func(tx *file.Tx) error {
			if _, err := tx.Exec(insertVaultKey, append(id[:2:2], check)...); err != nil {
				return err
			}
			return tx.Query(vaultKeyByID, id, read)
		})
	}
	if err != nil {
		return keyring.Key{}, err
	}
	return stored, nil
}

// RequireKey implements [vault.Keys].
func (s *Store) RequireKey(ctx context.Context, version int) error {
	return s.db.Write(ctx, func(tx *file.Tx) error {
		keys, err := readKeys(tx)
		if err != nil {
			return err
		}
		switch k, ok := keys[vaultKeyID{keyring.FingerprintKey, version}]; {
		case !ok:
			return keyring.ErrUnknownKey
		case k.Retired:
			return keyring.ErrRetired
		}
		_, err = tx.Exec(requireVaultKey, version)
		return err
	})
}

// RetireKey implements [vault.Keys].
func (s *Store) RetireKey(ctx context.Context, p keyring.Purpose, version, successor int) error {
	return s.db.Write(ctx, func(tx *file.Tx) error {
		keys, err := readKeys(tx)
		if err != nil {
			return err
		}
		k, ok := keys[vaultKeyID{p, version}]
		if !ok {
			return keyring.ErrUnknownKey
		}
		if k.Retired {
			return nil
		}
		inUse := successor == version || !keys[vaultKeyID{p, successor}].Required
		if p != keyring.FingerprintKey {
			if err = settleCounts(tx); err == nil {
				inUse, err = tx.Exists(sealedUnder, version)
			}
		}
		if err != nil {
			return err
		}
		if inUse {
			return keyring.ErrInUse
		}
		_, err = tx.Exec(retireVaultKey, string(p), version)
		return err
	})
}

// vaultKeyID is which key.
type vaultKeyID struct {
	purpose keyring.Purpose
	version int
}

// knownKeys are the versions of keys that are known. There are few.
type knownKeys map[vaultKeyID]keyring.Key

func readKeys(t *file.Tx) (knownKeys, error) {
	keys := make(knownKeys)
	err := t.Query(vaultKeys, nil, func(r *file.Row) error {
		k := scanVaultKey(r)
		keys[vaultKeyID{k.Purpose, k.Version}] = k
		return nil
	})
	return keys, err
}

// retired reports whether nothing may be stored under a version any more.
func (k knownKeys) retired(p keyring.Purpose, version int) bool {
	return k[vaultKeyID{p, version}].Retired
}

// KeyUsage implements [vault.Keys].
func (s *Store) KeyUsage(ctx context.Context) (keyring.Usage, error) {
	usage := keyring.Usage{Fingerprints: make(map[int]int), Sealed: make(map[int]int)}
	err := s.db.List(ctx, file.NoOrg, vaultKeyUsage, nil, func(r *file.Row) error {
		version, n := r.Number(0), r.Number(1)
		if r.Number(3) == 1 {
			usage.Fingerprints[version] += n
			return nil
		}
		usage.Sealed[version] += n
		usage.Rows += n
		usage.Deterministic += r.Number(2)
		return nil
	})
	if err != nil {
		return keyring.Usage{}, err
	}
	none := func(_, n int) bool { return n == 0 }
	maps.DeleteFunc(usage.Sealed, none)
	maps.DeleteFunc(usage.Fingerprints, none)
	return usage, nil
}
