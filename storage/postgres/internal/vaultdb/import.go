package vaultdb

import (
	stdbytes "bytes"
	"context"

	"github.com/seed-6363c74e/mortise/vault"
)

// ImportTokens implements [vault.Imports].
func (s *Store) ImportTokens(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
	event, err := newVaultEvent(&a)
	if err != nil {
		return err
	}
	return s.insertRows(ctx, org, id, revision, rows, (*vaultInsertion).siftImport, event)
}

// siftImport finds out which rows are to be stored, and which fingerprints the others lack.
// It is a TakenError if rows contradict what is stored, or each other.
func (in *vaultInsertion) siftImport() error {
	var taken vault.TakenError
	added := make(map[scopedFingerprint]bool)
	tokens := make(map[string]bool)
	for i := range in.rows {
		r := &in.rows[i]
		stored := in.stored[r.Token]
		others := false
		for _, f := range r.Fingerprints {
			id := scopedFingerprint{r.Scope, f}
			found, ok := in.fingerprints[id]
			others = others || ok && found.token != r.Token || added[id]
		}
		for _, f := range r.Fingerprints {
			added[scopedFingerprint{r.Scope, f}] = true
		}
		if others || tokens[r.Token] || stored != nil && !in.same(stored, r) {
			taken.Rows = append(taken.Rows, i)
		}
		tokens[r.Token] = true
		if stored != nil {
			in.hold = append(in.hold, stored.seq)
			in.lack(stored.seq, i)
		} else {
			in.fresh = append(in.fresh, i)
		}
	}
	if len(taken.Rows) > 0 {
		return &taken
	}
	return nil
}

// same reports whether a stored row is a row, but for its time and fingerprints.
func (in *vaultInsertion) same(stored *storedRow, r *vault.Row) bool {
	return stored.sealed != nil && *stored.sealed == r.Sealed.Version && stored.scope == in.scopes[r.Scope] &&
		stored.deterministic == r.Deterministic && stdbytes.Equal(stored.ciphertext, r.Sealed.Ciphertext)
}
