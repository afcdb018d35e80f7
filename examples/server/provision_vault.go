package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
)

// checkDocument refuses a document whose vaults do not go with those that are stored.
func (v *vaultService) checkDocument(ctx context.Context, doc *document) error {
	for _, org := range doc.organizations {
		for _, d := range org.vaults {
			stored, err := v.service.Vault(ctx, org.id, d.id)
			if errors.Is(err, vault.ErrNotFound) {
				continue
			}
			if err != nil {
				return fmt.Errorf("read the vault at %s: %w", d.place, err)
			}
			if err := d.checkAgainst(doc, stored.Schema); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkAgainst checks the schema that a stored one would become, and the records against
// that.
func (d *vaultDoc) checkAgainst(doc *document, stored vault.Schema) error {
	merged, _ := d.addTo(stored)
	var invalid *vault.ValidationError
	if errors.As(merged.Validate(nil), &invalid) {
		problem := invalid.Problems[0]
		return doc.contradiction(d.placeOf(merged, problem.Path),
			"does not go with the vault as it is stored: "+problem.Message)
	}
	problems := checkRecords(d.records, columnsOf(merged))
	if len(problems) == 0 {
		return nil
	}
	r, first := &d.records[problems[0].record], problems[0]
	place := r.place
	if first.field < len(r.fields) {
		place = r.fields[first.field].place
	}
	return doc.contradiction(place, "does not go with the vault as it is stored: "+first.what)
}

// placeOf returns where the document has the column that a path in a schema leads to.
func (d *vaultDoc) placeOf(s vault.Schema, at mortise.Path) string {
	if len(at) >= 4 { // tables[i].columns[j]
		t := s.Tables[at[1].Index]
		if place, ok := d.places[columnName{t.Name, t.Columns[at[3].Index].Name}]; ok {
			return place
		}
	}
	return d.place
}

// addTo returns a schema with what it lacks of the document's, and whether it lacks
// anything.
func (d *vaultDoc) addTo(stored vault.Schema) (merged vault.Schema, lacks bool) {
	merged = stored.Clone()
	tables := make(map[string]int)
	for i, t := range merged.Tables {
		tables[t.Name] = i
	}
	columns := columnsOf(stored)
	for _, t := range d.schema.Tables {
		at, ok := tables[t.Name]
		if !ok {
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

// applyDocument provisions vaults. What is missing of a vault's schema is added, and a
// column that exists stays as it is.
//
// A record is inserted once: values that were deleted since are not revived, unless the
// record is changed in the document. A value of a deterministic column that is there
// keeps its token. If a start is cut off in the middle of the records, or two servers
// apply the same new document at the same moment, values of random columns may get two
// tokens.
func (v *vaultService) applyDocument(ctx context.Context, doc *document) error {
	for _, org := range doc.organizations {
		for _, d := range org.vaults {
			if err := v.applyVault(ctx, doc, org.id, &d); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *vaultService) applyVault(ctx context.Context, doc *document, org string, d *vaultDoc) error {
	schema, err := v.applySchema(ctx, org, d)
	var invalid *vault.ValidationError
	switch {
	case errors.Is(err, vault.ErrDeleted):
		return v.noteDeleted(ctx, doc, org, d)
	case errors.Is(err, vault.ErrScopeInUse):
		return doc.contradiction(d.place, "a column that had tokens without its column group would come back into the group")
	case errors.As(err, &invalid): // since a moment ago
		return doc.contradiction(d.place, "does not go with the vault as it is stored: "+invalid.Problems[0].Error())
	case err != nil:
		return fmt.Errorf("provision the vault at %s: %w", d.place, err)
	}
	v.warnOfOthers(ctx, schema, d)
	if err := v.sandbox.provision(ctx, org, d.id, schema); err != nil {
		return fmt.Errorf("provision the sandbox of the vault at %s: %w", d.place, err)
	}
	if err := v.insertRecords(ctx, doc, org, d); !errors.Is(err, vault.ErrNotFound) {
		return err
	}
	return v.noteDeleted(ctx, doc, org, d) // since a moment ago
}

// noteDeleted notes a vault that was deleted, or its organization if that was.
func (v *vaultService) noteDeleted(ctx context.Context, doc *document, org string, d *vaultDoc) error {
	page, err := v.service.ListAuditEvents(ctx, org, vault.AuditQuery{Kind: vault.KindOrganizationDeleted, Limit: 1})
	if err != nil {
		return fmt.Errorf("provision the vault at %s: %w", d.place, err)
	}
	if len(page.Items) > 0 {
		doc.noteDeleted(org, "")
	} else {
		doc.noteDeleted(org, d.id)
	}
	return nil
}

// applySchema makes a vault, or adds to its schema, and returns that.
func (v *vaultService) applySchema(ctx context.Context, org string, d *vaultDoc) (vault.Schema, error) {
	schema, err := v.addToSchema(ctx, org, d)
	if !errors.Is(err, vault.ErrNotFound) {
		return schema, err
	}
	made, err := v.service.CreateVault(ctx, org, provisioning, d.id, d.schema)
	if errors.Is(err, vault.ErrExists) { // another server on the same data applies its document at this moment
		return v.addToSchema(ctx, org, d)
	}
	return made.Schema, err
}

// errLacksNothing keeps a schema from being changed into itself.
var errLacksNothing = errors.New("the schema has everything")

func (v *vaultService) addToSchema(ctx context.Context, org string, d *vaultDoc) (schema vault.Schema, err error) {
	_, err = v.service.ChangeSchema(ctx, org, provisioning, d.id, func(s *vault.Schema) error {
		merged, lacks := d.addTo(*s)
		schema = merged.Clone()
		if !lacks {
			return errLacksNothing
		}
		*s = merged
		return nil
	})
	if errors.Is(err, errLacksNothing) {
		err = nil
	}
	return schema, err
}

// warnOfOthers warns of columns that are stored with something else than the document
// has.
func (v *vaultService) warnOfOthers(ctx context.Context, stored vault.Schema, d *vaultDoc) {
	columns := columnsOf(stored)
	for _, t := range d.schema.Tables {
		for _, c := range t.Columns {
			name := columnName{t.Name, c.Name}
			if other := differences(columns[name], c); other != "" {
				v.log.WarnContext(ctx, "provisioning document: a column is stored with "+other+"; what exists is never changed", "place", d.places[name])
			}
		}
	}
}

// differences names what one column has otherwise than another one. "" means none for a
// tokenization, and a UUID for a format.
func differences(stored, wanted vault.Column) string {
	var other []string
	for _, part := range []struct{ name, stored, wanted, usual string }{
		{"tokenization", string(stored.Tokenization), string(wanted.Tokenization), string(vault.NoTokenization)},
		{"column group", stored.Group, wanted.Group, ""},
		{"format", stored.Format, wanted.Format, "uuid"},
		{"mask", stored.Mask, wanted.Mask, ""},
	} {
		if cmp.Or(part.stored, part.usual) != cmp.Or(part.wanted, part.usual) {
			other = append(other, "another "+part.name)
		}
	}
	return strings.Join(other, " and ")
}
