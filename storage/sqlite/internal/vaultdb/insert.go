package vaultdb

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

const (
	lastVaultRow    = "SELECT max(seq) FROM vault_tokens"
	insertVaultRow  = "INSERT INTO vault_tokens (seq, vault, token, scope, deterministic, created_at, sealed, ciphertext) VALUES (?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING"
	undoFingerprint = "DELETE FROM vault_fingerprints WHERE fingerprint = ? AND scope = ? AND version = ? AND row = ?"
	undoVaultRow    = "DELETE FROM vault_tokens WHERE seq = ? AND vault = ? AND token = ?"

	rowByFingerprint = "SELECT token, row FROM vault_fingerprints WHERE fingerprint = ? AND scope = ? AND version = ?"
	tokenIsTaken     = "SELECT 1 FROM vault_tokens WHERE vault = ? AND token = ?"
)

// InsertTokens implements [vault.Tokens].
func (s *Store) InsertTokens(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
	own := make([]vault.Row, len(rows))
	for i := range rows {
		own[i] = rows[i].Clone()
	}
	var tokens []string
	err := s.db.Write(ctx, func(tx *file.Tx) (err error) {
		tokens, err = insertTokens(tx, org, id, revision, own)
		return err
	})
	if err != nil {
		return nil, err
	}
	return tokens, nil
}

// insertTokens writes the rows as if all were new, which they are as a rule: their caller
// has looked. Only if one is not, it takes them back, looks at each of them, and begins
// again.
func insertTokens(t *file.Tx, org, id string, revision int64, rows []vault.Row) ([]string, error) {
	in, err := newVaultInsertion(t, org, id, revision, rows)
	if err != nil {
		return nil, err
	}
	return in.tokens, in.store(in.sift)
}

// store writes the rows, those that sift leaves to be written.
func (in *vaultInsertion) store(sift func() error) error {
	in.tx.Scatter(len(in.rows))
	undone := in.tx.Mark()
	if err := in.findScopes(); err != nil {
		return err
	}
	if done, err := in.write(); done || err != nil {
		in.count()
		return err
	}
	if err := in.undo(); err != nil {
		return err
	}
	undone() // it has changed nothing but for scopes, which say nothing without rows
	if err := sift(); err != nil {
		return err
	}
	done, err := in.write()
	if err == nil && !done {
		err = errTwice
	}
	in.count()
	return err
}

// count counts the rows that were stored.
func (in *vaultInsertion) count() {
	for i := range in.rows {
		if r := &in.rows[i]; !in.known[i] {
			noteSealed(in.tx, sealCount{in.scopes[r.Scope], r.Deterministic, r.Sealed.Version}, 1)
		}
	}
}

// errTwice is of a caller who does not keep the contract.
var errTwice = errors.New("sqlite: a row has two fingerprints of one version")

// vaultInsertion is a call of InsertTokens or ImportTokens, within the transaction.
type vaultInsertion struct {
	tx     *file.Tx
	memory *vaultMemory
	vault  int
	rows   []vault.Row // without fingerprints of versions that are retired
	order  []int       // the rows by token
	seqs   []int       // the number of each row, if it is stored: they go up with the tokens
	known  []bool      // which rows are not stored, because their values have tokens
	tokens []string    // what the call returns
	scopes map[string]int
	more   []newFingerprints

	addedFingerprints []newFingerprint // what undo takes back
	addedRows         []int
}

// newFingerprints are a row's, for the token that it has.
type newFingerprints struct {
	row int // of the call
	storedToken
}

// storedToken is a token and the number of its row.
type storedToken struct {
	token string
	seq   int
}

// newVaultInsertion returns an error if the call is to be refused whatever is stored in
// the vault.
func newVaultInsertion(t *file.Tx, org, id string, revision int64, rows []vault.Row) (*vaultInsertion, error) {
	memory, err := memoryOf(t)
	if err != nil {
		return nil, err
	}
	stored, err := rememberedVault(t, memory, org, id)
	switch {
	case err != nil:
		return nil, err
	case stored.seq == noVault:
		return nil, mortise.ErrNotFound
	case stored.revision != revision:
		return nil, vault.ErrConflict
	}
	keys, err := rememberedKeys(t, memory)
	if err != nil {
		return nil, err
	}
	in := &vaultInsertion{tx: t, memory: memory, vault: stored.seq, rows: slices.Clone(rows), order: make([]int, len(rows)), seqs: make([]int, len(rows)),
		known: make([]bool, len(rows)), tokens: make([]string, len(rows)), scopes: make(map[string]int)}
	for i := range in.rows {
		if err := keys.admit(&in.rows[i]); err != nil {
			return nil, err
		}
		in.order[i], in.tokens[i] = i, in.rows[i].Token
	}
	last, err := newVaultRows(t, memory, len(rows))
	slices.SortFunc(in.order, func(a, b int) int { return strings.Compare(in.tokens[a], in.tokens[b]) })
	for n, i := range in.order {
		in.seqs[i] = last + 1 + n
	}
	return in, err
}

// admit returns an error if a row must not be stored, and takes away its fingerprints of
// versions that are retired.
func (k knownKeys) admit(r *vault.Row) error {
	if k.retired(keyring.SealKey, r.Sealed.Version) {
		return keyring.ErrRetired
	}
	retired := false
	for id, key := range k {
		of := func(f vault.VersionedFingerprint) bool { return f.Version == id.version }
		if key.Required && r.Deterministic && !slices.ContainsFunc(r.Fingerprints, of) {
			return keyring.ErrUnknownKey
		}
		retired = retired || key.Retired && id.purpose == keyring.FingerprintKey
	}
	if retired {
		r.Fingerprints = slices.DeleteFunc(slices.Clone(r.Fingerprints), func(f vault.VersionedFingerprint) bool {
			return k.retired(keyring.FingerprintKey, f.Version)
		})
	}
	return nil
}

// findScopes finds the numbers of the rows' scopes, and stores those that are new.
func (in *vaultInsertion) findScopes() error {
	for i := range in.rows {
		name := in.rows[i].Scope
		if _, ok := in.scopes[name]; ok {
			continue
		}
		seq, err := rememberedScope(in.tx, in.memory, in.vault, name)
		if err == nil && seq == noScope {
			if _, err = in.tx.Exec(insertScope, in.vault, name); err == nil {
				seq, err = vaultScope(in.tx, in.vault, name)
			}
		}
		if err != nil {
			return err
		}
		in.scopes[name] = seq
	}
	return nil
}

// write stores the rows that are not known, and more fingerprints of others. It returns
// false where it met something that is stored already. It goes through each table in the
// order of its key: so it comes to a page once.
func (in *vaultInsertion) write() (done bool, err error) {
	// Fingerprints first: of a call with one value, that value's is what may be there, and
	// then nothing has been written that would have to be taken back and synced.
	fingerprints := make([]newFingerprint, 0, len(in.rows))
	for _, i := range in.order {
		if !in.known[i] {
			fingerprints = in.appendFingerprints(fingerprints, newFingerprints{i, storedToken{in.rows[i].Token, in.seqs[i]}})
		}
	}
	sortFingerprints(fingerprints)
	for i := range fingerprints {
		if added, err := in.addFingerprint(&fingerprints[i]); err != nil || added == 0 {
			return false, err
		}
		in.addedFingerprints = fingerprints[:i+1]
	}
	for n, i := range in.order {
		if in.known[i] {
			continue
		}
		r := &in.rows[i]
		added, err := in.tx.Exec(insertVaultRow, in.seqs[i], in.vault, r.Token, in.scopes[r.Scope], r.Deterministic, r.CreatedAt.UnixMicro(),
			r.Sealed.Version, ciphertext(r.Sealed))
		if err != nil || added == 0 {
			return false, err
		}
		in.addedRows = in.order[:n+1]
	}
	for _, more := range in.more { // in the order of the call: the first one counts
		fingerprints := in.appendFingerprints(nil, more)
		sortFingerprints(fingerprints)
		for i := range fingerprints {
			if _, err := in.addFingerprint(&fingerprints[i]); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// newFingerprint is a fingerprint for a row.
type newFingerprint struct {
	*vault.VersionedFingerprint
	scope int
	storedToken
}

func (in *vaultInsertion) appendFingerprints(fingerprints []newFingerprint, of newFingerprints) []newFingerprint {
	r := &in.rows[of.row]
	for i := range r.Fingerprints {
		fingerprints = append(fingerprints, newFingerprint{&r.Fingerprints[i], in.scopes[r.Scope], of.storedToken})
	}
	return fingerprints
}

func sortFingerprints(of []newFingerprint) {
	slices.SortFunc(of, func(a, b newFingerprint) int { return bytes.Compare(a.Fingerprint[:], b.Fingerprint[:]) })
}

// addFingerprint stores a fingerprint that is of a version which its row has none of, and
// is no other row's.
func (in *vaultInsertion) addFingerprint(f *newFingerprint) (added int64, err error) {
	return in.tx.Exec(insertFingerprint, f.Fingerprint[:], f.scope, f.Version, f.seq, f.token)
}

// undo removes what write has stored, and nothing else.
func (in *vaultInsertion) undo() error {
	for _, f := range in.addedFingerprints {
		if _, err := in.tx.Exec(undoFingerprint, f.Fingerprint[:], f.scope, f.Version, f.seq); err != nil {
			return err
		}
	}
	for _, i := range in.addedRows {
		if _, err := in.tx.Exec(undoVaultRow, in.seqs[i], in.vault, in.rows[i].Token); err != nil {
			return err
		}
	}
	return nil
}

// sift finds out which rows are known. It is a TakenError if the tokens of others are
// taken.
func (in *vaultInsertion) sift() error {
	var taken vault.TakenError
	added := make(map[scopedFingerprint]storedToken)
	tokens := make(map[string]bool)
	for i := range in.rows {
		r := &in.rows[i]
		found, ok, err := in.find(r, added)
		if err != nil {
			return err
		}
		if ok {
			in.known[i], in.tokens[i] = true, found.token
			in.more = append(in.more, newFingerprints{i, found})
			continue
		}
		isTaken, err := in.tx.Exists(tokenIsTaken, in.vault, r.Token)
		if err != nil {
			return err
		}
		if isTaken || tokens[r.Token] {
			taken.Rows = append(taken.Rows, i)
			continue
		}
		tokens[r.Token] = true
		for _, f := range r.Fingerprints {
			added[scopedFingerprint{r.Scope, f}] = storedToken{r.Token, in.seqs[i]}
		}
	}
	if len(taken.Rows) > 0 {
		return &taken
	}
	return nil
}

type scopedFingerprint struct {
	scope string
	vault.VersionedFingerprint
}

// find returns the token of the first fingerprint of a row that has one, stored or added
// by an earlier row of the call.
func (in *vaultInsertion) find(r *vault.Row, added map[scopedFingerprint]storedToken) (found storedToken, ok bool, err error) {
	for i := range r.Fingerprints {
		f := &r.Fingerprints[i]
		if found, ok = added[scopedFingerprint{r.Scope, *f}]; ok {
			return found, true, nil
		}
		if found, ok, err = in.ofFingerprint(r.Scope, f); ok || err != nil {
			return found, ok, err
		}
	}
	return storedToken{}, false, nil
}

// ofFingerprint returns the token that is stored of a fingerprint.
func (in *vaultInsertion) ofFingerprint(scope string, f *vault.VersionedFingerprint) (found storedToken, ok bool, err error) {
	err = in.tx.Query(rowByFingerprint, []any{f.Fingerprint[:], in.scopes[scope], f.Version}, func(r *file.Row) error {
		found, ok = storedToken{r.Text(0), r.Number(1)}, true
		return nil
	})
	return found, ok, err
}
