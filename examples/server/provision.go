package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
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
	err := inMemory(ctx, doc, func(rehearsal *services) error {
		doc.against = againstStored
		return doc.each(ctx, s.trigger.check, s.authmgmt.check, s.vault.copyTo(rehearsal.vault), rehearsal.vault.apply)
	})
	doc.log, doc.deleted, doc.against = log, make(map[[2]string]bool), ""
	if err == nil {
		err = doc.each(ctx, s.vault.apply)
	}
	if err == nil {
		err = doc.each(ctx, s.trigger.apply, s.authmgmt.apply, s.audio.apply)
	}
	if err != nil {
		return err
	}
	log.Info("provisioning document applied", "organizations", len(doc.Organizations))
	return nil
}

// provisioningStep checks or applies a part of an organization. What is wrong with the
// document it notes there.
type provisioningStep func(ctx context.Context, doc *document, org *organizationDoc) error

// each does steps for all organizations, one step after another. The error is what is
// wrong with the document, if there is anything.
func (d *document) each(ctx context.Context, steps ...provisioningStep) error {
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
	return d.err()
}

// eachOf does something for the items of a list, one after another, and notes in the
// document what is wrong with them. It leaves out those of which these parts are bad or
// missing, of an item of no parts any.
func eachOf[T any, P interface {
	*T
	at() place
}](doc *document, what string, list []T, do func(P) error, parts ...string) error {
	for i := range list {
		item := P(&list[i])
		if doc.lacks(item.at(), parts) {
			continue
		}
		err := do(item)
		if wrong := contradiction(""); errors.As(err, &wrong) {
			doc.fail(item.at(), "%s", string(wrong))
		} else if err != nil && !errors.Is(err, errNoted) && !doc.refuse(item.at(), what, err) {
			return fmt.Errorf("provision the %s at %s: %w", what, doc.where(item.at()), err)
		}
	}
	return nil
}

// contradiction is what an item of the document contradicts in what is stored.
type contradiction string

func (c contradiction) Error() string { return string(c) }

// againstStored begins what is wrong with a vault beside that which is stored.
const againstStored = "does not go with the vault as it is stored: "

// errNoted is of an item with which something is wrong, as is noted in the document.
var errNoted = errors.New("see the document")

// except returns an error, unless it is one that is expected.
func except(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// warnOfOther warns of an item that is stored with something else than the document has.
// others are pairs of what it would have and whether it does.
func (d *document) warnOfOther(log *slog.Logger, what string, at place, others ...any) {
	var names []string
	for pair := range slices.Chunk(others, 2) {
		if pair[1] == true {
			names = append(names, fmt.Sprint(pair[0]))
		}
	}
	if len(names) > 0 {
		log.Warn("provisioning document: "+what+" is stored with "+strings.Join(names, " and ")+"; what exists is never changed", "place", d.where(at))
	}
}

// rehearse applies a document to services that hold nothing. So whatever a service refuses
// is told before anything is stored, with what the reader refused. What is left are
// contradictions to what is stored.
func rehearse(ctx context.Context, doc *document) error {
	if doc == nil {
		return nil
	}
	return inMemory(ctx, doc, func(s *services) error {
		err := doc.each(ctx, s.trigger.checkName, s.trigger.apply, s.authmgmt.apply, s.vault.apply, s.audio.apply)
		var usage *usageError
		if err != nil && !errors.As(err, &usage) && ctx.Err() == nil { // services that hold nothing fail for no other reason
			err = usagef("-config: %s: cannot be applied: %w", doc.file, err)
		}
		return err
	})
}

// inMemory does something with services that hold nothing, and forgets them.
func inMemory(ctx context.Context, doc *document, do func(*services) error) error {
	log := slog.New(slog.DiscardHandler)
	back, err := openMemory(ctx, log)
	if err != nil {
		return err
	}
	back.audio.files = new(mediaFolder) // no file is opened
	s, err := wire(&settings{memory: true, publicURL: "http://127.0.0.1"}, back, localkeys.RandomRoot(), log)
	if err == nil {
		doc.rehearsing = true
		err = do(s)
		doc.rehearsing = false
	}
	return errors.Join(err, back.close())
}

// problem is what all services say of an argument.
type problem struct {
	Path    mortise.Path
	Message string
}

// refuse notes what a service says is wrong with an item, and reports whether it says so.
func (d *document) refuse(at place, what string, err error) bool {
	problems := problemsOf(err)
	for _, p := range problems {
		first := p.Path[0].Field
		path := p.Path.String()
		if key, ok := documentKeys[what+" "+first]; ok {
			path = key + strings.TrimPrefix(path, first)
		}
		if first == "lifetime" { // which the document writes in another way
			p.Message = "must be a duration above zero, as in 168h or 90m, and at most 720h"
		}
		d.fail(d.nearest(at.in(path)), "%s", p.Message)
	}
	return len(problems) > 0
}

// documentKeys are where the document has what a service has other names for.
var documentKeys = map[string]string{
	"organization organization": "id",
	"invitation inviter":        "inviter.name",
	"invitation email":          "invitee.email",
	"invitation name":           "invitee.name",
	"invitation roles":          "invitee.roles",
	"invitation lifetime":       "expires_in",
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
	if noted := [2]string{organization, vault}; !d.rehearsing && !d.deleted[noted] {
		d.deleted[noted] = true
		d.log.Warn("provisioning document: it names "+what+" that was deleted, which it does not bring back; take it out, or give it another ID", names...)
	}
}
