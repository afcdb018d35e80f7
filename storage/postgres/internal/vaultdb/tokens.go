package vaultdb

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

const (
	// findInScope returns the vault's revision, without a fingerprint, and the tokens that
	// were found in one scope under one version.
	findInScope = "WITH asked AS MATERIALIZED (SELECT v.revision, s.seq AS scope FROM @.vault_vaults v" +
		" LEFT JOIN @.vault_scopes s ON s.vault = v.seq AND s.name = $3 WHERE v.organization = $1 AND v.id = $2" + vaultIsThere + ")" +
		" SELECT revision, NULL::bytea, NULL::text FROM asked UNION ALL" +
		" SELECT 0, fingerprint, token FROM @.vault_fingerprints" +
		" WHERE fingerprint = ANY($5::bytea[]) AND scope = (SELECT scope FROM asked) AND version = $4"

	// findInScopes is the same for any scopes and versions. It returns numbers of
	// fingerprints in their place. OFFSET keeps the lookup one by the key.
	findInScopes = "WITH asked AS MATERIALIZED (SELECT v.seq, v.revision FROM @.vault_vaults v" +
		" WHERE v.organization = $1 AND v.id = $2" + vaultIsThere + ")," +
		" lookup AS MATERIALIZED (SELECT l.n, l.version, s.seq AS scope" +
		" FROM unnest($3::text[], $4::bigint[]) WITH ORDINALITY AS l (name, version, n)" +
		" CROSS JOIN asked JOIN @.vault_scopes s ON s.vault = asked.seq AND s.name = l.name)" +
		" SELECT revision, NULL::bigint, NULL::text FROM asked UNION ALL" +
		" SELECT 0, i.n, f.token FROM unnest($5::bigint[], $6::bytea[]) WITH ORDINALITY AS i (lookup, fingerprint, n)" +
		" JOIN lookup l ON l.n = i.lookup CROSS JOIN LATERAL (SELECT token FROM @.vault_fingerprints" +
		" WHERE fingerprint = i.fingerprint AND scope = l.scope AND version = l.version OFFSET 0) f"

	// vaultRowColumns are the columns of a row. Before them stands its number in the answer;
	// rowOfVault is a row of NULLs for the vault itself.
	vaultRowColumns = "t.token, s.name, t.deterministic, t.sealed," +
		" CASE WHEN octet_length(t.ciphertext) <= 2097152 THEN t.ciphertext ELSE '' END, t.created_at" // keyring.MaxCiphertext
	rowOfVault = "SELECT NULL::bigint, NULL::text, NULL::text, NULL::boolean, NULL::bigint, NULL::bytea, NULL::timestamptz" +
		" FROM @.vault_vaults v WHERE v.organization = $1 AND v.id = $2" + vaultIsThere + " UNION ALL "
	rowsOfTokens = rowOfVault + "(SELECT a.n, " + vaultRowColumns + " FROM @.vault_vaults v" +
		" CROSS JOIN unnest($3::text[]) WITH ORDINALITY AS a (token, n)" +
		" CROSS JOIN LATERAL (SELECT * FROM @.vault_tokens WHERE vault = v.seq AND token = a.token AND sealed IS NOT NULL OFFSET 0) t" +
		" JOIN @.vault_scopes s ON s.seq = t.scope WHERE v.organization = $1 AND v.id = $2" + vaultIsThere + ")"
	rowsAfterToken = rowOfVault + "(SELECT 0, " + vaultRowColumns + " FROM @.vault_vaults v" +
		" CROSS JOIN LATERAL (SELECT * FROM @.vault_tokens WHERE vault = v.seq AND token > $3 AND sealed IS NOT NULL" +
		" ORDER BY token LIMIT $4) t JOIN @.vault_scopes s ON s.seq = t.scope" +
		" WHERE v.organization = $1 AND v.id = $2" + vaultIsThere + " ORDER BY t.token)"

	buryToken = "UPDATE @.vault_tokens t SET (sealed, ciphertext) = (NULL, NULL) FROM @.vault_vaults v" +
		" WHERE v.organization = $1 AND v.id = $2" + vaultIsThere + " AND t.vault = v.seq AND t.token = $3 AND t.sealed IS NOT NULL" +
		" RETURNING t.seq"
	// A seek for each version there is, in place of an index by rows alone.
	storedVersions = "WITH RECURSIVE stored (version) AS ((SELECT version FROM @.vault_fingerprints ORDER BY version LIMIT 1) UNION ALL" +
		" SELECT (SELECT f.version FROM @.vault_fingerprints f WHERE f.version > stored.version ORDER BY f.version LIMIT 1)" +
		" FROM stored WHERE version IS NOT NULL)"
	deleteFingerprints = storedVersions + " DELETE FROM @.vault_fingerprints" +
		" WHERE version = ANY(ARRAY(SELECT version FROM stored)) AND row = ANY($1::bigint[])"
)

// FindTokens implements [vault.Tokens].
func (s *Store) FindTokens(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
	if len(lookups) == 1 {
		return s.findInScope(ctx, org, id, revision, &lookups[0])
	}
	var names []string
	var fingerprints [][]byte
	var versions, of []int64
	for i := range lookups {
		l := &lookups[i]
		names, versions = append(names, l.Scope), append(versions, int64(l.Version))
		for k := range l.Fingerprints {
			of, fingerprints = append(of, int64(i+1)), append(fingerprints, l.Fingerprints[k][:])
		}
	}
	var tokens []string
	err := s.found(ctx, org, revision, func(r pgx.Rows) (int64, error) {
		var stored int64
		var n *int64
		var token []byte
		err := r.Scan(&stored, &n, &token)
		if n != nil {
			tokens[*n-1] = string(token)
		}
		return stored, err
	}, func() { tokens = make([]string, len(fingerprints)) },
		findInScopes, org, id, names, versions, of, fingerprints)
	if err != nil {
		return nil, err
	}
	all := make([][]string, len(lookups))
	for i := range lookups {
		n := len(lookups[i].Fingerprints)
		all[i], tokens = tokens[:n:n], tokens[n:]
	}
	return all, nil
}

// findInScope is FindTokens for a single lookup.
func (s *Store) findInScope(ctx context.Context, org, id string, revision int64, l *vault.Lookup) ([][]string, error) {
	fingerprints := make([][]byte, len(l.Fingerprints))
	for i := range l.Fingerprints {
		fingerprints[i] = l.Fingerprints[i][:]
	}
	var found map[keyring.Fingerprint]string
	err := s.found(ctx, org, revision, func(r pgx.Rows) (int64, error) {
		var stored int64
		var fingerprint, token pgtype.DriverBytes // which are copied below
		err := r.Scan(&stored, &fingerprint, &token)
		if err == nil && fingerprint != nil {
			found[keyring.Fingerprint(fingerprint)] = string(token)
		}
		return stored, err
	}, func() { found = make(map[keyring.Fingerprint]string, len(fingerprints)) },
		findInScope, org, id, l.Scope, int64(l.Version), fingerprints)
	if err != nil {
		return nil, err
	}
	tokens := make([]string, len(l.Fingerprints))
	for i := range tokens {
		tokens[i] = found[l.Fingerprints[i]]
	}
	return [][]string{tokens}, nil
}

// found reads the answer of a lookup, each time from the beginning. One row has the vault's
// revision, which is over 0.
func (s *Store) found(
	ctx context.Context, org string, revision int64, scan func(pgx.Rows) (int64, error), begin func(), text string, args ...any,
) error {
	var stored int64
	err := s.db.Read(ctx, org, func(q *engine.Session) error {
		begin()
		stored = 0
		return q.Query(func(r pgx.Rows) error {
			n, err := scan(r)
			stored = max(stored, n)
			return err
		}, text, args...)
	})
	switch {
	case err != nil:
		return err
	case stored == 0:
		return mortise.ErrNotFound
	case stored != revision:
		return vault.ErrConflict
	}
	return nil
}

// Rows implements [vault.Tokens].
func (s *Store) Rows(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error) {
	var rows []vault.Row
	err := s.rows(ctx, org, id, func(n int64, r vault.Row) { rows[n-1] = r }, func() { rows = make([]vault.Row, len(tokens)) },
		rowsOfTokens, tokens)
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// ListRows implements [vault.Tokens].
func (s *Store) ListRows(
	ctx context.Context, org, id string, after mortise.Cursor, limit int,
) (page mortise.Page[vault.Row], err error) {
	_, token, _, err := pages.ByNameAlone(after)
	if err != nil {
		return page, err
	}
	var rows []vault.Row
	err = s.rows(ctx, org, id, func(_ int64, r vault.Row) { rows = append(rows, r) }, func() { rows = nil },
		rowsAfterToken, token, limit+1)
	if err != nil {
		return page, err
	}
	return pages.Cut(rows, limit, (*vault.Row).Position), nil
}

// rows reads rows of a vault, or returns ErrNotFound.
func (s *Store) rows(ctx context.Context, org, id string, each func(n int64, r vault.Row), begin func(), text string, args ...any) error {
	there := false
	err := s.db.Read(ctx, org, func(q *engine.Session) error {
		begin()
		there = false
		return q.Query(func(r pgx.Rows) error {
			var n *int64
			var version *int
			var token, name []byte
			var deterministic *bool
			var created pgtype.Timestamptz
			row := vault.Row{Organization: org, Vault: id}
			if err := r.Scan(&n, &token, &name, &deterministic, &version, &row.Sealed.Ciphertext, &created); err != nil {
				return err
			}
			if n == nil {
				there = true
				return nil
			}
			row.Token, row.Scope, row.Deterministic, row.Sealed.Version, row.CreatedAt = string(token), string(name), *deterministic, *version, sqltext.TimeOf(created)
			each(*n, row)
			return nil
		}, text, append([]any{org, id}, args...)...)
	})
	if err == nil && !there {
		err = mortise.ErrNotFound
	}
	return err
}

// DeleteToken implements [vault.Tokens].
func (s *Store) DeleteToken(ctx context.Context, org, id, token string, a vault.AuditEvent) error {
	event, err := newVaultEvent(&a)
	if err != nil {
		return err
	}
	locks := vaultLockArgs(s.db, org, id)
	return s.db.Transact(ctx, org, func(q *engine.Session) error {
		if err := q.LockShared(lockVaultShared, locks...); err != nil {
			return err
		}
		var seq int64
		err := q.Row(buryToken, []any{org, id, token}, &seq)
		if engine.IsNoRow(err) {
			err = vault.ErrTokenNotFound
		}
		if err != nil {
			return err
		}
		// In a statement of its own: it sees those that came before the row was had.
		if _, err := q.Exec(deleteFingerprints, []int64{seq}); err != nil {
			return err
		}
		if err := q.TookAway(a.At); err != nil {
			return err
		}
		return addVaultEvent(q, event)
	})
}
