package vaultdb

import (
	"cmp"
	"context"
	"math"
	"slices"

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
	// A stretch of a scan, by the number of the row. $1 is the row that it comes after, $2
	// the last one that it looks at, $4 how many it returns.
	scanned = "SELECT t.seq, v.organization, v.id, s.name, t.token, t.deterministic, t.sealed, t.ciphertext, t.created_at" +
		" FROM @.vault_tokens t JOIN @.vault_scopes s ON s.seq = t.scope JOIN @.vault_vaults v ON v.seq = t.vault" +
		" WHERE t.seq > $1 AND t.seq <= $2 AND t.sealed IS NOT NULL AND t.vault NOT IN (" + goneVaults + ") AND "
	scanEnd = " ORDER BY t.seq LIMIT $4"

	rowsWithoutFingerprint = scanned +
		"t.deterministic AND NOT EXISTS (SELECT FROM @.vault_fingerprints f WHERE f.version = $3 AND f.row = t.seq)" + scanEnd
	rowsNotSealedUnder = scanned + "t.sealed <> $3" + scanEnd
	lastVaultRow       = "SELECT coalesce(max(seq), 0) FROM @.vault_tokens"

	// The rows that are there of those that are named, with whether they have a fingerprint
	// of a version. They stay until the transaction ends.
	namedRows = "SELECT a.n, t.seq, t.scope, EXISTS (SELECT FROM @.vault_fingerprints f WHERE f.version = $4 AND f.row = t.seq)" +
		namedFrom + namedOrder + " FOR SHARE OF t"
	namedFrom = " FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS a (organization, vault, token, n)" +
		" JOIN @.vault_vaults v ON v.organization = a.organization AND v.id = a.vault AND v.deleted_at IS NULL" +
		" AND NOT EXISTS (SELECT FROM @.vault_deleted_orgs d WHERE d.organization = a.organization)" +
		" JOIN @.vault_tokens t ON t.vault = v.seq AND t.token = a.token AND t.sealed IS NOT NULL"
	// namedOrder is the order in which calls lock rows of tokens that are stored, see vault.go.
	namedOrder          = ` ORDER BY a.organization COLLATE "C", a.vault COLLATE "C", a.token COLLATE "C"`
	rowsWithFingerprint = "SELECT row FROM @.vault_fingerprints WHERE version = $1 AND row = ANY ($2::bigint[])"

	// An UPDATE takes its rows in the order of its plan, so they are locked before.
	lockNamedRows = "SELECT count(*) FROM (SELECT t.seq" + namedFrom + namedOrder + " FOR NO KEY UPDATE OF t) locked"
	resealRows    = "UPDATE @.vault_tokens u SET (sealed, ciphertext) = (a.sealed, a.ciphertext) FROM" +
		" unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bytea[], $6::bigint[], $7::bytea[])" +
		" AS a (organization, vault, token, was_sealed, was_ciphertext, sealed, ciphertext)" +
		" JOIN @.vault_vaults v ON v.organization = a.organization AND v.id = a.vault AND v.deleted_at IS NULL" +
		" AND NOT EXISTS (SELECT FROM @.vault_deleted_orgs d WHERE d.organization = a.organization)" +
		" WHERE u.vault = v.seq AND u.token = a.token AND u.sealed = a.was_sealed AND u.ciphertext = a.was_ciphertext"

	// The fingerprints of vaults that were deleted go with the others, though they do not count.
	removeFingerprints = "WITH gone AS (DELETE FROM @.vault_fingerprints WHERE version = $1 AND row = ANY (ARRAY(" +
		"SELECT row FROM @.vault_fingerprints WHERE version = $1 ORDER BY row LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING scope)" +
		" SELECT count(*), count(*) FILTER (WHERE scope IN (" + goneScopes + ")) FROM gone"
)

// RowsWithoutFingerprint implements [vault.KeyRotation].
func (s *Store) RowsWithoutFingerprint(ctx context.Context, version int, after mortise.Cursor, limit int) (mortise.Page[vault.Row], error) {
	return s.scan(ctx, rowsWithoutFingerprint, version, after, limit)
}

// RowsNotSealedUnder implements [vault.KeyRotation].
func (s *Store) RowsNotSealedUnder(ctx context.Context, version int, after mortise.Cursor, limit int) (mortise.Page[vault.Row], error) {
	return s.scan(ctx, rowsNotSealedUnder, version, after, limit)
}

const (
	scanStep  = 20_000  // how many rows a call of a scan looks at
	scanBytes = 4 << 20 // of ciphertexts that it returns, but for the last row's
	scanRows  = 1000    // that it returns
)

// scan returns a page of a scan. A cursor has the number of the row before the page.
func (s *Store) scan(
	ctx context.Context, statement string, version int, after mortise.Cursor, limit int,
) (page mortise.Page[vault.Row], err error) {
	_, at, _, err := pages.ByNumber(after)
	if err != nil {
		return page, err
	}
	at = min(at, math.MaxInt64-scanStep)
	limit = min(limit, scanRows)
	err = s.db.Read(ctx, engine.NoOrg, func(q *engine.Session) error {
		page = mortise.Page[vault.Row]{}
		size, full := 0, false
		// Before the rows: what comes later need not be found.
		var last int64
		if err := q.Row(lastVaultRow, nil, &last); err != nil {
			return err
		}
		err := q.Query(func(r pgx.Rows) error {
			if full = full || len(page.Items) == limit || size >= scanBytes; full {
				return nil
			}
			row, err := scanVaultRow(r)
			page.Items = append(page.Items, row)
			size += len(row.Sealed.Ciphertext)
			return err
		}, statement, at, at+scanStep, version, limit+1)
		switch {
		case err != nil:
			return err
		case full:
			page.Next = pages.Numbered(page.Items[len(page.Items)-1].Place)
		case at+scanStep < last:
			page.Next = pages.Numbered(at + scanStep)
		}
		return nil
	})
	if err != nil {
		return mortise.Page[vault.Row]{}, err
	}
	return page, nil
}

func scanVaultRow(r pgx.Rows) (row vault.Row, err error) {
	var org, id, name, token []byte
	var created pgtype.Timestamptz
	err = r.Scan(&row.Place, &org, &id, &name, &token, &row.Deterministic, &row.Sealed.Version, &row.Sealed.Ciphertext, &created)
	row.Organization, row.Vault, row.Scope, row.Token, row.CreatedAt = string(org), string(id), string(name), string(token), sqltext.TimeOf(created)
	return row, err
}

// rotationStep is how many rows a transaction changes.
const rotationStep = 500

// rotate calls do for stretches of n rows, each in a transaction of its own, and then
// committed. If a key is retired, it is ErrRetired.
func (s *Store) rotate(ctx context.Context, n int, retired func(knownKeys) bool, do func(q *engine.Session, from, to int) error, committed func()) error {
	for from := 0; from == 0 || from < n; from += rotationStep {
		err := s.db.Transact(ctx, engine.NoOrg, func(q *engine.Session) error {
			if err := q.Lock(lockVaultKeys, "", true); err != nil {
				return err
			}
			keys, err := readKeys(q)
			if err != nil {
				return err
			}
			if retired(keys) {
				return keyring.ErrRetired
			}
			return do(q, from, min(from+rotationStep, n))
		})
		if err != nil {
			return err
		}
		committed()
	}
	return nil
}

// columnsOf returns the rows that are named, as columns.
func columnsOf[T any](all []T, named func(*T) vault.RowID) (orgs, vaults, tokens []string) {
	for i := range all {
		id := named(&all[i])
		orgs, vaults, tokens = append(orgs, id.Organization), append(vaults, id.Vault), append(tokens, id.Token)
	}
	return orgs, vaults, tokens
}

// AddFingerprints implements [vault.KeyRotation].
func (s *Store) AddFingerprints(ctx context.Context, version int, of []vault.RowFingerprint) (refused []vault.RowID, err error) {
	var these []vault.RowID
	err = s.rotate(ctx, len(of), func(keys knownKeys) bool { return keys.retired(keyring.FingerprintKey, version) },
		func(q *engine.Session, from, to int) (err error) {
			these, err = addFingerprints(q, version, of[from:to])
			return err
		}, func() { refused = append(refused, these...) })
	if err != nil {
		return nil, err
	}
	return refused, nil
}

// addFingerprints stores fingerprints for rows that are there and have none of the version.
// It returns the rows whose fingerprint is another row's.
func addFingerprints(s *engine.Session, version int, of []vault.RowFingerprint) (refused []vault.RowID, err error) {
	orgs, vaults, tokens := columnsOf(of, func(f *vault.RowFingerprint) vault.RowID { return f.Row })
	given := make(map[int64]int) // rows, by number
	var add fingerprintColumns
	err = s.Query(func(r pgx.Rows) error {
		var n int
		var seq, scope int64
		var has bool
		if err := r.Scan(&n, &seq, &scope, &has); err != nil {
			return err
		}
		if _, twice := given[seq]; !has && !twice {
			given[seq] = n - 1
			add.all = append(add.all, newFingerprint{of[n-1].Fingerprint, scope, int64(version), seq, of[n-1].Row.Token})
		}
		return nil
	}, namedRows, orgs, vaults, tokens, version)
	if err != nil || len(given) == 0 {
		return nil, err
	}
	// Of two with one fingerprint, the first one of the call gets it.
	slices.SortFunc(add.all, func(a, b newFingerprint) int { return given[a.row] - given[b.row] })
	if _, err := add.insert(s); err != nil {
		return nil, err
	}
	var seqs []int64
	for seq := range given {
		seqs = append(seqs, seq)
	}
	err = s.Query(func(r pgx.Rows) error {
		var seq int64
		err := r.Scan(&seq)
		delete(given, seq)
		return err
	}, rowsWithFingerprint, version, seqs)
	var left []int
	for _, i := range given {
		left = append(left, i)
	}
	slices.Sort(left)
	for _, i := range left {
		refused = append(refused, of[i].Row)
	}
	return refused, err
}

// Reseal implements [vault.KeyRotation].
func (s *Store) Reseal(ctx context.Context, rows []vault.Resealed) (changed int, err error) {
	rows = slices.Clone(rows)
	// In one order over all stretches, whose locks a transaction of the host's keeps.
	slices.SortStableFunc(rows, func(a, b vault.Resealed) int {
		return cmp.Or(cmp.Compare(a.Row.Organization, b.Row.Organization), cmp.Compare(a.Row.Vault, b.Row.Vault), cmp.Compare(a.Row.Token, b.Row.Token))
	})
	retired := func(keys knownKeys) bool {
		return slices.ContainsFunc(rows, func(r vault.Resealed) bool { return keys.retired(keyring.SealKey, r.To.Version) })
	}
	n := 0
	err = s.rotate(ctx, len(rows), retired, func(q *engine.Session, from, to int) error {
		n = 0
		orgs, vaults, tokens := columnsOf(rows[from:to], func(r *vault.Resealed) vault.RowID { return r.Row })
		locked := 0
		if err := q.Row(lockNamedRows, []any{orgs, vaults, tokens}, &locked); err != nil {
			return err
		}
		for left := rows[from:to]; len(left) > 0; {
			// The same row once for each statement, which would take any of several.
			named := make(map[vault.RowID]bool)
			these := left[:0]
			for len(these) < len(left) && !named[left[len(these)].Row] {
				named[left[len(these)].Row] = true
				these = left[:len(these)+1]
			}
			did, err := reseal(q, these)
			if err != nil {
				return err
			}
			n, left = n+did, left[len(these):]
		}
		return nil
	}, func() { changed += n })
	return changed, err
}

// reseal stores To for the rows that have From. No row is named twice.
func reseal(s *engine.Session, all []vault.Resealed) (changed int, err error) {
	orgs, vaults, tokens := columnsOf(all, func(r *vault.Resealed) vault.RowID { return r.Row })
	var was, ciphertexts [][]byte
	var wasSealed, sealed []int64
	for i := range all {
		r := &all[i]
		was, ciphertexts = append(was, sqltext.Bytes(r.From.Ciphertext)), append(ciphertexts, sqltext.Bytes(r.To.Ciphertext))
		wasSealed, sealed = append(wasSealed, int64(r.From.Version)), append(sealed, int64(r.To.Version))
	}
	n, err := s.Exec(resealRows, orgs, vaults, tokens, wasSealed, was, sealed, ciphertexts)
	return int(n), err
}

// RemoveFingerprints implements [vault.KeyRotation].
func (s *Store) RemoveFingerprints(ctx context.Context, version, limit int) (n int, more bool, err error) {
	step := min(rotationStep, limit)
	for {
		n, gone := 0, 0
		err := s.db.Transact(ctx, engine.NoOrg, func(q *engine.Session) error {
			if err := q.Lock(lockVaultKeys, "", true); err != nil {
				return err
			}
			keys, err := readKeys(q)
			if err != nil {
				return err
			}
			if !keys.retired(keyring.FingerprintKey, version) {
				return keyring.ErrInUse
			}
			return q.Row(removeFingerprints, []any{version, step}, &n, &gone)
		})
		if err != nil {
			return 0, false, err
		}
		// Fingerprints of deleted rows do not count: with them alone, no unit is done.
		if n > gone || n < step || limit <= 0 {
			return n - gone, n == step, nil
		}
	}
}
