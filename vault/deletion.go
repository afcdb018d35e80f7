package vault

import (
	"context"
	"errors"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/steps"
)

// removeStep is how many rows a call of DeleteOrganization or DeleteVault removes at
// most: a store that has one writer is held up for so long.
const removeStep = 1000

// DeleteOrganization deletes everything that is kept of an organization. The first call
// marks it as deleted; every call then removes a bounded part of what there is, and
// reports whether there is more: call it until more is false. It may be cut off at any
// place and called again by anybody, on any server.
//
// From the mark on, the organization's vaults read as what does not exist, its audit
// trail has just the event that says who deleted it, and to make a vault in it is
// [mortise.ErrDeleted]. Its ID is not given again, even if it had nothing. The Observer
// hears of it once, at the call that marked it.
//
// This deletes what package vault keeps of the organization; each of the other domains
// deletes its own. Errors are [*mortise.ValidationError] and [mortise.ErrUnavailable].
func (s *Service) DeleteOrganization(ctx context.Context, org string, by mortise.Actor) (more bool, err error) {
	var p problems
	p.Name("organization", org)
	if err := p.Err(); err != nil {
		return false, err
	}
	return s.deleteAll(ctx, deletion{
		Observation: mortise.Observation{Kind: mortise.KindOrganizationDeleted, Organization: org, Actor: by, Items: 1},
		message:     "vault: an organization was deleted",
		log:         []any{"organization", org, "actor", by},
		mark: func(at time.Time, e AuditEvent) (time.Time, error) {
			return s.store.MarkDeleted(ctx, org, at, e)
		},
		stepName: "RemoveDeleted",
		step: func(ctx context.Context, limit int) (int, bool, error) {
			return s.store.RemoveDeleted(ctx, org, limit)
		},
	})
}

// DeleteVault deletes a vault with all its tokens, in steps as
// [Service.DeleteOrganization] does: call it until more is false. From the first call
// on the vault reads as what does not exist. Its ID is not given again, and so none of
// its tokens is: [Service.CreateVault] returns [mortise.ErrDeleted]. The organization's
// audit trail keeps what was done to the vault, and says who deleted it.
//
// The error is [mortise.ErrNotFound] if there never was such a vault, or if the
// organization was deleted, and [mortise.ErrUnavailable] if the store is away.
func (s *Service) DeleteVault(ctx context.Context, org string, by mortise.Actor, id string) (more bool, err error) {
	if !isVaultID(org, id) {
		return false, ofVault(id, mortise.ErrNotFound)
	}
	return s.deleteAll(ctx, deletion{
		Observation: mortise.Observation{Kind: mortise.KindVaultDeleted, Organization: org, Object: id, Actor: by, Items: 1},
		vault:       id,
		message:     "vault: a vault was deleted",
		log:         []any{"organization", org, "vault", id, "actor", by},
		mark: func(at time.Time, e AuditEvent) (time.Time, error) {
			return s.store.MarkVaultDeleted(ctx, org, id, at, e)
		},
		stepName: "RemoveDeletedVault",
		step: func(ctx context.Context, limit int) (int, bool, error) {
			return s.store.RemoveDeletedVault(ctx, org, id, limit)
		},
	})
}

// deletion is how something is deleted, and what is told of it.
type deletion struct {
	mortise.Observation
	vault    string // "" for an organization
	message  string
	log      []any
	mark     func(at time.Time, e AuditEvent) (since time.Time, err error)
	step     steps.Step
	stepName string
}

// deleteAll takes a step of a deletion. Most calls are not the first: what is not marked
// yet is found out by that step.
func (s *Service) deleteAll(ctx context.Context, d deletion) (more bool, err error) {
	start := s.start()
	marked := false
	remove := func() {
		_, more, err = steps.Once(ctx, d.stepName, removeStep, d.step)
	}
	if remove(); errors.Is(err, mortise.ErrNotFound) {
		if marked, err = s.markDeleted(&d); err == nil {
			remove()
		}
	}
	err = unavailable("delete", ofVault(d.vault, err))
	if marked {
		s.opts.Logger.InfoContext(ctx, d.message, d.log...)
	} else {
		d.Err = err
	}
	if marked || err != nil {
		s.observe(ctx, start, d.Observation)
	}
	return more, err
}

// markDeleted reports whether it was this call that has made the mark.
func (s *Service) markDeleted(d *deletion) (made bool, err error) {
	e, err := s.event(d.Organization, d.vault, d.Kind, d.Actor)
	if err != nil {
		return false, err
	}
	since, err := d.mark(e.At, e)
	return err == nil && since.Equal(e.At), err
}
