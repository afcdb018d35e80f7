package vaultdb

import (
	"context"
	"encoding/hex"
	"strconv"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

const (
	// findTokens takes any lookups, as JSON (see lookupsText), and their fingerprints one
	// behind the other. It returns the vault's revision, as number -1, and the tokens that
	// were found, with the number of the fingerprint.
	findTokens = "WITH asked AS MATERIALIZED (SELECT seq, revision FROM vault_vaults WHERE organization = ?1 AND id = ?2" + orgIsThere + ")," +
		" lookup (scope, version, first, length) AS MATERIALIZED (SELECT s.seq, value ->> 1, value ->> 2, value ->> 3" +
		" FROM asked CROSS JOIN json_each(?3) CROSS JOIN vault_scopes s ON s.vault = asked.seq AND s.name = CAST(unhex(value ->> 0) AS TEXT))" +
		" SELECT -1, revision FROM asked UNION ALL" +
		" SELECT first + n, f.token FROM lookup l CROSS JOIN vault_numbers ON n < length CROSS JOIN vault_fingerprints f" +
		" ON f.fingerprint = substr(?4, (first + n) * 32 + 1, 32) AND f.scope = l.scope AND f.version = l.version"

	// vaultRowColumns are the columns of a row, in the order of scanVaultRow.
	vaultRowColumns = "v.organization, v.id, t.token, s.name, t.deterministic, t.sealed," +
		" iif(octet_length(t.ciphertext) > 2097152, x'', t.ciphertext), t.created_at" // keyring.MaxCiphertext
	// Both return a row of NULLs, with the number -1, for the vault itself.
	rowOfVault = "SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, -1 FROM vault_vaults WHERE organization = ?1 AND id = ?2" +
		orgIsThere + " UNION ALL "
	rowsOfTokens = rowOfVault + "SELECT " + vaultRowColumns + ", key FROM vault_vaults v CROSS JOIN json_each(?3)" +
		" CROSS JOIN vault_tokens t ON t.vault = v.seq AND t.token = CAST(unhex(value) AS TEXT) CROSS JOIN vault_scopes s ON s.seq = t.scope" +
		" WHERE v.organization = ?1 AND v.id = ?2 AND t.sealed IS NOT NULL"
	rowsAfterToken = rowOfVault + "SELECT * FROM (SELECT " + vaultRowColumns + ", 0 FROM vault_vaults v" +
		" CROSS JOIN vault_tokens t ON t.vault = v.seq AND t.token > ?3 CROSS JOIN vault_scopes s ON s.seq = t.scope" +
		" WHERE v.organization = ?1 AND v.id = ?2 AND t.sealed IS NOT NULL ORDER BY t.token LIMIT 0 + ?4)"

	liveToken = "SELECT t.seq, t.scope, t.deterministic, t.sealed FROM vault_vaults JOIN vault_tokens t ON t.vault = vault_vaults.seq AND t.token = ?" +
		" WHERE organization = ? AND id = ? AND t.sealed IS NOT NULL" + vaultIsThere
	buryToken = "UPDATE vault_tokens SET (sealed, ciphertext) = (NULL, NULL) WHERE seq = ?"
	// A seek for each version there is, in place of an index by rows alone.
	storedVersions = "WITH RECURSIVE stored (version) AS (SELECT min(version) FROM vault_fingerprints UNION ALL" +
		" SELECT (SELECT min(f.version) FROM vault_fingerprints f WHERE f.version > stored.version) FROM stored WHERE version IS NOT NULL)"
	deleteFingerprints = storedVersions + " DELETE FROM vault_fingerprints WHERE version IN (SELECT version FROM stored) AND row = ?"
)

// FindTokens implements [vault.Tokens].
func (s *Store) FindTokens(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
	if len(lookups) == 1 && len(lookups[0].Fingerprints) <= counted {
		return s.findInScope(ctx, org, id, revision, &lookups[0])
	}
	var fingerprints []byte
	for i := range lookups {
		fingerprints = appendFingerprints(fingerprints, lookups[i].Fingerprints)
	}
	tokens := make([]string, len(fingerprints)/len(keyring.Fingerprint{}))
	stored, found := int64(0), false
	err := s.db.Find(ctx, org, findTokens, []any{org, id, lookupsText(lookups), fingerprints}, func(r *file.Row) error {
		if at := r.Number(0); at >= 0 {
			tokens[at] = r.Text(1)
		} else {
			stored, found = int64(r.Number(1)), true
		}
		return nil
	})
	if err := asExpected(err, found, stored, revision); err != nil {
		return nil, err
	}
	all := make([][]string, len(lookups))
	for i := range lookups {
		n := len(lookups[i].Fingerprints)
		all[i], tokens = tokens[:n:n], tokens[n:]
	}
	return all, nil
}

// asExpected is the error of a lookup, which found a vault or not, at a revision.
func asExpected(err error, found bool, stored, revision int64) error {
	switch {
	case err != nil:
		return err
	case !found:
		return mortise.ErrNotFound
	case stored != revision:
		return vault.ErrConflict
	}
	return nil
}

// appendFingerprints puts fingerprints one behind the other.
func appendFingerprints(all []byte, of []keyring.Fingerprint) []byte {
	for i := range of {
		all = append(all, of[i][:]...)
	}
	return all
}

// counted is how many rows vault_numbers has.
const counted = 1024

// lookupsText writes lookups as findTokens takes them: [[scope in hex, version, number of
// its first fingerprint, how many], ...], none for more than can be counted.
func lookupsText(lookups []vault.Lookup) string {
	text := []byte{'['}
	first := 0
	for i := range lookups {
		l := &lookups[i]
		for left := len(l.Fingerprints); left > 0; left -= counted {
			if len(text) > 1 {
				text = append(text, ',')
			}
			text = append(hex.AppendEncode(append(text, `["`...), []byte(l.Scope)), '"')
			n := min(left, counted)
			for _, number := range [...]int{l.Version, first, n} {
				text = strconv.AppendInt(append(text, ','), int64(number), 10)
			}
			text = append(text, ']')
			first += n
		}
	}
	return string(append(text, ']'))
}

// hexList writes texts as JSON that keeps every byte: a list of them in hex.
func hexList(texts []string) string {
	b := []byte{'['}
	for i, text := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(hex.AppendEncode(append(b, '"'), []byte(text)), '"')
	}
	return string(append(b, ']'))
}

// Rows implements [vault.Tokens].
func (s *Store) Rows(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error) {
	rows := make([]vault.Row, len(tokens))
	found := false
	err := s.db.Find(ctx, org, rowsOfTokens, []any{org, id, hexList(tokens)}, func(r *file.Row) error {
		if at := r.Number(8); at >= 0 {
			rows[at] = scanVaultRow(r)
		} else {
			found = true
		}
		return nil
	})
	return foundRows(rows, found, err)
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
	found := false
	err = s.db.List(ctx, org, rowsAfterToken, []any{org, id, token, limit + 1}, func(r *file.Row) error {
		if r.Number(8) >= 0 {
			rows = append(rows, scanVaultRow(r))
		} else {
			found = true
		}
		return nil
	})
	if rows, err = foundRows(rows, found, err); err != nil {
		return page, err
	}
	return pages.Cut(rows, limit, (*vault.Row).Position), nil
}

// foundRows returns rows of a vault, or ErrNotFound if it was not found.
func foundRows(rows []vault.Row, found bool, err error) ([]vault.Row, error) {
	if err == nil && !found {
		err = mortise.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// scanVaultRow reads a row of vaultRowColumns.
func scanVaultRow(r *file.Row) vault.Row {
	return vault.Row{
		Organization: r.Text(0), Vault: r.Text(1), Token: r.Text(2), Scope: r.Text(3), Deterministic: r.Number(4) != 0,
		Sealed: keyring.Sealed{Version: r.Number(5), Ciphertext: file.Cell[[]byte](r, 6)}, CreatedAt: r.Moment(7),
	}
}

// DeleteToken implements [vault.Tokens].
func (s *Store) DeleteToken(ctx context.Context, org, id, token string, a vault.AuditEvent) error {
	event, err := vaultAuditChange(&a)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx *file.Tx) error {
		seq, of, found := 0, sealCount{}, false
		err := tx.Query(liveToken, []any{token, org, id}, func(r *file.Row) error {
			seq, of, found = r.Number(0), sealCount{r.Number(1), r.Number(2) != 0, r.Number(3)}, true
			return nil
		})
		if err == nil && !found {
			err = vault.ErrTokenNotFound
		}
		if err != nil {
			return err
		}
		noteSealed(tx, of, -1)
		return tx.Apply(append([]file.Change{file.Do(buryToken, seq), file.Do(deleteFingerprints, seq), file.TookAway(a.At)}, event...)...)
	})
}
