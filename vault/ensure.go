package vault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// EnsureVault makes a vault unless it is there, for a program to call at every start. A
// vault that is there with the same schema is left as it is and returned: nothing is
// audited or observed. Of several callers at once one makes it, and all succeed.
//
// A vault that is there with another schema is [ErrExists], and is left as it is, too:
// change it by [Service.ChangeSchema], on purpose. A program of yesterday that starts once
// more would else take away the columns that the one of today has added.
//
// Schemas are the same if they have the same tables with the same columns, in whatever
// order, for no order means anything. No tokenization can be left out or said. Formats and
// masks are compared as they are written: what they mean is the Tokenizer's, so "" and
// "uuid" differ.
func (s *Service) EnsureVault(ctx context.Context, org, actor, id string, schema Schema) (Vault, error) {
	start := s.start()
	v, made, err := s.ensureVault(ctx, org, actor, id, schema)
	if made || err != nil {
		s.observe(ctx, start, Observation{Kind: KindVaultCreated, Organization: org, Vault: id, Actor: actor, Items: 1, Err: err})
	}
	return v, err
}

func (s *Service) ensureVault(ctx context.Context, org, actor, id string, schema Schema) (v Vault, made bool, err error) {
	if err := s.checkVault(org, id, &schema); err != nil {
		return Vault{}, false, err
	}
	v, err = s.Vault(ctx, org, id)
	if errors.Is(err, ErrNotFound) {
		v, err = s.createVault(ctx, org, actor, id, schema)
		if !errors.Is(err, ErrExists) {
			return v, err == nil, err
		}
		v, err = s.Vault(ctx, org, id) // somebody else has made it since
	}
	if err != nil {
		return Vault{}, false, err
	}
	if !sameSchema(v.Schema, schema) {
		return Vault{}, false, fmt.Errorf("%w has another schema: change it by ChangeSchema", ofVault(id, ErrExists))
	}
	return v, false, nil
}

// sameSchema compares schemas without problems, in which no name comes twice.
func sameSchema(a, b Schema) bool {
	return slices.EqualFunc(sortedTables(a), sortedTables(b), func(a, b Table) bool {
		return a.Name == b.Name && slices.Equal(a.Columns, b.Columns)
	})
}

// sortedTables returns tables and columns by name, with every tokenization written out.
func sortedTables(s Schema) []Table {
	tables := s.Clone().Tables
	slices.SortFunc(tables, func(a, b Table) int { return strings.Compare(a.Name, b.Name) })
	for _, t := range tables {
		slices.SortFunc(t.Columns, func(a, b Column) int { return strings.Compare(a.Name, b.Name) })
		for i := range t.Columns {
			t.Columns[i].Tokenization = cmp.Or(t.Columns[i].Tokenization, NoTokenization)
		}
	}
	return tables
}
