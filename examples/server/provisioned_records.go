package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise/vault"
)

// provisionedRecords remembers which records of provisioning documents were inserted, so
// that no later start inserts them again: values that were deleted since stay deleted,
// and values of random columns get no second token.
//
// It is a vault itself, of an organization that no document can have, and holds digests
// of the records. So what is stored of it says nothing to anybody without the root key.
type provisionedRecords struct{ service *vault.Service }

// No document has an organization of this name: the reader refuses it.
const (
	provisionedOrganization = "\x01mortise"
	provisionedVault        = "provisioned records"
	provisionedTable        = "records"
	provisionedColumn       = "digest"
)

// missing returns those of a vault's records that were not inserted by a provisioning
// document yet.
func (p *provisionedRecords) missing(ctx context.Context, org, id string, records []recordDoc) ([]recordDoc, error) {
	if len(records) == 0 {
		return nil, nil
	}
	if err := p.prepare(ctx); err != nil {
		return nil, err
	}
	_, err := p.service.Tokenize(ctx, provisionedOrganization, provisionedVault, digests(org, id, records))
	var unknown *vault.BatchError
	switch {
	case errors.Is(err, vault.ErrValueNotFound) && errors.As(err, &unknown):
	default:
		return nil, err
	}
	var left []recordDoc
	for _, item := range unknown.Items {
		left = append(left, records[item.Index])
	}
	return left, nil
}

// add remembers records that were inserted.
func (p *provisionedRecords) add(ctx context.Context, org, id string, records []recordDoc) error {
	_, err := p.service.Insert(ctx, provisionedOrganization, provisioning, provisionedVault, digests(org, id, records))
	return err
}

// prepare makes the vault if there is none.
func (p *provisionedRecords) prepare(ctx context.Context) error {
	_, err := p.service.EnsureVault(ctx, provisionedOrganization, provisioning, provisionedVault, vault.Schema{Tables: []vault.Table{{
		Name: provisionedTable, Columns: []vault.Column{{Name: provisionedColumn, Tokenization: vault.Deterministic}},
	}}})
	return err
}

// digests returns what records are remembered by. The order of their fields means
// nothing.
func digests(org, id string, records []recordDoc) []vault.Item {
	items := make([]vault.Item, len(records))
	for i, r := range records {
		fields := slices.SortedFunc(slices.Values(r.fields), func(a, b fieldDoc) int { return strings.Compare(a.column, b.column) })
		parts := []string{org, id, r.table}
		for _, f := range fields {
			parts = append(parts, f.column, f.value.Reveal())
		}
		text, _ := json.Marshal(parts) // strings always can be, and a document holds UTF-8 only
		digest := sha256.Sum256(text)
		items[i] = vault.Item{Place: vault.InColumn(provisionedTable, provisionedColumn),
			Value: vault.NewValue(base64.StdEncoding.EncodeToString(digest[:]))}
	}
	return items
}
