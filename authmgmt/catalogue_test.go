package authmgmt_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// A role on a type of resources that nobody asks for would allow nothing. Whoever
// mistypes one is told what there is.
func TestRolesOnUnknownTypesOfResources(t *testing.T) {
	wrong := []access.Role{{ID: "viewer", Resource: "vaults"}}
	const told = "roles[0].resource: is not one of the types 'client', 'dataset', 'invitation', 'trigger', 'vault'"
	calls := map[string]func(r *rig) error{
		"create a client": func(r *rig) error {
			_, _, err := r.CreateClient(t.Context(), "acme", full, authmgmt.NewClient{Name: "n", Roles: wrong})
			return err
		},
		"update a client": func(r *rig) error {
			c, _ := r.newClient(t)
			_, err := r.UpdateClient(t.Context(), "acme", full, c.ID, authmgmt.ClientUpdate{Roles: &wrong})
			return err
		},
		"issue a token": func(r *rig) error {
			_, _, err := r.IssueToken(t.Context(), "acme", full, authmgmt.NewToken{Subject: "s", Roles: wrong})
			return err
		},
		"invite": func(r *rig) error {
			_, err := r.Invite(t.Context(), "acme", full, authmgmt.NewInvitation{Email: "a@example.com", Name: "a", Roles: wrong})
			return err
		},
	}
	more, err := access.DefaultCatalogue().WithResources("vaults", "shop")
	require.NoError(t, err)
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			err := call(newRig(t, authmgmt.Options{}))
			assert.Equal(t, []string{"roles[0].resource"}, fieldsOf(t, err))
			assert.ErrorContains(t, err, told)
			assert.NoError(t, call(newRig(t, authmgmt.Options{Catalogue: more})), "a type of the host's own")
		})
	}
	for _, known := range access.DefaultCatalogue().Resources() {
		_, problem := more.Check(access.Role{ID: "viewer", Resource: known})
		assert.Empty(t, problem)
	}
	assert.Equal(t, []access.ResourceType{"client", "dataset", "invitation", "shop", "trigger", "vault", "vaults"}, more.Resources())
	_, problem := access.DefaultCatalogue().Check(wrong[0])
	assert.NotEmpty(t, problem, "another catalogue is not changed")
	_, err = access.DefaultCatalogue().WithResources("")
	assert.Error(t, err)
}

// What was stored before such roles were refused works on, and an update of other roles
// leaves it.
func TestStoredRolesOnUnknownTypesStay(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	c, secret := r.newClient(t, "viewer")
	old := access.Role{ID: "admin", Resource: "shop", ResourceInstance: "s1"}
	require.NoError(t, r.store.UpdateClient(t.Context(), "acme", c.ID, func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
		c.Roles = append(c.Roles, old)
		return authmgmt.AuditEvent{}, nil
	}))
	text, _ := r.login(t, c.ID, secret)
	who, err := r.VerifyToken(t.Context(), text)
	require.NoError(t, err)
	assert.True(t, who.Access.Allows("sell", access.Resource{Type: "shop", ID: "s1"}))
	assert.False(t, who.Access.Allows("sell", access.Resource{Type: "shop", ID: "s2"}))
	editor := roles("editor")
	changed, err := r.UpdateClient(t.Context(), "acme", full, c.ID, authmgmt.ClientUpdate{Roles: &editor, Context: access.SystemRoles})
	require.NoError(t, err)
	assert.Equal(t, []access.Role{old, {ID: "editor"}}, changed.Roles)
	_, _, err = r.RotateSecret(t.Context(), "acme", full, c.ID, 0)
	assert.NoError(t, err)
}
