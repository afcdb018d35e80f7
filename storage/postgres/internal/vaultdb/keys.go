package vaultdb

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

const (
	vaultKeyColumns = "purpose, version, check_value, required, retired"

	vaultKeys      = "SELECT " + vaultKeyColumns + " FROM @.vault_keys ORDER BY purpose, version"
	insertVaultKey = "INSERT INTO @.vault_keys (" + vaultKeyColumns + ") SELECT $1, $2::bigint, $3," +
		" $1::text = 'fingerprint' AND NOT EXISTS (SELECT FROM @.vault_keys WHERE purpose = 'fingerprint'), false ON CONFLICT DO NOTHING"
	requireVaultKey = "UPDATE @.vault_keys SET required = true WHERE purpose = 'fingerprint' AND version = $1"
	retireVaultKey  = "UPDATE @.vault_keys SET (required, retired) = (false, true) WHERE purpose = $1 AND version = $2"

	// goneVaults are the numbers of all vaults that were deleted, or whose organization was,
	// of which something may be left. goneScopes are those of their scopes.
	goneVaults = "SELECT seq FROM @.vault_vaults WHERE rest UNION ALL SELECT v.seq FROM @.vault_deleted_orgs d" +
		" JOIN @.vault_vaults v ON v.organization = d.organization WHERE d.rest"
	goneScopes = "SELECT s.seq FROM @.vault_scopes s WHERE s.vault IN (" + goneVaults + ")"

	// A few looks at an index for each scope that there is.
	sealedUnder = "SELECT FROM @.vault_scopes s CROSS JOIN (VALUES (false), (true)) AS d (deterministic) CROSS JOIN LATERAL (" +
		"SELECT FROM @.vault_tokens t WHERE t.scope = s.seq AND t.deterministic = d.deterministic AND t.sealed = $1 LIMIT 1) t" +
		" WHERE s.vault NOT IN (" + goneVaults + ") LIMIT 1"

	// A stretch of the rows, by their numbers.
	vaultKeyUsage = "SELECT false, sealed, count(*), count(*) FILTER (WHERE deterministic) FROM @.vault_tokens" +
		" WHERE seq > $1 AND seq <= $2 AND sealed IS NOT NULL AND scope NOT IN (" + goneScopes + ") GROUP BY sealed" +
		" UNION ALL (" + storedVersions + " SELECT true, f.version, count(*), 0 FROM stored JOIN @.vault_fingerprints f ON f.version = stored.version" +
		" WHERE f.row > $1 AND f.row <= $2 AND f.scope NOT IN (" + goneScopes + ") GROUP BY f.version)"
)

// Keys implements [vault.Keys].
func (s *Store) Keys(ctx context.Context) (keys []keyring.Key, err error) {
	return engine.ListOf(ctx, s.db, engine.NoOrg, scanVaultKey, vaultKeys)
}

// scanVaultKey reads a row of vaultKeyColumns.
func scanVaultKey(r pgx.Rows) (k keyring.Key, err error) {
	var check []byte
	err = r.Scan(&k.Purpose, &k.Version, &check, &k.Required, &k.Retired)
	copy(k.Check[:], check)
	return k, err
}

// changeVaultKeys calls do while no other call uses what is known of the keys.
func (s *Store) changeVaultKeys(ctx context.Context, do func(*engine.Session, knownKeys) error) error {
	return s.db.Transact(ctx, engine.NoOrg, func(q *engine.Session) error {
		if err := q.Lock(lockVaultKeys, "", false); err != nil {
			return err
		}
		keys, err := readKeys(q)
		if err != nil {
			return err
		}
		return do(q, keys)
	})
}

// RegisterKey implements [vault.Keys].
func (s *Store) RegisterKey(ctx context.Context, k keyring.Key) (stored keyring.Key, err error) {
	// Every start asks, and only the first one of all has to write.
	all, err := s.Keys(ctx)
	for _, known := range all {
		if known.Purpose == k.Purpose && known.Version == k.Version {
			return known, err
		}
	}
	if err != nil {
		return keyring.Key{}, err
	}
	err = s.changeVaultKeys(ctx, func(q *engine.Session, _ knownKeys) error {
		if _, err := q.Exec(insertVaultKey, string(k.Purpose), k.Version, k.Check[:]); err != nil {
			return err
		}
		keys, err := readKeys(q)
		stored = keys[vaultKeyID{k.Purpose, k.Version}]
		return err
	})
	if err != nil {
		return keyring.Key{}, err
	}
	return stored, nil
}

// RequireKey implements [vault.Keys].
func (s *Store) RequireKey(ctx context.Context, version int) error {
	return s.changeVaultKeys(ctx, func(q *engine.Session, keys knownKeys) error {
		if err := q.NeedsLatest(); err != nil {
			return err
		}
		switch k, ok := keys[vaultKeyID{keyring.FingerprintKey, version}]; {
		case !ok:
			return keyring.ErrUnknownKey
		case k.Retired:
			return keyring.ErrRetired
		}
		_, err := q.Exec(requireVaultKey, version)
		return err
	})
}

// RetireKey implements [vault.Keys].
func (s *Store) RetireKey(ctx context.Context, p keyring.Purpose, version, successor int) error {
	return s.changeVaultKeys(ctx, func(q *engine.Session, keys knownKeys) error {
		if err := q.NeedsLatest(); err != nil {
			return err
		}
		k, ok := keys[vaultKeyID{p, version}]
		if !ok {
			return keyring.ErrUnknownKey
		}
		if k.Retired {
			return nil
		}
		inUse, err := successor == version || !keys[vaultKeyID{p, successor}].Required, error(nil)
		if p != keyring.FingerprintKey {
			inUse, err = q.Exists(sealedUnder, version)
		}
		if err != nil {
			return err
		}
		if inUse {
			return keyring.ErrInUse
		}
		_, err = q.Exec(retireVaultKey, string(p), version)
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

func readKeys(s *engine.Session) (knownKeys, error) {
	keys := make(knownKeys)
	err := s.Query(func(r pgx.Rows) error {
		k, err := scanVaultKey(r)
		keys[vaultKeyID{k.Purpose, k.Version}] = k
		return err
	}, vaultKeys)
	return keys, err
}

// retired reports whether nothing may be stored under a version any more.
func (k knownKeys) retired(p keyring.Purpose, version int) bool {
	return k[vaultKeyID{p, version}].Retired
}

// usageStep is how many rows a statement of KeyUsage counts: each of them has to end within
// Options.Timeout.
const usageStep = 200_000

// KeyUsage implements [vault.Keys]. It counts stretch by stretch.
func (s *Store) KeyUsage(ctx context.Context) (keyring.Usage, error) {
	usage := keyring.Usage{Fingerprints: make(map[int]int), Sealed: make(map[int]int)}
	var last int64
	err := s.db.Read(ctx, engine.NoOrg, func(q *engine.Session) error { return q.Row(lastVaultRow, nil, &last) })
	for from := int64(0); err == nil && from < last; from += usageStep {
		err = s.countUsage(ctx, &usage, from)
	}
	if err != nil {
		return keyring.Usage{}, err
	}
	return usage, nil
}

// countUsage adds what is stored under the versions of keys in a stretch of the rows.
func (s *Store) countUsage(ctx context.Context, usage *keyring.Usage, from int64) error {
	type count struct {
		fingerprints              bool
		version, n, deterministic int
	}
	counts, err := engine.ListOf(ctx, s.db, engine.NoOrg, func(r pgx.Rows) (c count, err error) {
		err = r.Scan(&c.fingerprints, &c.version, &c.n, &c.deterministic)
		return c, err
	}, vaultKeyUsage, from, from+usageStep)
	for _, c := range counts {
		if c.fingerprints {
			usage.Fingerprints[c.version] += c.n
			continue
		}
		usage.Sealed[c.version] += c.n
		usage.Rows += c.n
		usage.Deterministic += c.deterministic
	}
	return err
}
