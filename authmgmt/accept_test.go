package authmgmt_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

func TestAcceptWithoutGrant(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	i := r.invite(t, "alan@example.com", "viewer")
	got, err := r.InvitationByLink(t.Context(), r.link(&i))
	require.NoError(t, err)
	assert.Equal(t, i, got, "to look changes nothing")

	accepted, reply, err := r.Accept(t.Context(), r.link(&i), "user-7")
	require.NoError(t, err)
	assert.Empty(t, reply.Reveal())
	assert.Equal(t, "user-7", accepted.AcceptedBy)
	assert.Equal(t, r.now().Truncate(time.Microsecond), accepted.AcceptedAt)
	assert.Equal(t, accepted.AcceptedAt, accepted.GrantedAt)
	for range 2 {
		_, _, err = r.Accept(t.Context(), r.link(&i), "user-8")
		assert.Equal(t, mortise.ErrNotFound, err)
		_, err = r.InvitationByLink(t.Context(), r.link(&i))
		assert.Equal(t, mortise.ErrNotFound, err)
	}
	assert.ErrorIs(t, r.CancelInvitation(t.Context(), "acme", full, i.ID), mortise.ErrNotFound)
	trail := r.trail(t, "acme")
	require.Len(t, trail, 2)
	assert.Equal(t, mortise.KindAccepted, trail[1].Kind)
	assert.EqualValues(t, "user-7", trail[1].Actor)

	j := r.invite(t, "grace@example.com")
	accepted, _, err = r.Accept(t.Context(), r.link(&j), "")
	require.NoError(t, err)
	assert.Equal(t, "grace@example.com", accepted.AcceptedBy, "whoever has the link is the invitee")
}

func TestAdmit(t *testing.T) {
	stranger := errors.New("sign in as alan@example.com first")
	r := newRig(t, authmgmt.Options{Admit: func(_ context.Context, i authmgmt.Invitation, person mortise.Actor) error {
		if string(person) != i.Email {
			return stranger
		}
		return nil
	}})
	i := r.invite(t, "alan@example.com")
	for _, subject := range []string{"eve@example.com", ""} { // nobody is not the invitee
		_, _, err := r.Accept(t.Context(), r.link(&i), mortise.Actor(subject))
		assert.ErrorIs(t, err, authmgmt.ErrForbidden)
		assert.ErrorIs(t, err, stranger)
	}
	_, err := r.Invitation(t.Context(), "acme", i.ID)
	assert.NoError(t, err, "it stays pending")
	_, _, err = r.Accept(t.Context(), r.link(&i), "alan@example.com")
	assert.NoError(t, err)
}

// TestAdmitKnowsTheInviter: a host can refuse the invitations of a person who has left,
// whatever display name they have.
func TestAdmitKnowsTheInviter(t *testing.T) {
	left := errors.New("the inviter has left; ask for another invitation")
	r := newRig(t, authmgmt.Options{Admit: func(_ context.Context, i authmgmt.Invitation, _ mortise.Actor) error {
		if i.InvitedBy == "user:17" {
			return left
		}
		return nil
	}})
	bob := authmgmt.Caller{Actor: "user:17", Access: access.Full()}
	invite := authmgmt.NewInvitation{Inviter: "Bob", Email: "alan@example.com", Name: "Alan", FullAccess: true}
	i, err := r.Invite(t.Context(), "acme", bob, invite)
	require.NoError(t, err)
	_, _, err = r.Accept(t.Context(), r.link(&i), "")
	require.ErrorIs(t, err, left)
	invite.Email, bob.Actor = "grace@example.com", "user:18"
	i, err = r.Invite(t.Context(), "acme", bob, invite)
	require.NoError(t, err)
	_, _, err = r.Accept(t.Context(), r.link(&i), "")
	require.NoError(t, err)
}

// TestListInvitationsOfAnInviter: the invitations of a person who leaves can be found.
func TestListInvitationsOfAnInviter(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	for n, by := range []mortise.Actor{"user:17", "user:18", "user:17"} {
		_, err := r.Invite(t.Context(), "acme", authmgmt.Caller{Actor: by, Access: access.Full()},
			authmgmt.NewInvitation{ID: fmt.Sprint("i", n), Email: fmt.Sprintf("alan%d@example.com", n), Name: "Alan", FullAccess: true})
		require.NoError(t, err)
	}
	require.NoError(t, r.CancelInvitation(t.Context(), "acme", full, "i2"))
	pending, err := r.ListInvitations(t.Context(), "acme", "user:17", "", 0)
	require.NoError(t, err)
	require.Equal(t, 1, len(pending.Items))
	require.Equal(t, "i0", pending.Items[0].ID)
	all, err := r.ListAllInvitations(t.Context(), "acme", "user:17", "", 0)
	require.NoError(t, err)
	require.Equal(t, 2, len(all.Items))
}

// What is still to be handed out goes to whoever accepted, and to nobody else with the
// link.
func TestOnlyWhoAcceptedTakesUpTheGrant(t *testing.T) {
	hook := &grantHook{err: errors.New("down")}
	admitted := map[mortise.Actor]bool{"ada": true, "bob": true}
	r := newRig(t, authmgmt.Options{Grant: hook.grant, Admit: func(_ context.Context, _ authmgmt.Invitation, by mortise.Actor) error {
		if !admitted[by] {
			return errors.New("no")
		}
		return nil
	}})
	i := r.invite(t, "ada@example.com")
	accept := func(person mortise.Actor) (authmgmt.Invitation, mortise.Secret, error) {
		return r.Accept(t.Context(), r.link(&i), person)
	}
	_, _, err := accept("ada")
	require.ErrorIs(t, err, authmgmt.ErrGrantPending)
	hook.fail(nil)
	r.advance(time.Hour)
	for person, want := range map[mortise.Actor]error{"eve": authmgmt.ErrForbidden, "": authmgmt.ErrForbidden, "bob": mortise.ErrNotFound} {
		_, reply, err := accept(person)
		assert.ErrorIs(t, err, want, person)
		assert.Empty(t, reply.Reveal())
	}
	_, reply, err := accept("ada")
	require.NoError(t, err)
	assert.Equal(t, "welcome", reply.Reveal())
	_, _, err = accept("ada")
	assert.Equal(t, mortise.ErrNotFound, err)
}

// Of fifty who accept and fifty who cancel, one wins, and Grant runs once or not at all.
func TestAcceptAndCancelHaveOneWinner(t *testing.T) {
	for round := range 20 {
		var grants atomic.Int32
		r := newRig(t, authmgmt.Options{Grant: func(context.Context, authmgmt.Acceptance) (mortise.Secret, error) {
			grants.Add(1)
			time.Sleep(time.Millisecond) // while others try
			return mortise.NewSecret("welcome"), nil
		}})
		i := r.invite(t, "alan@example.com")
		link := r.link(&i)
		var accepts, cancels atomic.Int32
		start := make(chan struct{})
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				<-start
				_, reply, err := r.Accept(context.Background(), link, "")
				switch {
				case err == nil && reply.Reveal() == "welcome":
					accepts.Add(1)
				case !errors.Is(err, mortise.ErrNotFound) && !errors.Is(err, authmgmt.ErrGrantPending):
					t.Errorf("accept: %v", err)
				}
			})
			wg.Go(func() {
				<-start
				switch err := r.CancelInvitation(context.Background(), "acme", full, i.ID); {
				case err == nil:
					cancels.Add(1)
				case !errors.Is(err, mortise.ErrNotFound):
					t.Errorf("cancel: %v", err)
				}
			})
		}
		close(start)
		wg.Wait()
		require.EqualValues(t, 1, accepts.Load()+cancels.Load(), "round %d", round)
		require.Equal(t, accepts.Load(), grants.Load())
	}
}

// grantHook is a Grant that fails as it is told.
type grantHook struct {
	mu    sync.Mutex
	err   error
	calls []authmgmt.Acceptance
}

func (g *grantHook) grant(_ context.Context, a authmgmt.Acceptance) (mortise.Secret, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls = append(g.calls, a)
	return mortise.NewSecret("welcome"), g.err
}

func (g *grantHook) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.err = err
}

func (g *grantHook) attempts() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.calls)
}

// Whatever goes wrong, Grant runs again until it succeeds, and then not any more.
func TestGrantRunsUntilItSucceeds(t *testing.T) {
	down := errors.New("down")
	hook := &grantHook{err: down}
	r := newRig(t, authmgmt.Options{Grant: hook.grant})
	i := r.invite(t, "alan@example.com", "viewer")
	_, _, err := r.Accept(t.Context(), r.link(&i), "")
	assert.ErrorIs(t, err, authmgmt.ErrGrantPending)
	assert.ErrorIs(t, err, down)
	assert.True(t, hook.calls[0].Attended)
	assert.Equal(t, 1, hook.calls[0].Attempt)
	assert.Equal(t, authmgmt.InvitationAccepted, hook.calls[0].Invitation.State(r.now()))
	assert.Contains(t, r.logs.String(), `"error":"down"`)
	assert.ErrorIs(t, r.CancelInvitation(t.Context(), "acme", full, i.ID), mortise.ErrNotFound, "it is accepted")

	_, _, err = r.Accept(t.Context(), r.link(&i), "")
	assert.ErrorIs(t, err, authmgmt.ErrGrantPending)
	runs := func(want int) {
		t.Helper()
		granted, err := r.RunOnce(t.Context())
		require.NoError(t, err)
		assert.Equal(t, want, granted)
	}
	runs(0)
	assert.Equal(t, 1, hook.attempts(), "the wait is not over")

	wait := 5 * time.Second
	for attempt := 2; attempt <= 14; attempt++ {
		r.advance(wait - time.Microsecond)
		runs(0)
		require.Equal(t, attempt-1, hook.attempts(), "the wait after attempt %d", attempt-1)
		r.advance(time.Microsecond)
		runs(0)
		require.Equal(t, attempt, hook.attempts())
		assert.False(t, hook.calls[attempt-1].Attended)
		assert.Equal(t, attempt, hook.calls[attempt-1].Attempt)
		wait = min(2*wait, time.Hour)
	}
	hook.fail(nil)
	r.advance(time.Hour)
	runs(1)
	calls := hook.attempts()
	for range 3 {
		r.advance(24 * time.Hour)
		runs(0)
	}
	assert.Equal(t, calls, hook.attempts(), "once it has succeeded, it does not run again")
	_, _, err = r.Accept(t.Context(), r.link(&i), "")
	assert.Equal(t, mortise.ErrNotFound, err)

	trail := r.trail(t, "acme")
	last := trail[len(trail)-1]
	assert.Equal(t, mortise.KindGranted, last.Kind)
	assert.EqualValues(t, "alan@example.com", last.Actor)
	assert.Len(t, trail, 3, "failed attempts change nothing")
}

func TestThePersonCanTryAgain(t *testing.T) {
	hook := &grantHook{err: errors.New("down")}
	r := newRig(t, authmgmt.Options{Grant: hook.grant})
	i := r.invite(t, "alan@example.com")
	_, _, err := r.Accept(t.Context(), r.link(&i), "")
	require.ErrorIs(t, err, authmgmt.ErrGrantPending)
	_, err = r.InvitationByLink(t.Context(), r.link(&i))
	assert.Equal(t, authmgmt.ErrGrantPending, err)
	hook.fail(nil)
	r.advance(5 * time.Second)
	_, reply, err := r.Accept(t.Context(), r.link(&i), "")
	require.NoError(t, err)
	assert.Equal(t, "welcome", reply.Reveal())
	assert.Equal(t, 2, hook.attempts())
}

// A process that dies in an attempt leaves a claim, which ends by itself.
func TestGrantAfterACrash(t *testing.T) {
	r := newRig(t, authmgmt.Options{Grant: func(context.Context, authmgmt.Acceptance) (mortise.Secret, error) {
		return mortise.NewSecret("welcome"), nil
	}})
	i := r.invite(t, "alan@example.com")
	err := r.store.UpdateInvitation(t.Context(), "acme", i.ID, func(i *authmgmt.Invitation) (authmgmt.AuditEvent, error) {
		now := r.now().Truncate(time.Microsecond)
		i.AcceptedAt, i.AcceptedBy = now, "alan"
		i.GrantAttempts, i.GrantDue = 1, now.Add(40*time.Second)
		return authmgmt.AuditEvent{}, nil
	})
	require.NoError(t, err)
	granted, err := r.RunOnce(t.Context())
	require.NoError(t, err)
	assert.Zero(t, granted)
	r.advance(40 * time.Second)
	granted, err = r.RunOnce(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, granted)
}

// A Grant whose reply only the person can use is left to the person.
func TestUnattendedGrant(t *testing.T) {
	hook := &grantHook{err: errors.New("down")}
	calls := 0
	r := newRig(t, authmgmt.Options{Grant: func(ctx context.Context, a authmgmt.Acceptance) (mortise.Secret, error) {
		calls++
		if !a.Attended {
			return mortise.Secret{}, authmgmt.ErrUnattended
		}
		return hook.grant(ctx, a)
	}})
	i := r.invite(t, "alan@example.com")
	_, _, err := r.Accept(t.Context(), r.link(&i), "")
	require.ErrorIs(t, err, authmgmt.ErrGrantPending)
	hook.fail(nil)
	logged := r.logs.String()
	for range 3 {
		r.advance(time.Hour)
		granted, err := r.RunOnce(t.Context())
		require.NoError(t, err)
		assert.Zero(t, granted)
	}
	assert.Equal(t, 2, calls, "Run asks once")
	assert.Equal(t, logged, r.logs.String(), "and does not complain")
	_, reply, err := r.Accept(t.Context(), r.link(&i), "")
	require.NoError(t, err)
	assert.Equal(t, "welcome", reply.Reveal())
}

// A person who leaves in the middle does not take the grant with them.
func TestGrantOutlivesTheRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := newRig(t, authmgmt.Options{Grant: func(attempt context.Context, _ authmgmt.Acceptance) (mortise.Secret, error) {
		cancel()
		_, bounded := attempt.Deadline()
		assert.True(t, bounded)
		return mortise.NewSecret("welcome"), attempt.Err()
	}})
	i := r.invite(t, "alan@example.com")
	accepted, _, err := r.Accept(ctx, r.link(&i), "")
	require.NoError(t, err)
	assert.False(t, accepted.GrantedAt.IsZero())
}

func TestRunEndsWithItsContext(t *testing.T) {
	hook := new(grantHook)
	r := newRig(t, authmgmt.Options{Grant: hook.grant, RunEvery: time.Millisecond})
	i := r.invite(t, "alan@example.com")
	hook.fail(errors.New("down"))
	_, _, err := r.Accept(t.Context(), r.link(&i), "")
	require.ErrorIs(t, err, authmgmt.ErrGrantPending)
	hook.fail(nil)
	r.advance(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	require.Eventually(t, func() bool { return hook.attempts() == 2 }, time.Minute, time.Millisecond)
	cancel()
	assert.NoError(t, <-done)
}
