package main

import (
	"context"

	"github.com/seed-6363c74e/mortise/vault"
)

// demoVault is the ID of the demo's vault.
const demoVault = "demo"

// provisionDemoVault makes the demo's vault, as a provisioning document would: what is there at a second start stays as it is.
func (v *vaultService) provisionDemoVault(ctx context.Context) error {
	email := vault.Column{Name: "email", Tokenization: vault.Deterministic, Group: "emails", Format: "uuid", Mask: "1*@"}
	card := vault.Column{Name: "card", Tokenization: vault.Deterministic, Format: "digits:luhn,last4"}
	d := &vaultDoc{
		id: demoVault,
		schema: vault.Schema{Tables: []vault.Table{
			{Name: "customers", Columns: []vault.Column{email, card, {Name: "note", Tokenization: vault.NoTokenization}}},
			{Name: "subscribers", Columns: []vault.Column{email}},
		}},
		records: []recordDoc{
			{table: "customers", fields: []fieldDoc{
				{column: "email", value: vault.NewValue("ada@example.com")},
				{column: "card", value: vault.NewValue("4111111111111111")},
			}},
			{table: "subscribers", fields: []fieldDoc{{column: "email", value: vault.NewValue("ada@example.com")}}},
			{table: "subscribers", fields: []fieldDoc{{column: "email", value: vault.NewValue("alan@example.com")}}},
		},
		place: "the demo's vault",
	}
	return v.applyVault(ctx, &document{file: "built-in demo"}, demoOrganization, d)
}
