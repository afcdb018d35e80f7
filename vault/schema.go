package vault

import (
	"slices"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Vault is a set of tables whose values have tokens. Its ID is unique within its
// organization.
type Vault struct {
	Organization string
	ID           string
	Schema       Schema
	Revision     int64 // 1 when it is made, one more after each change of the schema
	CreatedAt    time.Time
	UpdatedAt    time.Time

	// Past has every column that is or was deterministic, with the group that it was in
	// last. A Service keeps it: so it knows where the values of a column are that has
	// left the schema.
	Past []PastColumn
}

// Clone returns a copy that shares nothing with v.
func (v *Vault) Clone() Vault {
	c := *v
	c.Schema, c.Past = v.Schema.Clone(), slices.Clone(v.Past)
	return c
}

// remember brings Past up to date with the schema.
func (v *Vault) remember() {
	at := make(map[[2]string]int)
	for i, c := range v.Past {
		at[[2]string{c.Table, c.Column}] = i
	}
	for f := range v.fields {
		if !f.deterministic {
			continue
		}
		name := [2]string{f.Table, f.Column}
		i, known := at[name]
		if !known {
			i, at[name] = len(v.Past), len(v.Past)
			v.Past = append(v.Past, PastColumn{Table: f.Table, Column: f.Column})
		}
		v.Past[i].Group = f.Group
	}
}

// Schema says which values a vault takes. It is a description only: what is stored are
// tokens, and a change of the schema touches none.
type Schema struct {
	Tables []Table `json:"tables"` // at most 200
}

// Table is a named list of columns. The names "tokenize" and "detokenize" are taken by
// the HTTP interface.
type Table struct {
	Name    string   `json:"name"`    // without a dot
	Columns []Column `json:"columns"` // at most 200
}

// Column says what becomes of the values of a column.
type Column struct {
	Name         string       `json:"name"`
	Tokenization Tokenization `json:"tokenization,omitempty"` // "" is NoTokenization

	// Group names a column group: its columns, in whatever tables of the vault, give one
	// value the same token. Without a group, a column stands alone. Only deterministic
	// columns have groups, and those of one group have the same Format and Mask.
	Group string `json:"column_group,omitempty"` // without a dot

	// Format is that of its tokens, as the service's Tokenizer understands it: for the
	// usual one see [format.Standard].
	Format string `json:"format,omitempty"`

	// Mask says how a masked value looks: see [format.ParseMask]. "" is "0*4" for a
	// Format of digits, "1*@" for one of email, and else "*". A column with a Mask of its
	// own shows its values masked where no [Redaction] is asked for.
	Mask string `json:"mask,omitempty"`
}

// Tokenization says how a column's values get tokens.
type Tokenization string

// The kinds of tokenization.
const (
	NoTokenization Tokenization = "none"          // values of the column are not for the vault
	Deterministic  Tokenization = "deterministic" // one value has one token, and can be asked for it
	Random         Tokenization = "random"        // each insertion gives a new token, and a value cannot be asked for any
)

// The limits of a schema.
const (
	maxTables  = 200
	maxColumns = 200 // of one table
)

// Clone returns a copy that shares nothing with s.
func (s *Schema) Clone() Schema {
	var c Schema
	for _, t := range s.Tables {
		t.Columns = slices.Clone(t.Columns)
		c.Tables = append(c.Tables, t)
	}
	return c
}

// scopeName is where the field's values are unique: the column group, or table.column.
// Neither a table nor a group has a dot in its name, so no two fields share a scope by
// accident.
func scopeName(f *Field) string {
	if f.Group != "" {
		return f.Group
	}
	return f.Table + "." + f.Column
}

// reservedTables cannot be names of tables: the HTTP interface has operations in their
// place.
var reservedTables = []string{"tokenize", "detokenize"}

// Validate returns a [*mortise.ValidationError] that holds everything that is wrong
// with a schema, or nil. A nil Tokenizer is [format.Standard].
func (s *Schema) Validate(t format.Tokenizer) error {
	if t == nil {
		t = &format.Standard{}
	}
	var p problems
	s.check(&p, t)
	return p.Err()
}

// check finds everything that is wrong with a schema.
func (s *Schema) check(p *problems, t format.Tokenizer) {
	if len(s.Tables) > maxTables {
		p.Add("tables", "must be at most %d", maxTables)
		return
	}
	groups := make(map[string]groupUse)
	seen := make(map[string]bool)
	for i := range s.Tables {
		table, at := &s.Tables[i], mortise.Path{{Field: "tables"}, {Index: i}}
		p.undottedName(at.Field("name"), table.Name)
		switch {
		case slices.Contains(reservedTables, table.Name):
			p.AddAt(at.Field("name"), "must not be one of %s: the HTTP interface has operations of these names",
				strings.Join(reservedTables, ", "))
		case seen[table.Name]:
			p.AddAt(at.Field("name"), "is the name of another table, too")
		}
		seen[table.Name] = true
		if len(table.Columns) > maxColumns {
			p.AddAt(at.Field("columns"), "must be at most %d", maxColumns)
			continue
		}
		columns := make(map[string]bool)
		for j := range table.Columns {
			c, at := &table.Columns[j], at.Field("columns").Item(j)
			p.nameAt(at.Field("name"), c.Name)
			if columns[c.Name] {
				p.AddAt(at.Field("name"), "is the name of another column of the table, too")
			}
			columns[c.Name] = true
			c.check(p, at, t, groups)
		}
	}
}

// groupUse is the first column of a group that was seen.
type groupUse struct {
	at           mortise.Path
	format, mask string
}

func (c *Column) check(p *problems, at mortise.Path, t format.Tokenizer, groups map[string]groupUse) {
	known := true
	switch c.Tokenization {
	default: // with a word that is misspelt, the rest is checked as if it were right
		p.AddAt(at.Field("tokenization"), "must be %q, %q or %q", Deterministic, Random, NoTokenization)
		known = false
		fallthrough
	case Deterministic, Random:
		if err := t.CheckFormat(c.Format); err != nil {
			p.AddAt(at.Field("format"), "%s", err)
		}
		if _, err := format.ParseMask(c.Mask); err != nil {
			p.AddAt(at.Field("mask"), "%s", err)
		}
	case NoTokenization, "":
		for _, field := range []struct{ name, text string }{{"format", c.Format}, {"mask", c.Mask}} {
			if field.text != "" {
				p.AddAt(at.Field(field.name), "must be left out: the column has no tokenization")
			}
		}
	}
	if c.Group == "" {
		return
	}
	p.undottedName(at.Field("column_group"), c.Group)
	if !known {
		return
	}
	if c.Tokenization != Deterministic {
		p.AddAt(at.Field("column_group"), "must be left out: only deterministic columns have a group")
		return
	}
	first, ok := groups[c.Group]
	if !ok {
		groups[c.Group] = groupUse{at, c.Format, c.Mask}
		return
	}
	if first.format != c.Format {
		p.AddAt(at.Field("format"), "must be the same for all columns of a group; %s has another", first.at)
	}
	if first.mask != c.Mask {
		p.AddAt(at.Field("mask"), "must be the same for all columns of a group; %s has another", first.at)
	}
}

func (p *problems) nameAt(at mortise.Path, text string) {
	if problem := name.Problem(text); problem != "" {
		p.AddAt(at, "%s", problem)
	}
}

func (p *problems) undottedName(at mortise.Path, text string) {
	if strings.Contains(text, ".") {
		p.AddAt(at, "must not contain a dot")
	}
	p.nameAt(at, text)
}

// fieldOfScope returns what is known of a field whose columns are not in the schema any
// more.
func fieldOfScope(s keyring.Scope) Field {
	f := Field{Organization: s.Organization, Vault: s.Vault, Group: s.Name}
	if table, column, ok := strings.Cut(s.Name, "."); ok {
		f.Table, f.Column, f.Group = table, column, ""
	}
	return f
}
