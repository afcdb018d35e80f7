package authmgmt_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// Full access and endless life are said, never left out.
func TestNothingIsGivenByOmission(t *testing.T) {
	calls := map[string]func(r *rig, given []access.Role, full bool) error{
		"create a client": func(r *rig, given []access.Role, fullAccess bool) error {
			_, _, err := r.CreateClient(t.Context(), "acme", full, authmgmt.NewClient{Name: "n", Roles: given, FullAccess: fullAccess})
			return err
		},
		"import a client": func(r *rig, given []access.Role, fullAccess bool) error {
			n := authmgmt.NewClient{Name: "n", Roles: given, FullAccess: fullAccess}
			_, err := r.ImportClient(t.Context(), "acme", full, n, importedSecret)
			return err
		},
		"issue a token": func(r *rig, given []access.Role, fullAccess bool) error {
			_, _, err := r.IssueToken(t.Context(), "acme", full, authmgmt.NewToken{Subject: "s", Roles: given, FullAccess: fullAccess})
			return err
		},
		"import a token": func(r *rig, given []access.Role, fullAccess bool) error {
			n := authmgmt.NewToken{Subject: "s", Roles: given, FullAccess: fullAccess}
			_, err := r.ImportToken(t.Context(), "acme", full, n, importedSecret)
			return err
		},
		"invite": func(r *rig, given []access.Role, fullAccess bool) error {
			n := authmgmt.NewInvitation{Email: "a@example.com", Name: "a", Roles: given, FullAccess: fullAccess}
			_, err := r.Invite(t.Context(), "acme", full, n)
			return err
		},
		"import an invitation": func(r *rig, given []access.Role, fullAccess bool) error {
			n := authmgmt.NewInvitation{Email: "a@example.com", Name: "a", Roles: given, FullAccess: fullAccess}
			_, err := r.ImportInvitation(t.Context(), "acme", full, n)
			return err
		},
		"update a client": func(r *rig, given []access.Role, fullAccess bool) error {
			c, _, err := r.CreateClient(t.Context(), "acme", full, authmgmt.NewClient{Name: "n", Roles: roles("viewer")})
			require.NoError(t, err)
			u := authmgmt.ClientUpdate{Roles: &given, FullAccess: fullAccess}
			_, err = r.UpdateClient(t.Context(), "acme", full, c.ID, u)
			return err
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			for _, test := range []struct {
				given []access.Role
				full  bool
				wrong []string
			}{
				{nil, false, []string{"roles"}},
				{[]access.Role{}, false, []string{"roles"}},
				{roles("viewer"), true, []string{"full_access"}},
				{nil, true, nil},
				{roles("viewer"), false, nil},
			} {
				err := call(newRig(t, authmgmt.Options{}), test.given, test.full)
				if test.wrong == nil {
					assert.NoError(t, err, "%v, full access %v", test.given, test.full)
					continue
				}
				assert.Equal(t, test.wrong, fieldsOf(t, err), "%v, full access %v", test.given, test.full)
			}
		})
	}
}

// importedSecret is not random, and nobody's.
var importedSecret = strings.Repeat("an imported secret ", 2)

func TestUpdateGivesFullAccessOnlyIfItSaysSo(t *testing.T) {
	bound := access.Role{ID: "viewer", Resource: access.Dataset, ResourceInstance: "d1"}
	none := []access.Role{}
	name := "new"
	for _, test := range []struct {
		what   string
		before []access.Role
		update authmgmt.ClientUpdate
		wrong  []string
		after  []access.Role
	}{
		{"nil roles stay", roles("viewer"), authmgmt.ClientUpdate{Name: &name}, nil, roles("viewer")},
		{"full access stays", nil, authmgmt.ClientUpdate{Name: &name}, nil, nil},
		{"full access beside nil roles", roles("viewer"), authmgmt.ClientUpdate{FullAccess: true}, []string{"full_access"}, nil},
		{"the last roles, of a context", []access.Role{bound},
			authmgmt.ClientUpdate{Roles: &none, Context: access.DatasetRoles("d1")}, []string{"roles"}, nil},
		{"where there are none already", nil,
			authmgmt.ClientUpdate{Roles: &none, Context: access.SystemRoles}, []string{"roles"}, nil},
		{"others are left", []access.Role{bound, {ID: "viewer"}},
			authmgmt.ClientUpdate{Roles: &none, Context: access.DatasetRoles("d1")}, nil, roles("viewer")},
		{"others are left, though none need be", []access.Role{bound, {ID: "viewer"}},
			authmgmt.ClientUpdate{Roles: &none, Context: access.DatasetRoles("d1"), FullAccess: true}, nil, roles("viewer")},
	} {
		t.Run(test.what, func(t *testing.T) {
			r := newRig(t, authmgmt.Options{})
			c, _, err := r.CreateClient(t.Context(), "acme", full,
				authmgmt.NewClient{Name: "n", Roles: test.before, FullAccess: len(test.before) == 0})
			require.NoError(t, err)
			_, err = r.UpdateClient(t.Context(), "acme", full, c.ID, test.update)
			if test.wrong != nil {
				assert.Equal(t, test.wrong, fieldsOf(t, err))
				test.after = test.before
			} else {
				require.NoError(t, err)
			}
			kept, err := r.Client(t.Context(), "acme", c.ID)
			require.NoError(t, err)
			assert.Equal(t, test.after, kept.Roles)
		})
	}
}

func TestLifetimeOfATokenThatStandsForItself(t *testing.T) {
	r := newRig(t, authmgmt.Options{TokenLifetime: 20 * time.Minute})
	for _, test := range []struct{ asked, given time.Duration }{
		{0, 20 * time.Minute}, {time.Hour, time.Hour}, {authmgmt.NoExpiry, 0},
	} {
		token, _, err := r.IssueToken(t.Context(), "acme", full, authmgmt.NewToken{Subject: "s", FullAccess: true, Lifetime: test.asked})
		require.NoError(t, err)
		if test.given == 0 {
			assert.Zero(t, token.ExpiresAt)
			continue
		}
		assert.Equal(t, token.CreatedAt.Add(test.given), token.ExpiresAt)
	}
	for _, wrong := range []time.Duration{-2, -time.Hour} {
		_, _, err := r.IssueToken(t.Context(), "acme", full, authmgmt.NewToken{Subject: "s", FullAccess: true, Lifetime: wrong})
		assert.Equal(t, []string{"lifetime"}, fieldsOf(t, err))
	}
}
