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

func TestCreateClient(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	given := append(roles("viewer", "viewer"), access.Role{ID: "editor", Resource: "dataset", ResourceInstance: "d1"})
	c, secret, err := r.CreateClient(t.Context(), "acme", admin, authmgmt.NewClient{Name: "ci", Roles: given})
	require.NoError(t, err)
	assert.Equal(t, "acme", c.Organization)
	assert.Len(t, c.ID, 36)
	assert.Equal(t, given[1:], c.Roles, "a role that is given twice counts once")
	assert.Equal(t, begin.Truncate(time.Microsecond), c.CreatedAt)
	assert.True(t, strings.HasPrefix(secret.Reveal(), "cs-"))
	assert.Len(t, secret.Reveal(), len("cs-")+64)

	kept, err := r.Client(t.Context(), "acme", c.ID)
	require.NoError(t, err)
	assert.Equal(t, c, kept)
	_, err = r.Client(t.Context(), "globex", c.ID)
	assert.ErrorIs(t, err, mortise.ErrNotFound)

	other, otherSecret, err := r.CreateClient(t.Context(), "acme", admin, authmgmt.NewClient{Name: "ci", Roles: given})
	require.NoError(t, err, "names need not be unique")
	assert.NotEqual(t, c.ID, other.ID)
	assert.NotEqual(t, secret.Reveal(), otherSecret.Reveal())

	_, _, err = r.CreateClient(t.Context(), "acme", full, authmgmt.NewClient{ID: c.ID, Name: "ci", FullAccess: true})
	assert.ErrorIs(t, err, mortise.ErrExists)
	_, _, err = r.CreateClient(t.Context(), "globex", full, authmgmt.NewClient{ID: c.ID, Name: "ci", FullAccess: true})
	assert.NoError(t, err, "IDs are an organization's own")
}

func TestCreateClientRefuses(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	for name, test := range map[string]struct {
		org    string
		client authmgmt.NewClient
		fields []string
	}{
		"no name":        {"acme", authmgmt.NewClient{}, []string{"name", "roles"}},
		"everything":     {"", authmgmt.NewClient{ID: "a\x00", Name: "\xff", Roles: []access.Role{{ID: "x"}}}, []string{"organization", "client_id", "name", "roles[0].role_id"}},
		"long":           {"acme", authmgmt.NewClient{Name: strings.Repeat("n", 256), FullAccess: true}, []string{"name"}},
		"odd binding":    {"acme", authmgmt.NewClient{Name: "n", Roles: []access.Role{{ID: "viewer"}, {ID: "viewer", ResourceInstance: "d1"}}}, []string{"roles[1].resource_instance"}},
		"too many roles": {"acme", authmgmt.NewClient{Name: "n", Roles: make([]access.Role, 101)}, []string{"roles"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, secret, err := r.CreateClient(t.Context(), test.org, full, test.client)
			assert.Empty(t, secret.Reveal())
			assert.Equal(t, test.fields, fieldsOf(t, err))
		})
	}
	_, err := r.ImportClient(t.Context(), "acme", full, authmgmt.NewClient{Name: "n", FullAccess: true}, strings.Repeat("s", 31))
	assert.Equal(t, []string{"client_secret"}, fieldsOf(t, err))
	_, err = r.ImportClient(t.Context(), "acme", full, authmgmt.NewClient{Name: "n", FullAccess: true}, strings.Repeat("s", 1025))
	assert.Equal(t, []string{"client_secret"}, fieldsOf(t, err))
	_, err = r.ImportClient(t.Context(), "acme", full, authmgmt.NewClient{Name: "n", FullAccess: true}, strings.Repeat("password", 5))
	assert.ErrorContains(t, err, "client_secret: must be random")
	assert.Empty(t, r.trail(t, "acme"), "nothing was changed")
}

// fieldsOf returns the fields of a ValidationError.
func fieldsOf(t *testing.T, err error) []string {
	t.Helper()
	var invalid *mortise.ValidationError
	require.ErrorAs(t, err, &invalid)
	require.NotContains(t, err.Error(), "\n", "a message is one line")
	var fields []string
	for i, p := range invalid.Problems {
		require.Equal(t, p, invalid.Unwrap()[i])
		require.ErrorIs(t, err, p)
		fields = append(fields, p.Path.String())
	}
	return fields
}

// Nobody gives away more than they hold, in whatever way.
func TestNobodyRaisesAnybody(t *testing.T) {
	type attempt struct {
		name string
		try  func(ctx context.Context, r *rig, by authmgmt.Caller, given []access.Role) error
	}
	attempts := []attempt{
		{"create a client", func(ctx context.Context, r *rig, by authmgmt.Caller, given []access.Role) error {
			_, _, err := r.CreateClient(ctx, "acme", by, authmgmt.NewClient{Name: "n", Roles: given, FullAccess: len(given) == 0})
			return err
		}},
		{"update a client", func(ctx context.Context, r *rig, by authmgmt.Caller, given []access.Role) error {
			u := authmgmt.ClientUpdate{Roles: &given, FullAccess: len(given) == 0}
			if len(given) > 0 { // what it has stays: this is about giving
				with := append([]access.Role{{ID: "viewer", Resource: "vault"}}, given...)
				u.Roles = &with
			}
			_, err := r.UpdateClient(ctx, "acme", by, "target", u)
			return err
		}},
		{"rotate a secret", func(ctx context.Context, r *rig, by authmgmt.Caller, given []access.Role) error {
			c, _, err := r.CreateClient(ctx, "acme", full, authmgmt.NewClient{Name: "n", Roles: given, FullAccess: len(given) == 0})
			if err == nil {
				_, _, err = r.RotateSecret(ctx, "acme", by, c.ID, 0)
			}
			return err
		}},
		{"issue a token", func(ctx context.Context, r *rig, by authmgmt.Caller, given []access.Role) error {
			_, _, err := r.IssueToken(ctx, "acme", by, authmgmt.NewToken{Subject: "s", Roles: given, FullAccess: len(given) == 0})
			return err
		}},
		{"invite", func(ctx context.Context, r *rig, by authmgmt.Caller, given []access.Role) error {
			_, err := r.Invite(ctx, "acme", by, authmgmt.NewInvitation{Email: "a@example.com", Name: "a", Roles: given, FullAccess: len(given) == 0})
			return err
		}},
		{"resend an invitation", func(ctx context.Context, r *rig, by authmgmt.Caller, given []access.Role) error {
			i, err := r.Invite(ctx, "acme", full, authmgmt.NewInvitation{Email: "b@example.com", Name: "b", Roles: given, FullAccess: len(given) == 0})
			if err == nil {
				_, err = r.ResendInvitation(ctx, "acme", by, i.ID)
			}
			return err
		}},
	}
	bound := func(id string) []access.Role {
		return []access.Role{{ID: id, Resource: "dataset", ResourceInstance: "d1"}}
	}
	callers := []authmgmt.Caller{full, admin, editor, viewer, d1, nobody}
	for _, test := range []struct {
		name string
		give []access.Role
		may  []bool // as callers
	}{
		{"full access", nil, []bool{true, false, false, false, false, false}},
		{"admin", roles("admin"), []bool{true, true, false, false, false, false}},
		{"editor", roles("editor"), []bool{true, true, true, false, false, false}},
		{"viewer", roles("viewer"), []bool{true, true, true, true, false, false}},
		{"admin of d1", bound("admin"), []bool{true, true, false, false, true, false}},
		{"viewer of d1", bound("viewer"), []bool{true, true, true, true, true, false}},
		{"viewer, and admin of d1", append(roles("viewer"), bound("admin")...), []bool{true, true, false, false, false, false}},
	} {
		for _, a := range attempts {
			for i, by := range callers {
				t.Run(string(by.Actor)+": "+a.name+" with "+test.name, func(t *testing.T) {
					r := newRig(t, authmgmt.Options{})
					_, err := r.ImportClient(t.Context(), "acme", full, authmgmt.NewClient{ID: "target", Name: "t", Roles: []access.Role{{ID: "viewer", Resource: "vault"}}}, importedSecret+"s")
					require.NoError(t, err)
					err = a.try(t.Context(), r, by, test.give)
					if test.may[i] {
						assert.NoError(t, err)
					} else {
						assert.ErrorIs(t, err, authmgmt.ErrForbidden)
					}
				})
			}
		}
	}
}

// TestContextOfNoDataset: roles of a dataset are replaced only if the organization has it,
// where the host says so.
func TestContextOfNoDataset(t *testing.T) {
	var away error
	r := newRig(t, authmgmt.Options{HasDataset: func(_ context.Context, org, id string) (bool, error) {
		return org == "acme" && id == "birds", away
	}})
	c, _ := r.newClient(t)
	update := func(context access.RolesContext) error {
		given := roles("viewer")
		_, err := r.UpdateClient(t.Context(), "acme", full, c.ID, authmgmt.ClientUpdate{Roles: &given, Context: context})
		return err
	}
	var invalid *mortise.ValidationError
	require.ErrorAs(t, update(access.DatasetRoles("whales")), &invalid)
	require.Len(t, invalid.Problems, 1)
	require.Equal(t, "roles_context", invalid.Problems[0].Path.String())
	stored, err := r.Client(t.Context(), "acme", c.ID)
	require.NoError(t, err)
	require.Equal(t, c.Roles, stored.Roles)
	require.NoError(t, update(access.DatasetRoles("birds")))

	away = errors.New("the datasets are away")
	require.ErrorIs(t, update(access.DatasetRoles("birds")), mortise.ErrUnavailable)
	require.NoError(t, update(access.SystemRoles), "it names no dataset")
	require.NoError(t, update(""))
}

func TestUpdateClient(t *testing.T) {
	set := func(list ...access.Role) *[]access.Role { return &list }
	name := func(n string) *string { return &n }
	viewer, editor := access.Role{ID: "viewer"}, access.Role{ID: "editor"}
	onD1 := access.Role{ID: "viewer", Resource: "dataset", ResourceInstance: "d1"}
	onD2 := access.Role{ID: "editor", Resource: "dataset", ResourceInstance: "d2"}
	onAll := access.Role{ID: "viewer", Resource: "dataset"}
	adminD1 := access.Role{ID: "admin", Resource: "dataset", ResourceInstance: "d1"}
	for _, test := range []struct {
		name   string
		before []access.Role
		by     authmgmt.Caller
		update authmgmt.ClientUpdate
		after  []access.Role
		err    error
	}{
		{"nothing", roles("viewer"), admin, authmgmt.ClientUpdate{}, roles("viewer"), nil},
		{"the name alone keeps the roles", roles("viewer"), admin, authmgmt.ClientUpdate{Name: name("new")}, roles("viewer"), nil},
		{"roles", roles("viewer"), admin, authmgmt.ClientUpdate{Roles: set(editor, onD1)}, []access.Role{editor, onD1}, nil},
		{"no roles: full access", roles("viewer"), full, authmgmt.ClientUpdate{Roles: set(), FullAccess: true}, nil, nil},
		{"no roles, by an admin", roles("viewer"), admin, authmgmt.ClientUpdate{Roles: set(), FullAccess: true}, nil, authmgmt.ErrForbidden},
		{"no roles where there are none, by an admin", nil, admin, authmgmt.ClientUpdate{Roles: set(), FullAccess: true}, nil, authmgmt.ErrForbidden},
		{"less than full access", nil, full, authmgmt.ClientUpdate{Roles: set(viewer)}, roles("viewer"), nil},
		{"less than full access, by an admin", nil, admin, authmgmt.ClientUpdate{Roles: set(viewer)}, nil, authmgmt.ErrForbidden},
		{"what goes must be covered", roles("admin", "viewer"), callerWith("an editor", editor), authmgmt.ClientUpdate{Roles: set(viewer)},
			nil, authmgmt.ErrForbidden},
		{"system roles", []access.Role{viewer, onD1, onAll, onD2}, admin, authmgmt.ClientUpdate{Roles: set(editor), Context: access.SystemRoles},
			[]access.Role{onD1, onAll, onD2, editor}, nil},
		{"one dataset's", []access.Role{viewer, onD1, onAll, onD2}, admin, authmgmt.ClientUpdate{Roles: set(access.Role{ID: "admin"}), Context: access.DatasetRoles("d1")},
			[]access.Role{viewer, onAll, onD2, adminD1}, nil},
		{"clear one dataset's", []access.Role{viewer, onD1, onD2}, admin, authmgmt.ClientUpdate{Roles: set(), Context: access.DatasetRoles("d1")},
			[]access.Role{viewer, onD2}, nil},
		{"clear the last ones", []access.Role{onD1}, full,
			authmgmt.ClientUpdate{Roles: set(), FullAccess: true, Context: access.DatasetRoles("d1")}, nil, nil},
		{"clear the last ones, by an admin", []access.Role{onD1}, admin,
			authmgmt.ClientUpdate{Roles: set(), FullAccess: true, Context: access.DatasetRoles("d1")},
			nil, authmgmt.ErrForbidden},
		{"clear the last system roles, by an admin", roles("viewer"), admin,
			authmgmt.ClientUpdate{Roles: set(), FullAccess: true, Context: access.SystemRoles},
			nil, authmgmt.ErrForbidden},
		{"clear a context that has none, by an admin", roles("viewer"), admin, authmgmt.ClientUpdate{Roles: set(), Context: access.DatasetRoles("d9")}, roles("viewer"), nil},
		{"what is kept need not be covered", []access.Role{{ID: "admin"}}, d1, authmgmt.ClientUpdate{Roles: set(adminD1), Context: access.DatasetRoles("d1")},
			[]access.Role{{ID: "admin"}, adminD1}, nil},
		{"what is new must be", roles("viewer"), d1, authmgmt.ClientUpdate{Roles: set(viewer, editor)}, nil, authmgmt.ErrForbidden},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, authmgmt.Options{})
			c, _, err := r.CreateClient(t.Context(), "acme", full, authmgmt.NewClient{Name: "old", Roles: test.before, FullAccess: len(test.before) == 0})
			require.NoError(t, err)
			r.advance(time.Hour)
			changed, err := r.UpdateClient(t.Context(), "acme", test.by, c.ID, test.update)
			kept, readErr := r.Client(t.Context(), "acme", c.ID)
			require.NoError(t, readErr)
			trail := r.trail(t, "acme")[1:]
			if test.err != nil {
				assert.ErrorIs(t, err, test.err)
				assert.Equal(t, c, kept)
				assert.Empty(t, trail)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, changed, kept)
			assert.Equal(t, test.after, kept.Roles)
			if test.update.Name != nil {
				assert.Equal(t, *test.update.Name, kept.Name)
			}
			if kept.Name == c.Name && assert.ObjectsAreEqual(c.Roles, kept.Roles) {
				assert.Equal(t, c, kept)
				assert.Empty(t, trail, "what changes nothing is no change")
				return
			}
			require.Len(t, trail, 1)
			assert.Equal(t, mortise.KindClientUpdated, trail[0].Kind)
			assert.Equal(t, test.by.Actor, trail[0].Actor)
			assert.Equal(t, c.ID, trail[0].Target)
			assert.Equal(t, "old", trail[0].Before.Name)
			assert.Equal(t, len(test.after) == 0, trail[0].After.FullAccess)
			assert.Len(t, trail[0].After.Roles, len(test.after))
			assert.Equal(t, r.now().Truncate(time.Microsecond), kept.UpdatedAt)
		})
	}
}

func TestUpdateClientRefuses(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	c, _, err := r.CreateClient(t.Context(), "acme", full, authmgmt.NewClient{Name: "n", Roles: roles("viewer")})
	require.NoError(t, err)
	empty := ""
	bad := []access.Role{{ID: "viewer", Resource: "dataset", ResourceInstance: "d2"}, {ID: "owner"}, {ID: "viewer", Resource: "vault"}}
	u := authmgmt.ClientUpdate{Name: &empty, Roles: &bad, Context: access.DatasetRoles("d1")}
	_, err = r.UpdateClient(t.Context(), "acme", full, c.ID, u)
	assert.Equal(t, []string{"name", "roles[1].role_id", "roles[0].resource_instance", "roles[2].resource"}, fieldsOf(t, err))

	// No dataset is not all roles.
	for _, id := range []string{"", "\x00", "\xff"} {
		_, err = r.UpdateClient(t.Context(), "acme", full, c.ID, authmgmt.ClientUpdate{Roles: &[]access.Role{}, Context: access.DatasetRoles(id)})
		assert.Equal(t, []string{"roles_context"}, fieldsOf(t, err))
	}
	long := make([]access.Role, 31) // of 265 bytes each
	for i := range long {
		long[i] = access.Role{ID: "viewer", Resource: "dataset", ResourceInstance: strings.Repeat("s", 252)}
	}
	for _, n := range []int{30, 31} {
		_, _, err = r.CreateClient(t.Context(), "acme", full, authmgmt.NewClient{Name: "n", Roles: long[:n]})
		if n == 30 {
			require.NoError(t, err)
		} else {
			assert.Equal(t, []string{"roles"}, fieldsOf(t, err))
		}
	}

	for _, org := range []string{"acme", "globex"} {
		_, err = r.UpdateClient(t.Context(), org, full, "unknown", authmgmt.ClientUpdate{})
		assert.ErrorIs(t, err, mortise.ErrNotFound)
	}
	_, err = r.UpdateClient(t.Context(), "globex", full, c.ID, authmgmt.ClientUpdate{})
	assert.ErrorIs(t, err, mortise.ErrNotFound, "another organization's is unknown")

	// Roles of other contexts count towards the limit.
	many := make([]access.Role, 60)
	for i := range many {
		many[i] = access.Role{ID: "viewer", Resource: "dataset", ResourceInstance: strings.Repeat("s", i+1)}
	}
	_, err = r.UpdateClient(t.Context(), "acme", full, c.ID, authmgmt.ClientUpdate{Roles: &many})
	require.NoError(t, err)
	twoMore := []access.Role{{ID: "viewer"}, {ID: "editor"}}
	_, err = r.UpdateClient(t.Context(), "acme", full, c.ID, authmgmt.ClientUpdate{Roles: &twoMore, Context: access.SystemRoles})
	require.NoError(t, err)
	for i := range many {
		many[i].Resource = "vault"
	}
	all, err := r.Client(t.Context(), "acme", c.ID)
	require.NoError(t, err)
	tooMany := append(all.Roles, many...)
	_, err = r.UpdateClient(t.Context(), "acme", full, c.ID, authmgmt.ClientUpdate{Roles: &tooMany})
	assert.Equal(t, []string{"roles"}, fieldsOf(t, err))
}

func TestListClients(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	for _, name := range []string{"a", "b", "c"} {
		_, _, err := r.CreateClient(t.Context(), "acme", full, authmgmt.NewClient{Name: name, FullAccess: true})
		require.NoError(t, err)
		r.advance(time.Second)
	}
	first, err := r.ListClients(t.Context(), "acme", "", 1)
	require.NoError(t, err)
	page, err := r.ListClients(t.Context(), "acme", first.Next, 0)
	require.NoError(t, err)
	require.Len(t, page.Items, 2)
	assert.Equal(t, "b", page.Items[0].Name)
	n, err := r.CountClients(t.Context(), "acme")
	require.NoError(t, err)
	assert.Equal(t, 3, n)
}

// crowded is a store that counts n clients and n pending invitations.
type crowded struct {
	authmgmt.Store
	n int
}

func (s *crowded) CountClients(_ context.Context, _ string, most int) (mortise.Count, error) {
	return mortise.CountUpTo(s.n, most), nil
}

func (s *crowded) CountInvitations(_ context.Context, _ string, _ time.Time, _ string, most int) (mortise.Count, error) {
	return mortise.CountUpTo(s.n, most), nil
}

// TestAnOrganizationHasTenThousand clients, and as many pending invitations.
func TestAnOrganizationHasTenThousand(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	store := &crowded{r.store, 9_999}
	s, err := authmgmt.New(authmgmt.Backend{Store: store, Directory: r.store}, &authmgmt.Options{AcceptURL: "https://example.com/", InvitationKey: testKey})
	require.NoError(t, err)
	client := authmgmt.NewClient{Name: "n", FullAccess: true}
	invitation := authmgmt.NewInvitation{Email: "a@example.com", Name: "n", FullAccess: true}
	_, _, err = s.CreateClient(t.Context(), "acme", full, client)
	require.NoError(t, err)
	_, err = s.Invite(t.Context(), "acme", full, invitation)
	require.NoError(t, err)

	store.n++
	var refused *mortise.ValidationError
	_, _, err = s.CreateClient(t.Context(), "acme", full, client)
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "mortise: invalid request: clients: are 10000 already, and can be no more", err.Error())
	_, err = s.ImportClient(t.Context(), "acme", full, client, "cs-0123456789abcdef0123456789abcdef")
	require.NoError(t, err, "an import")
	_, err = s.ImportInvitation(t.Context(), "acme", full, authmgmt.NewInvitation{Inviter: "ada", Email: "c@example.com", Name: "n", FullAccess: true})
	require.NoError(t, err, "an import")
	invitation.Email = "b@example.com"
	_, err = s.Invite(t.Context(), "acme", full, invitation)
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "mortise: invalid request: invitations: are 10000 already, and can be no more", err.Error())
}
