package authmgmt_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// invite makes an invitation for an address.
func (r *rig) invite(t *testing.T, email string, ids ...string) authmgmt.Invitation {
	t.Helper()
	i, err := r.Invite(t.Context(), "acme", full, authmgmt.NewInvitation{Email: email, Name: "Alan", Roles: roles(ids...), FullAccess: len(ids) == 0})
	require.NoError(t, err)
	return i
}

func TestInvite(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	i, err := r.Invite(t.Context(), "acme", admin, authmgmt.NewInvitation{Inviter: "Grace", Email: "alan@example.com", Name: "Alan", Roles: roles("editor")})
	require.NoError(t, err)
	assert.Equal(t, "Grace", i.Inviter)
	assert.Equal(t, begin.Truncate(time.Microsecond), i.CreatedAt)
	assert.Equal(t, i.CreatedAt.Add(7*24*time.Hour), i.ExpiresAt)
	kept, err := r.Invitation(t.Context(), "acme", i.ID)
	require.NoError(t, err)
	assert.Equal(t, i, kept)
	_, err = r.Invitation(t.Context(), "globex", i.ID)
	assert.ErrorIs(t, err, mortise.ErrNotFound)

	other := r.invite(t, "other@example.com")
	assert.Equal(t, "root", other.Inviter, "the caller, if nobody is named")
	long := authmgmt.Caller{Actor: mortise.Actor(strings.Repeat("x", 254) + "é"), Access: access.Full()}
	cut, err := r.Invite(t.Context(), "initech", long, authmgmt.NewInvitation{Email: "a@example.com", Name: "a", FullAccess: true})
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat("x", 254), cut.Inviter)
	_, err = r.Invite(t.Context(), "initech", long, authmgmt.NewInvitation{Email: "b@example.com", Name: "b", Lifetime: -time.Hour, FullAccess: true})
	assert.Equal(t, []string{"lifetime"}, fieldsOf(t, err))
	page, err := r.ListInvitations(t.Context(), "acme", "", "", 0)
	require.NoError(t, err)
	assert.Equal(t, 2, len(page.Items))
	page, err = r.ListInvitations(t.Context(), "globex", "", "", 0)
	require.NoError(t, err)
	assert.Zero(t, len(page.Items))
}

func TestInviteRefuses(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	_, err := r.Invite(t.Context(), "", authmgmt.Caller{Access: access.Full()}, authmgmt.NewInvitation{
		ID: "a\x00", Email: "nobody", Roles: roles("x"), Lifetime: 30*24*time.Hour + 1,
	})
	assert.Equal(t, []string{"organization", "inviter", "invitation_id", "name", "email", "roles[0].role_id", "lifetime"}, fieldsOf(t, err))
	for _, bad := range []string{
		"", "@", "a@", "@example.com", "a@b@c", "a b@example.com", "a@example.com\r\nBcc: b@example.com", "a@exam\x00ple.com", "<a@example.com>", "a,b@example.com", "-oX@example.com", "a@example.com?bcc=x", "a\u202eb@example.com", "a\u200b@example.com", "a@b/c",
		strings.Repeat("a", 250) + "@b.example", "a@\xff",
	} {
		_, err := r.Invite(t.Context(), "acme", full, authmgmt.NewInvitation{Email: bad, Name: "n", FullAccess: true})
		assert.Equal(t, []string{"email"}, fieldsOf(t, err), "%q", bad)
	}
	for _, good := range []string{"a@b", "a+b@example.com", "jürgen@exämple.de", "O'Neil@example.com"} {
		r.invite(t, good)
	}

	db := newRig(t, authmgmt.Options{})
	s, err := authmgmt.New(authmgmt.Backend{Store: db.store}, nil)
	require.NoError(t, err)
	_, err = s.Invite(t.Context(), "acme", full, authmgmt.NewInvitation{Email: "a@example.com", Name: "n", FullAccess: true})
	assert.ErrorIs(t, err, errors.ErrUnsupported, "without an address for links")
}

// One that is pending keeps the address, in whatever case it is written; one that ended
// does not.
func TestOnePendingInvitationAnAddress(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	again := func() error {
		_, err := r.Invite(t.Context(), "acme", full, authmgmt.NewInvitation{Email: "ALAN@Example.com", Name: "n", FullAccess: true})
		return err
	}
	i := r.invite(t, "alan@example.com")
	assert.Equal(t, authmgmt.ErrPendingInvitation, again())
	_, err := r.Invite(t.Context(), "globex", full, authmgmt.NewInvitation{Email: "alan@example.com", Name: "n", FullAccess: true})
	assert.NoError(t, err, "another organization's address is its own")

	r.advance(7*24*time.Hour - time.Microsecond)
	assert.Equal(t, authmgmt.ErrPendingInvitation, again())
	_, err = r.Invitation(t.Context(), "acme", i.ID)
	assert.NoError(t, err)
	r.advance(time.Microsecond)
	_, err = r.Invitation(t.Context(), "acme", i.ID)
	assert.ErrorIs(t, err, mortise.ErrNotFound, "to the microsecond")
	assert.ErrorIs(t, r.CancelInvitation(t.Context(), "acme", full, i.ID), mortise.ErrNotFound)
	_, err = r.ResendInvitation(t.Context(), "acme", full, i.ID)
	assert.ErrorIs(t, err, mortise.ErrNotFound)
	_, err = r.InvitationByLink(t.Context(), r.link(&i))
	assert.Equal(t, mortise.ErrNotFound, err)
	_, _, err = r.Accept(t.Context(), r.link(&i), "")
	assert.Equal(t, mortise.ErrNotFound, err)
	assert.NoError(t, again(), "an expired one does not block a new one")

	j := r.invite(t, "grace@example.com")
	require.NoError(t, r.CancelInvitation(t.Context(), "acme", full, j.ID))
	r.invite(t, "grace@example.com")
	_, err = r.ImportInvitation(t.Context(), "acme", full, authmgmt.NewInvitation{ID: "inv1", Email: "grace@example.com", Name: "n", FullAccess: true})
	assert.NoError(t, err, "what is imported is the host's own decision")
	_, err = r.ImportInvitation(t.Context(), "acme", full, authmgmt.NewInvitation{ID: j.ID, Email: "grace@example.com", Name: "n", FullAccess: true})
	assert.ErrorIs(t, err, mortise.ErrExists, "one that was cancelled is not revived")
	all, err := r.ListAllInvitations(t.Context(), "acme", "", "", 0)
	require.NoError(t, err)
	assert.Equal(t, 5, len(all.Items))
}

func TestCancelInvitation(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	i := r.invite(t, "alan@example.com")
	assert.ErrorIs(t, r.CancelInvitation(t.Context(), "globex", full, i.ID), mortise.ErrNotFound)
	assert.ErrorIs(t, r.CancelInvitation(t.Context(), "acme", full, "unknown"), mortise.ErrNotFound)
	require.NoError(t, r.CancelInvitation(t.Context(), "acme", full, i.ID))
	assert.ErrorIs(t, r.CancelInvitation(t.Context(), "acme", full, i.ID), mortise.ErrNotFound)
	_, _, err := r.Accept(t.Context(), r.link(&i), "")
	assert.Equal(t, mortise.ErrNotFound, err)
	ended, err := r.AnyInvitation(t.Context(), "acme", i.ID)
	require.NoError(t, err)
	assert.Equal(t, authmgmt.InvitationCancelled, ended.State(r.now()))
	trail := r.trail(t, "acme")
	require.Len(t, trail, 2)
	assert.Equal(t, authmgmt.InvitationPending, trail[1].Before.State)
	assert.Equal(t, authmgmt.InvitationCancelled, trail[1].After.State)
}

func TestResendInvitation(t *testing.T) {
	var sent []string
	var failure error
	quotes := false
	r := newRig(t, authmgmt.Options{Deliver: func(_ context.Context, i authmgmt.Invitation, url mortise.Secret) error {
		sent = append(sent, i.Email+" "+url.Reveal())
		if quotes {
			return errors.New("POST " + url.Reveal() + ": connection refused")
		}
		return failure
	}})
	i := r.invite(t, "alan@example.com", "viewer")
	r.advance(24 * time.Hour)
	resent, err := r.ResendInvitation(t.Context(), "acme", admin, i.ID)
	require.NoError(t, err)
	assert.Equal(t, i.Generation+1, resent.Generation)
	assert.Equal(t, i.ExpiresAt.Add(24*time.Hour), resent.ExpiresAt)
	assert.NotEqual(t, r.link(&i), r.link(&resent))
	_, err = r.InvitationByLink(t.Context(), r.link(&i))
	assert.Equal(t, mortise.ErrNotFound, err, "the link before opens nothing any more")
	_, _, err = r.Accept(t.Context(), r.link(&i), "")
	assert.Equal(t, mortise.ErrNotFound, err)
	got, err := r.InvitationByLink(t.Context(), r.link(&resent))
	require.NoError(t, err)
	assert.Equal(t, resent, got)
	assert.Equal(t, []string{"alan@example.com " + r.url(&i), "alan@example.com " + r.url(&resent)}, sent)
	assert.True(t, strings.HasPrefix(r.url(&i), "https://app.example.com/join/"))

	// A failing delivery is reported, without the link, and changes nothing.
	quotes = true
	r.observations()
	_, err = r.ResendInvitation(t.Context(), "acme", admin, i.ID)
	require.NoError(t, err)
	seen := r.observations()
	require.Len(t, seen, 2)
	assert.Equal(t, mortise.KindDeliveryFailed, seen[1].Kind)
	assert.NotContains(t, seen[1].Err.Error(), "/join/", "what quotes the link is left out")
	quotes, failure = false, errors.New("mailbox full")
	_, err = r.ResendInvitation(t.Context(), "acme", admin, i.ID)
	require.NoError(t, err)
	assert.ErrorIs(t, r.observations()[1].Err, failure)
	assert.Contains(t, r.logs.String(), i.ID)
	assert.Contains(t, r.logs.String(), `"error":"mailbox full"`)
	assert.NotContains(t, r.logs.String(), "/join/")

	_, err = r.ResendInvitation(t.Context(), "globex", full, i.ID)
	assert.ErrorIs(t, err, mortise.ErrNotFound)
}

// What is not made or changed is not delivered.
func TestDeliverOnlyWhatStands(t *testing.T) {
	delivered := 0
	r := newRig(t, authmgmt.Options{Deliver: func(context.Context, authmgmt.Invitation, mortise.Secret) error {
		delivered++
		return nil
	}})
	r.invite(t, "alan@example.com")
	_, err := r.Invite(t.Context(), "acme", full, authmgmt.NewInvitation{Email: "alan@example.com", Name: "n", FullAccess: true})
	require.ErrorIs(t, err, authmgmt.ErrPendingInvitation)
	_, err = r.ResendInvitation(t.Context(), "acme", full, "unknown")
	require.ErrorIs(t, err, mortise.ErrNotFound)
	_, err = r.ImportInvitation(t.Context(), "acme", full, authmgmt.NewInvitation{Email: "grace@example.com", Name: "n", FullAccess: true})
	require.NoError(t, err)
	assert.Equal(t, 1, delivered)
}
