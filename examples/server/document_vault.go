package main

import (
	"errors"
	"iter"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/strictjson"
	"github.com/seed-6363c74e/mortise/vault"
)

type vaultDoc struct {
	id      string
	schema  vault.Schema
	places  map[columnName]string // of the columns, as in apiKeyDoc
	records []recordDoc
	place   string
}

// columnName names a column of a vault.
type columnName struct{ table, column string }

type recordDoc struct {
	table  string
	fields []fieldDoc
	place  string
}

type fieldDoc struct {
	column string
	value  vault.Value
	place  string
}

// readVaults reads what the vault holds of an organization.
func readVaults(o docObject, org *organizationDoc) {
	ids := o.r.unique()
	for v := range o.objects("vaults", "id", "tables", "records") {
		d := vaultDoc{id: v.name("id"), places: make(map[columnName]string), place: v.where()}
		if d.id == "." || d.id == ".." {
			v.fail("id", "must not be . or ..: the ID stands in paths")
		}
		ids.add(v, "id", d.id)
		readRecords(v, &d, readTables(v, &d))
		org.vaults = append(org.vaults, d)
	}
}

// readTables reads a schema and reports whether it can be used.
func readTables(v docObject, d *vaultDoc) bool {
	before := len(v.r.problems)
	tables := v.r.unique()
	for t := range v.objects("tables", "name", "columns") {
		table := vault.Table{Name: t.name("name")}
		tables.add(t, "name", table.Name)
		columns := t.r.unique()
		for c := range t.objects("columns", "name", "tokenization", "column_group", "format", "mask") {
			column := vault.Column{Name: c.name("name")}
			columns.add(c, "name", column.Name)
			tokenization, _ := c.text("tokenization", false)
			column.Tokenization = vault.Tokenization(tokenization)
			column.Group, _ = c.text("column_group", false)
			column.Format, _ = c.text("format", false)
			column.Mask, _ = c.text("mask", false)
			d.places[columnName{table.Name, column.Name}] = c.where()
			table.Columns = append(table.Columns, column)
		}
		d.schema.Tables = append(d.schema.Tables, table)
	}
	if len(v.r.problems) > before {
		return false // the schema would be told to be wrong for what could not be read
	}
	var invalid *vault.ValidationError
	if errors.As(d.schema.Validate(nil), &invalid) {
		for _, problem := range invalid.Problems {
			v.r.fail(part(v.value, problem.Path), "%s.%s", v.path, problem)
		}
	}
	return invalid == nil
}

// part returns the part of a value that a path leads to, or what comes closest to it.
func part(v strictjson.Value, path mortise.Path) strictjson.Value {
	for _, step := range path {
		next, ok := v.Get(step.Field)
		if step.Field == "" {
			for i, element := range v.Elements() {
				if i == step.Index {
					next, ok = element, true
				}
			}
		}
		if !ok {
			return v
		}
		v = next
	}
	return v
}

// readRecords reads records, and checks them against the schema if it can be used.
func readRecords(v docObject, d *vaultDoc, usable bool) {
	before := len(v.r.problems)
	var members [][]docMember // of the fields of each record, and the record itself at the end
	for r := range v.objects("records", "table", "fields") {
		record := recordDoc{table: r.name("table"), place: r.where()}
		var places []docMember
		for at, field := range r.fields("fields") {
			record.fields = append(record.fields, field)
			places = append(places, at)
		}
		members = append(members, append(places, r.docMember))
		d.records = append(d.records, record)
	}
	if !usable || len(v.r.problems) > before {
		return
	}
	for _, problem := range checkRecords(d.records, columnsOf(d.schema)) {
		at := members[problem.record][problem.field]
		at.r.fail(at.value, "%s: %s", at.path, problem.what)
	}
}

// fields iterates over a required object whose members are values for a vault: strings of
// any content.
func (o docObject) fields(key string) iter.Seq2[docMember, fieldDoc] {
	return func(yield func(docMember, fieldDoc) bool) {
		object, ok := o.has(key, true, strictjson.Object, "an object")
		if !ok {
			return
		}
		for name, value := range object.Members() {
			at := docMember{o.r, value, o.member(key).path}
			column := name.Text()
			if harmless(column) != "" {
				at.path += "." + column
			}
			if value.Kind() != strictjson.String {
				o.r.fail(value, "%s: must be a string", at.path)
				continue
			}
			if !yield(at, fieldDoc{column: column, value: vault.NewValue(value.Text()), place: at.where()}) {
				return
			}
		}
	}
}
