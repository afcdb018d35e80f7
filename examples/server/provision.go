package main

import (
	"context"
	"log/slog"
)

// provisioning is who provisions, in the audit trails and for the observers.
const provisioning = "provisioning"

// deletedNotes are the organizations and vaults of a document that were deleted.
type deletedNotes struct {
	log   *slog.Logger
	noted map[[2]string]bool
}

// noteDeleted logs one line about an organization, or a vault of it ("" if the whole
// organization is meant), that the document names and that was deleted, whichever service
// says so first. It stays deleted, and the rest of the document is applied.
func (d *document) noteDeleted(organization, vault string) {
	n := &d.deleted
	which := [2]string{organization, vault}
	if n.noted[which] || n.log == nil {
		return
	}
	if n.noted == nil {
		n.noted = make(map[[2]string]bool)
	}
	n.noted[which] = true
	const left = " that was deleted, which it does not bring back; take it out, or give it another ID"
	if vault == "" {
		n.log.Warn("provisioning document: it names an organization"+left, "organization", organization)
		return
	}
	n.log.Warn("provisioning document: it names a vault"+left, "organization", organization, "vault", vault)
}

// provision makes the services hold what the document says; nil says nothing. What is
// missing is created. What exists is neither changed nor revived, but for setup_complete,
// rbac_enabled, the readiness of collections and "revoked": true, which always follow the
// document. What is not in the document stays. What was deleted stays so: see
// noteDeleted. Applying it again changes nothing.
//
// The document has been rehearsed, so no service refuses it for itself. Each service
// first checks it against what is stored, so that a contradiction to that changes
// nothing anywhere. Two contradictions show only later: a column that would come back
// into a group that it had tokens without, and a value for which a format has no token
// left. So vaults come first, before any credential works. Nothing is done twice, so
// the document can be applied again once it is corrected.
func provision(ctx context.Context, s *services, doc *document, log *slog.Logger) error {
	if doc == nil {
		return nil
	}
	doc.deleted = deletedNotes{log: log}
	for _, check := range []func(context.Context, *document) error{s.trigger.checkDocument, s.authmgmt.checkDocument, s.vault.checkDocument} {
		if err := check(ctx, doc); err != nil {
			return err
		}
	}
	for _, apply := range []func(context.Context, *document) error{
		s.vault.applyDocument, s.trigger.applyDocument, s.authmgmt.applyDocument, s.audio.applyDocument,
	} {
		if err := apply(ctx, doc); err != nil {
			return err
		}
	}
	log.Info("provisioning document applied", "organizations", len(doc.organizations))
	return nil
}
