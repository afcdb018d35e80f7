package vault

import (
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Value is a sensitive text on its way through the service: any bytes, kept exactly as
// they are. It prints as [redacted] through every verb, as JSON and in logs. Reveal
// returns the text.
type Value = keyring.Value

// NewValue returns a Value. [keyring.Values] makes many at once.
func NewValue(text string) Value { return keyring.NewValue(text) }

// Field is one column of a vault, or one of the groups that its columns share, with
// Organization, Vault, Table, Column, Group, Format and Mask: what a [RedactionPolicy] is
// asked for, and a tokenizer.
type Field = format.Field
