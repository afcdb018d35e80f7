package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// InsertTokens implements [vault.Tokens].
func (s *Vault) InsertTokens(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
	db, err := s.db.write(ctx)
	if err != nil {
		return nil, err
	}
	defer db.end()
	e, err := db.vault.entry(org, id, revision)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		if err := db.vault.admits(&rows[i]); err != nil {
			return nil, err
		}
	}
	in := vaultInsertion{entry: e, rows: make(map[string]*vaultRow), tokens: make(map[vaultIndex]fingerprintIndex)}
	found := make([]string, len(rows))
	var taken vault.TakenError
	for i := range rows {
		r := db.vault.row(org, id, &rows[i])
		if found[i] = in.find(&r.Row); found[i] != "" {
			in.more = append(in.more, moreFingerprints{found[i], r.Fingerprints})
			continue
		}
		if e.rows[r.Token] != nil || in.rows[r.Token] != nil {
			taken.Rows = append(taken.Rows, i)
			continue
		}
		found[i] = r.Token
		in.add(r)
	}
	if len(taken.Rows) > 0 {
		return nil, &taken
	}
	in.commit(&db.vault)
	return found, nil
}

// admits returns an error if a row is not one that may be stored under the keys that it
// is stored under.
func (t *vaultTables) admits(r *vault.Row) error {
	if t.retired(keyring.SealKey, r.Sealed.Version) {
		return keyring.ErrRetired
	}
	for _, k := range t.keys {
		has := slices.ContainsFunc(r.Fingerprints, func(f vault.VersionedFingerprint) bool { return f.Version == k.Version })
		if k.Required && !has && r.Deterministic {
			return keyring.ErrUnknownKey
		}
	}
	return nil
}

// row returns a row as it is stored: of a vault, and without fingerprints of versions
// that are retired.
func (t *vaultTables) row(org, id string, of *vault.Row) *vaultRow {
	r := &vaultRow{Row: of.Clone()}
	r.Organization, r.Vault, r.Place = org, id, 0
	r.Fingerprints = slices.DeleteFunc(r.Fingerprints, func(f vault.VersionedFingerprint) bool {
		return t.retired(keyring.FingerprintKey, f.Version)
	})
	return r
}

func (t *vaultTables) retired(p keyring.Purpose, version int) bool {
	k, ok := t.keys[vaultKeyID{p, version}]
	return ok && k.Retired
}

// vaultInsertion is what a call adds to a vault, until it is known that it can add all of
// it.
type vaultInsertion struct {
	entry  *vaultEntry
	rows   map[string]*vaultRow
	tokens map[vaultIndex]fingerprintIndex // of rows
	more   []moreFingerprints
}

// moreFingerprints are those of a value that has a token, perhaps under other versions.
type moreFingerprints struct {
	token        string
	fingerprints []vault.VersionedFingerprint
}

// find returns the token of the first fingerprint that has one.
func (in *vaultInsertion) find(r *vault.Row) string {
	for _, f := range r.Fingerprints {
		at := vaultIndex{r.Scope, f.Version}
		for _, tokens := range []map[vaultIndex]fingerprintIndex{in.entry.tokens, in.tokens} {
			if token, ok := tokens[at][f.Fingerprint]; ok {
				return token
			}
		}
	}
	return ""
}

func (in *vaultInsertion) add(r *vaultRow) {
	in.rows[r.Token] = r
	for _, f := range r.Fingerprints {
		at := vaultIndex{r.Scope, f.Version}
		if in.tokens[at] == nil {
			in.tokens[at] = make(fingerprintIndex)
		}
		in.tokens[at][f.Fingerprint] = r.Token
	}
}

func (in *vaultInsertion) commit(t *vaultTables) {
	maps.Copy(in.entry.rows, in.rows)
	for _, r := range in.rows {
		r.place = uint32(len(t.rows))
		t.rows = append(t.rows, r)
	}
	for at, added := range in.tokens {
		maps.Copy(in.entry.index(at), added)
	}
	for _, m := range in.more {
		for _, f := range m.fingerprints {
			in.entry.addFingerprint(in.entry.rows[m.token], f)
		}
	}
}

// index returns the fingerprints of a version and a scope.
func (e *vaultEntry) index(at vaultIndex) fingerprintIndex {
	if e.tokens[at] == nil {
		e.tokens[at] = make(fingerprintIndex)
	}
	return e.tokens[at]
}

// has reports whether a row has a fingerprint of a version.
func (r *vaultRow) has(version int) bool {
	return slices.ContainsFunc(r.Fingerprints, func(f vault.VersionedFingerprint) bool { return f.Version == version })
}

// addFingerprint adds a fingerprint to a row that has none of its version. It returns
// false if it is another row's.
func (e *vaultEntry) addFingerprint(r *vaultRow, f vault.VersionedFingerprint) bool {
	if r.has(f.Version) {
		return true
	}
	index := e.index(vaultIndex{r.Scope, f.Version})
	if _, other := index[f.Fingerprint]; other {
		return false
	}
	index[f.Fingerprint] = r.Token
	r.Fingerprints = append(r.Fingerprints, f)
	return true
}
