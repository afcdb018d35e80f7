package memory

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise/vault"
)

func compareRows(a, b vault.RowID) int {
	return cmp.Or(strings.Compare(a.Organization, b.Organization), strings.Compare(a.Vault, b.Vault), strings.Compare(a.Token, b.Token))
}

// page returns the rows of all vaults after an ID that a condition selects, in order.
func (t *vaultTables) page(after vault.RowID, limit int, selects func(*vaultRow) bool) []vault.Row {
	ids := slices.SortedFunc(maps.Keys(t.vaults), func(a, b ownedID) int {
		return cmp.Or(strings.Compare(a.org, b.org), strings.Compare(a.id, b.id))
	})
	var page []vault.Row
	for _, id := range ids {
		page = append(page, t.vaults[id].page(after, limit-len(page), selects)...)
	}
	return page
}

// live returns a row that is there and not deleted.
func (t *vaultTables) live(id vault.RowID) (*vaultEntry, *vaultRow) {
	e, ok := t.vaults[ownedID{id.Organization, id.Vault}]
	if !ok {
		return nil, nil
	}
	r, ok := e.rows[id.Token]
	if !ok || r.deleted {
		return nil, nil
	}
	return e, r
}

// RowsWithoutFingerprint implements [vault.Rotation].
func (s *Vault) RowsWithoutFingerprint(ctx context.Context, version int, after vault.RowID, limit int) ([]vault.Row, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.db.mu.RLock()
	defer s.db.mu.RUnlock()
	return s.db.vault.page(after, limit, func(r *vaultRow) bool { return r.Deterministic && !r.has(version) }), nil
}

// AddFingerprints implements [vault.Rotation].
func (s *Vault) AddFingerprints(ctx context.Context, version int, of []vault.RowFingerprint) (refused []vault.RowID, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	if s.db.vault.retired(vault.FingerprintKey, version) {
		return nil, vault.ErrKeyRetired
	}
	for _, f := range of {
		e, r := s.db.vault.live(f.Row)
		if r != nil && !e.addFingerprint(r, vault.VersionedFingerprint{Version: version, Fingerprint: f.Fingerprint}) {
			refused = append(refused, f.Row)
		}
	}
	return refused, nil
}

// RowsNotSealedUnder implements [vault.Rotation].
func (s *Vault) RowsNotSealedUnder(ctx context.Context, version int, after vault.RowID, limit int) ([]vault.Row, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.db.mu.RLock()
	defer s.db.mu.RUnlock()
	return s.db.vault.page(after, limit, func(r *vaultRow) bool { return r.Sealed.Version != version }), nil
}

// Reseal implements [vault.Rotation].
func (s *Vault) Reseal(ctx context.Context, rows []vault.Resealed) (changed int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	for _, n := range rows {
		if s.db.vault.retired(vault.SealKey, n.To.Version) {
			return 0, vault.ErrKeyRetired
		}
	}
	for _, n := range rows {
		_, r := s.db.vault.live(n.Row)
		if r == nil || r.Sealed.Version != n.From.Version || !bytes.Equal(r.Sealed.Ciphertext, n.From.Ciphertext) {
			continue
		}
		r.Sealed = vault.Sealed{Version: n.To.Version, Ciphertext: bytes.Clone(n.To.Ciphertext)}
		changed++
	}
	return changed, nil
}

// RemoveFingerprints implements [vault.Rotation].
func (s *Vault) RemoveFingerprints(ctx context.Context, version, limit int) (removed int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	if !s.db.vault.retired(vault.FingerprintKey, version) {
		return 0, vault.ErrKeyInUse
	}
	for _, e := range s.db.vault.vaults {
		for _, r := range e.rows {
			r.Fingerprints = slices.DeleteFunc(r.Fingerprints, func(f vault.VersionedFingerprint) bool {
				gone := counted(&removed, limit, f.Version == version)
				if gone {
					delete(e.tokens[vaultIndex{r.Scope, version}], f.Fingerprint)
				}
				return gone
			})
		}
	}
	return removed, nil
}
