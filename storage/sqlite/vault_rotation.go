package sqlite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

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
	resealRowAt = "UPDATE vault_tokens SET sealed = ?, ciphertext = ? WHERE seq = ? AND vault = ? AND token = ? AND sealed = ? AND ciphertext = ?"

	// scopesOfRows counts rows by what vault_counts tells apart. To ask for that row by row,
	// by RETURNING, takes as long as the half of resealRowAt.
	scopesOfRows = "SELECT scope, deterministic, count(*) FROM json_each(?) CROSS JOIN vault_tokens ON seq = value GROUP BY scope, deterministic"

	// placeOfRow is where a row is, and whether it has a fingerprint of a version.
	placeOfRow = "SELECT seq, EXISTS (SELECT 1 FROM vault_fingerprints f WHERE f.version = ? AND f.row = t.seq)" +
		" FROM vault_tokens t WHERE vault = ? AND token = ? AND sealed IS NOT NULL"

	insertFingerprint = "INSERT INTO vault_fingerprints (fingerprint, scope, version, row, token) VALUES (?,?,?,?,?) ON CONFLICT DO NOTHING"

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

// scanBytes is how many bytes of ciphertexts a call of a scan returns, but for the last
// row's: whoever goes through large values holds a few pages of them at a time.
const scanBytes = 4 << 20

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
	p := scannedPage{limit: limit, scopes: make(map[int]scopeName)}
	// It is no list, see there: ctx ends it between rows only, but it looks at few.
	err := s.db.lister.use(ctx, s.db.busy, noOrg, func(c *conn) error {
		err := c.query(ctx, statement, []any{at, at + scanStep, version}, func(r *row) error { return p.add(c, r) })
		if errors.Is(err, errEnough) {
			return nil
		}
		return err
	})
	page, last := p.RowPage, p.last
	if err != nil {
		return vault.RowPage{}, err
	}
	if page.Next == "" && at+scanStep < last {
		page.Next = scanPosition(at + scanStep)
	}
	return page, nil
}

// scannedPage is a page that is being read.
type scannedPage struct {
	vault.RowPage
	limit  int
	bytes  int               // of ciphertexts
	scopes map[int]scopeName // by number
	last   int64             // the last row of all; 0: not known
}

type scopeName struct{ organization, vault, name string }

// add adds a row to a page, or ends the page.
func (p *scannedPage) add(c *conn, r *row) error {
	seq := r.number(0)
	if r.null(1) {
		p.last = int64(seq)
		return nil
	}
	if n := len(p.Rows); n == p.limit || p.bytes >= scanBytes {
		p.Next = scanPosition(int64(p.Rows[n-1].Place))
		return errEnough
	}
	scope, ok := p.scopes[r.number(1)]
	if !ok {
		err := c.query(unbounded, nameOfScope, []any{r.number(1)}, func(r *row) error {
			scope = scopeName{r.text(0), r.text(1), r.text(2)}
			return nil
		})
		if err != nil {
			return err
		}
		p.scopes[r.number(1)] = scope
	}
	found := vault.Row{
		Organization: scope.organization, Vault: scope.vault, Token: r.text(2), Scope: scope.name, Deterministic: r.number(3) != 0,
		Sealed: keyring.Sealed{Version: r.number(4), Ciphertext: cell[[]byte](r, 5)}, CreatedAt: r.moment(6), Place: int64(seq),
	}
	p.Rows = append(p.Rows, found)
	p.bytes += len(found.Sealed.Ciphertext)
	return nil
}

func scanPosition(seq int64) vault.ScanPosition {
	return vault.ScanPosition(strconv.FormatInt(seq, 10))
}

// rotation is a transaction that changes keys under rows.
type rotation struct {
	tx       *tx
	vaults   map[vaultID]int  // the numbers of those that were looked up
	resealed map[[2]int][]int // the numbers of rows, by the versions from which and to which
}

type vaultID struct{ organization, id string }

// vault returns the number of a row's vault, or noVault.
func (r *rotation) vault(of vault.RowID) (seq int, err error) {
	id := vaultID{of.Organization, of.Vault}
	seq, ok := r.vaults[id]
	if !ok {
		if seq, _, err = r.tx.vaultRevision(id.organization, id.id); err == nil {
			r.vaults[id] = seq
		}
	}
	return seq, err
}

// AddFingerprints implements [vault.KeyRotation].
func (s *Vault) AddFingerprints(ctx context.Context, version int, of []vault.RowFingerprint) ([]vault.RowID, error) {
	of = slices.Clone(of)
	// In the order of the table: so it comes to a page once.
	slices.SortStableFunc(of, func(a, b vault.RowFingerprint) int { return bytes.Compare(a.Fingerprint[:], b.Fingerprint[:]) })
	taken, err := s.rotate(ctx, len(of), func(r *rotation, i int) (bool, error) { return r.addFingerprint(version, &of[i]) },
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
func (s *Vault) rotate(
	ctx context.Context, n int, do func(r *rotation, i int) (bool, error), retired func(knownKeys) bool,
) (all []int, err error) {
	for from := 0; ; {
		var these []int
		next := from
		err := s.db.writer.write(ctx, func(tx *tx) error {
			keys, err := tx.vaultKeys()
			if err != nil {
				return err
			}
			if retired(keys) {
				return keyring.ErrRetired
			}
			these, next = nil, from
			r := rotation{tx, make(map[vaultID]int), make(map[[2]int][]int)}
			for ; next < n; next++ {
				if next-from >= rotationTurn && tx.awaited() {
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
			return r.count()
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
		return r.tx.exec(fingerprintRowAt, f.Fingerprint[:], version, seq, in, f.Row.Token)
	}
	if f.Place != 0 {
		if added, err := add(int(f.Place)); added > 0 || err != nil {
			return false, err
		}
	}
	seq, has, err := r.place(version, in, f.Row.Token)
	if seq == noRow || has || err != nil {
		return false, err
	}
	added, err := add(seq)
	return added == 0, err
}

// place returns where a row of a vault is, or noRow, and whether it has a fingerprint of a
// version.
func (r *rotation) place(version, in int, token string) (seq int, has bool, err error) {
	seq = noRow
	err = r.tx.query(placeOfRow, []any{version, in, token}, func(r *row) error {
		seq, has = r.number(0), r.number(1) != 0
		return nil
	})
	return seq, has, err
}

// Reseal implements [vault.KeyRotation].
func (s *Vault) Reseal(ctx context.Context, rows []vault.Resealed) (int, error) {
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
	store := func(seq int) (bool, error) {
		changed, err := r.tx.exec(resealRowAt, n.To.Version, n.To.Ciphertext, seq, in, n.Row.Token, n.From.Version, n.From.Ciphertext)
		if changed > 0 {
			versions := [2]int{n.From.Version, n.To.Version}
			r.resealed[versions] = append(r.resealed[versions], seq)
		}
		return changed > 0, err
	}
	if n.Place != 0 {
		if changed, err := store(int(n.Place)); changed || err != nil {
			return changed, err
		}
	}
	seq, _, err := r.place(0, in, n.Row.Token)
	if seq == noRow || seq == int(n.Place) || err != nil {
		return false, err
	}
	return store(seq)
}

// count counts the rows that were sealed anew.
func (r *rotation) count() error {
	for versions, seqs := range r.resealed {
		list, err := json.Marshal(seqs)
		if err != nil {
			return fmt.Errorf("sqlite: list what was sealed: %w", err)
		}
		err = r.tx.query(scopesOfRows, []any{string(list)}, func(found *row) error {
			of, n := sealCount{found.number(0), found.number(1) != 0, versions[0]}, found.number(2)
			r.tx.countSealed(of, -n)
			of.version = versions[1]
			r.tx.countSealed(of, n)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ciphertext returns a copy that is not nil: NULL is a token that was deleted.
func ciphertext(s keyring.Sealed) []byte { return append([]byte{}, s.Ciphertext...) }

// removeStep is how many fingerprints go in a transaction, if no other write waits.
const removeStep = 500

// RemoveFingerprints implements [vault.KeyRotation].
func (s *Vault) RemoveFingerprints(ctx context.Context, version, limit int) (removed int, err error) {
	for {
		step := max(0, min(removeStep, limit-removed))
		n, gone, more := 0, 0, true
		err := s.db.writer.write(ctx, func(tx *tx) error {
			keys, err := tx.vaultKeys()
			if err != nil {
				return err
			}
			if !keys.retired(keyring.FingerprintKey, version) {
				return keyring.ErrInUse
			}
			for n, gone, more = 0, 0, true; more && n < step && (n == 0 || !tx.awaited()); {
				part := min(rotationTurn, step-n)
				uncounted, err := tx.firstNumber(goneFingerprints, version, part)
				if err != nil {
					return err
				}
				did, err := tx.exec(removeFingerprints, version, part)
				if err != nil {
					return err
				}
				n, gone, more = n+int(did), gone+uncounted, int(did) == part
			}
			return nil
		})
		if err != nil {
			return removed, err
		}
		if removed += n - gone; !more || removed >= limit {
			return removed, nil
		}
	}
}
