package vaulttest

import "strings"

// Part is a part of a [Fake] that can be broken.
type Part string

// The parts.
const (
	StorePart       Part = "Store"       // all that follows but the keyring: no database
	VaultsPart      Part = "Vaults"      // vaults and their schemas
	TokensPart      Part = "Tokens"      // looking tokens up, inserting, reading and deleting them
	ImportsPart     Part = "Imports"     // tokens that were given elsewhere
	KeysPart        Part = "Keys"        // what the store knows of the keys
	KeyRotationPart Part = "KeyRotation" // what changes keys under rows
	AuditPart       Part = "Audit"       // the audit trail; no value is shown without it
	DeletionPart    Part = "Deletion"    // what deletes vaults and organizations
	KeyringPart     Part = "Keyring"     // the keys, as when a key management service is away
)

// Break makes every call to a part fail with [ErrInjected], without effect, until heal is
// called. A part that was broken twice must be healed twice.
func (f *Fake) Break(part Part) (heal func()) { return f.broken.Break(part) }

// fail is the Before hook of the fake's parts.
func (f *Fake) fail(op string) error {
	name, _, _ := strings.Cut(op, ".")
	part := Part(name)
	if f.broken.Broken(part) || part != KeyringPart && f.broken.Broken(StorePart) {
		return ErrInjected
	}
	return nil
}
