package authmgmt_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// newClient makes a client with roles and returns it with its secret.
func (r *rig) newClient(t *testing.T, ids ...string) (authmgmt.Client, string) {
	t.Helper()
	c, secret, err := r.CreateClient(t.Context(), "acme", full, authmgmt.NewClient{Name: "n", Roles: roles(ids...), FullAccess: len(ids) == 0})
	require.NoError(t, err)
	return c, secret.Reveal()
}

// login returns an access token.
func (r *rig) login(t *testing.T, id, secret string) (string, authmgmt.Token) {
	t.Helper()
	token, text, err := r.Login(t.Context(), id, secret)
	require.NoError(t, err)
	return text.Reveal(), token
}

// refused asserts that a token is refused.
func (r *rig) refused(t *testing.T, text string) {
	t.Helper()
	id, err := r.VerifyToken(t.Context(), text)
	assert.Equal(t, authmgmt.ErrInvalidCredentials, err)
	assert.Equal(t, authmgmt.Identity{}, id)
}

func TestLoginAndVerify(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	c, secret := r.newClient(t, "editor")
	text, token := r.login(t, c.ID, secret)
	assert.True(t, strings.HasPrefix(text, "at-"))
	assert.Len(t, text, len("at-")+64)
	assert.Equal(t, begin.Truncate(time.Microsecond).Add(time.Hour), token.ExpiresAt)

	id, err := r.VerifyToken(t.Context(), text)
	require.NoError(t, err)
	assert.Equal(t, "acme", id.Organization)
	assert.Equal(t, "client:"+c.ID, id.Subject)
	assert.Equal(t, c.ID, id.Client)
	assert.Equal(t, token.ID, id.Token)
	assert.Equal(t, token.ExpiresAt, id.ExpiresAt)
	assert.Equal(t, roles("editor"), id.Access.Roles())
	assert.False(t, id.Access.Full())

	// To the microsecond.
	r.advance(time.Hour - time.Microsecond)
	_, err = r.VerifyToken(t.Context(), text)
	assert.NoError(t, err)
	r.advance(time.Microsecond)
	r.refused(t, text)
}

// Time that passes within a call does not shorten the life of what it issues.
func TestLifetimeIsWhole(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	c, secret := r.newClient(t)
	s, err := authmgmt.New(authmgmt.Backend{Store: r.store}, &authmgmt.Options{Env: mortise.Env{Now: func() time.Time {
		r.advance(time.Millisecond)
		return r.now()
	}}})
	require.NoError(t, err)
	token, _, err := s.Login(t.Context(), c.ID, secret)
	require.NoError(t, err)
	assert.Equal(t, time.Hour, token.ExpiresAt.Sub(token.CreatedAt))
	token, _, err = s.IssueToken(t.Context(), "acme", full, authmgmt.NewToken{Subject: "s", Lifetime: time.Minute, FullAccess: true})
	require.NoError(t, err)
	assert.Equal(t, time.Minute, token.ExpiresAt.Sub(token.CreatedAt))
}

func TestLoginRefuses(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	c, secret := r.newClient(t)
	other, otherSecret := r.newClient(t)
	digestOfSecret := c.Secrets[0].Digest
	for name, test := range map[string]struct{ id, secret string }{
		"unknown client":      {"unknown", secret},
		"no client":           {"", secret},
		"wrong secret":        {c.ID, "cs-" + strings.Repeat("0", 64)},
		"another's secret":    {c.ID, otherSecret},
		"another's ID":        {other.ID, secret},
		"no secret":           {c.ID, ""},
		"a cut secret":        {c.ID, secret[:len(secret)-1]},
		"a longer secret":     {c.ID, secret + "0"},
		"capitals":            {c.ID, strings.ToUpper(secret)},
		"the digest":          {c.ID, string(digestOfSecret[:])},
		"the digest in hex":   {c.ID, hexText(digestOfSecret[:])},
		"an endless secret":   {c.ID, strings.Repeat("s", 1025)},
		"the secret as an ID": {secret, c.ID},
	} {
		t.Run(name, func(t *testing.T) {
			token, text, err := r.Login(t.Context(), test.id, test.secret)
			assert.Equal(t, authmgmt.ErrInvalidCredentials, err)
			assert.Empty(t, text.Reveal())
			shown := test.id
			if shown == secret {
				shown = "" // in the wrong field
			}
			assert.Equal(t, authmgmt.Token{Client: shown}, token)
			told := r.observations()
			o := told[len(told)-1]
			assert.Equal(t, mortise.KindLoginRefused, o.Kind)
			assert.Equal(t, shown, o.Object)
			assert.Empty(t, string(o.Actor)+o.Organization)
		})
	}
}

func TestRolesAreReadAtVerification(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	c, secret := r.newClient(t, "viewer")
	text, _ := r.login(t, c.ID, secret)
	for _, after := range [][]access.Role{roles("admin"), roles("editor", "viewer"), {}, roles("viewer")} {
		_, err := r.UpdateClient(t.Context(), "acme", full, c.ID, authmgmt.ClientUpdate{Roles: &after, FullAccess: len(after) == 0})
		require.NoError(t, err)
		id, err := r.VerifyToken(t.Context(), text)
		require.NoError(t, err)
		assert.Equal(t, len(after) == 0, id.Access.Full())
		assert.Len(t, id.Access.Roles(), len(after))
	}
}

func TestDeleteClientEndsEverything(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	c, secret := r.newClient(t, "viewer")
	text, _ := r.login(t, c.ID, secret)
	require.ErrorIs(t, r.DeleteClient(t.Context(), "globex", full, c.ID), mortise.ErrNotFound)
	require.NoError(t, r.DeleteClient(t.Context(), "acme", admin, c.ID))
	r.refused(t, text)
	_, _, err := r.Login(t.Context(), c.ID, secret)
	assert.Equal(t, authmgmt.ErrInvalidCredentials, err)
	assert.ErrorIs(t, r.DeleteClient(t.Context(), "acme", admin, c.ID), mortise.ErrNotFound)

	// Its ID is not given again, and nothing revives it.
	_, err = r.ImportClient(t.Context(), "acme", full, authmgmt.NewClient{ID: c.ID, Name: "n", FullAccess: true}, secret)
	assert.ErrorIs(t, err, mortise.ErrExists)
	_, _, err = r.CreateClient(t.Context(), "acme", full, authmgmt.NewClient{ID: c.ID, Name: "n", FullAccess: true})
	assert.ErrorIs(t, err, mortise.ErrExists)
	r.refused(t, text)

	trail := r.trail(t, "acme")
	last := trail[len(trail)-1]
	assert.Equal(t, mortise.KindClientDeleted, last.Kind)
	assert.Nil(t, last.After)
	assert.Equal(t, "n", last.Before.Name)
}

func TestRotateSecret(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	c, first := r.newClient(t, "viewer")
	withFirst, _ := r.login(t, c.ID, first)
	_, second, err := r.RotateSecret(t.Context(), "acme", admin, c.ID, time.Hour)
	require.NoError(t, err)
	works := func(secret string) bool {
		_, _, err := r.Login(t.Context(), c.ID, secret)
		if err != nil {
			require.Equal(t, authmgmt.ErrInvalidCredentials, err)
		}
		return err == nil
	}
	assert.True(t, works(first))
	assert.True(t, works(second.Reveal()))
	r.advance(time.Hour - time.Microsecond)
	assert.True(t, works(first), "until the overlap is over")
	r.advance(time.Microsecond)
	assert.False(t, works(first))
	assert.True(t, works(second.Reveal()))
	r.refused(t, withFirst) // an hour is over

	// A token does not outlive what is known of its secret.
	_, _, err = r.RotateSecret(t.Context(), "acme", admin, c.ID, 10*time.Minute)
	require.NoError(t, err)
	short, kept := r.login(t, c.ID, second.Reveal())
	assert.Equal(t, kept.CreatedAt.Add(10*time.Minute), kept.ExpiresAt)
	r.advance(10 * time.Minute)
	r.refused(t, short)
	_, second, err = r.RotateSecret(t.Context(), "acme", admin, c.ID, -1)
	require.NoError(t, err)

	// At most two work at a time, and a promised overlap is kept: a third secret has to wait.
	changed, third, err := r.RotateSecret(t.Context(), "acme", admin, c.ID, 0)
	require.NoError(t, err)
	withSecond, _ := r.login(t, c.ID, second.Reveal())
	assert.Len(t, changed.Secrets, 2)
	end := r.now().Truncate(time.Microsecond).Add(24 * time.Hour)
	assert.Equal(t, end, changed.Secrets[0].ExpiresAt)
	r.advance(24*time.Hour - time.Microsecond)
	events := len(r.trail(t, "acme"))
	for _, overlap := range []time.Duration{0, time.Minute, 48 * time.Hour} {
		_, text, err := r.RotateSecret(t.Context(), "acme", admin, c.ID, overlap)
		assert.Equal(t, []string{"secrets"}, fieldsOf(t, err))
		assert.ErrorContains(t, err, "two secrets work; revoke one, or wait until "+end.Format("2006-01-02T15:04:05.000000Z"))
		assert.Empty(t, text.Reveal())
	}
	assert.Len(t, r.trail(t, "acme"), events, "nothing was changed")
	assert.True(t, works(second.Reveal()))
	assert.True(t, works(third.Reveal()))
	r.advance(time.Microsecond)
	changed, fourth, err := r.RotateSecret(t.Context(), "acme", admin, c.ID, 48*time.Hour)
	require.NoError(t, err)
	assert.Len(t, changed.Secrets, 2, "one that has ended is not kept")
	assert.False(t, works(second.Reveal()))
	r.refused(t, withSecond)
	assert.True(t, works(third.Reveal()))
	assert.True(t, works(fourth.Reveal()))

	// Less than none: at once, whatever was promised.
	withFourth, _ := r.login(t, c.ID, fourth.Reveal())
	changed, fifth, err := r.RotateSecret(t.Context(), "acme", admin, c.ID, -1)
	require.NoError(t, err)
	assert.Len(t, changed.Secrets, 1)
	assert.False(t, works(third.Reveal()))
	assert.False(t, works(fourth.Reveal()))
	assert.True(t, works(fifth.Reveal()))
	r.refused(t, withFourth)

	// A secret that ends by itself does not work longer for a rotation.
	changed, sixth, err := r.RotateSecret(t.Context(), "acme", admin, c.ID, time.Hour)
	require.NoError(t, err)
	require.NoError(t, r.RevokeSecret(t.Context(), "acme", admin, c.ID, changed.Secrets[1].ID))
	assert.False(t, works(sixth.Reveal()))
	end = changed.Secrets[0].ExpiresAt
	changed, _, err = r.RotateSecret(t.Context(), "acme", admin, c.ID, 2*time.Hour)
	require.NoError(t, err)
	assert.Equal(t, end, changed.Secrets[0].ExpiresAt)

	_, text, err := r.RotateSecret(t.Context(), "acme", admin, c.ID, 90*24*time.Hour+1)
	assert.Equal(t, []string{"overlap"}, fieldsOf(t, err))
	assert.Empty(t, text.Reveal())
	for _, org := range []string{"acme", "globex"} {
		_, _, err = r.RotateSecret(t.Context(), org, full, "unknown", 0)
		assert.ErrorIs(t, err, mortise.ErrNotFound)
	}
}

func TestRevokeSecret(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	c, first := r.newClient(t, "viewer")
	withFirst, _ := r.login(t, c.ID, first)
	changed, second, err := r.RotateSecret(t.Context(), "acme", admin, c.ID, time.Hour)
	require.NoError(t, err)
	withSecond, _ := r.login(t, c.ID, second.Reveal())
	assert.ErrorIs(t, r.RevokeSecret(t.Context(), "acme", admin, c.ID, uuid.New()), mortise.ErrNotFound)
	assert.ErrorIs(t, r.RevokeSecret(t.Context(), "globex", admin, c.ID, changed.Secrets[0].ID), mortise.ErrNotFound)
	require.NoError(t, r.RevokeSecret(t.Context(), "acme", admin, c.ID, changed.Secrets[0].ID))
	r.refused(t, withFirst)
	_, err = r.VerifyToken(t.Context(), withSecond)
	assert.NoError(t, err)
	_, _, err = r.Login(t.Context(), c.ID, first)
	assert.Equal(t, authmgmt.ErrInvalidCredentials, err)

	// The last one may go, too, and a new one can come.
	require.NoError(t, r.RevokeSecret(t.Context(), "acme", admin, c.ID, changed.Secrets[1].ID))
	r.refused(t, withSecond)
	_, third, err := r.RotateSecret(t.Context(), "acme", admin, c.ID, time.Hour)
	require.NoError(t, err)
	r.login(t, c.ID, third.Reveal())
}

// TestLastUseOfASecret: a login notes that its secret was used, at most once a minute, and
// does not fail for it.
func TestLastUseOfASecret(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	c, secret := r.newClient(t)
	c, _, err := r.RotateSecret(t.Context(), "acme", full, c.ID, time.Hour)
	require.NoError(t, err)
	events := len(r.trail(t, "acme"))
	uses := func() (uses [2]time.Time) {
		stored, err := r.Client(t.Context(), "acme", c.ID)
		require.NoError(t, err)
		require.Equal(t, c.UpdatedAt, stored.UpdatedAt, "a use is no change")
		return [2]time.Time{stored.Secrets[0].LastUsedAt, stored.Secrets[1].LastUsedAt}
	}
	_, _, err = r.Login(t.Context(), c.ID+"x", secret)
	require.Error(t, err)
	assert.Zero(t, uses())
	noted := r.now().Truncate(time.Microsecond)
	r.login(t, c.ID, secret)
	assert.Equal(t, [2]time.Time{noted}, uses())
	r.advance(time.Minute - time.Microsecond)
	r.login(t, c.ID, secret)
	assert.Equal(t, [2]time.Time{noted}, uses())
	r.advance(time.Microsecond)
	r.login(t, c.ID, secret)
	assert.Equal(t, [2]time.Time{noted.Add(time.Minute)}, uses())
	assert.Len(t, r.trail(t, "acme"), events+3, "the tokens alone")

	r.advance(time.Minute)
	deaf, err := authmgmt.New(authmgmt.Backend{Store: deafStore{r.store}}, &authmgmt.Options{Env: mortise.Env{Now: r.now, Logger: slog.New(slog.NewTextHandler(r.logs, nil))}})
	require.NoError(t, err)
	_, _, err = deaf.Login(t.Context(), c.ID, secret)
	require.NoError(t, err)
	assert.Equal(t, [2]time.Time{noted.Add(time.Minute)}, uses())
	assert.Contains(t, r.logs.String(), "could not be noted")
}

// deafStore changes no client.
type deafStore struct{ authmgmt.Store }

func (deafStore) UpdateClient(context.Context, string, string, func(*authmgmt.Client) (authmgmt.AuditEvent, error)) error {
	return errors.New("disk full")
}

func TestTokensThatStandForThemselves(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	token, text, err := r.IssueToken(t.Context(), "acme", admin, authmgmt.NewToken{Subject: "ada", Roles: roles("viewer", "viewer"), Lifetime: time.Minute})
	require.NoError(t, err)
	id, err := r.VerifyToken(t.Context(), text.Reveal())
	require.NoError(t, err)
	assert.Equal(t, "ada", id.Subject)
	assert.Empty(t, id.Client)
	assert.Equal(t, roles("viewer"), id.Access.Roles())
	r.advance(time.Minute)
	r.refused(t, text.Reveal())

	const imported = "at-0123456789abcdef0123456789abcdef"
	first, err := r.ImportToken(t.Context(), "acme", full, authmgmt.NewToken{Subject: "ops", FullAccess: true, Lifetime: authmgmt.NoExpiry}, imported)
	require.NoError(t, err)
	r.advance(10 * 365 * 24 * time.Hour)
	id, err = r.VerifyToken(t.Context(), imported)
	require.NoError(t, err, "it never expires")
	assert.True(t, id.Access.Full())
	_, err = r.ImportToken(t.Context(), "globex", full, authmgmt.NewToken{Subject: "ops", FullAccess: true, Lifetime: authmgmt.NoExpiry}, imported)
	assert.Equal(t, mortise.ErrExists, err)

	assert.ErrorIs(t, r.RevokeToken(t.Context(), "globex", full, first.ID), mortise.ErrNotFound)
	require.NoError(t, r.RevokeToken(t.Context(), "acme", full, first.ID))
	r.refused(t, imported)
	r.advance(time.Hour)
	require.NoError(t, r.RevokeToken(t.Context(), "acme", full, first.ID), "twice is no error")
	_, err = r.ImportToken(t.Context(), "acme", full, authmgmt.NewToken{Subject: "ops", FullAccess: true, Lifetime: authmgmt.NoExpiry}, imported)
	assert.Equal(t, mortise.ErrExists, err, "it is not revived")

	page, err := r.ListTokens(t.Context(), "acme", "", 0)
	require.NoError(t, err)
	require.Equal(t, 2, len(page.Items))
	assert.Equal(t, token.ID, page.Items[1].ID, "newest first")
	assert.Equal(t, r.now().Add(-time.Hour).Truncate(time.Microsecond), page.Items[0].RevokedAt, "the first time counts")

	ended := importedSecret + "e"
	_, err = r.ImportToken(t.Context(), "acme", full, authmgmt.NewToken{Subject: "ops", Revoked: true, FullAccess: true}, ended)
	require.NoError(t, err)
	r.refused(t, ended)
	_, err = r.ImportToken(t.Context(), "acme", full, authmgmt.NewToken{Subject: "ops", FullAccess: true}, ended)
	assert.Equal(t, mortise.ErrExists, err)

	for _, bad := range []string{importedSecret[:31], strings.Repeat(importedSecret, 27)[:1025], strings.Repeat("guessable", 4)} {
		_, err = r.ImportToken(t.Context(), "acme", full, authmgmt.NewToken{Subject: "ops", FullAccess: true}, bad)
		assert.Equal(t, []string{"token"}, fieldsOf(t, err))
	}
	_, _, err = r.IssueToken(t.Context(), "", full, authmgmt.NewToken{Roles: roles("x"), Lifetime: -2})
	assert.Equal(t, []string{"organization", "subject", "roles[0].role_id", "lifetime"}, fieldsOf(t, err))
}

func TestVerifyTokenRefuses(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	c, secret := r.newClient(t)
	text, token := r.login(t, c.ID, secret)
	for _, wrong := range []string{
		"", "at-", text[:len(text)-1], text + "0", strings.ToUpper(text), secret, c.ID, token.ID.String(), string(token.Digest[:]), hexText(token.Digest[:]),
		strings.Repeat("t", 1025), strings.Repeat("t", 1<<20), "\x00", "\xff",
	} {
		r.refused(t, wrong)
	}
}

func TestRefusalsOfRandomness(t *testing.T) {
	broken := errors.New("no entropy")
	r := newRig(t, authmgmt.Options{Env: mortise.Env{Rand: readerFunc(func([]byte) (int, error) { return 0, broken })}})
	_, _, err := r.CreateClient(t.Context(), "acme", full, authmgmt.NewClient{Name: "n", FullAccess: true})
	assert.ErrorIs(t, err, broken)
	_, _, err = r.IssueToken(t.Context(), "acme", full, authmgmt.NewToken{Subject: "s", FullAccess: true})
	assert.ErrorIs(t, err, broken)
	_, err = r.Invite(t.Context(), "acme", full, authmgmt.NewInvitation{Email: "a@example.com", Name: "a", FullAccess: true})
	assert.ErrorIs(t, err, broken)
	assert.ErrorIs(t, err, mortise.ErrUnavailable)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
