package authmgmt_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// Errors of calls about one thing name it. Observers hear the kind alone: a caller may
// have written a secret where the ID belongs.
func TestErrorsNameWhatTheyAreAbout(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	ctx := t.Context()
	_, _, err := r.CreateClient(ctx, "acme", full, authmgmt.NewClient{ID: "billing", Name: "Billing", FullAccess: true})
	require.NoError(t, err)
	id := uuid.MustParse("00000000-0000-4000-8000-000000000001")
	long := strings.Repeat("ä", 60)
	for name, c := range map[string]struct {
		do   func() error
		is   error
		want string
	}{
		"read": {func() error { _, err := r.Client(ctx, "acme", "biling"); return err },
			mortise.ErrNotFound, `mortise: not found: client "biling"`},
		"another organization's": {func() error { _, err := r.Client(ctx, "other", "billing"); return err },
			mortise.ErrNotFound, `mortise: not found: client "billing"`},
		"long": {func() error { _, err := r.Client(ctx, "acme", long); return err },
			mortise.ErrNotFound, `mortise: not found: client "` + strings.Repeat("ä", 50) + `"...`},
		"create": {func() error {
			_, _, err := r.CreateClient(ctx, "acme", full, authmgmt.NewClient{ID: "billing", Name: "B", FullAccess: true})
			return err
		}, mortise.ErrExists, `mortise: already exists: client "billing", or its secret`},
		"update": {func() error {
			_, err := r.UpdateClient(ctx, "acme", full, "x", authmgmt.ClientUpdate{})
			return err
		}, mortise.ErrNotFound, `mortise: not found: client "x"`},
		"rotate": {func() error { _, _, err := r.RotateSecret(ctx, "acme", full, "x", time.Minute); return err },
			mortise.ErrNotFound, `mortise: not found: client "x"`},
		"revoke a secret": {func() error { return r.RevokeSecret(ctx, "acme", full, "x", id) },
			mortise.ErrNotFound, `mortise: not found: client "x"`},
		"revoke a secret that is none": {func() error { return r.RevokeSecret(ctx, "acme", full, "billing", id) },
			mortise.ErrNotFound, `mortise: not found: secret "` + id.String() + `"`},
		"delete": {func() error { return r.DeleteClient(ctx, "acme", full, "x\ny") },
			mortise.ErrNotFound, `mortise: not found: client "x\ny"`},
		"read an invitation": {func() error { _, err := r.Invitation(ctx, "acme", "i"); return err },
			mortise.ErrNotFound, `mortise: not found: invitation "i"`},
		"read any invitation": {func() error { _, err := r.AnyInvitation(ctx, "acme", "i"); return err },
			mortise.ErrNotFound, `mortise: not found: invitation "i"`},
		"cancel": {func() error { return r.CancelInvitation(ctx, "acme", full, "i") },
			mortise.ErrNotFound, `mortise: not found: invitation "i"`},
		"resend": {func() error { _, err := r.ResendInvitation(ctx, "acme", full, "i"); return err },
			mortise.ErrNotFound, `mortise: not found: invitation "i"`},
		"revoke a token": {func() error { return r.RevokeToken(ctx, "acme", full, id) },
			mortise.ErrNotFound, `mortise: not found: token "` + id.String() + `"`},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.do()
			require.ErrorIs(t, err, c.is)
			require.EqualError(t, err, c.want)
		})
	}
	for _, o := range r.observations() {
		if o.Err != nil {
			require.NotContains(t, o.Err.Error(), `"`, o.Kind)
		}
	}
}

// What a link opens, and who logs in, is not named.
func TestErrorsDoNotNameLinks(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	_, err := r.InvitationByLink(context.Background(), "not-a-link")
	require.EqualError(t, err, "mortise: not found")
}
