package authmgmttest

import "strings"

// Part is a part of a [Fake] that can be broken.
type Part string

// The parts.
const (
	StorePart       Part = "Store"       // all that follows but the directory: no database
	ClientsPart     Part = "Clients"     // clients and their secrets
	TokensPart      Part = "Tokens"      // access tokens
	InvitationsPart Part = "Invitations" // invitations, and what is due of them
	AuditPart       Part = "Audit"       // reading the audit trail; writing it is part of every change
	DeletionPart    Part = "Deletion"    // what deletes organizations
	PrunerPart      Part = "Pruner"      // forgetting
	KeyCheckerPart  Part = "KeyChecker"  // CheckKey
	DirectoryPart   Part = "Directory"   // the organizations, with Options.Directory
)

// Break makes every call to a part fail with [ErrInjected], without effect, until heal is
// called. A part that was broken twice must be healed twice.
func (f *Fake) Break(part Part) (heal func()) { return f.broken.Break(part) }

// fail is the Before hook of the fake's parts.
func (f *Fake) fail(op string) error {
	name, _, _ := strings.Cut(op, ".")
	part := Part(name)
	if f.broken.Broken(part) || part != DirectoryPart && f.broken.Broken(StorePart) {
		return ErrInjected
	}
	return nil
}
