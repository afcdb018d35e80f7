package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// FindTokens implements [vault.Tokens].
func (s *Vault) FindTokens(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
	db, err := s.db.read(ctx)
	if err != nil {
		return nil, err
	}
	defer db.end()
	e, err := db.vault.entry(org, id, revision)
	if err != nil {
		return nil, err
	}
	found := make([][]string, len(lookups))
	for i, l := range lookups {
		index := e.tokens[vaultIndex{l.Scope, l.Version}]
		found[i] = make([]string, len(l.Fingerprints))
		for j := range l.Fingerprints {
			found[i][j] = index[l.Fingerprints[j]]
		}
	}
	return found, nil
}

// copy returns a row as it is shown, without its fingerprints.
func (r *vaultRow) copy() vault.Row {
	c := r.Clone()
	c.Fingerprints = nil
	if len(c.Sealed.Ciphertext) > keyring.MaxCiphertext {
		c.Sealed.Ciphertext = nil
	}
	return c
}

// Rows implements [vault.Tokens].
func (s *Vault) Rows(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error) {
	db, err := s.db.read(ctx)
	if err != nil {
		return nil, err
	}
	defer db.end()
	e, ok := db.vault.vaults[ownedID{org, id}]
	if !ok {
		return nil, mortise.ErrNotFound
	}
	rows := make([]vault.Row, len(tokens))
	for i, token := range tokens {
		if r, ok := e.rows[token]; ok && !r.deleted {
			rows[i] = r.copy()
		}
	}
	return rows, nil
}

// ListRows implements [vault.Tokens].
func (s *Vault) ListRows(
	ctx context.Context, org, id string, after mortise.Cursor, limit int,
) (page mortise.Page[vault.Row], err error) {
	db, err := s.db.read(ctx)
	if err != nil {
		return page, err
	}
	defer db.end()
	e, ok := db.vault.vaults[ownedID{org, id}]
	if !ok {
		return page, mortise.ErrNotFound
	}
	_, token, _, err := pages.ByNameAlone(after)
	if err != nil {
		return page, err
	}
	var rows []vault.Row
	for _, t := range slices.Sorted(maps.Keys(e.rows)) {
		if r := e.rows[t]; len(rows) <= limit && !r.deleted && t > token {
			rows = append(rows, r.copy())
		}
	}
	return pages.Cut(rows, limit, (*vault.Row).Position), nil
}

// DeleteToken implements [vault.Tokens].
func (s *Vault) DeleteToken(ctx context.Context, org, id, token string, a vault.AuditEvent) error {
	db, err := s.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	e, ok := db.vault.vaults[ownedID{org, id}]
	if !ok {
		return vault.ErrTokenNotFound
	}
	r, ok := e.rows[token]
	if !ok || r.deleted {
		return vault.ErrTokenNotFound
	}
	for _, f := range r.Fingerprints {
		delete(e.tokens[vaultIndex{r.Scope, f.Version}], f.Fingerprint)
	}
	r.deleted, r.Sealed, r.Fingerprints = true, keyring.Sealed{}, nil
	db.vault.addEvent(a)
	db.revocations.count(a.At)
	return nil
}
