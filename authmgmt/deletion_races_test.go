package authmgmt_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// TestLosesToDeletion: what is made or changed just after the mark is refused, though all
// that was read for it was read before; and the host's functions are not called for it.
func TestLosesToDeletion(t *testing.T) {
	type held struct{ client, secret, invitation, link string }
	for name, c := range map[string]struct {
		call func(ctx context.Context, s *authmgmt.Service, h held) error
		want error
	}{
		"a login": {func(ctx context.Context, s *authmgmt.Service, h held) error {
			_, text, err := s.Login(ctx, h.client, h.secret)
			return errors.Join(err, noSecret(text))
		}, authmgmt.ErrInvalidCredentials},
		"a token": {func(ctx context.Context, s *authmgmt.Service, _ held) error {
			_, text, err := s.IssueToken(ctx, "acme", full, authmgmt.NewToken{Subject: "s", FullAccess: true})
			return errors.Join(err, noSecret(text))
		}, mortise.ErrDeleted},
		"an imported token": {func(ctx context.Context, s *authmgmt.Service, _ held) error {
			_, err := s.ImportToken(ctx, "acme", full, authmgmt.NewToken{Subject: "s", FullAccess: true}, "at-0123456789abcdef0123456789abcdef")
			return err
		}, mortise.ErrDeleted},
		"a resend": {func(ctx context.Context, s *authmgmt.Service, h held) error {
			_, err := s.ResendInvitation(ctx, "acme", full, h.invitation)
			return err
		}, mortise.ErrNotFound},
		"a cancellation": {func(ctx context.Context, s *authmgmt.Service, h held) error {
			return s.CancelInvitation(ctx, "acme", full, h.invitation)
		}, mortise.ErrNotFound},
		"an acceptance": {func(ctx context.Context, s *authmgmt.Service, h held) error {
			_, _, err := s.Accept(ctx, h.link, "ada")
			return err
		}, mortise.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			s, store, r := newBetween(t, authmgmt.Options{
				Grant: func(context.Context, authmgmt.Acceptance) (mortise.Secret, error) {
					calls++
					return mortise.Secret{}, nil
				},
				Deliver: func(context.Context, authmgmt.Invitation, mortise.Secret) error {
					calls++
					return nil
				},
			})
			client, secret := r.newClient(t)
			i := r.invite(t, "ada@example.com")
			h := held{client.ID, secret, i.ID, r.link(&i)}
			calls = 0
			store.before = func() { deleteAll(t, r.Service, "acme", full) }
			require.ErrorIs(t, c.call(t.Context(), s, h), c.want)
			require.Nil(t, store.before, "it came between")
			require.Zero(t, calls)
			require.Len(t, r.trail(t, "acme"), 1)
			for range 2 {
				r.advance(time.Hour)
				_, err := s.RunOnce(t.Context())
				require.NoError(t, err)
			}
			require.Zero(t, calls)
		})
	}
}

// noSecret is an error if there is one after all.
func noSecret(text mortise.Secret) error {
	if text.IsZero() {
		return nil
	}
	return errors.New("a secret was handed out")
}

// TestGrantIssuesTokenOfDeleted: a Grant that makes a token for who has accepted is told
// that the organization was deleted meanwhile, and nobody gets a reply.
func TestGrantIssuesTokenOfDeleted(t *testing.T) {
	var s *authmgmt.Service
	var issued error
	r := newRig(t, authmgmt.Options{Grant: func(ctx context.Context, a authmgmt.Acceptance) (mortise.Secret, error) {
		deleteAll(t, s, "acme", full)
		_, text, err := s.IssueToken(ctx, a.Invitation.Organization, full, authmgmt.NewToken{Subject: "ada", FullAccess: true})
		issued = err
		return text, err
	}})
	s = r.Service
	i := r.invite(t, "ada@example.com")
	accepted, reply, err := s.Accept(t.Context(), r.link(&i), "ada")
	require.ErrorIs(t, err, mortise.ErrNotFound)
	require.Zero(t, accepted)
	require.True(t, reply.IsZero())
	require.ErrorIs(t, issued, mortise.ErrDeleted)
	page, err := s.ListTokens(t.Context(), "acme", "", 0)
	require.NoError(t, err)
	require.Empty(t, page.Items)
}

// TestDeletedNames: the longest ID is deleted, what is no ID is refused, and one that
// begins like another one leaves that alone.
func TestDeletedNames(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	long := make([]byte, 255)
	for i := range long {
		long[i] = "%_"[i%2] // which mean something in patterns
	}
	name := string(long)
	_, text, err := r.IssueToken(t.Context(), name[:254], full, authmgmt.NewToken{Subject: "s", FullAccess: true})
	require.NoError(t, err)
	deleteAll(t, r.Service, name, full)
	_, _, err = r.IssueToken(t.Context(), name, full, authmgmt.NewToken{Subject: "s", FullAccess: true})
	require.ErrorIs(t, err, mortise.ErrDeleted)
	_, err = r.VerifyToken(t.Context(), text.Reveal())
	require.NoError(t, err)
	for _, bad := range []string{"", name + "x", "ac\x00me", "ac\xffme"} {
		var invalid *mortise.ValidationError
		_, err := r.DeleteOrganization(t.Context(), bad, full)
		require.ErrorAs(t, err, &invalid)
		since, err := r.store.DeletedAt(t.Context(), bad)
		require.NoError(t, err)
		require.True(t, since.IsZero())
	}
}
