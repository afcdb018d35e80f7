package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
)

// check refuses vaults that do not go with those that are stored. It makes them in memory,
// as they would become, with the records.
func (v *vaultService) check(ctx context.Context, doc *document, org *organizationDoc) error {
	if len(org.Vaults) == 0 {
		return nil
	}
	key := newRootKey()
	keys, err := vaultKeyring(&key)
	if err != nil {
		return err
	}
	db, err := memory.Open(ctx, nil)
	if err != nil {
		return err
	}
	scratch, err := vault.New(db.Vault(), keys, &vault.Options{MaxValue: maxVaultValue})
	if err != nil {
		return err
	}
	for _, d := range org.Vaults {
		if d.At.lacks("id") || d.At.at("tables").isBad() {
			continue
		}
		stored, err := v.service.Vault(ctx, org.ID, d.ID)
		prefix := "does not go with the vault as it is stored: "
		if errors.Is(err, vault.ErrNotFound) {
			prefix, err = "", nil
		}
		if err == nil {
			err = d.try(ctx, doc, scratch, org.ID, stored.Schema, prefix)
		}
		if err != nil {
			return fmt.Errorf("check the vault at %s: %w", doc.where(d.At), err)
		}
	}
	return nil
}

// try makes a vault of the schema that a stored one would become, inserts the records, and
// notes what is refused.
func (d *vaultDoc) try(ctx context.Context, doc *document, scratch *vault.Service, org string, stored vault.Schema, prefix string) error {
	schema, _ := d.addTo(stored)
	_, err := scratch.CreateVault(ctx, org, provisioning, d.ID, schema)
	if problems := problemsOf(err); len(problems) > 0 {
		for _, p := range problems {
			if prefix == "" {
				doc.failIn(d.At, p.Path, p.Message)
			} else {
				doc.fail(d.placeOf(schema, p.Path), "%s", prefix+p.Message)
			}
		}
		return nil
	}
	if err != nil {
		return err
	}
	tables := make(map[string]bool)
	for name := range columnsOf(schema) {
		tables[name.table] = true
	}
	var records []recordDoc
	for _, r := range d.Records {
		if r.At.isBad() {
			continue
		}
		if records = append(records, r); !tables[r.Table] {
			doc.fail(r.At, "%sis of a table that the vault does not have, or that has no columns", prefix)
			records = records[:len(records)-1]
		}
	}
	for _, some := range batches(records, scratch.Limits().Items) {
		fields, items := itemsOf(some)
		if _, err := scratch.Insert(ctx, org, provisioning, d.ID, items); err == nil {
			continue
		}
		for i, item := range items { // Insert tells the items of one kind only
			_, err := scratch.Insert(ctx, org, provisioning, d.ID, []vault.Item{item})
			if refused := (*vault.BatchError)(nil); !errors.As(err, &refused) && err != nil {
				return err
			} else if err != nil {
				doc.fail(fields[i].At, "%s", prefix+whyNot(refused.Items[0].Err))
			}
		}
	}
	return nil
}

// whyNot says why a column does not take a value. It holds no name: a secret may stand in
// the wrong place.
func whyNot(err error) string {
	switch {
	case errors.Is(err, vault.ErrColumnNotFound):
		return "the table has no such column"
	case errors.Is(err, vault.ErrNotTokenized):
		return "the column has no tokenization, so the vault keeps nothing of it: leave the value out"
	case errors.Is(err, vault.ErrInvalid):
		return fmt.Sprintf("must be at most %d bytes long", maxVaultValue)
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
func (d *vaultDoc) placeOf(s vault.Schema, at mortise.Path) *node {
	if len(at) < 4 { // tables[i].columns[j]
		return d.At
	}
	t := s.Tables[at[1].Index]
	return d.columnAt(columnName{t.Name, t.Columns[at[3].Index].Name})
}

func (d *vaultDoc) columnAt(name columnName) *node {
	for i, t := range d.Tables {
		for j, c := range t.Columns {
			if name == (columnName{t.Name, c.Name}) {
				return d.At.walk(mortise.Path{{Field: "tables"}, {Index: i}, {Field: "columns"}, {Index: j}})
			}
		}
	}
	return d.At
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

// apply provisions vaults. What is missing of a vault's schema is added, and a column that
// exists stays as it is.
//
// A record is inserted once: values that were deleted since are not revived, unless the
// record is changed in the document. A value of a deterministic column that is there
// keeps its token. If a start is cut off in the middle of the records, or two servers
// apply the same new document at the same moment, values of random columns may get two
// tokens.
func (v *vaultService) apply(ctx context.Context, doc *document, org *organizationDoc) error {
	for _, d := range org.Vaults {
		if err := v.applyVault(ctx, doc, org.ID, &d); err != nil {
			return err
		}
	}
	return nil
}

func (v *vaultService) applyVault(ctx context.Context, doc *document, org string, d *vaultDoc) error {
	schema, err := v.applySchema(ctx, org, d)
	if err == nil {
		v.warnOfOthers(ctx, doc, schema, d)
		err = v.sandbox.provision(ctx, org, d.ID, schema)
	}
	if err == nil {
		err = v.insertRecords(ctx, doc, org, d)
	}
	problems := problemsOf(err)
	switch {
	case errors.Is(err, vault.ErrDeleted), errors.Is(err, vault.ErrNotFound): // maybe since a moment ago
		err = v.noteDeleted(ctx, doc, org, d)
	case errors.Is(err, vault.ErrScopeInUse):
		doc.fail(d.At, "a column that had tokens without its column group would come back into the group")
		return nil
	case len(problems) > 0: // since a moment ago
		doc.fail(d.At, "does not go with the vault as it is stored: %s: %s", problems[0].Path, problems[0].Message)
		return nil
	}
	if err != nil {
		return fmt.Errorf("provision the vault at %s: %w", doc.where(d.At), err)
	}
	return nil
}

// noteDeleted notes a vault that was deleted, or its organization if that was.
func (v *vaultService) noteDeleted(ctx context.Context, doc *document, org string, d *vaultDoc) error {
	page, err := v.service.ListAuditEvents(ctx, org, vault.AuditQuery{Kind: vault.KindOrganizationDeleted, Limit: 1})
	if err != nil {
		return err
	}
	if len(page.Items) > 0 {
		doc.noteDeleted(org, "")
	} else {
		doc.noteDeleted(org, d.ID)
	}
	return nil
}

// errLacksNothing keeps a schema from being changed into itself.
var errLacksNothing = errors.New("the schema has everything")

// applySchema makes a vault, or adds to its schema, and returns that.
func (v *vaultService) applySchema(ctx context.Context, org string, d *vaultDoc) (schema vault.Schema, err error) {
	made, err := v.service.CreateVault(ctx, org, provisioning, d.ID, vault.Schema{Tables: d.Tables})
	if !errors.Is(err, vault.ErrExists) {
		return made.Schema, err
	}
	_, err = v.service.ChangeSchema(ctx, org, provisioning, d.ID, func(s *vault.Schema) error {
		merged, lacks := d.addTo(*s)
		schema = merged.Clone()
		if *s = merged; !lacks {
			return errLacksNothing
		}
		return nil
	})
	if errors.Is(err, errLacksNothing) {
		err = nil
	}
	return schema, err
}

// warnOfOthers warns of columns that are stored with something else than the document
// has. "" means none for a tokenization, and a UUID for a format.
func (v *vaultService) warnOfOthers(ctx context.Context, doc *document, schema vault.Schema, d *vaultDoc) {
	stored := columnsOf(schema)
	for _, t := range d.Tables {
		for _, c := range t.Columns {
			name := columnName{t.Name, c.Name}
			s := stored[name]
			var other []string
			for _, part := range []struct{ name, stored, wanted, usual string }{
				{"tokenization", string(s.Tokenization), string(c.Tokenization), string(vault.NoTokenization)},
				{"column group", s.Group, c.Group, ""},
				{"format", s.Format, c.Format, "uuid"},
				{"mask", s.Mask, c.Mask, ""},
			} {
				if cmp.Or(part.stored, part.usual) != cmp.Or(part.wanted, part.usual) {
					other = append(other, "another "+part.name)
				}
			}
			if len(other) > 0 {
				v.log.WarnContext(ctx, "provisioning document: a column is stored with "+strings.Join(other, " and ")+"; what exists is never changed",
					"place", doc.where(d.columnAt(name)))
			}
		}
	}
}

// insertRecords stores the records that no earlier start has stored.
func (v *vaultService) insertRecords(ctx context.Context, doc *document, org string, d *vaultDoc) error {
	for _, records := range batches(d.Records, v.service.Limits().Items) {
		records, err := v.missingRecords(ctx, org, d.ID, records)
		if err != nil {
			return err
		}
		fields, items := itemsOf(records)
		if len(items) == 0 {
			continue
		}
		_, err = v.service.Insert(ctx, org, provisioning, d.ID, items)
		if refused := (*vault.BatchError)(nil); errors.As(err, &refused) {
			for _, item := range refused.Items {
				doc.fail(fields[item.Index].At, "%s", whyNot(item.Err))
			}
			return nil
		}
		if err == nil {
			err = v.rememberRecords(ctx, org, d.ID, records)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// itemsOf returns the fields of records, and what a vault calls them.
func itemsOf(records []recordDoc) (fields []fieldDoc, items []vault.Item) {
	for _, r := range records {
		for _, f := range r.Fields.list {
			fields = append(fields, f)
			items = append(items, vault.Item{Place: vault.InColumn(r.Table, f.column), Value: f.value})
		}
	}
	return fields, items
}

// batches cuts a list of records where their fields would be more than the most that a
// call takes. A record is not cut, and one without fields left out.
func batches(records []recordDoc, most int) (all [][]recordDoc) {
	room := 0
	for _, r := range records {
		n := len(r.Fields.list)
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
