package authmgmt_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// Every change has its event, in the trail and for the Observer alike; what is refused or
// changes nothing has none.
func TestEveryChangeIsAudited(t *testing.T) {
	first := newRig(t, authmgmt.Options{})
	r := newRigIn(t, first.store, authmgmt.Options{})
	ctx := t.Context()
	require.NoError(t, r.SetRBAC(ctx, "acme", full, true))
	// The directory is another store: its event is in another trail.
	require.Len(t, first.trail(t, "acme"), 1)
	r.observations()

	c, secret := r.newClient(t, "admin")
	name := "renamed"
	_, err := r.UpdateClient(ctx, "acme", admin, c.ID, authmgmt.ClientUpdate{Name: &name})
	require.NoError(t, err)
	_, err = r.UpdateClient(ctx, "acme", admin, c.ID, authmgmt.ClientUpdate{Name: &name})
	require.NoError(t, err)
	rotated, _, err := r.RotateSecret(ctx, "acme", full, c.ID, 0)
	require.NoError(t, err)
	_, token := r.login(t, c.ID, secret)
	require.NoError(t, r.RevokeToken(ctx, "acme", admin, token.ID))
	require.NoError(t, r.RevokeToken(ctx, "acme", admin, token.ID))
	require.NoError(t, r.RevokeSecret(ctx, "acme", admin, c.ID, rotated.Secrets[0].ID))
	require.NoError(t, r.DeleteClient(ctx, "acme", admin, c.ID))
	i := r.invite(t, "alan@example.com")
	i, err = r.ResendInvitation(ctx, "acme", full, i.ID)
	require.NoError(t, err)
	_, _, err = r.Accept(ctx, r.link(&i), "alan")
	require.NoError(t, err)
	j := r.invite(t, "grace@example.com", "viewer")
	require.NoError(t, r.CancelInvitation(ctx, "acme", admin, j.ID))
	_, err = r.Client(ctx, "acme", c.ID)
	require.ErrorIs(t, err, mortise.ErrNotFound)

	type line struct {
		kind          mortise.Kind
		actor, target string
	}
	want := []line{
		{mortise.KindClientCreated, "root", c.ID},
		{mortise.KindClientUpdated, "admin", c.ID},
		{mortise.KindSecretRotated, "root", c.ID},
		{mortise.KindTokenIssued, "client:" + c.ID, token.ID.String()},
		{mortise.KindTokenRevoked, "admin", token.ID.String()},
		{mortise.KindSecretRevoked, "admin", c.ID},
		{mortise.KindClientDeleted, "admin", c.ID},
		{mortise.KindInvited, "root", i.ID},
		{mortise.KindResent, "root", i.ID},
		{mortise.KindAccepted, "alan", i.ID},
		{mortise.KindInvited, "root", j.ID},
		{mortise.KindUninvited, "admin", j.ID},
	}
	trail := r.trail(t, "acme")
	var got []line
	for _, e := range trail {
		got = append(got, line{e.Kind, string(e.Actor), e.Target})
		assert.Equal(t, "acme", e.Organization)
		assert.False(t, e.Before == nil && e.After == nil)
	}
	assert.Equal(t, want, got)
	assert.False(t, trail[3].After.FullAccess, "what a client's token allows is the client's")
	var observed []authmgmt.AuditEvent
	for _, o := range r.observations() {
		require.NoError(t, o.Err)
		if e, ok := o.Detail.(*authmgmt.AuditEvent); ok {
			assert.Equal(t, o.Kind, e.Kind)
			observed = append(observed, *e)
		}
	}
	assert.Equal(t, trail, observed)
}

func TestRefusalsAreObservedAndNotAudited(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	c, _ := r.newClient(t)
	before := r.trail(t, "acme")
	r.observations()
	none := []access.Role{}
	_, err := r.UpdateClient(t.Context(), "acme", viewer, c.ID, authmgmt.ClientUpdate{Roles: &none, FullAccess: true})
	require.ErrorIs(t, err, authmgmt.ErrForbidden)
	require.ErrorIs(t, r.DeleteClient(t.Context(), "acme", viewer, "unknown"), mortise.ErrNotFound)
	seen := r.observations()
	require.Len(t, seen, 2)
	assert.Equal(t, mortise.KindClientUpdated, seen[0].Kind)
	assert.EqualValues(t, "viewer", seen[0].Actor)
	assert.Equal(t, c.ID, seen[0].Object)
	assert.ErrorIs(t, seen[0].Err, authmgmt.ErrForbidden)
	assert.Nil(t, seen[0].Detail)
	assert.Equal(t, mortise.ReasonForbidden, seen[0].Reason)
	assert.ErrorIs(t, seen[1].Err, mortise.ErrNotFound)
	assert.Equal(t, before, r.trail(t, "acme"))
}

func TestAuditQueries(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	a, _ := r.newClient(t)
	r.advance(time.Minute)
	name := "renamed"
	_, err := r.UpdateClient(t.Context(), "acme", admin, a.ID, authmgmt.ClientUpdate{Name: &name})
	require.NoError(t, err)
	r.advance(time.Minute)
	require.NoError(t, r.DeleteClient(t.Context(), "acme", full, a.ID))
	count := func(q authmgmt.AuditQuery) int {
		page, err := r.ListAuditEvents(t.Context(), "acme", q)
		require.NoError(t, err)
		return len(page.Items)
	}
	assert.Equal(t, 3, count(authmgmt.AuditQuery{}))
	assert.Equal(t, 3, count(authmgmt.AuditQuery{Target: a.ID}))
	assert.Equal(t, 1, count(authmgmt.AuditQuery{Actor: "admin"}))
	assert.Equal(t, 1, count(authmgmt.AuditQuery{Kind: mortise.KindClientDeleted}))
	assert.Equal(t, 2, count(authmgmt.AuditQuery{From: begin.Add(time.Minute).Truncate(time.Microsecond)}))
	assert.Equal(t, 1, count(authmgmt.AuditQuery{From: begin.Add(time.Minute)}), "a bound between two microseconds is the next one")
	assert.Equal(t, 1, count(authmgmt.AuditQuery{To: begin.Add(time.Minute).Truncate(time.Microsecond)}))
	assert.Equal(t, 0, count(authmgmt.AuditQuery{Actor: "admin", Kind: mortise.KindClientDeleted}))
	_, err = r.ListAuditEvents(t.Context(), "acme", authmgmt.AuditQuery{Limit: 1001})
	assert.Equal(t, []string{"limit"}, fieldsOf(t, err))
	page, err := r.ListAuditEvents(t.Context(), "globex", authmgmt.AuditQuery{})
	require.NoError(t, err)
	assert.Empty(t, page.Items)

	page, err = r.ListAuditEvents(t.Context(), "acme", authmgmt.AuditQuery{Limit: 2})
	require.NoError(t, err)
	assert.Equal(t, mortise.KindClientDeleted, page.Items[0].Kind, "newest first")
	rest, err := r.ListAuditEvents(t.Context(), "acme", authmgmt.AuditQuery{Limit: 2, After: page.Next})
	require.NoError(t, err)
	require.Len(t, rest.Items, 1)
	assert.Equal(t, mortise.KindClientCreated, rest.Items[0].Kind)
	assert.Empty(t, rest.Next)
}

func TestPrune(t *testing.T) {
	r := newRig(t, authmgmt.Options{Retention: authmgmt.Retention{Audit: time.Hour, Tokens: 2 * time.Hour, Invitations: 3 * time.Hour}})
	ctx := t.Context()
	c, secret := r.newClient(t)
	r.login(t, c.ID, secret)
	_, err := r.ImportToken(ctx, "acme", full, authmgmt.NewToken{Subject: "ops", FullAccess: true, Lifetime: authmgmt.NoExpiry}, importedSecret+"t")
	require.NoError(t, err)
	i := r.invite(t, "alan@example.com")
	require.NoError(t, r.CancelInvitation(ctx, "acme", full, i.ID))
	r.invite(t, "grace@example.com")
	counts := func() (audit, tokens, invitations int) {
		page, err := r.ListTokens(ctx, "acme", "", 0)
		require.NoError(t, err)
		all, err := r.ListAllInvitations(ctx, "acme", "", "", 0)
		require.NoError(t, err)
		return len(r.trail(t, "acme")), len(page.Items), len(all.Items)
	}
	for _, step := range []struct {
		after                      time.Duration
		audit, tokens, invitations int
	}{
		{time.Hour, 6, 2, 2},
		{time.Microsecond, 0, 2, 2},
		{2*time.Hour - time.Microsecond, 0, 2, 2}, // the token expired an hour after it was issued
		{time.Microsecond, 0, 1, 1},               // and so have three hours passed since the cancellation
		{8 * 24 * time.Hour, 0, 1, 0},
	} {
		r.advance(step.after)
		_, err := r.RunOnce(ctx)
		require.NoError(t, err)
		audit, tokens, invitations := counts()
		assert.Equal(t, []int{step.audit, step.tokens, step.invitations}, []int{audit, tokens, invitations}, "after %v more", step.after)
	}
	r.newClient(t)
	for _, wrong := range []authmgmt.Retention{{Audit: -1}, {Tokens: -1}, {Invitations: -1}} {
		_, err = r.Prune(ctx, wrong)
		assert.ErrorContains(t, err, "is below 0")
	}
	r.advance(time.Hour)
	removed, err := r.Prune(ctx, authmgmt.Retention{})
	assert.NoError(t, err)
	assert.Zero(t, removed, "zero keeps everything")
	removed, err = r.Prune(ctx, authmgmt.Retention{Audit: time.Minute})
	assert.NoError(t, err)
	assert.Equal(t, 1, removed)

	plain, err := authmgmt.New(authmgmt.Backend{Store: struct{ authmgmt.Store }{r.store}}, nil)
	require.NoError(t, err)
	_, err = plain.Prune(ctx, authmgmt.Retention{})
	assert.ErrorIs(t, err, errors.ErrUnsupported)
}

func TestPing(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	assert.NoError(t, r.Ping(t.Context()))
}
