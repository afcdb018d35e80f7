package provision

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
)

// copyVaults makes the vaults of an organization in a rehearsal as they are stored.
func (s *Services) copyVaults(rehearsal *Services) step {
	return func(ctx context.Context, doc *Document, org *organizationDoc) error {
		return eachOf(doc, "vault", org.Vaults, func(d *vaultDoc) error {
			stored, err := s.Vault.Vault(ctx, org.ID, d.ID)
			if err == nil {
				_, err = rehearsal.Vault.CreateVault(ctx, org.ID, Actor, d.ID, stored.Schema)
			}
			return except(err, mortise.ErrNotFound)
		})
	}
}

// whyNot says why a column does not take a value. It holds no name: a secret may stand in
// the wrong place.
func (s *Services) whyNot(err error) string {
	switch {
	case errors.Is(err, vault.ErrColumnNotFound):
		return "the table has no such column"
	case errors.Is(err, vault.ErrNotTokenized):
		return "the column has no tokenization, so the vault keeps nothing of it: leave the value out"
	case errors.Is(err, vault.ErrInvalid):
		return fmt.Sprintf("must be at most %d bytes long", s.Vault.Limits().Value)
	}
	return strings.TrimPrefix(err.Error(), "vault: ")
}

// columnName names a column of a vault.
type columnName struct{ table, column string }

// columnsOf returns the columns of a schema by their names.
func columnsOf(s vault.Schema) map[columnName]vault.Column {
	columns := make(map[columnName]vault.Column)
	for _, t := range s.Tables {
		for _, c := range t.Columns {
			columns[columnName{t.Name, c.Name}] = c
		}
	}
	return columns
}

// placeOf returns where the document has the column that a path in a schema leads to, or
// else the vault.
func (d *vaultDoc) placeOf(doc *Document, s vault.Schema, at mortise.Path) place {
	if len(at) < 4 { // tables[i].columns[j]
		return d.place
	}
	table := s.Tables[at[1].Index]
	for i, t := range d.Tables {
		j := slices.IndexFunc(t.Columns, func(c vault.Column) bool { return c.Name == table.Columns[at[3].Index].Name })
		if t.Name == table.Name && j >= 0 {
			return d.column(doc, i, j)
		}
	}
	return d.place
}

// column returns where a column of the document is.
func (d *vaultDoc) column(doc *Document, table, column int) place {
	return doc.nearest(d.in(fmt.Sprintf("tables[%d].columns[%d]", table, column)))
}

// addTo returns a schema with what it lacks of the document's, and whether it lacks
// anything.
func (d *vaultDoc) addTo(stored vault.Schema) (merged vault.Schema, lacks bool) {
	merged = stored.Clone()
	columns := columnsOf(stored)
	for _, t := range d.Tables {
		at := slices.IndexFunc(merged.Tables, func(m vault.Table) bool { return m.Name == t.Name })
		if at < 0 {
			at, lacks = len(merged.Tables), true
			merged.Tables = append(merged.Tables, vault.Table{Name: t.Name})
		}
		for _, c := range t.Columns {
			if _, ok := columns[columnName{t.Name, c.Name}]; !ok {
				lacks = true
				merged.Tables[at].Columns = append(merged.Tables[at].Columns, c)
			}
		}
	}
	return merged, lacks
}

// applyVaults provisions vaults. What is missing of a vault's schema is added, and a
// column that exists stays as it is.
//
// A record is inserted once: values that were deleted since are not revived, unless the
// record is changed in the document. A value of a deterministic column that is there
// keeps its token. If a start is cut off in the middle of the records, or two servers
// apply the same new document at the same moment, values of random columns may get two
// tokens.
func (s *Services) applyVaults(ctx context.Context, doc *Document, org *organizationDoc) error {
	return eachOf(doc, "vault", org.Vaults, func(d *vaultDoc) error {
		schema, err := s.applySchema(ctx, doc, org.ID, d)
		if err == nil {
			d.warnOfOthers(doc, schema)
		}
		if err == nil && s.Sandbox != nil {
			_, err = s.Sandbox.CreateVault(ctx, org.ID, Actor, d.ID, schema)
			err = except(err, mortise.ErrExists)
		}
		if err == nil {
			err = s.insertRecords(ctx, doc, org.ID, d, schema)
		}
		switch {
		case errors.Is(err, mortise.ErrDeleted), errors.Is(err, mortise.ErrNotFound): // maybe since a moment ago
			return s.noteDeletedVault(ctx, doc, org.ID, d)
		case errors.Is(err, vault.ErrScopeInUse):
			return contradiction("a column that had tokens without its column group would come back into the group")
		}
		return err
	}, "id", "tables")
}

// noteDeletedVault notes a vault that was deleted, or its organization if that was.
func (s *Services) noteDeletedVault(ctx context.Context, doc *Document, org string, d *vaultDoc) error {
	page, err := s.Vault.ListAuditEvents(ctx, org, vault.AuditQuery{Kind: mortise.KindOrganizationDeleted, Limit: 1})
	if err != nil {
		return err
	}
	id := d.ID
	if len(page.Items) > 0 {
		id = ""
	}
	doc.noteDeleted(org, id)
	return nil
}

// applySchema makes a vault, or adds to its schema, and returns that.
func (s *Services) applySchema(ctx context.Context, doc *Document, org string, d *vaultDoc) (vault.Schema, error) {
	stored, err := s.Vault.CreateVault(ctx, org, Actor, d.ID, vault.Schema{Tables: d.Tables})
	if !errors.Is(err, mortise.ErrExists) {
		return stored.Schema, err
	}
	stored, err = s.Vault.Vault(ctx, org, d.ID)
	merged, lacks := d.addTo(stored.Schema)
	if err == nil && lacks {
		stored, err = s.Vault.ChangeSchema(ctx, org, Actor, d.ID, func(s *vault.Schema) error {
			merged, _ = d.addTo(*s)
			*s = merged.Clone()
			return nil
		})
	}
	for _, p := range problemsOf(err) {
		doc.fail(d.placeOf(doc, merged, p.Path), "%s", againstStored+p.Message)
		err = errNoted
	}
	return stored.Schema, err
}

// warnOfOthers warns of columns that are stored with something else than the document
// has. "" means none for a tokenization, and a UUID for a format.
func (d *vaultDoc) warnOfOthers(doc *Document, schema vault.Schema) {
	stored := columnsOf(schema)
	for i, t := range d.Tables {
		for j, c := range t.Columns {
			is := stored[columnName{t.Name, c.Name}]
			doc.warnOfOther("a column", d.column(doc, i, j),
				"another tokenization", cmp.Or(is.Tokenization, vault.NoTokenization) != cmp.Or(c.Tokenization, vault.NoTokenization),
				"another column group", is.Group != c.Group,
				"another format", cmp.Or(is.Format, "uuid") != cmp.Or(c.Format, "uuid"),
				"another mask", is.Mask != c.Mask)
		}
	}
}

// insertRecords stores the records that no earlier start has stored. A rehearsal tries
// all of them.
func (s *Services) insertRecords(
	ctx context.Context, doc *Document, org string, d *vaultDoc, schema vault.Schema,
) error {
	var records []recordDoc
	err := eachOf(doc, "record", d.Records, func(r *recordDoc) error {
		if !slices.ContainsFunc(schema.Tables, func(t vault.Table) bool { return t.Name == r.Table && len(t.Columns) > 0 }) {
			return contradiction(doc.against + "is of a table that the vault does not have, or that has no columns")
		}
		records = append(records, *r)
		return nil
	})
	for _, some := range batches(records, s.Vault.Limits().Items) {
		if err == nil && !doc.rehearsing {
			some, err = s.missingRecords(ctx, org, d.ID, some)
		}
		if fields, items := itemsOf(some); err == nil && len(items) > 0 {
			err = s.insert(ctx, doc, org, d.ID, fields, items)
		}
		if err == nil && !doc.rehearsing && len(some) > 0 {
			err = s.rememberRecords(ctx, org, d.ID, some)
		}
	}
	return err
}

// insert stores the values of fields, and notes those that are refused. A rehearsal goes
// on with the others: a call tells what is wrong with the items of one kind only.
func (s *Services) insert(
	ctx context.Context, doc *Document, org, id string, fields []fieldDoc, items []vault.Item,
) error {
	_, err := s.Vault.Insert(ctx, org, Actor, id, items)
	refused := new(vault.BatchError)
	switch {
	case err != nil && doc.rehearsing && len(items) > 1:
		for i := range items {
			if err := s.insert(ctx, doc, org, id, fields[i:i+1], items[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	case !errors.As(err, &refused):
		return err
	}
	for _, item := range refused.Items {
		doc.fail(fields[item.Index].place, "%s", doc.against+s.whyNot(item.Err))
	}
	if doc.rehearsing {
		return nil
	}
	return errNoted
}

// itemsOf returns the fields of records, and what a vault calls them.
func itemsOf(records []recordDoc) (fields []fieldDoc, items []vault.Item) {
	for _, r := range records {
		for _, column := range slices.Sorted(maps.Keys(r.Fields)) {
			fields = append(fields, r.Fields[column])
			items = append(items, vault.Item{Place: vault.InColumn(r.Table, column), Value: r.Fields[column].Value})
		}
	}
	return fields, items
}

// batches cuts a list of records where their fields would be more than the most that a
// call takes. A record is not cut, and one without fields left out.
func batches(records []recordDoc, most int) (all [][]recordDoc) {
	room := 0
	for _, r := range records {
		n := len(r.Fields)
		if n == 0 {
			continue
		}
		if n > room {
			all, room = append(all, nil), most
		}
		last := &all[len(all)-1]
		*last, room = append(*last, r), room-n
	}
	return all
}
