package vaulttest

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// email is the scope of most rows.
const email = "persons.email"

// fingerprintOf returns what stands for the fingerprint of a value under a version.
func fingerprintOf(version int, value string) keyring.Fingerprint {
	return sha256.Sum256(fmt.Append(nil, version, " ", value))
}

// row returns a row of a value: a deterministic one if there are versions of
// fingerprints.
func row(token, scope, value string, versions ...int) vault.Row {
	r := vault.Row{
		Token: token, Scope: scope, Deterministic: len(versions) > 0, CreatedAt: moment(0),
		Sealed: keyring.Sealed{Version: 1, Ciphertext: []byte("sealed \x00\xff " + value + " for " + token)},
	}
	for _, version := range versions {
		r.Fingerprints = append(r.Fingerprints, vault.VersionedFingerprint{Version: version, Fingerprint: fingerprintOf(version, value)})
	}
	return r
}

// insert calls InsertTokens with copies, as the vault is here.
func (s *subject) insert(t *testing.T, v vault.Vault, rows ...vault.Row) ([]string, error) {
	t.Helper()
	return s.Store.InsertTokens(t.Context(), v.Organization, v.ID, v.Revision, rowsOf(v, rows))
}

// rowsOf returns copies of rows that belong to a vault.
func rowsOf(v vault.Vault, rows []vault.Row) []vault.Row {
	own := make([]vault.Row, len(rows))
	for i := range rows {
		own[i] = rows[i].Clone()
		own[i].Organization, own[i].Vault = v.Organization, v.ID
	}
	return own
}

// adds requires that InsertTokens stores all rows under their own tokens.
func (s *subject) adds(t *testing.T, v vault.Vault, rows ...vault.Row) {
	t.Helper()
	want := make([]string, len(rows))
	for i := range rows {
		want[i] = rows[i].Token
	}
	s.gives(t, v, want, rows...)
}

// gives requires that InsertTokens returns tokens.
func (s *subject) gives(t *testing.T, v vault.Vault, want []string, rows ...vault.Row) {
	t.Helper()
	got, err := s.insert(t, v, rows...)
	require.NoError(t, err, "InsertTokens")
	require.Equal(t, want, got, "the tokens that InsertTokens returns")
}

// takes requires that InsertTokens returns a TakenError that names rows, and stores
// nothing.
func (s *subject) takes(t *testing.T, v vault.Vault, want []int, rows ...vault.Row) {
	t.Helper()
	before := s.dump(t, v)
	_, err := s.insert(t, v, rows...)
	var taken *vault.TakenError
	require.ErrorAs(t, err, &taken, "InsertTokens")
	require.Equal(t, want, taken.Rows, "the rows that are taken")
	require.Equal(t, before, s.dump(t, v), "tokens after an insertion that was refused")
}

// refuses requires that InsertTokens returns a sentinel, and stores nothing.
func (s *subject) refuses(t *testing.T, v vault.Vault, sentinel error, rows ...vault.Row) {
	t.Helper()
	before := s.dump(t, v)
	_, err := s.insert(t, v, rows...)
	require.ErrorIs(t, err, sentinel, "InsertTokens")
	require.Equal(t, before, s.dump(t, v), "tokens after an insertion that was refused")
	for _, r := range rows {
		for _, f := range r.Fingerprints {
			if token := s.tokenOf(t, v, r.Scope, f); token != "" {
				require.Contains(t, before, token, "a fingerprint of a row that was refused")
			}
		}
	}
}

// dump returns all tokens of a vault.
func (s *subject) dump(t *testing.T, v vault.Vault) []string {
	t.Helper()
	return tokensOf(s.list(t, v))
}

// list returns all rows of a vault, by ListRows.
func (s *subject) list(t *testing.T, v vault.Vault) (rows []vault.Row) {
	t.Helper()
	for r, err := range pages.Each("", func(after mortise.Cursor) (mortise.Page[vault.Row], error) {
		return s.Store.ListRows(t.Context(), v.Organization, v.ID, after, mortise.MaxPageSize)
	}) {
		require.NoError(t, err, "ListRows")
		rows = append(rows, r)
	}
	return rows
}

// tokensOf returns the tokens of rows, in their order.
func tokensOf(rows []vault.Row) []string {
	tokens := make([]string, len(rows))
	for i := range rows {
		tokens[i] = rows[i].Token
	}
	return tokens
}

// find calls FindTokens with one lookup of some values.
func (s *subject) find(t *testing.T, v vault.Vault, scope string, version int, values ...string) []string {
	t.Helper()
	l := vault.Lookup{Scope: scope, Version: version}
	for _, value := range values {
		l.Fingerprints = append(l.Fingerprints, fingerprintOf(version, value))
	}
	return s.lookUp(t, v, l)[0]
}

// lookUp calls FindTokens.
func (s *subject) lookUp(t *testing.T, v vault.Vault, lookups ...vault.Lookup) [][]string {
	t.Helper()
	found, err := s.Store.FindTokens(t.Context(), v.Organization, v.ID, v.Revision, lookups)
	require.NoError(t, err, "FindTokens")
	require.Len(t, found, len(lookups), "lookups that FindTokens answers")
	for i := range lookups {
		require.Len(t, found[i], len(lookups[i].Fingerprints), "fingerprints that FindTokens answers")
	}
	return found
}

// tokenOf returns the token of a fingerprint.
func (s *subject) tokenOf(t *testing.T, v vault.Vault, scope string, f vault.VersionedFingerprint) string {
	t.Helper()
	return s.lookUp(t, v, vault.Lookup{Scope: scope, Version: f.Version, Fingerprints: []keyring.Fingerprint{f.Fingerprint}})[0][0]
}

// hasRow requires that the row is stored as it is here, and found by its fingerprints.
func (s *subject) hasRow(t *testing.T, v vault.Vault, want vault.Row) {
	t.Helper()
	rows, err := s.Store.Rows(t.Context(), v.Organization, v.ID, []string{want.Token})
	require.NoError(t, err, "Rows")
	require.Len(t, rows, 1)
	sameRow(t, rowsOf(v, []vault.Row{want})[0], rows[0])
	for _, f := range want.Fingerprints {
		require.Equal(t, want.Token, s.tokenOf(t, v, want.Scope, f), "the token of the fingerprint of version %d", f.Version)
	}
}

// noRow requires that there is no such token, by whatever way.
func (s *subject) noRow(t *testing.T, v vault.Vault, r vault.Row) {
	t.Helper()
	rows, err := s.Store.Rows(t.Context(), v.Organization, v.ID, []string{r.Token})
	require.NoError(t, err, "Rows")
	require.Equal(t, []vault.Row{{}}, rows)
	require.NotContains(t, s.dump(t, v), r.Token)
	for _, f := range r.Fingerprints {
		require.NotEqual(t, r.Token, s.tokenOf(t, v, r.Scope, f), "the token of the fingerprint of version %d", f.Version)
	}
}

// notThere requires that no method finds a vault.
func (s *subject) notThere(t *testing.T, org, id string) {
	t.Helper()
	_, err := s.Store.FindTokens(t.Context(), org, id, 1, []vault.Lookup{{Scope: email, Version: 1, Fingerprints: []keyring.Fingerprint{{1}}}})
	isNoVault(t, "FindTokens", err)
	r := row("not-there", email, "ann", 1)
	r.Organization, r.Vault = org, id
	_, err = s.Store.InsertTokens(t.Context(), org, id, 1, []vault.Row{r})
	isNoVault(t, "InsertTokens", err)
	err = s.Store.ImportTokens(t.Context(), org, id, 1, []vault.Row{r}, newEvent(org, mortise.KindImported, id, 0))
	isNoVault(t, "ImportTokens", err)
	_, err = s.Store.Rows(t.Context(), org, id, []string{"t"})
	isNoVault(t, "Rows", err)
	_, err = s.Store.ListRows(t.Context(), org, id, "", 10)
	isNoVault(t, "ListRows", err)
	require.ErrorIs(t, s.Store.DeleteToken(t.Context(), org, id, "t", vault.AuditEvent{}), vault.ErrTokenNotFound, "DeleteToken")
}

// isNoVault requires an error that says that there is no vault, and not that something is
// not in it.
func isNoVault(t *testing.T, call string, err error) {
	t.Helper()
	require.ErrorIs(t, err, mortise.ErrNotFound, call)
	for _, within := range []error{
		vault.ErrTableNotFound, vault.ErrColumnNotFound, vault.ErrGroupNotFound, vault.ErrValueNotFound, vault.ErrTokenNotFound,
	} {
		require.NotErrorIs(t, err, within, call)
	}
}

// sameRow compares all fields but Fingerprints, which must not be there.
func sameRow(t *testing.T, want, got vault.Row) {
	t.Helper()
	require.Empty(t, got.Fingerprints, "Fingerprints of a row that was read")
	want, got = want.Clone(), got.Clone()
	conformance.SameTime(t, "CreatedAt", want.CreatedAt, &got.CreatedAt)
	want.Fingerprints, got.Fingerprints = nil, nil
	want.Place, got.Place = 0, 0 // only the store knows what it says
	conformance.Same(t, want, got)
}

// deletes requires that DeleteToken works.
func (s *subject) deletes(t *testing.T, v vault.Vault, token string) {
	t.Helper()
	e := newEvent(v.Organization, mortise.KindDeleted, v.ID, 0)
	require.NoError(t, s.Store.DeleteToken(t.Context(), v.Organization, v.ID, token, e), "DeleteToken")
}

// spoilRow changes everything in a row that a shallow copy shares.
func spoilRow(r *vault.Row) {
	clear(r.Sealed.Ciphertext)
	for i := range r.Fingerprints {
		r.Fingerprints[i] = vault.VersionedFingerprint{Version: 77, Fingerprint: keyring.Fingerprint{77}}
	}
}
