package authmgmt

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/steps"
)

// removeAtOnce is how many rows one call of DeleteOrganization removes at most.
const removeAtOnce = 1000

// DeleteOrganization deletes everything that is kept of an organization: clients, tokens,
// invitations, the audit trail, and whether it has role-based access control. The first
// call marks it as deleted; every call then removes a bounded part of what there is, and
// reports whether there is more: call it until more is false. It may be cut off at any
// place and called again by anybody, on any server.
//
// From the mark on, every credential of the organization is refused, on every server that
// shares the store, and what it has reads as what does not exist. This Service also
// forgets its tokens at once; another one that has an Options.TokenCache may still take
// those that it remembers for so long, as after every change that it did not make itself.
//
// The ID is not given again: whatever would make something in the organization is
// [mortise.ErrDeleted]. An invitation that is being granted just then ends without
// effect. The trail keeps one event, of kind [mortise.KindOrganizationDeleted]. If
// Backend.Directory is a [Deletion], the organization is deleted there, too.
//
// It ends everybody's rights, so the caller must have full access. The errors are
// [*mortise.ValidationError], [ErrForbidden] and [mortise.ErrUnavailable].
func (s *Service) DeleteOrganization(ctx context.Context, org string, by Caller) (more bool, err error) {
	start := s.opts.Now()
	since, e, err := s.markDeleted(ctx, org, by)
	marked := err == nil && e.ID != uuid.Nil && since.Equal(e.At)
	if err != nil || marked {
		s.observeChange(ctx, start, org, mortise.KindOrganizationDeleted, by, org, &e, err)
	}
	if err != nil {
		return false, err
	}
	if marked {
		s.opts.Logger.InfoContext(ctx, "authmgmt: an organization was deleted", "organization", org, "actor", by.Actor)
	}
	directory, _ := s.directory.(Deletion)
	if directory != nil {
		if err := s.markInDirectory(ctx, directory, org, since); err != nil {
			return false, err
		}
	}
	more, err = s.removeDeleted(ctx, s.store, org)
	if err == nil && !more && directory != nil {
		more, err = s.removeDeleted(ctx, directory, org)
	}
	if err != nil {
		return false, unavailable("remove what a deleted organization has", err)
	}
	return more, nil
}

// removeDeleted takes a step of a deletion.
func (s *Service) removeDeleted(ctx context.Context, d Deletion, org string) (more bool, err error) {
	_, more, err = steps.Once(ctx, "RemoveDeleted", removeAtOnce, func(ctx context.Context, limit int) (int, bool, error) {
		return d.RemoveDeleted(ctx, org, limit)
	})
	return more, err
}

// markDeleted marks an organization in the store. The event is zero if it was marked
// before.
func (s *Service) markDeleted(ctx context.Context, org string, by Caller) (since time.Time, e AuditEvent, err error) {
	var p problems
	p.Name("organization", org)
	if err := p.Err(); err != nil {
		return time.Time{}, AuditEvent{}, err
	}
	if !by.Access.Full() {
		return time.Time{}, AuditEvent{}, ErrForbidden
	}
	if since, err = s.store.DeletedAt(ctx, org); err != nil {
		return time.Time{}, AuditEvent{}, unavailable("look for a deleted organization", err)
	}
	if !since.IsZero() {
		s.verified.forget(org)
		return since, AuditEvent{}, nil
	}
	if e, err = s.event(org, mortise.KindOrganizationDeleted, by, org); err != nil {
		return time.Time{}, AuditEvent{}, err
	}
	e.Before = &Snapshot{}
	since, err = s.store.MarkDeleted(ctx, org, e.At, e)
	s.rbac.forget(org)
	if err != nil {
		s.tokensChanged(ctx, err)
		return time.Time{}, AuditEvent{}, unavailable("mark an organization as deleted", err)
	}
	if s.hosted(ctx) {
		s.tokensChanged(ctx, nil)
	}
	s.verified.forget(org)
	return since, e, nil
}

// markInDirectory marks an organization where the host keeps it. The event is in the
// store, with which such a directory shares the trail, if it has one.
func (s *Service) markInDirectory(ctx context.Context, d Deletion, org string, since time.Time) error {
	at, err := d.DeletedAt(ctx, org)
	if err == nil && at.IsZero() {
		_, err = d.MarkDeleted(ctx, org, since, AuditEvent{})
	}
	return unavailable("mark an organization as deleted in the directory", err)
}

// isDeleted is asked where something was refused.
func (s *Service) isDeleted(ctx context.Context, org string) (bool, error) {
	since, err := s.store.DeletedAt(ctx, org)
	return !since.IsZero(), unavailable("look for a deleted organization", err)
}
