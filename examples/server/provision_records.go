package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/seed-6363c74e/mortise/vault"
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

// checkRecords finds what a vault of these columns would refuse, or could not be given at each start without harm.
func checkRecords(records []recordDoc, columns map[columnName]vault.Column) (problems []recordProblem) {
	tables := make(map[string]bool)
	for name := range columns {
		tables[name.table] = true
	}
	seen := make(map[[2]string]bool) // the deterministic values of earlier records, by scope and value
	for i, r := range records {
		if !tables[r.table] {
			problems = append(problems, recordProblem{i, len(r.fields), "is of a table that the vault does not have, or that has no columns"})
			continue
		}
		random, deterministic, fresh := false, false, false
		var values [][2]string
		before := len(problems)
		for j, f := range r.fields {
			c, ok := columns[columnName{r.table, f.column}]
			if what := checkField(c, ok, f.value.Reveal()); what != "" {
				problems = append(problems, recordProblem{i, j, what})
				continue
			}
			if c.Tokenization == vault.Random {
				random = true
				continue
			}
			scope := c.Group
			if scope == "" {
				scope = r.table + "." + c.Name
			}
			value := [2]string{scope, f.value.Reveal()}
			deterministic, fresh = true, fresh || !seen[value]
			values = append(values, value)
		}
		for _, value := range values {
			seen[value] = true
		}
		what := ""
		switch {
		case !random || len(problems) > before:
			continue
		case !deterministic:
			what = "has values of random columns only, which every start would insert again: add one of a deterministic column, by which it is known"
		case !fresh:
			what = "would never be inserted: it is known by the values of its deterministic columns, and all of these stand in earlier records"
		default:
			continue
		}
		problems = append(problems, recordProblem{i, len(r.fields), what})
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
	if _, err := new(vault.Formats).Token(context.Background(), vault.Field{Format: c.Format}, value, 0); err != nil {
		return plain(err)
	}
	return ""
}

// plain is a message of package vault without the name of the package.
func plain(err error) string { return strings.TrimPrefix(err.Error(), "vault: ") }

// insertRecords stores the records that are not there yet.
func (v *vaultService) insertRecords(ctx context.Context, doc *document, org string, d *vaultDoc, columns map[columnName]vault.Column) error {
	for records := range batches(d.records, v.service.MaxItems()) {
		records, err := v.newRecords(ctx, org, d.id, records, columns)
		if err != nil {
			return fmt.Errorf("look up the records of the vault at %s: %w", d.place, err)
		}
		var items []vault.Item
		var places []string
		for _, r := range records {
			for _, f := range r.fields {
				items = append(items, vault.Item{Table: r.table, Column: f.column, Value: f.value})
				places = append(places, f.place)
			}
		}
		if len(items) == 0 {
			continue
		}
		_, err = v.service.Insert(ctx, org, provisioner.Subject, d.id, items)
		var refused *vault.ItemError
		if errors.As(err, &refused) {
			return doc.contradiction(places[refused.Index], plain(refused.Err))
		}
		if err != nil {
			return fmt.Errorf("insert the records of the vault at %s: %w", d.place, err)
		}
	}
	return nil
}

// batches cuts a list of records where their fields would be more than the most that a call takes. A record is not cut: a crash between
// its parts would leave it without its random values for ever.
func batches(records []recordDoc, most int) iter.Seq[[]recordDoc] {
	return func(yield func([]recordDoc) bool) {
		first, count := 0, 0
		for i, r := range records {
			if count+len(r.fields) > most {
				if !yield(records[first:i]) {
					return
				}
				first, count = i, 0
			}
			count += len(r.fields)
		}
		if first < len(records) {
			yield(records[first:])
		}
	}
}

// newRecords leaves those records out that are there already and have values of random columns, which would get further tokens. A value
// of a deterministic column can be inserted as often as anybody likes.
func (v *vaultService) newRecords(ctx context.Context, org, id string, records []recordDoc, columns map[columnName]vault.Column) ([]recordDoc, error) {
	var items []vault.Item // the deterministic values of records with others
	var of []int           // the record of each
	unknown := make(map[int]bool)
	for i, r := range records {
		random := false
		for _, f := range r.fields {
			random = random || columns[columnName{r.table, f.column}].Tokenization == vault.Random
		}
		if !random {
			unknown[i] = true
			continue
		}
		for _, f := range r.fields {
			if columns[columnName{r.table, f.column}].Tokenization == vault.Deterministic {
				items, of = append(items, vault.Item{Table: r.table, Column: f.column, Value: f.value}), append(of, i)
			}
		}
	}
	if len(items) > 0 {
		_, err := v.service.Tokenize(ctx, org, id, items)
		var missing *vault.BatchError
		if err != nil && !errors.As(err, &missing) {
			return nil, err
		}
		if missing != nil {
			for _, item := range missing.Items {
				unknown[of[item.Index]] = true
			}
		}
	}
	var left []recordDoc
	for i, r := range records {
		if unknown[i] {
			left = append(left, r)
		}
	}
	return left, nil
}
