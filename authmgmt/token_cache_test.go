package authmgmt_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest"
)

// With a cache, what another process changes counts when its time is over; what this one
// changes counts at once.
func TestTokenCache(t *testing.T) {
	r := newRig(t, authmgmt.Options{TokenCache: time.Second})
	other, err := authmgmt.New(authmgmt.Backend{Store: r.store}, nil)
	require.NoError(t, err)
	access := func(text string) (string, error) {
		id, err := r.VerifyToken(t.Context(), text)
		if err != nil {
			return "", err
		}
		return id.Access.Roles()[0].ID, nil
	}
	expect := func(text, role string) {
		t.Helper()
		got, err := access(text)
		assert.NoError(t, err)
		assert.Equal(t, role, got)
	}
	c, secret := r.newClient(t, "viewer")
	text, token := r.login(t, c.ID, secret)
	expect(text, "viewer")
	editor, admin := roles("editor"), roles("admin")
	_, err = other.UpdateClient(t.Context(), "acme", full, c.ID, authmgmt.ClientUpdate{Roles: &editor})
	require.NoError(t, err)
	r.advance(time.Second - time.Nanosecond)
	expect(text, "viewer")
	r.advance(time.Nanosecond)
	expect(text, "editor")
	_, err = r.UpdateClient(t.Context(), "acme", full, c.ID, authmgmt.ClientUpdate{Roles: &admin})
	require.NoError(t, err)
	expect(text, "admin")
	require.NoError(t, r.RevokeToken(t.Context(), "acme", full, token.ID))
	r.refused(t, text)

	text, _ = r.login(t, c.ID, secret)
	expect(text, "admin")
	_, _, err = r.RotateSecret(t.Context(), "acme", full, c.ID, -1)
	require.NoError(t, err)
	r.refused(t, text)

	_, short, err := r.IssueToken(t.Context(), "acme", full, authmgmt.NewToken{Subject: "s", Roles: roles("viewer"), Lifetime: 500 * time.Millisecond})
	require.NoError(t, err)
	expect(short.Reveal(), "viewer")
	r.advance(500 * time.Millisecond)
	r.refused(t, short.Reveal())
}

// TestTokenCacheOfDeleted: a deletion by another server counts when the time of the cache
// is over, as every other change of its; without a cache, and for who calls
// DeleteOrganization, it counts at once. Nobody asks the store about what is remembered.
func TestTokenCacheOfDeleted(t *testing.T) {
	r := newRig(t, authmgmt.Options{TokenCache: time.Second})
	faults := &authmgmttest.Faults{}
	server := func(cache time.Duration) *authmgmt.Service {
		s, err := authmgmt.New(authmgmt.Backend{Store: faults.Store(r.store)}, &authmgmt.Options{
			TokenCache: cache, Env: mortise.Env{Now: r.now, Logger: slog.New(slog.DiscardHandler)},
		})
		require.NoError(t, err)
		return s
	}
	caching, plain := server(time.Minute), server(0)
	texts := make(map[string]string)
	for _, org := range []string{"acme", "globex"} {
		_, text, err := r.IssueToken(t.Context(), org, full, authmgmt.NewToken{Subject: "ada", FullAccess: true})
		require.NoError(t, err)
		texts[org] = text.Reveal()
	}
	verify := func(s *authmgmt.Service, org string, want error) {
		t.Helper()
		_, err := s.VerifyToken(t.Context(), texts[org])
		require.ErrorIs(t, err, want)
	}
	for _, s := range []*authmgmt.Service{r.Service, caching, plain} {
		verify(s, "acme", nil)
		verify(s, "globex", nil)
	}
	outage, _ := authmgmttest.Outage()
	faults.Before = outage
	verify(caching, "acme", nil)
	verify(plain, "acme", mortise.ErrUnavailable)
	faults.Before = nil

	_, err := r.DeleteOrganization(t.Context(), "acme", full)
	require.NoError(t, err)
	verify(r.Service, "acme", authmgmt.ErrInvalidCredentials)
	verify(plain, "acme", authmgmt.ErrInvalidCredentials)
	verify(caching, "acme", nil)
	faults.Before = outage
	verify(caching, "acme", nil)
	verify(caching, "globex", nil)
	faults.Before = nil
	r.advance(time.Minute - time.Nanosecond)
	verify(caching, "acme", nil)
	r.advance(time.Nanosecond)
	verify(caching, "acme", authmgmt.ErrInvalidCredentials)

	verify(caching, "globex", nil)
	_, err = r.DeleteOrganization(t.Context(), "globex", full)
	require.NoError(t, err)
	verify(caching, "globex", nil)
	_, err = caching.DeleteOrganization(t.Context(), "globex", full)
	require.NoError(t, err)
	verify(caching, "globex", authmgmt.ErrInvalidCredentials)
}

// TestTokenCacheBesideDeletion: what was read before the mark is not remembered after it,
// nor when nobody knows whether the mark was made; and the tokens of others stay.
func TestTokenCacheBesideDeletion(t *testing.T) {
	s, store, r := newBetween(t, authmgmt.Options{TokenCache: time.Minute})
	_, text, err := s.IssueToken(t.Context(), "acme", full, authmgmt.NewToken{Subject: "ada", FullAccess: true})
	require.NoError(t, err)
	store.after = func() {
		_, err := s.DeleteOrganization(t.Context(), "acme", full)
		require.NoError(t, err)
	}
	_, err = s.VerifyToken(t.Context(), text.Reveal()) // it was valid when it was read
	require.NoError(t, err)
	_, err = s.VerifyToken(t.Context(), text.Reveal())
	require.ErrorIs(t, err, authmgmt.ErrInvalidCredentials)

	faults := &authmgmttest.Faults{}
	s, err = authmgmt.New(authmgmt.Backend{Store: faults.Store(r.store)}, &authmgmt.Options{
		TokenCache: time.Minute, Env: mortise.Env{Now: r.now, Logger: slog.New(slog.DiscardHandler)},
	})
	require.NoError(t, err)
	_, text, err = s.IssueToken(t.Context(), "globex", full, authmgmt.NewToken{Subject: "ada", FullAccess: true})
	require.NoError(t, err)
	_, err = s.VerifyToken(t.Context(), text.Reveal())
	require.NoError(t, err)
	_, err = s.DeleteOrganization(t.Context(), "other", full)
	require.NoError(t, err)
	outage, _ := authmgmttest.Outage()
	faults.Before = outage
	_, err = s.VerifyToken(t.Context(), text.Reveal())
	require.NoError(t, err, "it is remembered still")
	faults.Before = authmgmttest.On(authmgmttest.Nth(1), "Deletion.MarkDeleted")
	_, err = s.DeleteOrganization(t.Context(), "globex", full)
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	// It was deleted, after all.
	_, err = r.store.MarkDeleted(t.Context(), "globex", r.now(), authmgmt.AuditEvent{})
	require.NoError(t, err)
	_, err = s.VerifyToken(t.Context(), text.Reveal())
	require.ErrorIs(t, err, authmgmt.ErrInvalidCredentials)
}
