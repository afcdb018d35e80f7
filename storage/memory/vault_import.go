package memory

import (
	"bytes"
	"context"
	"slices"

	"github.com/seed-6363c74e/mortise/vault"
)

// ImportTokens implements [vault.Imports].
func (s *Vault) ImportTokens(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
	db, err := s.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	e, err := db.vault.entry(org, id, revision)
	if err != nil {
		return err
	}
	in := vaultInsertion{entry: e, rows: make(map[string]*vaultRow), tokens: make(map[vaultIndex]fingerprintIndex)}
	// All rows of the call so far, also those whose token is there.
	call := vaultInsertion{entry: new(vaultEntry), rows: make(map[string]*vaultRow), tokens: make(map[vaultIndex]fingerprintIndex)}
	var taken vault.TakenError
	for i := range rows {
		if err := db.vault.admits(&rows[i]); err != nil {
			return err
		}
		r := db.vault.row(org, id, &rows[i])
		kept := e.rows[r.Token]
		switch {
		case call.rows[r.Token] != nil, call.find(&r.Row) != "", kept != nil && !kept.same(r), in.hasOther(r):
			taken.Rows = append(taken.Rows, i)
		case kept != nil:
			in.more = append(in.more, moreFingerprints{r.Token, r.Fingerprints})
		default:
			in.add(r)
		}
		call.add(r)
	}
	if len(taken.Rows) > 0 {
		return &taken
	}
	in.commit(&db.vault)
	db.vault.addEvent(a)
	return nil
}

// same reports whether a row is another one of the same token, but for when it was stored
// and its fingerprints.
func (r *vaultRow) same(other *vaultRow) bool {
	return !r.deleted && r.Scope == other.Scope && r.Deterministic == other.Deterministic &&
		r.Sealed.Version == other.Sealed.Version && bytes.Equal(r.Sealed.Ciphertext, other.Sealed.Ciphertext)
}

// hasOther reports whether a fingerprint of a row is stored as another token's.
func (in *vaultInsertion) hasOther(r *vaultRow) bool {
	return slices.ContainsFunc(r.Fingerprints, func(f vault.VersionedFingerprint) bool {
		token, ok := in.entry.tokens[vaultIndex{r.Scope, f.Version}][f.Fingerprint]
		return ok && token != r.Token
	})
}
