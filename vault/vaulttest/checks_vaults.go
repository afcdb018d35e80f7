package vaulttest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/vault"
)

// newVault returns a new vault with one table.
func newVault(org, id string) vault.Vault {
	return vault.Vault{
		Organization: org, ID: id, Revision: 1, CreatedAt: moment(0), UpdatedAt: moment(0),
		Schema: vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{
			{Name: "email", Tokenization: vault.Deterministic}, {Name: "phone", Tokenization: vault.Random},
		}}}},
		Past: []vault.PastColumn{{Table: "persons", Column: "email"}},
	}
}

// filledVault returns a new vault with every field set, and a schema that has everything
// that there is.
func filledVault(org, id string) vault.Vault {
	v := newVault(org, id)
	v.UpdatedAt = moment(3 * time.Microsecond)
	v.Schema = filledSchema()
	v.Past = []vault.PastColumn{{Table: "gone", Column: "a.b"}, {Table: "persons", Column: "email", Group: "emails"}}
	return v
}

func filledSchema() vault.Schema {
	return vault.Schema{Tables: []vault.Table{
		{Name: "persons", Columns: []vault.Column{
			{Name: "name", Tokenization: vault.NoTokenization}, {Name: "untokenized"},
			{Name: "email", Tokenization: vault.Deterministic, Group: "emails", Format: "email:example.com", Mask: "1*@"},
			{Name: "phone", Tokenization: vault.Random, Format: "digits:luhn,last4", Mask: "0*4"},
		}},
		{Name: "empty"},
		{Name: "orders", Columns: []vault.Column{
			{Name: "mail to", Tokenization: vault.Deterministic, Group: "emails", Format: "email:example.com", Mask: "1*@"},
			{Name: "a.b", Tokenization: vault.Deterministic, Format: "prefix:ord_"},
		}},
	}}
}

// changed returns the next revision of a vault, with another schema.
func changed(v vault.Vault) vault.Vault {
	c := v.Clone()
	c.Revision++
	c.UpdatedAt = c.UpdatedAt.Add(time.Hour)
	c.Past = append(c.Past, vault.PastColumn{Table: "persons", Column: fmt.Sprint("column ", c.Revision)})
	c.Schema.Tables = append(c.Schema.Tables, vault.Table{Name: fmt.Sprint("table", c.Revision), Columns: []vault.Column{
		{Name: "more", Tokenization: vault.Deterministic},
	}})
	return c
}

// addVault stores a vault that must be new.
func (s *subject) addVault(t *testing.T, v vault.Vault) vault.Vault {
	t.Helper()
	e := newEvent(v.Organization, mortise.KindVaultCreated, v.ID, -1000*time.Hour) // before all that rules look at
	require.NoError(t, s.Store.PutVault(t.Context(), v.Clone(), nil, e), "PutVault")
	return v
}

// customers stores a new vault to put tokens into.
func (s *subject) customers(t *testing.T) vault.Vault {
	t.Helper()
	return s.addVault(t, newVault(orgA, "customers"))
}

// changeVault stores the next revision of a vault.
func (s *subject) changeVault(t *testing.T, v vault.Vault, left ...string) vault.Vault {
	t.Helper()
	next := changed(v)
	require.NoError(t, s.Store.PutVault(t.Context(), next.Clone(), left, newEvent(v.Organization, mortise.KindSchemaChanged, v.ID, 0)), "PutVault")
	return next
}

// refusesVault requires that PutVault returns the sentinel and stores no event.
func (s *subject) refusesVault(t *testing.T, v vault.Vault, left []string, sentinel error) {
	t.Helper()
	e := newEvent(v.Organization, mortise.KindSchemaChanged, v.ID, 0)
	require.ErrorIs(t, s.Store.PutVault(t.Context(), v.Clone(), left, e), sentinel)
	s.NoEvent(t, e)
}

// hasVault requires that the vault is stored as it is here.
func (s *subject) hasVault(t *testing.T, want vault.Vault) {
	t.Helper()
	got, err := s.Store.Vault(t.Context(), want.Organization, want.ID)
	require.NoError(t, err, "Vault")
	sameVault(t, want, got)
}

// sameVault compares every field.
func sameVault(t *testing.T, want, got vault.Vault) {
	t.Helper()
	want, got = want.Clone(), got.Clone()
	conformance.SameTime(t, "CreatedAt", want.CreatedAt, &got.CreatedAt)
	conformance.SameTime(t, "UpdatedAt", want.UpdatedAt, &got.UpdatedAt)
	sameSchema(t, want.Schema, &got.Schema)
	conformance.Same(t, want, got)
}

// noVault requires that there is no such vault, by whatever way.
func (s *subject) noVault(t *testing.T, org, id string) {
	t.Helper()
	_, err := s.Store.Vault(t.Context(), org, id)
	isNoVault(t, "Vault", err)
	s.notThere(t, org, id)
}

// sameSchema compares two schemas and makes got identical to want. It does not tell no
// columns from empty ones.
func sameSchema(t *testing.T, want vault.Schema, got *vault.Schema) {
	t.Helper()
	require.Len(t, got.Tables, len(want.Tables), "tables")
	for i := range want.Tables {
		require.Equal(t, want.Tables[i].Name, got.Tables[i].Name)
		require.Len(t, got.Tables[i].Columns, len(want.Tables[i].Columns), "columns of %q", want.Tables[i].Name)
		for j, c := range want.Tables[i].Columns {
			require.Equal(t, c, got.Tables[i].Columns[j])
		}
	}
	*got = want
}

// spoilSchema changes everything in a schema that a shallow copy shares.
func spoilSchema(s *vault.Schema) {
	for i := range s.Tables {
		s.Tables[i].Name = "spoiled"
		for j := range s.Tables[i].Columns {
			s.Tables[i].Columns[j] = vault.Column{Name: "spoiled", Tokenization: "spoiled", Group: "spoiled", Format: "spoiled", Mask: "spoiled"}
		}
	}
}

// spoilVault changes everything in a vault that a shallow copy shares.
func spoilVault(v *vault.Vault) {
	spoilSchema(&v.Schema)
	for i := range v.Past {
		v.Past[i] = vault.PastColumn{Table: "spoiled"}
	}
}
