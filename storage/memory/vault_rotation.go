package memory

import (
	"bytes"
	"context"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// scanBytes is how many bytes of ciphertexts a call of a scan returns, but for the last
// row's: whoever goes through large values holds a few pages of them at a time.
const scanBytes = 4 << 20

// scan returns a page of a scan: copies of the rows that a condition selects. A cursor has
// the number of the row before the page. It looks at no more rows than a step of a list
// does, see listingStep.
func (s *Vault) scan(
	ctx context.Context, after mortise.Cursor, limit int, selects func(*vaultRow) bool,
) (page mortise.Page[vault.Row], err error) {
	db, err := s.db.read(ctx)
	if err != nil {
		return page, err
	}
	defer db.end()
	_, at, _, err := pages.ByNumber(after)
	if err != nil {
		return page, err
	}
	rows := db.vault.rows
	from, bytes := int(min(at, int64(len(rows)))), 0
	for end := min(from+listingStep, len(rows)); from < end && len(page.Items) < limit && bytes < scanBytes; from++ {
		if r := rows[from]; r != nil && !r.deleted && selects(r) && !db.vault.isGoing(r) {
			found := r.copy()
			found.Place = int64(from + 1)
			bytes += len(found.Sealed.Ciphertext)
			page.Items = append(page.Items, found)
		}
	}
	if from < len(rows) {
		page.Next = pages.Numbered(int64(from))
	}
	return page, nil
}

// live returns a row that is there and not deleted. It need not stand at the place.
func (t *vaultTables) live(id vault.RowID, place int64) (e *vaultEntry, r *vaultRow) {
	e, ok := t.vaults[ownedID{id.Organization, id.Vault}]
	if !ok {
		return nil, nil
	}
	if at := place - 1; at >= 0 && at < int64(len(t.rows)) {
		r = t.rows[at]
	}
	if r == nil || r.ID() != id {
		r = e.rows[id.Token]
	}
	if r == nil || r.deleted {
		return nil, nil
	}
	return e, r
}

// RowsWithoutFingerprint implements [vault.KeyRotation].
func (s *Vault) RowsWithoutFingerprint(ctx context.Context, version int, after mortise.Cursor, limit int) (mortise.Page[vault.Row], error) {
	return s.scan(ctx, after, limit, func(r *vaultRow) bool { return r.Deterministic && !r.has(version) })
}

// AddFingerprints implements [vault.KeyRotation].
func (s *Vault) AddFingerprints(ctx context.Context, version int, of []vault.RowFingerprint) (refused []vault.RowID, err error) {
	db, err := s.db.write(ctx)
	if err != nil {
		return nil, err
	}
	defer db.end()
	if db.vault.retired(keyring.FingerprintKey, version) {
		return nil, keyring.ErrRetired
	}
	for _, f := range of {
		e, r := db.vault.live(f.Row, f.Place)
		if r != nil && !e.addFingerprint(r, vault.VersionedFingerprint{Version: version, Fingerprint: f.Fingerprint}) {
			refused = append(refused, f.Row)
		}
	}
	return refused, nil
}

// RowsNotSealedUnder implements [vault.KeyRotation].
func (s *Vault) RowsNotSealedUnder(ctx context.Context, version int, after mortise.Cursor, limit int) (mortise.Page[vault.Row], error) {
	return s.scan(ctx, after, limit, func(r *vaultRow) bool { return r.Sealed.Version != version })
}

// Reseal implements [vault.KeyRotation].
func (s *Vault) Reseal(ctx context.Context, rows []vault.Resealed) (changed int, err error) {
	db, err := s.db.write(ctx)
	if err != nil {
		return 0, err
	}
	defer db.end()
	for _, n := range rows {
		if db.vault.retired(keyring.SealKey, n.To.Version) {
			return 0, keyring.ErrRetired
		}
	}
	for _, n := range rows {
		_, r := db.vault.live(n.Row, n.Place)
		if r == nil || r.Sealed.Version != n.From.Version || !bytes.Equal(r.Sealed.Ciphertext, n.From.Ciphertext) {
			continue
		}
		r.Sealed = keyring.Sealed{Version: n.To.Version, Ciphertext: bytes.Clone(n.To.Ciphertext)}
		changed++
	}
	return changed, nil
}

// RemoveFingerprints implements [vault.KeyRotation].
func (s *Vault) RemoveFingerprints(ctx context.Context, version, limit int) (n int, more bool, err error) {
	for more = true; more && n == 0; {
		if n, more, err = s.sweep(ctx, version, limit); err != nil || limit <= 0 {
			return 0, false, err
		}
	}
	return n, more, nil
}

// sweep looks for fingerprints of a version that is retired, and removes them, as far as
// a step of a listing goes. It goes through the rows once, however many calls that takes:
// nothing gets a fingerprint of such a version any more.
func (s *Vault) sweep(ctx context.Context, version, limit int) (removed int, more bool, err error) {
	db, err := s.db.write(ctx)
	if err != nil {
		return 0, false, err
	}
	defer db.end()
	t := &db.vault
	if !t.retired(keyring.FingerprintKey, version) {
		return 0, false, keyring.ErrInUse
	}
	at := t.swept[version]
	for end := min(at+listingStep, len(t.rows)); at < end && removed < limit; at++ {
		if r := t.rows[at]; r != nil && t.removeFingerprint(r, version) {
			removed++
		}
	}
	t.swept[version] = at
	return removed, at < len(t.rows), nil
}

// removeFingerprint removes the fingerprint of a version from a row, and reports whether
// it had one. Those of a vault that was deleted go with the vault.
func (t *vaultTables) removeFingerprint(r *vaultRow, version int) bool {
	for i := range r.Fingerprints {
		if r.Fingerprints[i].Version != version {
			continue
		}
		e, ok := t.vaults[ownedID{r.Organization, r.Vault}]
		if !ok {
			return false
		}
		at := vaultIndex{r.Scope, version}
		if delete(e.tokens[at], r.Fingerprints[i].Fingerprint); len(e.tokens[at]) == 0 {
			delete(e.tokens, at)
		}
		r.Fingerprints = slices.Delete(r.Fingerprints, i, i+1)
		return true
	}
	return false
}
