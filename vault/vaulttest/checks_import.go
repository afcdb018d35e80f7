package vaulttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// importEvent returns an audit event for an import.
func importEvent(v vault.Vault) vault.AuditEvent {
	e := newEvent(v.Organization, mortise.KindImported, v.ID, 0)
	e.Tokens = []vault.AuditToken{{Token: "what the caller says", Scope: email}}
	return e
}

// importing calls ImportTokens with copies, as the vault is here.
func (s *subject) importing(t *testing.T, v vault.Vault, e vault.AuditEvent, rows ...vault.Row) error {
	t.Helper()
	return s.Store.ImportTokens(t.Context(), v.Organization, v.ID, v.Revision, rowsOf(v, rows), e)
}

// imports requires that ImportTokens takes rows, with their event.
func (s *subject) imports(t *testing.T, v vault.Vault, rows ...vault.Row) {
	t.Helper()
	e := importEvent(v)
	require.NoError(t, s.importing(t, v, e, rows...), "ImportTokens")
	s.HasEvent(t, e)
}

// importTakes requires that ImportTokens returns a TakenError that names rows, and
// changes nothing.
func (s *subject) importTakes(t *testing.T, v vault.Vault, want []int, rows ...vault.Row) {
	t.Helper()
	var taken *vault.TakenError
	require.ErrorAs(t, s.importChangesNothing(t, v, rows), &taken, "ImportTokens")
	require.Equal(t, want, taken.Rows, "the rows that are taken")
}

// importRefuses requires that ImportTokens returns a sentinel, and changes nothing.
func (s *subject) importRefuses(t *testing.T, v vault.Vault, sentinel error, rows ...vault.Row) {
	t.Helper()
	require.ErrorIs(t, s.importChangesNothing(t, v, rows), sentinel, "ImportTokens")
}

// importChangesNothing requires that ImportTokens fails without effect, and returns its
// error.
func (s *subject) importChangesNothing(t *testing.T, v vault.Vault, rows []vault.Row) error {
	t.Helper()
	before, found, e := s.list(t, v), s.tokensOfRows(t, v, rows), importEvent(v)
	err := s.importing(t, v, e, rows...)
	require.Error(t, err, "ImportTokens")
	require.Equal(t, before, s.list(t, v), "rows after an import that was refused")
	require.Equal(t, found, s.tokensOfRows(t, v, rows), "tokens of fingerprints after an import that was refused")
	s.NoEvent(t, e)
	return err
}

// tokensOfRows returns the tokens of all fingerprints of rows. It asks for the vault as
// it is.
func (s *subject) tokensOfRows(t *testing.T, v vault.Vault, rows []vault.Row) [][]string {
	t.Helper()
	v, err := s.Store.Vault(t.Context(), v.Organization, v.ID)
	require.NoError(t, err, "Vault")
	var lookups []vault.Lookup
	for i := range rows {
		for _, f := range rows[i].Fingerprints {
			lookups = append(lookups, vault.Lookup{Scope: rows[i].Scope, Version: f.Version, Fingerprints: []keyring.Fingerprint{f.Fingerprint}})
		}
	}
	return s.lookUp(t, v, lookups...)
}
