package vault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise"
)

// EnsureVault makes a vault unless it is there, for a program to call at every start. A
// vault that is there with the same schema is left as it is and returned: nothing is
// audited or observed. If several call it at once, one makes the vault, and all succeed.
//
// If the vault is there with another schema, the error is [mortise.ErrExists], and the
// vault stays as it is: change it by [Service.ChangeSchema], on purpose. Otherwise an
// older release of a program, started once more, would take away the columns that a
// newer one has added. The error is [mortise.ErrDeleted] if the vault was there and was
// deleted, or if the organization was. The other errors are [*mortise.ValidationError]
// and [mortise.ErrUnavailable].
//
// Schemas are the same if they have the same tables with the same columns, in any order.
// A Tokenization of "" is the same as [NoTokenization]. Formats and masks are compared as
// they are written, because only the Tokenizer knows what they mean: "" and "uuid"
// differ.
func (s *Service) EnsureVault(ctx context.Context, org string, by mortise.Actor, id string, schema Schema) (Vault, error) {
	start := s.start()
	v, made, err := s.ensureVault(ctx, org, by, id, schema)
	if made || err != nil {
		s.observe(ctx, start, mortise.Observation{Kind: mortise.KindVaultCreated, Organization: org, Object: id, Actor: by, Items: 1, Err: err})
	}
	return v, err
}

func (s *Service) ensureVault(ctx context.Context, org string, by mortise.Actor, id string, schema Schema) (v Vault, made bool, err error) {
	if err := s.checkVault(org, id, &schema); err != nil {
		return Vault{}, false, err
	}
	v, err = s.Vault(ctx, org, id)
	if errors.Is(err, mortise.ErrNotFound) {
		v, err = s.createVault(ctx, org, by, id, schema)
		if !errors.Is(err, mortise.ErrExists) {
			return v, err == nil, err
		}
		v, err = s.Vault(ctx, org, id) // somebody else has made it since
	}
	if err != nil {
		return Vault{}, false, err
	}
	if !sameSchema(v.Schema, schema) {
		return Vault{}, false, fmt.Errorf("%w has another schema: change it by ChangeSchema", ofVault(id, mortise.ErrExists))
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
