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

// An organization whose vaults were given records has one vault more, recordsVault, which
// its lists show as any other. There is a digest of each record that was inserted, so that
// no later start inserts it again: values that were deleted since stay deleted, and values
// of random columns get no second token. The digests are values of a vault, so they say
// nothing to anybody without the root key.
//
// Earlier versions kept the digests of all organizations in one vault of earlierRecords.
// What is there counts as well. No document has an organization or a vault of these names.
const (
	recordsVault   = "provisioned-records"
	recordsTable   = "records"
	recordsColumn  = "digest"
	earlierRecords = "\x01mortise"
	earlierVault   = "provisioned records"
)

// missingRecords returns those of a vault's records that were not inserted by a
// provisioning document yet.
func (v *vaultService) missingRecords(ctx context.Context, org, id string, records []recordDoc) ([]recordDoc, error) {
	for _, at := range [][2]string{{org, recordsVault}, {earlierRecords, earlierVault}} {
		if len(records) == 0 {
			break
		}
		_, err := v.service.Tokenize(ctx, at[0], at[1], digests(org, id, records))
		var unknown *vault.BatchError
		switch {
		case err == nil:
			return nil, nil
		case errors.Is(err, vault.ErrValueNotFound) && errors.As(err, &unknown):
			var left []recordDoc
			for _, item := range unknown.Items {
				left = append(left, records[item.Index])
			}
			records = left
		case !errors.Is(err, vault.ErrNotFound): // else there is no such vault
			return nil, err
		}
	}
	return records, nil
}

// rememberRecords remembers records that were inserted.
func (v *vaultService) rememberRecords(ctx context.Context, org, id string, records []recordDoc) error {
	_, err := v.service.EnsureVault(ctx, org, provisioning, recordsVault, vault.Schema{Tables: []vault.Table{{
		Name: recordsTable, Columns: []vault.Column{{Name: recordsColumn, Tokenization: vault.Deterministic}},
	}}})
	if err == nil {
		_, err = v.service.Insert(ctx, org, provisioning, recordsVault, digests(org, id, records))
	}
	return err
}

// digests returns what records are remembered by. The order of their fields means
// nothing.
func digests(org, id string, records []recordDoc) []vault.Item {
	items := make([]vault.Item, len(records))
	for i, r := range records {
		fields := slices.SortedFunc(slices.Values(r.Fields.list), func(a, b fieldDoc) int { return strings.Compare(a.column, b.column) })
		parts := []string{org, id, r.Table}
		for _, f := range fields {
			parts = append(parts, f.column, f.value.Reveal())
		}
		text, _ := json.Marshal(parts) // strings always can be, and a document holds UTF-8 only
		digest := sha256.Sum256(text)
		items[i] = vault.Item{
			Place: vault.InColumn(recordsTable, recordsColumn), Value: vault.NewValue(base64.StdEncoding.EncodeToString(digest[:])),
		}
	}
	return items
}
