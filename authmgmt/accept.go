package authmgmt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/internal/oneline"
)

// Acceptance is an accepted invitation whose Grant is due.
type Acceptance struct {
	Invitation Invitation
	Attempt    int  // 1 for the first one
	Attended   bool // the person waits for the reply: Accept calls, not Run
}

// InvitationByLink returns the pending invitation that a link's token opens, or
// [mortise.ErrNotFound]. One that is accepted and not granted yet, so that Accept may
// still be of use, is [ErrGrantPending]. It changes nothing.
func (s *Service) InvitationByLink(ctx context.Context, token string) (Invitation, error) {
	i, err := s.byLink(ctx, token)
	switch {
	case err != nil:
		return Invitation{}, err
	case i.State(s.now()) == InvitationPending:
		return i, nil
	case !i.AcceptedAt.IsZero() && i.GrantedAt.IsZero():
		return Invitation{}, ErrGrantPending
	}
	return Invitation{}, mortise.ErrNotFound
}

// byLink returns the invitation that a link's token opens, in whatever state.
func (s *Service) byLink(ctx context.Context, token string) (Invitation, error) {
	org, id, ok := parseLink(token)
	if !ok {
		return Invitation{}, mortise.ErrNotFound
	}
	if err := s.needKey(ctx); err != nil {
		return Invitation{}, err
	}
	i, err := s.store.Invitation(ctx, org, id)
	if errors.Is(err, mortise.ErrNotFound) {
		s.opens(token, &Invitation{Organization: org, ID: id}) // it takes as long as for one that is there
		return Invitation{}, mortise.ErrNotFound
	}
	if err != nil {
		return Invitation{}, unavailable("read invitation", err)
	}
	if !s.opens(token, &i) {
		return Invitation{}, mortise.ErrNotFound
	}
	return i, nil
}

// Accept accepts the pending invitation that a link's token opens, and grants what it
// gives. It returns the invitation as it is then, and what Options.Grant returned for the
// person, which is not kept. The person is "" if the host knows nothing but that they
// have the link; the audit trail then names the invitation's email address.
//
// Of several calls at once one wins; the others get [mortise.ErrNotFound] or
// [ErrGrantPending]. A link that opens nothing, or not any more, is
// [mortise.ErrNotFound]. A person whom Options.Admit refuses is [ErrForbidden], with
// its error, and the invitation stays pending.
//
// If Grant fails, the invitation stays accepted and the error is [ErrGrantPending]: Run
// tries again, and so does Accept with the same link and person, as soon as the wait
// after the last attempt is over.
func (s *Service) Accept(
	ctx context.Context, token string, person mortise.Actor,
) (i Invitation, reply mortise.Secret, err error) {
	i, err = s.byLink(ctx, token)
	if err != nil {
		return Invitation{}, mortise.Secret{}, err
	}
	if err := s.admit(ctx, &i, person); err != nil {
		return Invitation{}, mortise.Secret{}, err
	}
	if person = name.Clean(person); person == "" {
		person = mortise.Actor(i.Email)
	}
	claimed, err := s.accept(ctx, &i, person)
	if err != nil {
		return Invitation{}, mortise.Secret{}, err
	}
	if !claimed.GrantedAt.IsZero() { // there is nothing to hand out
		return claimed, mortise.Secret{}, nil
	}
	return s.grant(ctx, &claimed, true)
}

// admit asks the host about everybody who would accept the invitation, or take up the
// grant of one that is accepted.
func (s *Service) admit(ctx context.Context, i *Invitation, person mortise.Actor) error {
	if i.State(s.now()) != InvitationPending && (i.AcceptedAt.IsZero() || !i.GrantedAt.IsZero()) {
		return mortise.ErrNotFound
	}
	if s.opts.Admit == nil {
		return nil
	}
	if err := s.opts.Admit(ctx, i.Clone(), person); err != nil {
		return &notAdmitted{failure.FromHook(err)}
	}
	return nil
}

// notAdmitted is the ErrForbidden of a person whom the host refuses, with the host's
// error.
type notAdmitted struct{ err error }

func (e *notAdmitted) Error() string   { return "authmgmt: the person is not admitted: " + e.err.Error() }
func (e *notAdmitted) Unwrap() []error { return []error{ErrForbidden, e.err} }

// accept marks an invitation as accepted, or takes up the grant of one that the same
// person has accepted. Whoever gets it back has the next attempt.
func (s *Service) accept(ctx context.Context, i *Invitation, person mortise.Actor) (Invitation, error) {
	start := s.opts.Now()
	caller := Caller{Actor: person}
	if !i.AcceptedAt.IsZero() {
		claimed, _, err := s.changeInvitation(ctx, i.Organization, "", caller, i.ID, func(stored *Invitation, now time.Time) error {
			if stored.AcceptedBy != string(person) {
				return mortise.ErrNotFound
			}
			return s.claim(stored, now)
		})
		return claimed, err
	}
	claimed, e, err := s.changeInvitation(ctx, i.Organization, mortise.KindAccepted, caller, i.ID, func(stored *Invitation, now time.Time) error {
		if stored.State(now) != InvitationPending || stored.Generation != i.Generation {
			return mortise.ErrNotFound
		}
		stored.AcceptedAt, stored.AcceptedBy = now, string(person)
		return s.claim(stored, now)
	})
	s.observeChange(ctx, start, i.Organization, mortise.KindAccepted, caller, i.ID, &e, err)
	return claimed, err
}

// claim takes the next attempt to grant, for as long as it may last. Where there is
// nothing to hand out, that is done with it.
func (s *Service) claim(i *Invitation, now time.Time) error {
	switch {
	case !i.GrantedAt.IsZero():
		return mortise.ErrNotFound
	case now.Before(i.GrantDue):
		return ErrGrantPending
	case s.opts.Grant == nil:
		i.GrantedAt = now
		return nil
	}
	i.GrantAttempts++
	i.GrantDue = now.Add(s.opts.GrantTimeout + claimMargin)
	i.AwaitsPerson = false
	return nil
}

// claimMargin is what a claim lasts longer than its attempt.
const claimMargin = 10 * time.Second

// markTimeout bounds the write of an attempt's end, which happens whatever has become of
// the caller.
const markTimeout = 10 * time.Second

// grant makes an attempt that was claimed, and writes down how it ended.
func (s *Service) grant(ctx context.Context, i *Invitation, attended bool) (Invitation, mortise.Secret, error) {
	start := s.opts.Now()
	left := i.GrantDue.Add(-claimMargin).Sub(start)
	if left <= 0 { // the claim took so long that somebody else may have the next attempt
		return *i, mortise.Secret{}, ErrGrantPending
	}
	attemptCtx := ctx
	if attended { // the person may leave; what they accepted is handed out all the same
		attemptCtx = context.WithoutCancel(ctx)
	}
	attempt, cancel := context.WithTimeout(attemptCtx, min(left, s.opts.GrantTimeout))
	defer cancel()
	reply, refused := s.opts.Grant(attempt, Acceptance{Invitation: i.Clone(), Attempt: i.GrantAttempts, Attended: attended})
	mark, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTimeout)
	defer cancel()
	if refused != nil {
		failed, err := s.markFailed(mark, i, start, attended, failure.FromHook(refused))
		return failed, mortise.Secret{}, err
	}
	granted, err := s.markGranted(mark, i, start)
	if err != nil {
		return Invitation{}, mortise.Secret{}, err
	}
	return granted, reply, nil
}

// markGranted writes down that an attempt has succeeded. If it cannot, the grant runs
// again, which it must bear. It is ErrNotFound if the organization has been deleted
// meanwhile: nothing else removes an invitation that is not granted.
func (s *Service) markGranted(ctx context.Context, i *Invitation, start time.Time) (Invitation, error) {
	caller := Caller{Actor: mortise.Actor(i.AcceptedBy)}
	granted, e, err := s.changeInvitation(ctx, i.Organization, mortise.KindGranted, caller, i.ID, func(stored *Invitation, now time.Time) error {
		if !stored.GrantedAt.IsZero() {
			return errGranted
		}
		stored.GrantedAt = now
		return nil
	})
	switch {
	case errors.Is(err, errGranted):
		return *i, nil
	case errors.Is(err, mortise.ErrNotFound):
		return Invitation{}, mortise.ErrNotFound
	}
	s.observeChange(ctx, start, i.Organization, mortise.KindGranted, caller, i.ID, &e, err)
	if err != nil {
		s.opts.Logger.WarnContext(ctx, "an invitation's grant succeeded and could not be marked", "organization", i.Organization, "invitation", i.ID, "error", err)
		granted = *i
	}
	return granted, nil
}

// markFailed writes down that an attempt has failed, and when the next one is due. If it
// cannot, that is when the claim ends. It is ErrNotFound as markGranted is.
func (s *Service) markFailed(ctx context.Context, i *Invitation, start time.Time, attended bool, failure error) (Invitation, error) {
	waiting, _, err := s.changeInvitation(ctx, i.Organization, "", Caller{}, i.ID, func(stored *Invitation, now time.Time) error {
		if stored.GrantAttempts != i.GrantAttempts || !stored.GrantedAt.IsZero() {
			return nil // another attempt has taken over
		}
		stored.AwaitsPerson = errors.Is(failure, ErrUnattended) && !attended
		stored.GrantDue = now
		if !stored.AwaitsPerson {
			stored.GrantDue = now.Add(grantBackoff(i.GrantAttempts))
		}
		return nil
	})
	if errors.Is(err, mortise.ErrNotFound) {
		return Invitation{}, mortise.ErrNotFound
	}
	if err != nil {
		waiting = *i
	}
	shown := s.withoutLink(failure, i)
	if !errors.Is(failure, ErrUnattended) {
		if count := s.failed.Add(i.Organization, s.opts.Now()); count > 0 {
			s.opts.Logger.WarnContext(ctx, "an invitation could not be granted; trying again", "organization", i.Organization,
				"invitation", i.ID, "attempt", i.GrantAttempts, "count", count, "error", oneline.Logged(shown.Error()))
		}
		s.observe(ctx, mortise.Observation{
			Kind: mortise.KindGrantFailed, Organization: i.Organization, Actor: mortise.Actor(i.AcceptedBy),
			Object: i.ID, Duration: s.opts.Now().Sub(start), Err: shown,
		})
	}
	return waiting, fmt.Errorf("%w: %w", ErrGrantPending, shown)
}

// errGranted: an earlier attempt that overstayed has succeeded after all, and was marked
// first.
var errGranted = errors.New("authmgmt: granted already")

// grantBackoff returns the wait after a failed attempt: 5 s after the first, doubled with
// each further one, up to an hour.
func grantBackoff(attempts int) time.Duration {
	return min(time.Hour, 5*time.Second<<max(0, min(attempts-1, 20)))
}
