package vaultdb

import (
	"bytes"
	"context"
	"math"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

const (
	// A stretch of a scan, by the number of the row: so it reads the table once, in its
	// own order. ?1 is the row that it comes after, ?2 the last one that it looks at. It
	// ends with a row of NULLs and the last number of all.
	scanned = "SELECT t.seq, t.scope, t.token, t.deterministic, t.sealed, t.ciphertext, t.created_at FROM vault_tokens t" +
		" WHERE t.seq > ?1 AND t.seq <= ?2 AND t.sealed IS NOT NULL AND t.vault NOT IN (" + goneVaults + ") AND "
	scanEnd     = " UNION ALL SELECT max(seq), NULL, NULL, NULL, NULL, NULL, NULL FROM vault_tokens"
	nameOfScope = "SELECT v.organization, v.id, s.name FROM vault_scopes s CROSS JOIN vault_vaults v ON v.seq = s.vault" +
		" WHERE s.seq = ?"

	rowsWithoutFingerprint = scanned +
		"t.deterministic = 1 AND NOT EXISTS (SELECT 1 FROM vault_fingerprints f WHERE f.version = ?3 AND f.row = t.seq)" + scanEnd
	rowsNotSealedUnder = scanned + "t.sealed <> ?3" + scanEnd

	// A row is changed where a scan has found it, if that is the row which is asked for:
	// its tokens are random, so to look for each by its token would read a page of an
	// index for every row.
	fingerprintRowAt = "INSERT INTO vault_fingerprints (fingerprint, scope, version, row, token) SELECT ?, scope, ?, seq, token FROM vault_tokens" +
		" WHERE seq = ? AND vault = ? AND token = ? AND sealed IS NOT NULL ON CONFLICT DO NOTHING"
	resealRowAt = "UPDATE vault_tokens SET sealed = ?, ciphertext = ? WHERE seq = ? AND vault = ? AND token = ?" +
		" AND scope = ? AND deterministic = ? AND sealed = ? AND ciphertext = ?"

	// placeOfRow is where a row is, and whether it has a fingerprint of a version.
	placeOfRow = "SELECT seq, scope, deterministic, EXISTS (SELECT 1 FROM vault_fingerprints f WHERE f.version = ? AND f.row = t.seq)" +
		" FROM vault_tokens t WHERE vault = ? AND token = ? AND sealed IS NOT NULL"

	insertFingerprint = "INSERT INTO vault_fingerprints (fingerprint, scope, version, row, token) VALUES (?,?,?,?,?) ON CONFLICT DO NOTHING"

	// Those of vaults that were deleted go with the others, though they do not count: a
	// step that left them out would pass over all of them each time.
	firstFingerprints  = "SELECT fingerprint, scope, version FROM vault_fingerprints WHERE version = ? ORDER BY row LIMIT 0 + ?"
	removeFingerprints = "DELETE FROM vault_fingerprints WHERE (fingerprint, scope, version) IN (" + firstFingerprints + ")"
	goneFingerprints   = "SELECT count(*) FROM (" + firstFingerprints + ") WHERE scope IN (" + goneScopes + ")"
)

// RowsWithoutFingerprint implements [vault.KeyRotation].
func (s *Store) RowsWithoutFingerprint(ctx context.Context, version int, after mortise.Cursor, limit int) (mortise.Page[vault.Row], error) {
	return s.scan(ctx, rowsWithoutFingerprint, version, after, limit)
}

// RowsNotSealedUnder implements [vault.KeyRotation].
func (s *Store) RowsNotSealedUnder(ctx context.Context, version int, after mortise.Cursor, limit int) (mortise.Page[vault.Row], error) {
	return s.scan(ctx, rowsNotSealedUnder, version, after, limit)
}

// scanStep is how many rows a call of a scan looks at: the read lasts for some
// milliseconds, however few of the rows it selects.
const scanStep = 20_000

// scanBytes is how many bytes of ciphertexts a call of a scan returns, but for the last
// row's: whoever goes through large values holds a few pages of them at a time.
const scanBytes = 4 << 20

// scan returns a page of a scan. A cursor has the number of the row before the page.
func (s *Store) scan(
	ctx context.Context, statement string, version int, after mortise.Cursor, limit int,
) (page mortise.Page[vault.Row], err error) {
	_, at, _, err := pages.ByNumber(after)
	if err != nil {
		return page, err
	}
	at = min(at, math.MaxInt64-scanStep)
	p := scannedPage{limit: limit, scopes: make(map[int]scopeName)}
	// It is no [file.File.List]: ctx ends it between rows only, but it looks at few.
	err = s.db.ReadLong(ctx, file.NoOrg, func(c *file.Conn) error {
		return c.Query(ctx, statement, []any{at, at + scanStep, version}, func(r *file.Row) error { return p.add(c, r) })
	})
	if err != nil {
		return page, err
	}
	if p.Next == "" && at+scanStep < p.last {
		p.Next = pages.Numbered(at + scanStep)
	}
	return p.Page, nil
}

// scannedPage is a page that is being read.
type scannedPage struct {
	mortise.Page[vault.Row]
	limit  int
	bytes  int               // of ciphertexts
	at     int64             // the number of the last row of the page
	scopes map[int]scopeName // by number
	last   int64             // the last row of all; 0: not known
}

type scopeName struct{ organization, vault, name string }

// add adds a row to a page, or ends the page.
func (p *scannedPage) add(c *file.Conn, r *file.Row) error {
	seq := r.Number(0)
	if r.Null(1) {
		p.last = int64(seq)
		return nil
	}
	if len(p.Items) == p.limit || p.bytes >= scanBytes {
		p.Next = pages.Numbered(p.at)
		return file.ErrEnough
	}
	scope, ok := p.scopes[r.Number(1)]
	if !ok {
		err := c.Query(context.Background(), nameOfScope, []any{r.Number(1)}, func(r *file.Row) error {
			scope = scopeName{r.Text(0), r.Text(1), r.Text(2)}
			return nil
		})
		if err != nil {
			return err
		}
		p.scopes[r.Number(1)] = scope
	}
	found := vault.Row{
		Organization: scope.organization, Vault: scope.vault, Token: r.Text(2), Scope: scope.name, Deterministic: r.Number(3) != 0,
		Sealed:    keyring.Sealed{Version: r.Number(4), Ciphertext: file.Cell[[]byte](r, 5)},
		CreatedAt: r.Moment(6),
		Place:     rowPlace{seq, r.Number(1), r.Number(3) != 0}.hint(),
	}
	p.at = int64(seq)
	p.Items = append(p.Items, found)
	p.bytes += len(found.Sealed.Ciphertext)
	return nil
}

// rowPlace is where a row is, and what it is counted by. With that, one statement changes
// a row and finds out nothing: RETURNING takes as long as the half of resealRowAt.
type rowPlace struct {
	seq           int // noRow: there is none
	scope         int
	deterministic bool
}

// A hint has the number of a row, that of its scope and whether it is deterministic, from
// the lowest bit on.
const (
	seqBits   = 40
	scopeBits = 22
)

// hint is the [vault.Row.Place] of a row, 0 if its numbers are too large for one.
func (p rowPlace) hint() int64 {
	if p.seq < 0 || p.scope < 0 || p.seq>>seqBits != 0 || p.scope>>scopeBits != 0 {
		return 0
	}
	hint := int64(p.scope)<<seqBits | int64(p.seq)
	if p.deterministic {
		hint |= 1 << (seqBits + scopeBits)
	}
	return hint
}

// hinted reads a hint. It is the caller's, so it may be any number.
func hinted(hint int64) rowPlace {
	return rowPlace{
		seq: int(hint & (1<<seqBits - 1)), scope: int(hint >> seqBits & (1<<scopeBits - 1)), deterministic: hint>>(seqBits+scopeBits)&1 != 0,
	}
}

// rotation is a transaction that changes keys under rows.
type rotation struct {
	tx     *file.Tx
	vaults map[vaultID]int // the numbers of those that were looked up
	last   vaultID         // the one that was asked for last; the zero value: none
	number int             // its number
}

type vaultID struct{ organization, id string }

// vault returns the number of a row's vault, or noVault.
func (r *rotation) vault(of vault.RowID) (seq int, err error) {
	id := vaultID{of.Organization, of.Vault}
	if id == r.last && len(r.vaults) > 0 {
		return r.number, nil
	}
	seq, ok := r.vaults[id]
	if !ok {
		if seq, _, err = revisionOf(r.tx, id.organization, id.id); err != nil {
			return seq, err
		}
		r.vaults[id] = seq
	}
	r.last, r.number = id, seq
	return seq, nil
}

// AddFingerprints implements [vault.KeyRotation].
func (s *Store) AddFingerprints(ctx context.Context, version int, of []vault.RowFingerprint) ([]vault.RowID, error) {
	of = slices.Clone(of)
	// In the order of the table: so it comes to a page once.
	slices.SortStableFunc(of, func(a, b vault.RowFingerprint) int { return bytes.Compare(a.Fingerprint[:], b.Fingerprint[:]) })
	taken, err := s.rotate(ctx, len(of), func(r *rotation, i int) (bool, error) {
		r.tx.Scatter(1)
		return r.addFingerprint(version, &of[i])
	},
		func(keys knownKeys) bool { return keys.retired(keyring.FingerprintKey, version) })
	var refused []vault.RowID
	for _, i := range taken {
		refused = append(refused, of[i].Row)
	}
	return refused, err
}

// rotationTurn is how many rows a rotation changes at least before another write gets its
// turn.
const rotationTurn = 50

// rotate calls do for each of n rows, and returns those of which it was true: in a single
// transaction, unless somebody else comes to write. Then they need not wait for the rest,
// which goes on in the next transaction. If a key is retired, it is ErrRetired.
func (s *Store) rotate(
	ctx context.Context, n int, do func(r *rotation, i int) (bool, error), retired func(knownKeys) bool,
) (all []int, err error) {
	for from := 0; ; {
		var these []int
		next := from
		err := s.db.Write(ctx, func(tx *file.Tx) error {
			keys, err := readKeys(tx)
			if err != nil {
				return err
			}
			if retired(keys) {
				return keyring.ErrRetired
			}
			these, next = nil, from
			r := rotation{tx: tx, vaults: make(map[vaultID]int)}
			for ; next < n; next++ {
				if next-from >= rotationTurn && tx.Awaited() {
					break
				}
				is, err := do(&r, next)
				if err != nil {
					return err
				}
				if is {
					these = append(these, next)
				}
			}
			return nil
		})
		if err != nil { // and it may still be at it
			return nil, err
		}
		if all = append(all, these...); next == n {
			return all, nil
		}
		from = next
	}
}

// addFingerprint stores a fingerprint for a row that is there and has none of the version.
// It reports whether it is another row's.
func (r *rotation) addFingerprint(version int, f *vault.RowFingerprint) (taken bool, err error) {
	in, err := r.vault(f.Row)
	if err != nil || in == noVault {
		return false, err
	}
	add := func(seq int) (added int64, err error) {
		return r.tx.Exec(fingerprintRowAt, f.Fingerprint[:], version, seq, in, f.Row.Token)
	}
	if f.Place != 0 {
		if added, err := add(hinted(f.Place).seq); added > 0 || err != nil {
			return false, err
		}
	}
	at, has, err := r.place(version, in, f.Row.Token)
	if at.seq == noRow || has || err != nil {
		return false, err
	}
	added, err := add(at.seq)
	return added == 0, err
}

// place returns where a row of a vault is, and whether it has a fingerprint of a version.
func (r *rotation) place(version, in int, token string) (at rowPlace, has bool, err error) {
	at.seq = noRow
	err = r.tx.Query(placeOfRow, []any{version, in, token}, func(r *file.Row) error {
		at, has = rowPlace{r.Number(0), r.Number(1), r.Number(2) != 0}, r.Number(3) != 0
		return nil
	})
	return at, has, err
}

// Reseal implements [vault.KeyRotation].
func (s *Store) Reseal(ctx context.Context, rows []vault.Resealed) (int, error) {
	rows = slices.Clone(rows)
	size := 0
	for i := range rows {
		size += len(rows[i].From.Ciphertext) + len(rows[i].To.Ciphertext)
	}
	all := make([]byte, 0, size) // none of its parts is nil: NULL is a token that was deleted
	own := func(s *keyring.Sealed) {
		from := len(all)
		all = append(all, s.Ciphertext...)
		s.Ciphertext = all[from:]
	}
	for i := range rows {
		own(&rows[i].From)
		own(&rows[i].To)
	}
	changed, err := s.rotate(ctx, len(rows), func(r *rotation, i int) (bool, error) { return r.reseal(&rows[i]) },
		func(keys knownKeys) bool {
			return slices.ContainsFunc(rows, func(r vault.Resealed) bool { return keys.retired(keyring.SealKey, r.To.Version) })
		})
	return len(changed), err
}

// reseal stores To for a row that has From, and reports whether there was one.
func (r *rotation) reseal(n *vault.Resealed) (changed bool, err error) {
	in, err := r.vault(n.Row)
	if err != nil || in == noVault {
		return false, err
	}
	hint := hinted(n.Place)
	if n.Place != 0 {
		if changed, err := r.resealAt(hint, in, n); changed || err != nil {
			return changed, err
		}
	}
	at, _, err := r.place(0, in, n.Row.Token)
	if at.seq == noRow || at == hint || err != nil {
		return false, err
	}
	return r.resealAt(at, in, n)
}

// resealAt does it for the row at a place, if that is the row which is asked for.
func (r *rotation) resealAt(at rowPlace, in int, n *vault.Resealed) (changed bool, err error) {
	did, err := r.tx.Exec(resealRowAt, n.To.Version, n.To.Ciphertext, at.seq, in, n.Row.Token, at.scope, at.deterministic,
		n.From.Version, n.From.Ciphertext)
	if did > 0 {
		noteSealed(r.tx, sealCount{at.scope, at.deterministic, n.From.Version}, -1)
		noteSealed(r.tx, sealCount{at.scope, at.deterministic, n.To.Version}, 1)
	}
	return did > 0, err
}

// ciphertext returns a copy that is not nil: NULL is a token that was deleted.
func ciphertext(s keyring.Sealed) []byte { return append([]byte{}, s.Ciphertext...) }

// removeStep is how many fingerprints go in a transaction, if no other write waits.
const removeStep = 500

// RemoveFingerprints implements [vault.KeyRotation].
func (s *Store) RemoveFingerprints(ctx context.Context, version, limit int) (n int, more bool, err error) {
	step := min(removeStep, limit)
	for {
		n, gone, more := 0, 0, true
		err := s.db.Write(ctx, func(tx *file.Tx) error {
			keys, err := readKeys(tx)
			if err != nil {
				return err
			}
			if !keys.retired(keyring.FingerprintKey, version) {
				return keyring.ErrInUse
			}
			for n, gone, more = 0, 0, true; more && n < step && (n == 0 || !tx.Awaited()); {
				part := min(rotationTurn, step-n)
				uncounted, err := firstNumber(tx, goneFingerprints, version, part)
				if err != nil {
					return err
				}
				did, err := tx.Exec(removeFingerprints, version, part)
				if err != nil {
					return err
				}
				n, gone, more = n+int(did), gone+uncounted, int(did) == part
			}
			return nil
		})
		if err != nil {
			return 0, false, err
		}
		// Fingerprints of deleted rows do not count: with them alone, no unit is done.
		if n > gone || !more || limit <= 0 {
			return n - gone, more, nil
		}
	}
}
