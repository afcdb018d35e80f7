package vault_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
)

// audited returns how many vaults the audit trail says were made.
func (r *rig) audited(t *testing.T) int {
	t.Helper()
	page, err := r.ListAuditEvents(t.Context(), "acme", vault.AuditQuery{Kind: mortise.KindVaultCreated, Limit: 100})
	require.NoError(t, err)
	return len(page.Items)
}

func TestEnsureVault(t *testing.T) {
	r := newRig(t, vault.Options{})
	r.observed = nil
	made, err := r.EnsureVault(t.Context(), "acme", "server", "v2", schema)
	require.NoError(t, err)
	require.Len(t, r.observed, 1)
	require.Equal(t, mortise.Observation{Kind: mortise.KindVaultCreated, Organization: "acme", Object: "v2", Actor: "server", Items: 1}, r.observed[0])
	require.Equal(t, 2, r.audited(t))
	stored, err := r.Vault(t.Context(), "acme", "v2")
	require.NoError(t, err)
	require.Equal(t, stored, made)

	r.time = r.time.Add(time.Hour) // the next start
	again, err := r.EnsureVault(t.Context(), "acme", "another server", "v2", schema)
	require.NoError(t, err)
	require.Equal(t, stored, again, "as it was")
	require.Len(t, r.observed, 1)
	require.Equal(t, 2, r.audited(t))

	// It is whole, whoever made it, and is no other organization's.
	_, err = r.Insert(t.Context(), "acme", "ops", "v2", of("persons", "name", "Ada"))
	require.NoError(t, err)
	_, err = r.EnsureVault(t.Context(), "rival", "server", "v2", vault.Schema{})
	require.NoError(t, err)
}

// columns is a schema of one table.
func columns(list ...vault.Column) vault.Schema {
	return vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: list}}}
}

func TestEnsureVaultKnowsTheSameSchema(t *testing.T) {
	r := newRig(t, vault.Options{})
	turned := schema.Clone()
	slices.Reverse(turned.Tables)
	for i := range turned.Tables {
		slices.Reverse(turned.Tables[i].Columns)
	}
	turned.Tables[1].Columns[0].Tokenization = "" // that of the note
	require.Equal(t, "note", turned.Tables[1].Columns[0].Name)
	given := turned.Clone()
	v, err := r.EnsureVault(t.Context(), "acme", "server", "v1", turned)
	require.NoError(t, err)
	require.Equal(t, schema, v.Schema, "in the order that it was made in")
	require.Equal(t, given, turned, "the argument is the caller's")

	name := vault.Column{Name: "name", Tokenization: vault.Deterministic, Group: "names", Format: "uuid", Mask: "1*1"}
	with := func(change func(*vault.Column)) vault.Column {
		c := name
		change(&c)
		return c
	}
	_, err = r.CreateVault(t.Context(), "acme", "ops", "small", columns(name))
	require.NoError(t, err)
	r.observed = nil
	others := map[string]vault.Schema{
		"none":           {},
		"another table":  {Tables: []vault.Table{{Name: "orders", Columns: []vault.Column{name}}}},
		"one table more": {Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{name}}, {Name: "orders"}}},
		"no column":      columns(),
		"a column more":  columns(name, vault.Column{Name: "note"}),
		"another name":   columns(with(func(c *vault.Column) { c.Name = "names" })),
		"random":         columns(with(func(c *vault.Column) { c.Tokenization, c.Group = vault.Random, "" })),
		"not tokenized":  columns(vault.Column{Name: "name"}),
		"no group":       columns(with(func(c *vault.Column) { c.Group = "" })),
		"another group":  columns(with(func(c *vault.Column) { c.Group = "persons" })),
		"another format": columns(with(func(c *vault.Column) { c.Format = "email" })),
		"no format":      columns(with(func(c *vault.Column) { c.Format = "" })),
		"another mask":   columns(with(func(c *vault.Column) { c.Mask = "2*1" })),
		"no mask":        columns(with(func(c *vault.Column) { c.Mask = "" })),
	}
	for what, other := range others {
		_, err := r.EnsureVault(t.Context(), "acme", "server", "small", other)
		require.ErrorIs(t, err, mortise.ErrExists, what)
		require.ErrorContains(t, err, "ChangeSchema", what)
	}
	require.Len(t, r.observed, len(others))
	for _, o := range r.observed {
		require.Equal(t, mortise.KindVaultCreated, o.Kind)
		require.ErrorIs(t, o.Err, mortise.ErrExists)
	}
	v, err = r.Vault(t.Context(), "acme", "small")
	require.NoError(t, err)
	require.Equal(t, columns(name), v.Schema)
	require.EqualValues(t, 1, v.Revision)
}

// A program of yesterday takes nothing away that the one of today has added.
func TestEnsureVaultAfterChangeSchema(t *testing.T) {
	r := newRig(t, vault.Options{})
	today, err := r.ChangeSchema(t.Context(), "acme", "ops", "v1", func(s *vault.Schema) error {
		s.Tables[1].Columns = append(s.Tables[1].Columns, vault.Column{Name: "phone", Tokenization: vault.Random})
		return nil
	})
	require.NoError(t, err)
	_, err = r.EnsureVault(t.Context(), "acme", "yesterday", "v1", schema)
	require.ErrorIs(t, err, mortise.ErrExists)
	v, err := r.EnsureVault(t.Context(), "acme", "today", "v1", today.Schema)
	require.NoError(t, err)
	require.Equal(t, today, v)
}

func TestEnsureVaultRefuses(t *testing.T) {
	r := newRig(t, vault.Options{})
	var invalid *mortise.ValidationError
	for _, c := range []struct {
		org, id string
		schema  vault.Schema
	}{
		{"", "v1", schema}, {"acme", "", schema}, {"acme", "..", schema}, {"acme", "v\x00", schema},
		{"acme", "v1", vault.Schema{Tables: []vault.Table{{Name: "a.b"}}}}, {"acme", "new", columns(vault.Column{Name: "x", Mask: "?"})},
	} {
		_, err := r.EnsureVault(t.Context(), c.org, "server", c.id, c.schema)
		require.ErrorAs(t, err, &invalid, "%q", c.id)
	}
	for _, method := range []string{"Vault", "PutVault"} {
		s, err := vault.New(vault.Backend{Store: &failing{r.store, method}}, newKeyring(t, 1), nil)
		require.NoError(t, err)
		_, err = s.EnsureVault(t.Context(), "acme", "server", "v9", schema)
		require.ErrorIs(t, err, mortise.ErrUnavailable, method)
	}
	_, err := r.Vault(t.Context(), "acme", "v9")
	require.ErrorIs(t, err, mortise.ErrNotFound)
}

// meanwhile is a store during whose first answer about a vault something else happens.
type meanwhile struct {
	vault.Store
	happens func()
}

func (m *meanwhile) Vault(ctx context.Context, org, id string) (vault.Vault, error) {
	v, err := m.Store.Vault(ctx, org, id)
	if happens := m.happens; happens != nil {
		m.happens = nil
		happens()
	}
	return v, err
}

// Two servers start at once, and neither sees the other's vault at first.
func TestEnsureVaultTwiceAtOnce(t *testing.T) {
	for what, other := range map[string]vault.Schema{"the same": schema, "another": columns(vault.Column{Name: "x"})} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t, vault.Options{})
			r.observed = nil
			var first vault.Vault
			store := &meanwhile{Store: r.store, happens: func() {
				var err error
				first, err = r.EnsureVault(t.Context(), "acme", "the first", "v2", other)
				require.NoError(t, err)
			}}
			observed := 0
			s, err := vault.New(vault.Backend{Store: store}, newKeyring(t, 1), &vault.Options{
				Env: mortise.Env{Observer: func(context.Context, mortise.Observation) { observed++ }},
			})
			require.NoError(t, err)
			second, err := s.EnsureVault(t.Context(), "acme", "the second", "v2", schema)
			require.Nil(t, store.happens)
			require.Len(t, r.observed, 1)
			require.Equal(t, 2, r.audited(t), "that of the rig and the first")
			if what == "another" {
				require.ErrorIs(t, err, mortise.ErrExists)
				require.Equal(t, 1, observed)
				return
			}
			require.NoError(t, err)
			require.Equal(t, first, second)
			require.Zero(t, observed, "as an error, or as another vault")
		})
	}
}
