package authmgmt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/hook"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/internal/oneline"
)

// NewInvitation is what an invitation is made of.
type NewInvitation struct {
	ID         string        // "" for a random one
	Inviter    string        // display name; "" for the caller's actor
	Email      string        // of the invitee, required
	Name       string        // of the invitee: 1 to 255 bytes
	Roles      []access.Role // as a NewClient's
	FullAccess bool          // instead of Roles: everything within the organization
	Lifetime   time.Duration // 0: Options.InvitationLifetime; at most 30 days
}

// errNoInvitations: the service was made without an address for links.
var errNoInvitations = fmt.Errorf("authmgmt: the service was made without Options.AcceptURL: %w", errors.ErrUnsupported)

// Invite makes an invitation and delivers it. An address has at most one that is
// pending, an organization 10,000. It gives roles or full access, never both nor
// neither. Roles need role-based access control, and the caller's access must cover the
// invitation's. The errors are [*mortise.ValidationError], also for one pending
// invitation too many, [ErrForbidden], [ErrRBACDisabled], [mortise.ErrExists],
// [ErrPendingInvitation] and [mortise.ErrUnavailable].
func (s *Service) Invite(ctx context.Context, org string, by Caller, n NewInvitation) (Invitation, error) {
	start := s.opts.Now()
	i, e, err := s.invite(ctx, org, by, n, true, s.checkRBAC)
	s.observeChange(ctx, start, org, mortise.KindInvited, by, i.ID, &e, err)
	if err == nil {
		s.deliver(ctx, by, &i)
	}
	return i, ofInvitation(n.ID, err)
}

// ImportInvitation is Invite for one that is described elsewhere: it delivers nothing,
// does not ask whether the organization has role-based access control, and leaves other
// invitations of the address alone. One that ended is not revived: that is
// [mortise.ErrExists].
func (s *Service) ImportInvitation(ctx context.Context, org string, by Caller, n NewInvitation) (Invitation, error) {
	start := s.opts.Now()
	i, e, err := s.invite(ctx, org, by, n, false, anyRoles)
	s.observeChange(ctx, start, org, mortise.KindInvited, by, i.ID, &e, err)
	return i, ofInvitation(n.ID, err)
}

func (s *Service) invite(ctx context.Context, org string, by Caller, n NewInvitation, exclusive bool, may roleCheck) (Invitation, AuditEvent, error) {
	fail := func(err error) (Invitation, AuditEvent, error) { return Invitation{}, AuditEvent{}, err }
	if s.opts.AcceptURL == "" {
		return fail(errNoInvitations)
	}
	var p problems
	p.Name("organization", org)
	if n.Inviter == "" {
		n.Inviter = string(name.Clean(by.Actor)) // as the host knows them
		p.Name("inviter", n.Inviter)
	} else {
		p.display("inviter", n.Inviter)
	}
	if n.Lifetime == 0 {
		n.Lifetime = s.opts.InvitationLifetime
	}
	s.checkInvitation(&p, &n)
	if err := p.Err(); err != nil {
		return fail(err)
	}
	if err := may(ctx, org, n.Roles); err != nil {
		return fail(err)
	}
	if !by.Access.Covers(n.Roles) {
		return fail(ErrForbidden)
	}
	if err := s.needKey(ctx); err != nil { // never invitations of two keys in one store
		return fail(err)
	}
	if exclusive { // and so not an import
		if err := s.room(ctx, org, "invitations"); err != nil {
			return fail(err)
		}
	}
	if n.ID == "" {
		id, err := uuid.NewRandomFromReader(s.opts.Rand)
		if err != nil {
			return fail(unavailable("read randomness", err))
		}
		n.ID = id.String()
	}
	generation, err := s.newGeneration()
	if err != nil {
		return fail(err)
	}
	e, err := s.event(org, mortise.KindInvited, by, n.ID)
	if err != nil {
		return fail(err)
	}
	i := Invitation{
		Organization: org, ID: n.ID, Inviter: n.Inviter, InvitedBy: string(name.Clean(by.Actor)), Email: n.Email, Name: n.Name, Roles: unique(slices.Clone(n.Roles)),
		Generation: generation, CreatedAt: e.At, Lifetime: n.Lifetime.Truncate(time.Microsecond),
	}
	i.ExpiresAt = i.CreatedAt.Add(i.Lifetime)
	e.After = i.snapshot(e.At)
	if err := s.store.CreateInvitation(ctx, i, exclusive, e); err != nil {
		return fail(unavailable("store invitation", err))
	}
	return i, e, nil
}

func (s *Service) checkInvitation(p *problems, n *NewInvitation) {
	if n.ID != "" {
		p.Name("invitation_id", n.ID)
	}
	p.display("name", n.Name)
	if problem := name.EmailProblem(n.Email); problem != "" {
		p.Add("email", "%s", problem)
	}
	p.access(s.catalogue, n.Roles, n.FullAccess)
	if n.Lifetime != 0 && n.Lifetime < time.Microsecond || n.Lifetime > maxInvitationLifetime {
		p.Add("lifetime", "must be above 0 and at most %v", maxInvitationLifetime)
	}
}

// newGeneration begins at random, so that the links of an invitation whose ID was used
// before, and forgotten, are others.
func (s *Service) newGeneration() (int64, error) {
	var b [8]byte
	if _, err := io.ReadFull(s.opts.Rand, b[:]); err != nil {
		return 0, unavailable("read randomness", err)
	}
	return int64(binary.BigEndian.Uint64(b[:]) >> 2), nil // room for resends
}

// Invitation returns a pending invitation. One in another state is [mortise.ErrNotFound].
func (s *Service) Invitation(ctx context.Context, org, id string) (Invitation, error) {
	i, err := s.store.Invitation(ctx, org, id)
	if err != nil {
		return Invitation{}, ofInvitation(id, unavailable("read invitation", err))
	}
	if i.State(s.now()) != InvitationPending {
		return Invitation{}, ofInvitation(id, mortise.ErrNotFound)
	}
	return i, nil
}

// AnyInvitation returns an invitation in whatever state.
func (s *Service) AnyInvitation(ctx context.Context, org, id string) (Invitation, error) {
	i, err := s.store.Invitation(ctx, org, id)
	return i, ofInvitation(id, unavailable("read invitation", err))
}

// CancelInvitation ends a pending invitation: its link opens nothing any more. The caller
// need not cover its roles: nobody has them yet, and whoever may cancel must be able to
// end a link that went astray. One that is not pending is [mortise.ErrNotFound].
func (s *Service) CancelInvitation(ctx context.Context, org string, by Caller, id string) error {
	start := s.opts.Now()
	_, e, err := s.changeInvitation(ctx, org, mortise.KindUninvited, by, id, func(i *Invitation, now time.Time) error {
		if i.State(now) != InvitationPending {
			return mortise.ErrNotFound
		}
		i.CancelledAt = now
		return nil
	})
	s.observeChange(ctx, start, org, mortise.KindUninvited, by, id, &e, err)
	return ofInvitation(id, err)
}

// ResendInvitation gives a pending invitation a new link and its lifetime again, and
// delivers it. The links before open nothing any more. The caller must cover its roles:
// who has the link can have what it gives. One that is not pending is
// [mortise.ErrNotFound].
func (s *Service) ResendInvitation(ctx context.Context, org string, by Caller, id string) (Invitation, error) {
	start := s.opts.Now()
	var i Invitation
	var e AuditEvent
	err := s.needKey(ctx)
	if err == nil {
		i, e, err = s.changeInvitation(ctx, org, mortise.KindResent, by, id, func(i *Invitation, now time.Time) error {
			if i.State(now) != InvitationPending {
				return mortise.ErrNotFound
			}
			if !by.Access.Covers(i.Roles) {
				return ErrForbidden
			}
			i.Generation++
			i.ExpiresAt = now.Add(i.Lifetime)
			return nil
		})
	}
	s.observeChange(ctx, start, org, mortise.KindResent, by, id, &e, err)
	if err == nil {
		s.deliver(ctx, by, &i)
	}
	return i, ofInvitation(id, err)
}

// deliverTimeout bounds a delivery whose caller is gone.
const deliverTimeout = 30 * time.Second

// deliver hands an invitation to the host's Deliver, in a transaction of the host's once
// that is committed.
func (s *Service) deliver(ctx context.Context, by Caller, i *Invitation) {
	if s.opts.Deliver == nil {
		return
	}
	stored := i.Clone()
	store, ok := s.store.(mortise.HostTx)
	if ok && store.AfterCommit(ctx, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, deliverTimeout)
		defer cancel()
		s.deliverNow(ctx, by, &stored)
	}) {
		return
	}
	s.deliverNow(ctx, by, i)
}

// deliverNow calls the host's Deliver. A failure is reported and changes nothing. After a
// commit it may be on a goroutine of the store's, so a panic is logged.
func (s *Service) deliverNow(ctx context.Context, by Caller, i *Invitation) {
	defer hook.Recover(ctx, s.opts.Logger, "Deliver", nil, "organization", i.Organization, "invitation", i.ID)
	start := s.opts.Now()
	err := s.opts.Deliver(ctx, i.Clone(), s.url(i))
	if err == nil {
		return
	}
	err = s.withoutLink(err, i)
	s.opts.Logger.WarnContext(ctx, "invitation not delivered; resend it", "organization", i.Organization, "invitation", i.ID,
		"error", oneline.Logged(err.Error()))
	s.observe(ctx, mortise.Observation{
		Kind: mortise.KindDeliveryFailed, Organization: i.Organization, Actor: by.Actor,
		Object: i.ID, Duration: s.opts.Now().Sub(start), Err: err,
	})
}

// changeInvitation changes an invitation together with its audit event, if it has a kind.
func (s *Service) changeInvitation(ctx context.Context, org string, kind mortise.Kind, by Caller, id string, change func(*Invitation, time.Time) error) (Invitation, AuditEvent, error) {
	var changed Invitation
	var stored AuditEvent
	var refused refusal
	err := s.store.UpdateInvitation(ctx, org, id, func(i *Invitation) (AuditEvent, error) {
		before := *i
		var begun AuditEvent
		if begun, refused.err = s.event(org, kind, by, id); refused.err != nil {
			return AuditEvent{}, refused.err
		}
		if refused.err = change(i, begun.At); refused.err != nil {
			return AuditEvent{}, refused.err
		}
		changed = i.Clone()
		stored = AuditEvent{}
		if kind != "" {
			stored = begun
			stored.Before, stored.After = before.snapshot(begun.At), i.snapshot(begun.At)
		}
		return stored, nil
	})
	if err = refused.of("update invitation", err); err != nil {
		return Invitation{}, AuditEvent{}, err
	}
	return changed, stored, nil
}
