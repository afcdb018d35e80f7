package main

import (
	"context"

	"github.com/seed-6363c74e/mortise/vault"
)

// demoVault is the ID of the demo's vault.
const demoVault = "demo"

// provisionDemoVault makes the demo's vault, as a provisioning document would: what is
// there at a second start stays as it is.
func (v *vaultService) provisionDemoVault(ctx context.Context) error {
	email := vault.Column{Name: "email", Tokenization: vault.Deterministic, Group: "emails", Format: "uuid", Mask: "1*@"}
	card := vault.Column{Name: "card", Tokenization: vault.Deterministic, Format: "digits:luhn,last4"}
	field := func(column, value string) fieldDoc { return fieldDoc{column: column, value: vault.NewValue(value)} }
	ada := field("email", "ada@example.com")
	d := &vaultDoc{
		ID: demoVault,
		Tables: []vault.Table{
			{Name: "customers", Columns: []vault.Column{email, card, {Name: "note", Tokenization: vault.NoTokenization}}},
			{Name: "subscribers", Columns: []vault.Column{email}},
		},
		Records: []recordDoc{
			{Table: "customers", Fields: fieldDocs{[]fieldDoc{ada, field("card", "4111111111111111")}}},
			{Table: "subscribers", Fields: fieldDocs{[]fieldDoc{ada}}},
			{Table: "subscribers", Fields: fieldDocs{[]fieldDoc{field("email", "alan@example.com")}}},
		},
	}
	doc := &document{file: "the built-in demo"}
	if err := v.applyVault(ctx, doc, demoOrganization, d); err != nil {
		return err
	}
	return doc.err()
}
