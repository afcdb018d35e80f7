package authmgmt_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

// With a cache, what another process changes counts when its time is over; what this one changes counts at once.
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
