package provision

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
)

// A vault remembers which records of provisioning documents were inserted, so that no
// later start inserts them again: values that were deleted since stay deleted, and
// values of random columns get no second token.
//
// It belongs to an organization of its own, which no document can have: nobody's
// credentials reach it. In a vault of the organization itself, whoever may tokenize
// could try what the values are. It holds digests of the records, which say nothing to
// anybody without the root key.
const (
	recordsOrganization = "\x01mortise"
	recordsVault        = "provisioned records"
	recordsTable        = "records"
	recordsColumn       = "digest"
)

// missingRecords returns those of a vault's records that were not inserted by a
// provisioning document yet.
func (s *Services) missingRecords(ctx context.Context, org, id string, records []recordDoc) ([]recordDoc, error) {
	if len(records) == 0 {
		return nil, nil
	}
	_, err := s.Vault.Tokenize(ctx, recordsOrganization, recordsVault, digests(org, id, records))
	var unknown *vault.BatchError
	switch {
	case errors.Is(err, vault.ErrValueNotFound) && errors.As(err, &unknown):
	case errors.Is(err, mortise.ErrNotFound):
		return records, nil // there is no such vault yet
	default:
		return nil, err
	}
	var left []recordDoc
	for _, item := range unknown.Items {
		left = append(left, records[item.Index])
	}
	return left, nil
}

// rememberRecords remembers records that were inserted.
func (s *Services) rememberRecords(ctx context.Context, org, id string, records []recordDoc) error {
	_, err := s.Vault.EnsureVault(ctx, recordsOrganization, Actor, recordsVault, vault.Schema{Tables: []vault.Table{{
		Name: recordsTable, Columns: []vault.Column{{Name: recordsColumn, Tokenization: vault.Deterministic}},
	}}})
	if err == nil {
		_, err = s.Vault.Insert(ctx, recordsOrganization, Actor, recordsVault, digests(org, id, records))
	}
	return err
}

// digests returns what records are remembered by. The order of their fields means
// nothing.
func digests(org, id string, records []recordDoc) []vault.Item {
	items := make([]vault.Item, len(records))
	for i, r := range records {
		parts := []string{org, id, r.Table}
		for _, column := range slices.Sorted(maps.Keys(r.Fields)) {
			parts = append(parts, column, r.Fields[column].Value.Reveal())
		}
		text, _ := json.Marshal(parts) // strings always can be, and a document holds UTF-8 only
		digest := sha256.Sum256(text)
		items[i] = vault.Item{
			Place: vault.InColumn(recordsTable, recordsColumn),
			Value: vault.NewValue(base64.StdEncoding.EncodeToString(digest[:])),
		}
	}
	return items
}
