package authmgmt_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// A failing directory is a failure, and says nothing about the organization.
type directory struct {
	org authmgmt.Organization
	err error
}

func (d *directory) AccessControl(context.Context, string) (authmgmt.Organization, error) {
	return d.org, d.err
}

func TestRBAC(t *testing.T) {
	dir := &directory{}
	r := newRigIn(t, dir, authmgmt.Options{})
	c, err := r.ImportClient(t.Context(), "acme", full, authmgmt.NewClient{Name: "n", Roles: roles("viewer")}, importedSecret+"s")
	require.NoError(t, err, "what is imported is the host's own decision")
	assign := func() map[string]error {
		editor := roles("editor")
		errs := make(map[string]error)
		_, _, errs["create"] = r.CreateClient(t.Context(), "acme", full, authmgmt.NewClient{Name: "n", Roles: editor})
		_, errs["update"] = r.UpdateClient(t.Context(), "acme", full, c.ID, authmgmt.ClientUpdate{Roles: &editor})
		_, errs["unknown"] = r.UpdateClient(t.Context(), "acme", full, "unknown", authmgmt.ClientUpdate{Roles: &editor})
		i, err := r.Invite(t.Context(), "acme", full, authmgmt.NewInvitation{Email: "a@example.com", Name: "a", Roles: editor})
		if errs["invite"] = err; err == nil {
			require.NoError(t, r.CancelInvitation(t.Context(), "acme", full, i.ID))
		}
		return errs
	}
	for what, err := range assign() {
		assert.ErrorIs(t, err, authmgmt.ErrRBACDisabled, what)
	}
	same, renamed := roles("viewer", "viewer"), "other"
	c, err = r.UpdateClient(t.Context(), "acme", full, c.ID, authmgmt.ClientUpdate{Name: &renamed, Roles: &same})
	require.NoError(t, err, "roles that stay as they are need no access control")
	require.Equal(t, []any{renamed, roles("viewer")}, []any{c.Name, c.Roles})
	same = roles("viewer", "editor")
	_, err = r.UpdateClient(t.Context(), "acme", full, c.ID, authmgmt.ClientUpdate{Roles: &same})
	require.ErrorIs(t, err, authmgmt.ErrRBACDisabled)
	dir.err = mortise.ErrNotFound
	for what, err := range assign() {
		assert.ErrorIs(t, err, authmgmt.ErrRBACDisabled, what)
	}
	dir.err = errors.New("down")
	for what, err := range assign() {
		assert.ErrorIs(t, err, mortise.ErrUnavailable, what)
	}
	_, err = r.UpdateClient(t.Context(), "acme", full, c.ID, authmgmt.ClientUpdate{Roles: &[]access.Role{}, FullAccess: true})
	assert.NoError(t, err, "no roles need no access control")
	dir.err, dir.org.RBAC = nil, true
	for what, err := range assign() {
		if what == "unknown" {
			assert.ErrorIs(t, err, mortise.ErrNotFound)
			continue
		}
		assert.NoError(t, err, what)
	}
	assert.ErrorIs(t, r.SetRBAC(t.Context(), "acme", full, true), errors.ErrUnsupported, "this directory cannot be written")
}

func TestSetRBAC(t *testing.T) {
	first := newRig(t, authmgmt.Options{})
	r := newRigIn(t, first.store, authmgmt.Options{})
	editor := roles("editor")
	_, _, err := r.CreateClient(t.Context(), "acme", full, authmgmt.NewClient{Name: "n", Roles: editor})
	assert.ErrorIs(t, err, authmgmt.ErrRBACDisabled)
	for _, enabled := range []bool{true, true, false} {
		require.NoError(t, r.SetRBAC(t.Context(), "acme", full, enabled))
	}
	require.NoError(t, r.SetRBAC(t.Context(), "acme", full, true))
	_, _, err = r.CreateClient(t.Context(), "acme", full, authmgmt.NewClient{Name: "n", Roles: editor})
	assert.NoError(t, err)
	assert.Equal(t, []string{"organization"}, fieldsOf(t, r.SetRBAC(t.Context(), "", full, true)))
	trail := first.trail(t, "acme")
	require.Len(t, trail, 3, "setting what is set is no change")
	assert.Equal(t, []bool{false, true, false}, []bool{*trail[0].Before.RBAC, *trail[1].Before.RBAC, *trail[2].Before.RBAC})
	assert.Equal(t, []bool{true, false, true}, []bool{*trail[0].After.RBAC, *trail[1].After.RBAC, *trail[2].After.RBAC})
}

// That an organization has role-based access control is remembered for a second; that it
// has none is not.
func TestRBACIsRememberedForASecond(t *testing.T) {
	dir := &directory{}
	r := newRigIn(t, dir, authmgmt.Options{})
	assign := func(org string) error {
		_, _, err := r.CreateClient(t.Context(), org, full, authmgmt.NewClient{Name: "n", Roles: roles("viewer")})
		return err
	}
	assert.ErrorIs(t, assign("acme"), authmgmt.ErrRBACDisabled)
	dir.org.RBAC = true
	assert.NoError(t, assign("acme"), "it counts at once")
	dir.org.RBAC = false
	assert.NoError(t, assign("acme"))
	assert.ErrorIs(t, assign("globex"), authmgmt.ErrRBACDisabled, "of each organization by itself")
	r.advance(time.Second - time.Nanosecond)
	assert.NoError(t, assign("acme"))
	r.advance(time.Nanosecond)
	assert.ErrorIs(t, assign("acme"), authmgmt.ErrRBACDisabled)

	store := newRig(t, authmgmt.Options{}).store
	r = newRigIn(t, store, authmgmt.Options{})
	for range 3 { // what this service changes, it knows
		require.NoError(t, r.SetRBAC(t.Context(), "acme", full, true))
		assert.NoError(t, assign("acme"))
		require.NoError(t, r.SetRBAC(t.Context(), "acme", full, false))
		assert.ErrorIs(t, assign("acme"), authmgmt.ErrRBACDisabled)
	}
}
