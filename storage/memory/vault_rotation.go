package memory

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

var errForeignPosition = errors.New("memory: the position is of no scan of this store; begin the scan again")

// scan returns a stretch of a scan: copies of the rows that a condition selects. A
// position is the number of rows before it. It looks at no more rows than a step of a
// listing does, see listingStep.
func (s *Vault) scan(
	ctx context.Context, after vault.ScanPosition, limit int, selects func(*vaultRow) bool,
) (page vault.RowPage, err error) {
	if err := ctx.Err(); err != nil {
		return page, err
	}
	at := 0
	if after != "" {
		at, err = strconv.Atoi(string(after))
		if err != nil || at < 1 || strconv.Itoa(at) != string(after) {
			return page, errForeignPosition
		}
	}
	s.db.mu.RLock()
	defer s.db.mu.RUnlock()
	rows := s.db.vault.rows
	if at > len(rows) {
		return page, errForeignPosition
	}
	if limit < 1 {
		return page, nil
	}
	for end := min(at+listingStep, len(rows)); at < end && len(page.Rows) < limit; at++ {
		if r := rows[at]; r != nil && !r.deleted && selects(r) && !s.db.vault.isGoing(r) {
			page.Rows = append(page.Rows, r.copy())
		}
	}
	if at < len(rows) {
		page.Next = vault.ScanPosition(strconv.Itoa(at))
	}
	return page, nil
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

// RowsWithoutFingerprint implements [vault.KeyRotation].
func (s *Vault) RowsWithoutFingerprint(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error) {
	return s.scan(ctx, after, limit, func(r *vaultRow) bool { return r.Deterministic && !r.has(version) })
}

// AddFingerprints implements [vault.KeyRotation].
func (s *Vault) AddFingerprints(ctx context.Context, version int, of []vault.RowFingerprint) (refused []vault.RowID, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	if s.db.vault.retired(keyring.FingerprintKey, version) {
		return nil, keyring.ErrRetired
	}
	for _, f := range of {
		e, r := s.db.vault.live(f.Row)
		if r != nil && !e.addFingerprint(r, vault.VersionedFingerprint{Version: version, Fingerprint: f.Fingerprint}) {
			refused = append(refused, f.Row)
		}
	}
	return refused, nil
}

// RowsNotSealedUnder implements [vault.KeyRotation].
func (s *Vault) RowsNotSealedUnder(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error) {
	return s.scan(ctx, after, limit, func(r *vaultRow) bool { return r.Sealed.Version != version })
}

// Reseal implements [vault.KeyRotation].
func (s *Vault) Reseal(ctx context.Context, rows []vault.Resealed) (changed int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	for _, n := range rows {
		if s.db.vault.retired(keyring.SealKey, n.To.Version) {
			return 0, keyring.ErrRetired
		}
	}
	for _, n := range rows {
		_, r := s.db.vault.live(n.Row)
		if r == nil || r.Sealed.Version != n.From.Version || !bytes.Equal(r.Sealed.Ciphertext, n.From.Ciphertext) {
			continue
		}
		r.Sealed = keyring.Sealed{Version: n.To.Version, Ciphertext: bytes.Clone(n.To.Ciphertext)}
		changed++
	}
	return changed, nil
}

// RemoveFingerprints implements [vault.KeyRotation].
func (s *Vault) RemoveFingerprints(ctx context.Context, version, limit int) (removed int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	if !s.db.vault.retired(keyring.FingerprintKey, version) {
		return 0, keyring.ErrInUse
	}
	for _, e := range s.db.vault.vaults {
		for at, index := range e.tokens {
			if at.version != version {
				continue
			}
			for fingerprint, token := range index {
				if removed >= limit {
					return removed, nil
				}
				e.rows[token].removeFingerprint(version)
				delete(index, fingerprint)
				removed++
			}
			delete(e.tokens, at)
		}
	}
	return removed, nil
}

// removeFingerprint removes the fingerprint of a version.
func (r *vaultRow) removeFingerprint(version int) {
	r.Fingerprints = slices.DeleteFunc(r.Fingerprints, func(f vault.VersionedFingerprint) bool { return f.Version == version })
}
