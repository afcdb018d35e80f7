package vaultdb

import (
	"bytes"
	"context"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/vault"
)

const rowOfToken = "SELECT seq, scope, deterministic, sealed, ciphertext FROM vault_tokens WHERE vault = ? AND token = ?"

// ImportTokens implements [vault.Imports].
func (s *Store) ImportTokens(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
	event, err := vaultAuditChange(&a)
	if err != nil {
		return err
	}
	own := make([]vault.Row, len(rows))
	for i := range rows {
		own[i] = rows[i].Clone()
	}
	return s.db.Write(ctx, func(tx *file.Tx) error {
		in, err := newVaultInsertion(tx, org, id, revision, own)
		if err != nil {
			return err
		}
		if err := in.store(in.siftImport); err != nil {
			return err
		}
		return tx.Apply(event...)
	})
}

// siftImport finds out which rows are known, and which fingerprints these lack. It is a
// TakenError if rows contradict what is stored.
func (in *vaultInsertion) siftImport() error {
	var taken vault.TakenError
	added := make(map[scopedFingerprint]bool)
	tokens := make(map[string]bool)
	for i := range in.rows {
		r := &in.rows[i]
		seq, same, err := in.stored(r)
		if err != nil {
			return err
		}
		others, missing, err := in.fingerprintsOf(r, added)
		if err != nil {
			return err
		}
		if others || tokens[r.Token] || seq != noRow && !same {
			taken.Rows = append(taken.Rows, i)
		}
		tokens[r.Token] = true
		for _, f := range r.Fingerprints {
			added[scopedFingerprint{r.Scope, f}] = true
		}
		if seq != noRow {
			in.known[i] = true
			r.Fingerprints = missing
			in.more = append(in.more, newFingerprints{i, storedToken{r.Token, seq}})
		}
	}
	if len(taken.Rows) > 0 {
		return &taken
	}
	return nil
}

const noRow = -1

// stored returns the number of the row that has a row's token, or noRow, and whether it
// is the same but for its time and fingerprints.
func (in *vaultInsertion) stored(r *vault.Row) (seq int, same bool, err error) {
	seq = noRow
	err = in.tx.Query(rowOfToken, []any{in.vault, r.Token}, func(found *file.Row) error {
		seq = found.Number(0)
		same = !found.Null(3) && found.Number(1) == in.scopes[r.Scope] && (found.Number(2) != 0) == r.Deterministic &&
			found.Number(3) == r.Sealed.Version && bytes.Equal(file.Cell[[]byte](found, 4), r.Sealed.Ciphertext)
		return nil
	})
	return seq, same, err
}

// fingerprintsOf reports whether one of a row's fingerprints is another token's or was
// added, and returns those that are not stored.
func (in *vaultInsertion) fingerprintsOf(r *vault.Row, added map[scopedFingerprint]bool) (others bool, missing []vault.VersionedFingerprint, err error) {
	for i := range r.Fingerprints {
		f := &r.Fingerprints[i]
		found, ok, err := in.ofFingerprint(r.Scope, f)
		switch {
		case err != nil:
			return false, nil, err
		case !ok:
			missing = append(missing, *f)
		}
		others = others || ok && found.token != r.Token || added[scopedFingerprint{r.Scope, *f}]
	}
	return others, missing, nil
}
