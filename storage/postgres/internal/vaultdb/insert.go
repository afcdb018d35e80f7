package vaultdb

import (
	stdbytes "bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

const (
	insertScopes = "INSERT INTO @.vault_scopes (vault, name) SELECT $1, name FROM unnest($2::text[]) AS name ON CONFLICT DO NOTHING"
	scopesByName = "SELECT seq, name FROM @.vault_scopes WHERE vault = $1 AND name = ANY ($2::text[])"

	// Rows by their tokens, deleted ones too, and fingerprints by scope, version and bytes.
	rowsByToken        = "SELECT seq, token, scope, deterministic, sealed, ciphertext FROM @.vault_tokens WHERE vault = $1 AND token = ANY ($2::text[])"
	rowsByFingerprints = "SELECT i.n, f.token, f.row FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) WITH ORDINALITY AS i (scope, version, fingerprint, n)" +
		" CROSS JOIN LATERAL (SELECT token, row FROM @.vault_fingerprints" +
		" WHERE fingerprint = i.fingerprint AND scope = i.scope AND version = i.version OFFSET 0) f"
	// Nobody deletes these tokens before the transaction ends.
	holdRows = "SELECT seq FROM @.vault_tokens WHERE seq = ANY ($1::bigint[]) AND sealed IS NOT NULL ORDER BY token FOR SHARE"

	tokenNumbers   = "SELECT nextval('@.vault_token_numbers') FROM generate_series(1, $1)"
	insertVaultRow = "INSERT INTO @.vault_tokens (seq, vault, token, scope, deterministic, created_at, sealed, ciphertext)" +
		" SELECT seq, $1, token, scope, deterministic, created_at, sealed, ciphertext" +
		" FROM unnest($2::bigint[], $3::text[], $4::bigint[], $5::boolean[], $6::timestamptz[], $7::bigint[], $8::bytea[])" +
		" AS r (seq, token, scope, deterministic, created_at, sealed, ciphertext) ON CONFLICT DO NOTHING"
	insertFingerprints = "INSERT INTO @.vault_fingerprints (fingerprint, scope, version, row, token)" +
		" SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[]) ON CONFLICT DO NOTHING"
)

// InsertTokens implements [vault.Tokens].
func (s *Store) InsertTokens(ctx context.Context, org, id string, revision int64, rows []vault.Row) (tokens []string, err error) {
	err = s.insertRows(ctx, org, id, revision, rows, func(in *vaultInsertion) error {
		tokens = in.tokens
		return in.sift()
	}, nil)
	if err != nil {
		return nil, err
	}
	return tokens, nil
}

// errRaced is the error of a call that has met somebody else's, who has stored the same.
var errRaced = errors.New("postgres: the same was stored by somebody else in this moment")

// errTwice is of a caller who does not keep the contract.
var errTwice = errors.New("postgres: a row has two fingerprints of one version")

// insertRows stores the rows that sift leaves to be stored. If others store the same values
// or tokens in the same moment, it begins again, and sees what they have stored.
func (s *Store) insertRows(
	ctx context.Context, org, id string, revision int64, rows []vault.Row, sift func(*vaultInsertion) error, event vaultEvent,
) error {
	locks := vaultLockArgs(s.db, org, id)
	const tries = 50 // each of them sees what the others have stored before
	for try := 1; ; try++ {
		err := s.db.Transact(ctx, org, func(q *engine.Session) error {
			if err := q.LockShared(lockVaultShared, locks...); err != nil {
				return err
			}
			in, err := newVaultInsertion(q, org, id, revision, rows)
			if err != nil {
				return err
			}
			if err := in.look(); err != nil {
				return err
			}
			if err := sift(in); err != nil {
				return err
			}
			if err := in.store(); err != nil {
				return err
			}
			return addVaultEvent(q, event)
		})
		if !errors.Is(err, errRaced) || try == tries {
			return err
		}
	}
}

// vaultInsertion is a call of InsertTokens or ImportTokens, within the transaction.
type vaultInsertion struct {
	s      *engine.Session
	vault  int64
	rows   []vault.Row // without fingerprints of versions that are retired
	tokens []string    // what the call returns
	scopes map[string]int64

	stored       map[string]*storedRow                   // by token
	fingerprints map[scopedFingerprint]storedFingerprint // what is stored of those of the rows

	fresh []int           // the rows that are to be stored
	hold  []int64         // stored rows that must not be deleted meanwhile
	more  map[int64][]int // rows whose fingerprints the stored row of a number is to get
}

type scopedFingerprint struct {
	scope string
	vault.VersionedFingerprint
}

// storedFingerprint is whose a fingerprint is.
type storedFingerprint struct {
	token string
	row   int64
}

// storedRow is a row of rowsByToken.
type storedRow struct {
	seq, scope    int64
	deterministic bool
	sealed        *int // nil: the token was deleted
	ciphertext    []byte
}

// newVaultInsertion returns an error if the call is to be refused whatever is stored in
// the vault.
func newVaultInsertion(s *engine.Session, org, id string, revision int64, rows []vault.Row) (*vaultInsertion, error) {
	v, err := stateOf(s, org, id)
	switch {
	case err != nil:
		return nil, err
	case !v.known, v.deleted:
		return nil, mortise.ErrNotFound
	case v.revision != revision:
		return nil, vault.ErrConflict
	}
	keys, err := readKeys(s)
	if err != nil {
		return nil, err
	}
	in := &vaultInsertion{s: s, vault: v.seq, rows: slices.Clone(rows), tokens: make([]string, len(rows)), scopes: make(map[string]int64),
		stored: make(map[string]*storedRow), fingerprints: make(map[scopedFingerprint]storedFingerprint), more: make(map[int64][]int)}
	for i := range in.rows {
		if err := keys.admit(&in.rows[i]); err != nil {
			return nil, err
		}
		versions := make(map[int]bool)
		for _, f := range in.rows[i].Fingerprints {
			if versions[f.Version] {
				return nil, errTwice
			}
			versions[f.Version] = true
		}
		in.tokens[i] = in.rows[i].Token
	}
	return in, in.findScopes()
}

// admit returns an error if a row must not be stored, and takes away its fingerprints of
// versions that are retired.
func (k knownKeys) admit(r *vault.Row) error {
	if k.retired(keyring.SealKey, r.Sealed.Version) {
		return keyring.ErrRetired
	}
	for id, key := range k {
		of := func(f vault.VersionedFingerprint) bool { return f.Version == id.version }
		if key.Required && r.Deterministic && !slices.ContainsFunc(r.Fingerprints, of) {
			return keyring.ErrUnknownKey
		}
	}
	r.Fingerprints = slices.DeleteFunc(slices.Clone(r.Fingerprints), func(f vault.VersionedFingerprint) bool {
		return k.retired(keyring.FingerprintKey, f.Version)
	})
	return nil
}

// findScopes finds the numbers of the rows' scopes, and stores those that are new.
func (in *vaultInsertion) findScopes() error {
	for i := range in.rows {
		in.scopes[in.rows[i].Scope] = 0
	}
	names := slices.Sorted(maps.Keys(in.scopes))
	for found := 0; found < len(names); {
		err := in.s.Query(func(r pgx.Rows) error {
			var seq int64
			var name []byte
			err := r.Scan(&seq, &name)
			in.scopes[string(name)] = seq
			found++
			return err
		}, scopesByName, in.vault, names)
		if err != nil || found == len(names) {
			return err
		}
		found = 0
		if _, err := in.s.Exec(insertScopes, in.vault, names); err != nil {
			return err
		}
	}
	return nil
}

// look finds what is stored of the rows' tokens and fingerprints.
func (in *vaultInsertion) look() error {
	err := in.s.Query(func(r pgx.Rows) error {
		var token []byte
		row := new(storedRow)
		err := r.Scan(&row.seq, &token, &row.scope, &row.deterministic, &row.sealed, &row.ciphertext)
		in.stored[string(token)] = row
		return err
	}, rowsByToken, in.vault, in.tokens)
	if err != nil {
		return err
	}
	var asked []scopedFingerprint
	var scopes, versions []int64
	var fingerprints [][]byte
	for i := range in.rows {
		r := &in.rows[i]
		for k := range r.Fingerprints {
			f := &r.Fingerprints[k]
			asked = append(asked, scopedFingerprint{r.Scope, *f})
			scopes, versions, fingerprints = append(scopes, in.scopes[r.Scope]), append(versions, int64(f.Version)), append(fingerprints, f.Fingerprint[:])
		}
	}
	if len(asked) == 0 {
		return nil
	}
	return in.s.Query(func(r pgx.Rows) error {
		var n int
		var token []byte
		var found storedFingerprint
		err := r.Scan(&n, &token, &found.row)
		found.token = string(token)
		in.fingerprints[asked[n-1]] = found
		return err
	}, rowsByFingerprints, scopes, versions, fingerprints)
}

// sift finds out which rows are to be stored, and what the others' tokens are. It is a
// TakenError if the tokens of others are taken.
func (in *vaultInsertion) sift() error {
	var taken vault.TakenError
	added := make(map[scopedFingerprint]int) // rows of the call
	tokens := make(map[string]bool)
	more := make(map[int][]int) // for rows of the call
	for i := range in.rows {
		r := &in.rows[i]
		if in.known(r, i, added, more) {
			continue
		}
		if in.stored[r.Token] != nil || tokens[r.Token] {
			taken.Rows = append(taken.Rows, i)
			continue
		}
		tokens[r.Token] = true
		in.fresh = append(in.fresh, i)
		for _, f := range r.Fingerprints {
			added[scopedFingerprint{r.Scope, f}] = i
		}
	}
	if len(taken.Rows) > 0 {
		return &taken
	}
	for of, rows := range more { // a fingerprint that an earlier row of the call lacks
		in.give(of, rows)
	}
	return nil
}

// known reports whether one of a row's fingerprints is stored, or an earlier row's of the
// call. The first one counts.
func (in *vaultInsertion) known(r *vault.Row, i int, added map[scopedFingerprint]int, more map[int][]int) bool {
	for _, f := range r.Fingerprints {
		id := scopedFingerprint{r.Scope, f}
		if earlier, ok := added[id]; ok {
			in.tokens[i] = in.rows[earlier].Token
			more[earlier] = append(more[earlier], i)
			return true
		}
		if found, ok := in.fingerprints[id]; ok {
			in.tokens[i] = found.token
			in.lack(found.row, i)
			return true
		}
	}
	return false
}

// lack has a stored row get the fingerprints of a row of the call, if some are not stored.
func (in *vaultInsertion) lack(row int64, i int) {
	r := &in.rows[i]
	if slices.ContainsFunc(r.Fingerprints, func(f vault.VersionedFingerprint) bool {
		_, stored := in.fingerprints[scopedFingerprint{r.Scope, f}]
		return !stored
	}) {
		in.more[row] = append(in.more[row], i)
	}
}

// give adds to a row of the call, which is to be stored, the fingerprints of other ones that
// it has no version of.
func (in *vaultInsertion) give(of int, rows []int) {
	r := &in.rows[of]
	slices.Sort(rows)
	for _, i := range rows {
		for _, f := range in.rows[i].Fingerprints {
			has := slices.ContainsFunc(r.Fingerprints, func(own vault.VersionedFingerprint) bool { return own.Version == f.Version })
			if _, stored := in.fingerprints[scopedFingerprint{r.Scope, f}]; !has && !stored {
				r.Fingerprints = append(r.Fingerprints, f)
			}
		}
	}
}

// store writes what is to be written: the tables one after the other, each in the order of
// its key, so that no two calls wait for each other.
func (in *vaultInsertion) store() error {
	var given fingerprintColumns
	if err := in.storeRows(&given); err != nil {
		return err
	}
	for seq := range in.more {
		in.hold = append(in.hold, seq)
	}
	slices.Sort(in.hold)
	if in.hold = slices.Compact(in.hold); len(in.hold) > 0 {
		held := 0
		err := in.s.Query(func(pgx.Rows) error { held++; return nil }, holdRows, in.hold)
		if err == nil && held < len(in.hold) { // deleted meanwhile
			err = errRaced
		}
		if err != nil {
			return err
		}
	}
	if n, err := given.insert(in.s); err != nil || n < given.len() {
		if err == nil {
			err = errRaced
		}
		return err
	}
	// Those that somebody else has are left to them.
	var more fingerprintColumns
	for seq, rows := range in.more {
		slices.Sort(rows)
		for _, i := range rows { // in the order of the call: the first one counts
			more.add(&in.rows[i], in.scopes[in.rows[i].Scope], seq, in.tokens[i])
		}
	}
	_, err := more.insert(in.s)
	return err
}

// storeRows writes the rows that are new, and collects their fingerprints.
func (in *vaultInsertion) storeRows(given *fingerprintColumns) error {
	if len(in.fresh) == 0 {
		return nil
	}
	slices.SortFunc(in.fresh, func(a, b int) int { return strings.Compare(in.rows[a].Token, in.rows[b].Token) })
	var seqs []int64
	err := in.s.Query(func(r pgx.Rows) error {
		var seq int64
		err := r.Scan(&seq)
		seqs = append(seqs, seq)
		return err
	}, tokenNumbers, len(in.fresh))
	if err != nil {
		return err
	}
	var tokens []string
	var ciphertexts [][]byte
	var scopes, sealed []int64
	var deterministic []bool
	var created []time.Time
	for n, i := range in.fresh {
		r := &in.rows[i]
		tokens, ciphertexts = append(tokens, r.Token), append(ciphertexts, sqltext.Bytes(r.Sealed.Ciphertext))
		scopes, sealed = append(scopes, in.scopes[r.Scope]), append(sealed, int64(r.Sealed.Version))
		deterministic, created = append(deterministic, r.Deterministic), append(created, r.CreatedAt.UTC().Truncate(time.Microsecond))
		given.add(r, in.scopes[r.Scope], seqs[n], r.Token)
	}
	stored, err := in.s.Exec(insertVaultRow, in.vault, seqs, tokens, scopes, deterministic, created, sealed, ciphertexts)
	if err == nil && int(stored) < len(in.fresh) {
		err = errRaced
	}
	return err
}

// fingerprintColumns are fingerprints as insertFingerprints takes them.
type fingerprintColumns struct{ all []newFingerprint }

type newFingerprint struct {
	fingerprint         keyring.Fingerprint
	scope, version, row int64
	token               string
}

func (c *fingerprintColumns) len() int { return len(c.all) }

// add adds those of a row, for a stored row and its token.
func (c *fingerprintColumns) add(r *vault.Row, scope, seq int64, token string) {
	for _, f := range r.Fingerprints {
		c.all = append(c.all, newFingerprint{f.Fingerprint, scope, int64(f.Version), seq, token})
	}
}

// insert stores those that are of versions which their rows have none of, and are no other
// row's, and returns how many.
func (c *fingerprintColumns) insert(s *engine.Session) (int, error) {
	if len(c.all) == 0 {
		return 0, nil
	}
	slices.SortStableFunc(c.all, func(a, b newFingerprint) int { return stdbytes.Compare(a.fingerprint[:], b.fingerprint[:]) })
	var fingerprints [][]byte
	var tokens []string
	var scopes, versions, rows []int64
	for i := range c.all {
		f := &c.all[i]
		fingerprints, tokens = append(fingerprints, f.fingerprint[:]), append(tokens, f.token)
		scopes, versions, rows = append(scopes, f.scope), append(versions, f.version), append(rows, f.row)
	}
	n, err := s.Exec(insertFingerprints, fingerprints, scopes, versions, rows, tokens)
	return int(n), err
}
