package sqlite

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

const (
	// A stretch of a scan, by the number of the row: so it reads the table once, in its
	// own order. ?1 is the row that it comes after, ?2 the last one that it looks at. It
	// ends with a row of NULLs and the last number of all. That is not the first one, or
	// the context could not end what comes after it.
	scanned = "WITH page AS MATERIALIZED (SELECT t.seq AS found FROM vault_tokens t WHERE t.seq > ?1 AND t.seq <= ?2 AND t.sealed IS NOT NULL" +
		" AND t.vault NOT IN (" + goneVaults + ") AND "
	scan = " ORDER BY t.seq LIMIT 0 + ?4) SELECT " + vaultRowColumns + ", t.seq FROM page CROSS JOIN vault_tokens t ON t.seq = found" +
		" CROSS JOIN vault_vaults v ON v.seq = t.vault CROSS JOIN vault_scopes s ON s.seq = t.scope" +
		" UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, max(seq) FROM vault_tokens"

	rowsWithoutFingerprint = scanned +
		"t.deterministic = 1 AND NOT EXISTS (SELECT 1 FROM vault_fingerprints f WHERE f.version = ?3 AND f.row = t.seq)" + scan
	rowsNotSealedUnder = scanned + "t.sealed <> ?3" + scan

	// Those of the rows that are there, and lack a fingerprint of the version.
	rowsToFingerprint = "SELECT key, t.seq, t.scope FROM json_each(?1)" +
		" CROSS JOIN vault_vaults v ON v.organization = CAST(unhex(value ->> 0) AS TEXT) AND v.id = CAST(unhex(value ->> 1) AS TEXT)" +
		" AND NOT EXISTS (SELECT 1 FROM vault_deleted_orgs d WHERE d.organization = v.organization)" +
		" CROSS JOIN vault_tokens t ON t.vault = v.seq AND t.token = CAST(unhex(value ->> 2) AS TEXT) AND t.sealed IS NOT NULL" +
		" WHERE NOT EXISTS (SELECT 1 FROM vault_fingerprints f WHERE f.version = ?2 AND f.row = t.seq)"
	insertFingerprint = "INSERT INTO vault_fingerprints (fingerprint, scope, version, row, token) VALUES (?,?,?,?,?) ON CONFLICT DO NOTHING"

	resealRow = "UPDATE vault_tokens SET (sealed, ciphertext) = (?,?)" +
		" WHERE vault = (SELECT seq FROM vault_vaults WHERE organization = ? AND id = ?" + vaultIsThere + ")" +
		" AND token = ? AND sealed = ? AND ciphertext = ?"

	// Those of vaults that were deleted go with the others, though they do not count: a
	// step that left them out would pass over all of them each time.
	firstFingerprints  = "SELECT fingerprint, scope, version FROM vault_fingerprints WHERE version = ? ORDER BY row LIMIT 0 + ?"
	removeFingerprints = "DELETE FROM vault_fingerprints WHERE (fingerprint, scope, version) IN (" + firstFingerprints + ")"
	goneFingerprints   = "SELECT count(*) FROM (" + firstFingerprints + ") WHERE scope IN (" + goneScopes + ")"
)

// RowsWithoutFingerprint implements [vault.KeyRotation].
func (s *Vault) RowsWithoutFingerprint(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error) {
	return s.scan(ctx, rowsWithoutFingerprint, version, after, limit)
}

// RowsNotSealedUnder implements [vault.KeyRotation].
func (s *Vault) RowsNotSealedUnder(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error) {
	return s.scan(ctx, rowsNotSealedUnder, version, after, limit)
}

// scanStep is how many rows a call of a scan looks at: the read lasts for some
// milliseconds, however few of the rows it selects.
const scanStep = 20_000

var errForeignPosition = errors.New("sqlite: the position is of no scan of this database; begin the scan again")

// scan returns a stretch of a scan. A position is the number of a row.
func (s *Vault) scan(ctx context.Context, statement string, version int, after vault.ScanPosition, limit int) (vault.RowPage, error) {
	at := int64(0)
	if after != "" {
		var err error
		at, err = strconv.ParseInt(string(after), 10, 64)
		if err != nil || at < 1 || at > math.MaxInt64-scanStep || strconv.FormatInt(at, 10) != string(after) {
			return vault.RowPage{}, errForeignPosition
		}
	}
	if limit < 1 {
		return vault.RowPage{}, ctx.Err()
	}
	var rows []vault.Row
	next, last := at+scanStep, int64(0)
	err := s.db.list(ctx, noOrg, statement, []any{at, next, version, limit}, func(r *row) error {
		seq := int64(r.number(8))
		if r.null(0) {
			last = seq
			return nil
		}
		rows = append(rows, scanVaultRow(r))
		at = max(at, seq)
		return nil
	})
	if err != nil {
		return vault.RowPage{}, err
	}
	if len(rows) == limit {
		next = at
	}
	if next >= last {
		return vault.RowPage{Rows: rows}, nil
	}
	return vault.RowPage{Rows: rows, Next: vault.ScanPosition(strconv.FormatInt(next, 10))}, nil
}

// AddFingerprints implements [vault.KeyRotation].
func (s *Vault) AddFingerprints(ctx context.Context, version int, of []vault.RowFingerprint) ([]vault.RowID, error) {
	of = slices.Clone(of)
	var refused []vault.RowID
	err := s.db.writer.write(ctx, func(tx *tx) (err error) {
		refused, err = tx.addFingerprints(version, of)
		return err
	})
	if err != nil {
		return nil, err
	}
	return refused, nil
}

func (t *tx) addFingerprints(version int, of []vault.RowFingerprint) (refused []vault.RowID, err error) {
	keys, err := t.vaultKeys()
	if err != nil {
		return nil, err
	}
	if keys.retired(keyring.FingerprintKey, version) {
		return nil, keyring.ErrRetired
	}
	type place struct{ row, scope int }
	places := make(map[int]place, len(of))
	err = t.query(rowsToFingerprint, []any{rowIDList(of), version}, func(r *row) error {
		places[r.number(0)] = place{r.number(1), r.number(2)}
		return nil
	})
	if err != nil {
		return nil, err
	}
	done := make(map[int]bool, len(of))
	for i := range of {
		p, ok := places[i]
		if !ok || done[p.row] {
			continue
		}
		added, err := t.exec(insertFingerprint, of[i].Fingerprint[:], p.scope, version, p.row, of[i].Row.Token)
		if err != nil {
			return nil, err
		}
		if added == 0 {
			refused = append(refused, of[i].Row)
		}
		done[p.row] = added > 0
	}
	return refused, nil
}

// rowIDList writes the IDs of rows as JSON that keeps every byte: [[organization, vault,
// token], ...], each in hex.
func rowIDList(of []vault.RowFingerprint) string {
	b := []byte{'['}
	for i := range of {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, hexList([]string{of[i].Row.Organization, of[i].Row.Vault, of[i].Row.Token})...)
	}
	return string(append(b, ']'))
}

// Reseal implements [vault.KeyRotation].
func (s *Vault) Reseal(ctx context.Context, rows []vault.Resealed) (int, error) {
	changes := make([]change, len(rows))
	versions := make([]int, len(rows))
	for i := range rows {
		n := &rows[i]
		versions[i] = n.To.Version
		changes[i] = change{resealRow, []any{n.To.Version, ciphertext(n.To), n.Row.Organization, n.Row.Vault, n.Row.Token, n.From.Version, ciphertext(n.From)}}
	}
	changed := 0
	err := s.db.writer.write(ctx, func(tx *tx) error {
		keys, err := tx.vaultKeys()
		if err != nil {
			return err
		}
		for _, version := range versions {
			if keys.retired(keyring.SealKey, version) {
				return keyring.ErrRetired
			}
		}
		changed = 0
		for _, c := range changes {
			n, err := tx.exec(c.statement, c.args...)
			if err != nil {
				return err
			}
			changed += int(n)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return changed, nil
}

// ciphertext returns a copy that is not nil: NULL is a token that was deleted.
func ciphertext(s keyring.Sealed) []byte { return append([]byte{}, s.Ciphertext...) }

// removeStep is how many fingerprints go at a time: other writes wait for so long.
const removeStep = 500

// RemoveFingerprints implements [vault.KeyRotation].
func (s *Vault) RemoveFingerprints(ctx context.Context, version, limit int) (removed int, err error) {
	for {
		step := max(0, min(removeStep, limit-removed))
		var n int64
		gone := 0
		err := s.db.writer.write(ctx, func(tx *tx) error {
			keys, err := tx.vaultKeys()
			if err != nil {
				return err
			}
			if !keys.retired(keyring.FingerprintKey, version) {
				return keyring.ErrInUse
			}
			if gone, err = tx.firstNumber(goneFingerprints, version, step); err != nil {
				return err
			}
			n, err = tx.exec(removeFingerprints, version, step)
			return err
		})
		if err != nil {
			return removed, err
		}
		if removed += int(n) - gone; int(n) < step || removed >= limit {
			return removed, nil
		}
	}
}
