package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
)

// provisioning is who provisions, in the audit trails and for the observers.
const provisioning = "provisioning"

// provision makes what is stored follow the document. It can be called at every start:
// what is missing is created. What exists is neither changed nor revived, but for
// setup_complete, rbac_enabled, the readiness of collections and "revoked": true, which
// always follow the document. What is not in the document stays. What was deleted stays
// so: see noteDeleted.
//
// The document has been rehearsed, so no service refuses it for itself. Each service
// first checks it against what is stored, so that a contradiction to that changes
// nothing. What shows only when the vaults are written is rare: a column that comes back
// into a group that it had tokens without, and a value for which a format has no token
// left. So vaults come first, before any credential works. Nothing is done twice, so
// the document can be applied again once it is corrected.
func provision(ctx context.Context, s *services, doc *document, log *slog.Logger) error {
	if doc == nil {
		return nil
	}
	doc.log, doc.deleted = log, make(map[[2]string]bool)
	for _, steps := range [][]provisioningStep{
		{s.trigger.check, s.authmgmt.check, s.vault.check}, {s.vault.apply}, {s.trigger.apply, s.authmgmt.apply, s.audio.apply},
	} {
		if err := doc.each(ctx, steps); err != nil {
			return err
		}
		if err := doc.err(); err != nil {
			return err
		}
	}
	log.Info("provisioning document applied", "organizations", len(doc.Organizations))
	return nil
}

// provisioningStep checks or applies a part of an organization. What is wrong with the
// document it notes there.
type provisioningStep func(ctx context.Context, doc *document, org *organizationDoc) error

// each does steps for all organizations, one step after another.
func (d *document) each(ctx context.Context, steps []provisioningStep) error {
	for _, step := range steps {
		for i := range d.Organizations {
			org := &d.Organizations[i]
			err := step(ctx, d, org)
			if errors.Is(err, trigger.ErrDeleted) || errors.Is(err, authmgmt.ErrDeleted) || errors.Is(err, audiosearch.ErrDeleted) {
				d.noteDeleted(org.ID, "")
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}

// rehearse applies a document to services that hold nothing, and forgets them. So
// whatever a service refuses is told before anything is stored, with what the reader
// refused. What is left are contradictions to what is stored.
func rehearse(ctx context.Context, doc *document) error {
	if doc == nil {
		return nil
	}
	log := slog.New(slog.DiscardHandler)
	back, err := openMemory(ctx, log)
	if err != nil {
		return err
	}
	back.audio.files = new(mediaFolder) // no file is opened
	key := newRootKey()
	s, err := wire(&settings{memory: true, publicURL: "http://127.0.0.1"}, back, &key, log)
	if err == nil {
		err = doc.each(ctx, []provisioningStep{s.trigger.checkName, s.trigger.apply, s.authmgmt.apply, s.vault.check, s.audio.apply})
		if refused := doc.err(); refused != nil {
			err = refused
		} else if err != nil && ctx.Err() == nil { // services that hold nothing fail for no other reason
			err = usagef("-config: %s: cannot be applied: %w", doc.file, err)
		}
	}
	return errors.Join(err, back.close())
}

// problem is what all services say of an argument.
type problem struct {
	Path    mortise.Path
	Message string
}

// refuse notes what a service says is wrong with a value, and reports whether it says so.
// keys are where the document has what the service has other names for.
func (d *document) refuse(n *node, err error, keys map[string]string) bool {
	problems := problemsOf(err)
	for _, p := range problems {
		first, at := p.Path[0].Field, p.Path
		if better, ok := wordings[first]; ok {
			p.Message = better
		}
		if key, ok := keys[first]; ok {
			at = nil
			for name := range strings.SplitSeq(key, ".") {
				at = at.Field(name)
			}
			at = append(at, p.Path[1:]...)
		}
		d.failIn(n, at, p.Message)
	}
	return len(problems) > 0
}

// wordings are for what the document writes in another way than the service takes it.
var wordings = map[string]string{
	"lifetime": "must be a duration above zero, as in 168h or 90m, and at most 720h",
	"metadata": fmt.Sprintf("must have at most %d keys and %d bytes", metadata.MaxKeys, metadata.MaxBytes),
}

// problemsOf returns the problems of a ValidationError of any service.
func problemsOf(err error) (all []problem) {
	var t *trigger.ValidationError
	var a *authmgmt.ValidationError
	var v *vault.ValidationError
	var s *audiosearch.ValidationError
	switch {
	case errors.As(err, &t):
		for _, p := range t.Problems {
			all = append(all, problem(p))
		}
	case errors.As(err, &a):
		for _, p := range a.Problems {
			all = append(all, problem(p))
		}
	case errors.As(err, &v):
		for _, p := range v.Problems {
			all = append(all, problem(p))
		}
	case errors.As(err, &s):
		for _, p := range s.Problems {
			all = append(all, problem{p.Path, p.Message})
		}
	}
	return all
}

// noteDeleted logs one line about an organization, or a vault of it ("" if the whole
// organization is meant), that the document names and that was deleted, whichever service
// says so first. It stays deleted, and the rest of the document is applied.
func (d *document) noteDeleted(organization, vault string) {
	what, names := "an organization", []any{"organization", organization}
	if vault != "" {
		what, names = "a vault", append(names, "vault", vault)
	}
	if noted := [2]string{organization, vault}; d.log != nil && !d.deleted[noted] {
		d.deleted[noted] = true
		d.log.Warn("provisioning document: it names "+what+" that was deleted, which it does not bring back; take it out, or give it another ID", names...)
	}
}
