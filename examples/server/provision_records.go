package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/format"
)

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

// recordProblem is what is wrong with a record, or with a field of it.
type recordProblem struct {
	record, field int // field is the number of fields if it is the record
	what          string
}

// checkRecords finds what a vault of these columns would refuse.
func checkRecords(records []recordDoc, columns map[columnName]vault.Column) (problems []recordProblem) {
	tables := make(map[string]bool)
	for name := range columns {
		tables[name.table] = true
	}
	for i, r := range records {
		if !tables[r.table] {
			problems = append(problems, recordProblem{i, len(r.fields), "is of a table that the vault does not have, or that has no columns"})
			continue
		}
		for j, f := range r.fields {
			c, ok := columns[columnName{r.table, f.column}]
			if what := checkField(c, ok, f.value.Reveal()); what != "" {
				problems = append(problems, recordProblem{i, j, what})
			}
		}
	}
	return problems
}

// checkField says why a column does not take a value, "" if it does.
func checkField(c vault.Column, known bool, value string) string {
	switch {
	case !known:
		return "the table has no such column"
	case c.Tokenization != vault.Deterministic && c.Tokenization != vault.Random:
		return "the column has no tokenization, so the vault keeps nothing of it: leave the value out"
	case len(value) > maxVaultValue:
		return fmt.Sprintf("must be at most %d bytes long", maxVaultValue)
	}
	tokens, err := new(format.Standard).Tokens(context.Background(),
		[]format.Request{{Field: vault.Field{Format: c.Format}, Value: vault.NewValue(value)}})
	if err == nil {
		err = tokens[0].Err
	}
	if err != nil {
		return plain(err)
	}
	return ""
}

// plain is a message of package vault without the name of the package.
func plain(err error) string { return strings.TrimPrefix(err.Error(), "vault: ") }

// insertRecords stores the records that no earlier start has stored.
func (v *vaultService) insertRecords(ctx context.Context, doc *document, org string, d *vaultDoc) error {
	for records := range batches(d.records, v.service.Limits().Items) {
		records, err := v.provisioned.missing(ctx, org, d.id, records)
		if err != nil {
			return fmt.Errorf("look up the records of the vault at %s: %w", d.place, err)
		}
		var items []vault.Item
		var places []string
		for _, r := range records {
			for _, f := range r.fields {
				items = append(items, vault.Item{Place: vault.InColumn(r.table, f.column), Value: f.value})
				places = append(places, f.place)
			}
		}
		if len(items) == 0 {
			continue
		}
		_, err = v.service.Insert(ctx, org, provisioning, d.id, items)
		var refused *vault.ItemError
		if errors.As(err, &refused) {
			return doc.contradiction(places[refused.Index], plain(refused.Err))
		}
		if err != nil {
			return fmt.Errorf("insert the records of the vault at %s: %w", d.place, err)
		}
		if err := v.provisioned.add(ctx, org, d.id, records); err != nil {
			return fmt.Errorf("remember the records of the vault at %s: %w", d.place, err)
		}
	}
	return nil
}

// batches cuts a list of records where their fields would be more than the most that a
// call takes. A record is not cut, and one without fields left out.
func batches(records []recordDoc, most int) iter.Seq[[]recordDoc] {
	return func(yield func([]recordDoc) bool) {
		var batch []recordDoc
		count := 0
		for _, r := range records {
			if count+len(r.fields) > most {
				if !yield(batch) {
					return
				}
				batch, count = nil, 0
			}
			if len(r.fields) > 0 {
				batch, count = append(batch, r), count+len(r.fields)
			}
		}
		if count > 0 {
			yield(batch)
		}
	}
}
