package vault_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/format"
)

// fields returns the fields that a validation error names.
func fields(t *testing.T, err error) []string {
	t.Helper()
	var invalid *mortise.ValidationError
	require.ErrorAs(t, err, &invalid)
	require.NotContains(t, err.Error(), "\n", "a message is one line")
	var names []string
	for i, p := range invalid.Problems {
		require.Equal(t, p, invalid.Unwrap()[i])
		require.ErrorIs(t, err, p)
		names = append(names, p.Path.String())
	}
	return names
}

func TestSchemaIsCheckedAsAWhole(t *testing.T) {
	const d, r, n = vault.Deterministic, vault.Random, vault.NoTokenization
	columns := func(c ...vault.Column) []vault.Table { return []vault.Table{{Name: "t", Columns: c}} }
	for name, c := range map[string]struct {
		tables []vault.Table
		wrong  []string
	}{
		"nothing":              {nil, nil},
		"table without column": {[]vault.Table{{Name: "t"}}, nil},
		"no names":             {[]vault.Table{{Columns: []vault.Column{{}}}}, []string{"tables[0].name", "tables[0].columns[0].name"}},
		"reserved names":       {[]vault.Table{{Name: "tokenize"}, {Name: "detokenize"}}, []string{"tables[0].name", "tables[1].name"}},
		"two tables of a name": {[]vault.Table{{Name: "t"}, {Name: "t"}}, []string{"tables[1].name"}},
		"two columns":          {columns(vault.Column{Name: "a"}, vault.Column{Name: "a"}), []string{"tables[0].columns[1].name"}},
		"dots": {[]vault.Table{{Name: "a.b", Columns: []vault.Column{{Name: "c.d", Tokenization: d, Group: "e.f"}}}},
			[]string{"tables[0].name", "tables[0].columns[0].column_group"}},
		"NUL and bad UTF-8": {[]vault.Table{{Name: "a\x00"}, {Name: "\xff"}}, []string{"tables[0].name", "tables[1].name"}},
		"long name":         {columns(vault.Column{Name: strings.Repeat("x", 256)}), []string{"tables[0].columns[0].name"}},
		"tokenization":      {columns(vault.Column{Name: "a", Tokenization: "Deterministic"}), []string{"tables[0].columns[0].tokenization"}},
		"word misspelt": {columns(vault.Column{Name: "a", Tokenization: "determinstic", Group: "emails", Format: "emial"}),
			[]string{"tables[0].columns[0].tokenization", "tables[0].columns[0].format"}},
		"format": {columns(vault.Column{Name: "a", Tokenization: d, Format: "x"}), []string{"tables[0].columns[0].format"}},
		"mask":   {columns(vault.Column{Name: "a", Tokenization: d, Mask: "x"}), []string{"tables[0].columns[0].mask"}},
		"format of none": {columns(vault.Column{Name: "a", Tokenization: n, Format: "uuid", Mask: "*"}),
			[]string{"tables[0].columns[0].format", "tables[0].columns[0].mask"}},
		"group of random": {columns(vault.Column{Name: "a", Tokenization: r, Group: "g"}), []string{"tables[0].columns[0].column_group"}},
		"group of none":   {columns(vault.Column{Name: "a", Group: "g"}), []string{"tables[0].columns[0].column_group"}},
		"two formats in a group": {columns(vault.Column{Name: "a", Tokenization: d, Group: "g"}, vault.Column{Name: "b", Tokenization: d, Group: "g", Format: "email"}),
			[]string{"tables[0].columns[1].format"}},
		"two masks in a group": {columns(vault.Column{Name: "a", Tokenization: d, Group: "g"}, vault.Column{Name: "b", Tokenization: d, Group: "g", Mask: "0*4"}),
			[]string{"tables[0].columns[1].mask"}},
		"many tables":  {make([]vault.Table, 201), []string{"tables"}},
		"many columns": {columns(make([]vault.Column, 201)...), []string{"tables[0].columns"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, vault.Options{})
			_, err := r.CreateVault(t.Context(), "acme", "ops", "other", vault.Schema{Tables: c.tables})
			again := (&vault.Schema{Tables: c.tables}).Validate(nil)
			_, changed := r.ChangeSchema(t.Context(), "acme", "ops", "v1", func(s *vault.Schema) error {
				s.Tables = c.tables
				return nil
			})
			if c.wrong == nil {
				require.NoError(t, errors.Join(err, again, changed))
				return
			}
			require.Equal(t, c.wrong, fields(t, err))
			require.Equal(t, c.wrong, fields(t, again))
			require.Equal(t, c.wrong, fields(t, changed))
		})
	}
}

func TestCreateVault(t *testing.T) {
	r := newRig(t, vault.Options{})
	v, err := r.Vault(t.Context(), "acme", "v1")
	require.NoError(t, err)
	require.Equal(t, schema, v.Schema)
	require.EqualValues(t, 1, v.Revision)
	_, err = r.CreateVault(t.Context(), "acme", "ops", "v1", vault.Schema{})
	require.ErrorIs(t, err, mortise.ErrExists)
	_, err = r.CreateVault(t.Context(), "other", "ops", "v1", vault.Schema{})
	require.NoError(t, err)
	_, err = r.Vault(t.Context(), "nobody", "v1")
	require.ErrorIs(t, err, mortise.ErrNotFound)
	for _, id := range []string{".", ".."} {
		_, err = r.CreateVault(t.Context(), "acme", "ops", id, vault.Schema{})
		require.Equal(t, []string{"id"}, fields(t, err))
	}
	_, err = r.CreateVault(t.Context(), "", "ops", "\x00", vault.Schema{})
	require.Equal(t, []string{"organization", "id"}, fields(t, err))
}

// column returns a column of the schema to change.
func columnOf(s *vault.Schema, table, name string) *vault.Column {
	for i := range s.Tables {
		for j := range s.Tables[i].Columns {
			if c := &s.Tables[i].Columns[j]; s.Tables[i].Name == table && c.Name == name {
				return c
			}
		}
	}
	return nil
}

// A change of the schema touches no token that exists: not of a column that is gone, nor
// of one whose format is another.
func TestChangeSchemaTouchesNoToken(t *testing.T) {
	ctx := t.Context()
	r := newRig(t, vault.Options{})
	other := r.with(t, 1) // another process, which has the schema in its memory
	number := of("orders", "number", "77")
	before := insert(t, r.Service, number)
	require.Equal(t, before, tokenize(t, other, number))

	v, err := r.ChangeSchema(ctx, "acme", "ops", "v1", func(s *vault.Schema) error {
		columnOf(s, "orders", "number").Format = "email"
		return nil
	})
	require.NoError(t, err)
	require.EqualValues(t, 2, v.Revision)
	require.Equal(t, before, insert(t, other, number), "a value that does not fit the new format keeps its token")
	_, err = other.Insert(ctx, "acme", "ops", "v1", of("orders", "number", "78"))
	require.Equal(t, []int{0}, indexes(t, err, format.ErrMismatch))

	_, err = r.ChangeSchema(ctx, "acme", "ops", "v1", func(s *vault.Schema) error {
		s.Tables = slices.DeleteFunc(s.Tables, func(t vault.Table) bool { return t.Name == "orders" })
		return nil
	})
	require.NoError(t, err)
	_, err = other.Tokenize(ctx, "acme", "v1", number)
	require.Equal(t, []int{0}, indexes(t, err, vault.ErrTableNotFound))
	require.Equal(t, []string{"77"}, reveal(t, other, before...))

	_, err = r.ChangeSchema(ctx, "acme", "ops", "v1", func(s *vault.Schema) error {
		*s = schema.Clone()
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, before, tokenize(t, other, number))
}

// A column whose values would lose their tokens stays in its scope.
func TestChangeSchemaKeepsScopes(t *testing.T) {
	group := func(table, name, group string) func(*vault.Schema) error {
		return func(s *vault.Schema) error {
			c := columnOf(s, table, name)
			c.Group, c.Format, c.Mask = group, "email", ""
			return nil
		}
	}
	for name, c := range map[string]struct {
		values []vault.Item
		change func(*vault.Schema) error
		want   error
	}{
		"into a group":          {of("persons", "name", "Ada"), group("persons", "name", "emails"), vault.ErrScopeInUse},
		"into a group, empty":   {nil, group("persons", "name", "emails"), nil},
		"out of a group":        {of("persons", "email", "ada@example.com"), group("persons", "email", ""), vault.ErrScopeInUse},
		"out of a group, empty": {nil, group("persons", "email", ""), nil},
		"into another":          {of("orders", "contact", "ada@example.com"), group("persons", "email", "mails"), vault.ErrScopeInUse},
		"values of others":      {of("orders", "number", "77"), group("persons", "name", "emails"), nil},
		"random to one of group": {of("persons", "diary", "dear"), func(s *vault.Schema) error {
			columnOf(s, "persons", "diary").Tokenization = vault.Deterministic
			return group("persons", "diary", "emails")(s)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, vault.Options{})
			var tokens []string
			if c.values != nil {
				tokens = insert(t, r.Service, c.values)
			}
			_, err := r.ChangeSchema(t.Context(), "acme", "ops", "v1", c.change)
			require.ErrorIs(t, err, c.want)
			if c.want != nil {
				require.Equal(t, tokens, tokenize(t, r.Service, c.values))
				require.NoError(t, r.Delete(t.Context(), "acme", "ops", "v1", tokens[0]))
				_, err := r.ChangeSchema(t.Context(), "acme", "ops", "v1", c.change)
				require.NoError(t, err, "without tokens, the column is free to go")
			}
		})
	}
	// The same in two steps: the column is away in between.
	for name, away := range map[string]func(*vault.Schema){
		"none": func(s *vault.Schema) { *columnOf(s, "persons", "email") = vault.Column{Name: "email"} },
		"random": func(s *vault.Schema) {
			*columnOf(s, "persons", "email") = vault.Column{Name: "email", Tokenization: vault.Random}
		},
		"removed": func(s *vault.Schema) { s.Tables[0].Columns = s.Tables[0].Columns[1:] },
		"dropped": func(s *vault.Schema) { s.Tables = s.Tables[1:] },
	} {
		t.Run("out of a group by "+name, func(t *testing.T) {
			r := newRig(t, vault.Options{})
			items := of("persons", "email", "ada@example.com")
			token := insert(t, r.Service, items)
			ask := func(f vault.Field) vault.Redaction {
				if f.Table == "persons" {
					return vault.Redacted
				}
				return vault.PlainText
			}
			change := func(do func(*vault.Schema)) error {
				_, err := r.ChangeSchema(t.Context(), "acme", "ops", "v1", func(s *vault.Schema) error { do(s); return nil })
				return err
			}
			require.NoError(t, change(away))
			shown, err := r.Detokenize(t.Context(), "acme", "ops", "v1", asked(token...), ask)
			require.NoError(t, err)
			require.Equal(t, "*REDACTED*", shown[0].Value.Reveal(), "the column is gone, and its limit stays")
			for _, group := range []string{"", "others"} {
				require.ErrorIs(t, change(func(s *vault.Schema) {
					*s = schema.Clone()
					columnOf(s, "persons", "email").Group = group
				}), vault.ErrScopeInUse)
			}
			require.NoError(t, change(func(s *vault.Schema) { *s = schema.Clone() }))
			require.Equal(t, token, insert(t, r.Service, items))
		})
	}
	t.Run("a column that was away for a while", func(t *testing.T) {
		r := newRig(t, vault.Options{})
		insert(t, r.Service, of("persons", "name", "Ada"))
		_, err := r.ChangeSchema(t.Context(), "acme", "ops", "v1", func(s *vault.Schema) error { s.Tables = nil; return nil })
		require.NoError(t, err)
		_, err = r.ChangeSchema(t.Context(), "acme", "ops", "v1", func(s *vault.Schema) error {
			*s = schema.Clone()
			return group("persons", "name", "emails")(s)
		})
		require.ErrorIs(t, err, vault.ErrScopeInUse)
	})
}

func TestChangeSchemaErrors(t *testing.T) {
	r := newRig(t, vault.Options{})
	mine := errors.New("mine")
	_, err := r.ChangeSchema(t.Context(), "acme", "ops", "v1", func(*vault.Schema) error { return mine })
	require.ErrorIs(t, err, mine)
	_, err = r.ChangeSchema(t.Context(), "other", "ops", "v1", func(*vault.Schema) error { return nil })
	require.ErrorIs(t, err, mortise.ErrNotFound)

	// Somebody else is faster: the function runs again, on what they left.
	calls := 0
	v, err := r.ChangeSchema(t.Context(), "acme", "ops", "v1", func(s *vault.Schema) error {
		if calls++; calls == 1 {
			_, err := r.ChangeSchema(t.Context(), "acme", "ops", "v1", func(s *vault.Schema) error {
				s.Tables = append(s.Tables, vault.Table{Name: "first"})
				return nil
			})
			require.NoError(t, err)
		}
		s.Tables = append(s.Tables, vault.Table{Name: "second"})
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 2, calls)
	require.Equal(t, "first", v.Schema.Tables[2].Name)
	require.Equal(t, "second", v.Schema.Tables[3].Name)
}
