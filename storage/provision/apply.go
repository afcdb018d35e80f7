package provision

import (
	"cmp"
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
)

// Actor is who provisions, in the audit trails and for the observers.
const Actor = "provisioning"

// Services are what a document is applied to. They hold the same organizations. Vault and
// AudioSearch may be nil if no document has anything for them.
type Services struct {
	Trigger     *trigger.Service
	AuthMgmt    *authmgmt.Service
	Credentials Credentials // the store of AuthMgmt
	Vault       *vault.Service
	Sandbox     *vault.Service // gets the vaults, without their records; nil: there is none
	AudioSearch *audiosearch.Service

	Logger *slog.Logger // slog.Default(); is told what is stored otherwise than a document says
}

// Credentials says whose a secret is, by its SHA-256. Every authmgmt.Store does. Both
// errors are mortise.ErrNotFound for one that is nobody's.
type Credentials interface {
	TokenByDigest(ctx context.Context, digest [32]byte) (authmgmt.Token, error)
	ClientBySecret(ctx context.Context, digest [32]byte) (authmgmt.Client, error)
}

// Empty calls do with services that hold nothing, are set up as those that documents are
// applied to, and are gone when do has returned. Its error is that of do, or its own.
type Empty func(ctx context.Context, do func(*Services) error) error

// Dataset names a dataset of an organization.
type Dataset struct{ Organization, ID string }

// Datasets are those of the document that Apply has found or made.
func (d *Document) Datasets() []Dataset { return slices.Clone(d.datasets) }

// Apply makes what the services hold follow the document, which should have been
// rehearsed. The error is an [*Error] if the document contradicts what is stored; then
// nothing was changed, but for what the package says. After any other error it is to be
// applied again.
func (d *Document) Apply(ctx context.Context, s *Services, empty Empty) error {
	err := d.inEmpty(ctx, empty, func(rehearsal *Services) error {
		d.against = againstStored
		return d.each(ctx, s.checkTriggers, s.checkCredentials, s.copyVaults(rehearsal), rehearsal.applyVaults)
	})
	d.log = cmp.Or(s.Logger, slog.Default())
	d.deleted, d.datasets, d.against = make(map[[2]string]bool), nil, ""
	// What shows only when the vaults are written is rare. So vaults come before any
	// credential works.
	if err == nil {
		err = d.each(ctx, s.applyVaults)
	}
	if err == nil {
		err = d.each(ctx, s.applyTriggers, s.applyCredentials, s.applyDatasets)
	}
	return err
}

// Rehearse applies the document to services that hold nothing. So whatever a service
// refuses is told before anything is stored, with what else is wrong with the document.
// The error is an [*Error], or that of ctx.
func (d *Document) Rehearse(ctx context.Context, empty Empty) error {
	return d.inEmpty(ctx, empty, func(s *Services) error {
		err := d.each(ctx, s.checkName, s.applyTriggers, s.applyCredentials, s.applyVaults, s.applyDatasets)
		var wrong *Error
		if err != nil && !errors.As(err, &wrong) && ctx.Err() == nil { // services that hold nothing fail for no other reason
			err = errorf("%s: cannot be applied: %w", d.file, err)
		}
		return err
	})
}

// inEmpty does something with services that hold nothing.
func (d *Document) inEmpty(ctx context.Context, empty Empty, do func(*Services) error) error {
	return empty(ctx, func(s *Services) error {
		d.rehearsing = true
		defer func() { d.rehearsing = false }()
		return do(s)
	})
}

// step checks or applies a part of an organization. What is wrong with the document it
// notes there.
type step func(ctx context.Context, doc *Document, org *organizationDoc) error

// each does steps for all organizations, one step after another. The error is what is
// wrong with the document, if there is anything.
func (d *Document) each(ctx context.Context, steps ...step) error {
	for _, step := range steps {
		for i := range d.contents.Organizations {
			org := &d.contents.Organizations[i]
			err := step(ctx, d, org)
			if errors.Is(err, mortise.ErrDeleted) {
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
}](doc *Document, what string, list []T, do func(P) error, parts ...string) error {
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
func (d *Document) warnOfOther(what string, at place, others ...any) {
	var names []string
	for pair := range slices.Chunk(others, 2) {
		if pair[1] == true {
			names = append(names, fmt.Sprint(pair[0]))
		}
	}
	if len(names) > 0 && !d.rehearsing {
		d.log.Warn("provisioning document: "+what+" is stored with "+strings.Join(names, " and ")+
			"; what exists is never changed", "place", d.where(at))
	}
}

// refuse notes what a service says is wrong with an item, and reports whether it says so.
func (d *Document) refuse(at place, what string, err error) bool {
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

// problemsOf returns the problems of a ValidationError.
func problemsOf(err error) []mortise.Problem {
	var invalid *mortise.ValidationError
	if errors.As(err, &invalid) {
		return invalid.Problems
	}
	return nil
}

// noteDeleted logs one line about an organization, or a vault of it ("" if the whole
// organization is meant), that the document names and that was deleted, whichever service
// says so first. It stays deleted, and the rest of the document is applied.
func (d *Document) noteDeleted(organization, vault string) {
	what, names := "an organization", []any{"organization", organization}
	if vault != "" {
		what, names = "a vault", append(names, "vault", vault)
	}
	if noted := [2]string{organization, vault}; !d.rehearsing && !d.deleted[noted] {
		d.deleted[noted] = true
		d.log.Warn("provisioning document: it names "+what+" that was deleted, which it does not bring back; "+
			"take it out, or give it another ID", names...)
	}
}
