package authmgmt_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// deleteAll calls DeleteOrganization until there is no more, and returns how often.
func deleteAll(t *testing.T, s *authmgmt.Service, org string, by authmgmt.Caller) (calls int) {
	t.Helper()
	for more := true; more; calls++ {
		var err error
		more, err = s.DeleteOrganization(t.Context(), org, by)
		require.NoError(t, err)
		require.Less(t, calls, 100, "it does not end")
	}
	return calls
}

func TestDeleteOrganization(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	c, secret := r.newClient(t)
	token, text, err := r.IssueToken(t.Context(), "acme", full, authmgmt.NewToken{Subject: "ada", FullAccess: true})
	require.NoError(t, err)
	_, login, err := r.Login(t.Context(), c.ID, secret)
	require.NoError(t, err)
	i := r.invite(t, "alan@example.com")
	link := r.link(&i)
	_, others, err := r.CreateClient(t.Context(), "globex", full, authmgmt.NewClient{ID: c.ID, Name: "Robot", FullAccess: true})
	require.NoError(t, err)
	r.observations()
	r.advance(time.Minute)
	now := r.now()

	more, err := r.DeleteOrganization(t.Context(), "acme", full)
	require.NoError(t, err)
	require.False(t, more, "there are less than a thousand rows")
	r.advance(time.Minute)
	for range 2 {
		require.Equal(t, 1, deleteAll(t, r.Service, "acme", full))
	}

	_, err = r.VerifyToken(t.Context(), text.Reveal())
	assert.ErrorIs(t, err, authmgmt.ErrInvalidCredentials)
	_, err = r.VerifyToken(t.Context(), login.Reveal())
	assert.ErrorIs(t, err, authmgmt.ErrInvalidCredentials)
	_, _, err = r.Login(t.Context(), c.ID, secret)
	assert.ErrorIs(t, err, authmgmt.ErrInvalidCredentials)
	_, err = r.InvitationByLink(t.Context(), link)
	assert.ErrorIs(t, err, mortise.ErrNotFound)
	_, _, err = r.Accept(t.Context(), link, "alan")
	assert.ErrorIs(t, err, mortise.ErrNotFound)
	_, err = r.Client(t.Context(), "acme", c.ID)
	assert.ErrorIs(t, err, mortise.ErrNotFound)
	roles := []access.Role{{ID: "viewer"}}
	_, err = r.UpdateClient(t.Context(), "acme", full, c.ID, authmgmt.ClientUpdate{Roles: &roles})
	assert.ErrorIs(t, err, mortise.ErrNotFound)
	assert.ErrorIs(t, r.RevokeToken(t.Context(), "acme", full, token.ID), mortise.ErrNotFound)
	refusesAll(t, r.Service, "acme")

	_, _, err = r.Login(t.Context(), c.ID, others.Reveal())
	assert.NoError(t, err, "another organization's client with the same ID")

	trail := r.trail(t, "acme")
	require.Len(t, trail, 1)
	e := trail[0]
	assert.Equal(t, []any{mortise.KindOrganizationDeleted, mortise.Actor("root"), "acme"}, []any{e.Kind, e.Actor, e.Target})
	assert.True(t, e.At.Equal(now.Truncate(time.Microsecond)), "the time of the first call")
	assert.NotNil(t, e.Before)
	assert.Nil(t, e.After)
	var seen []mortise.Observation
	for _, o := range r.observations() {
		if o.Kind == mortise.KindOrganizationDeleted {
			seen = append(seen, o)
		}
	}
	require.Len(t, seen, 1, "the call that made the mark")
	assert.Equal(t, []any{"acme", mortise.Actor("root"), "acme"}, []any{seen[0].Organization, seen[0].Actor, seen[0].Object})
	require.IsType(t, &e, seen[0].Detail)
	assert.Equal(t, e.ID, seen[0].Detail.(*authmgmt.AuditEvent).ID)
	assert.Equal(t, 1, strings.Count(r.logs.String(), "\n"), r.logs.String())
	assert.Contains(t, r.logs.String(), `"msg":"authmgmt: an organization was deleted","organization":"acme","actor":"root"`)
}

// refusesAll requires that nothing can be made in an organization.
func refusesAll(t *testing.T, s *authmgmt.Service, org string) {
	t.Helper()
	secret := strings.Repeat("0123456789abcdef", 3)
	for _, roles := range [][]access.Role{nil, {{ID: "viewer"}}} {
		isFull := len(roles) == 0
		_, _, err := s.CreateClient(t.Context(), org, full, authmgmt.NewClient{Name: "x", Roles: roles, FullAccess: isFull})
		assert.ErrorIs(t, err, mortise.ErrDeleted)
		_, err = s.ImportClient(t.Context(), org, full, authmgmt.NewClient{Name: "x", Roles: roles, FullAccess: isFull}, secret)
		assert.ErrorIs(t, err, mortise.ErrDeleted)
		_, _, err = s.IssueToken(t.Context(), org, full, authmgmt.NewToken{Subject: "x", Roles: roles, FullAccess: isFull})
		assert.ErrorIs(t, err, mortise.ErrDeleted)
		_, err = s.ImportToken(t.Context(), org, full, authmgmt.NewToken{Subject: "x", Roles: roles, FullAccess: isFull}, secret)
		assert.ErrorIs(t, err, mortise.ErrDeleted)
		invitation := authmgmt.NewInvitation{Email: "x@example.com", Name: "X", Roles: roles, FullAccess: isFull}
		_, err = s.Invite(t.Context(), org, full, invitation)
		assert.ErrorIs(t, err, mortise.ErrDeleted)
		_, err = s.ImportInvitation(t.Context(), org, full, invitation)
		assert.ErrorIs(t, err, mortise.ErrDeleted)
	}
}

// TestDeleteOrganizationTakesFullAccess: an admin's role is not enough, for it does not
// cover what has full access.
func TestDeleteOrganizationTakesFullAccess(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	c, _ := r.newClient(t)
	r.observations()
	for _, by := range []authmgmt.Caller{nobody, viewer, admin} {
		_, err := r.DeleteOrganization(t.Context(), "acme", by)
		require.ErrorIs(t, err, authmgmt.ErrForbidden)
	}
	for _, o := range r.observations() {
		require.ErrorIs(t, o.Err, authmgmt.ErrForbidden)
		require.Nil(t, o.Detail)
	}
	_, err := r.Client(t.Context(), "acme", c.ID)
	require.NoError(t, err)
	var invalid *mortise.ValidationError
	_, err = r.DeleteOrganization(t.Context(), "", full)
	require.ErrorAs(t, err, &invalid)
	require.ErrorContains(t, err, "organization: ")
}

// TestDeleteOrganizationInDirectory: with the service's own tables as the directory an
// organization is deleted there, and what would have asked for roles is told the reason.
func TestDeleteOrganizationInDirectory(t *testing.T) {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	other, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	for name, directory := range map[string]*memory.AuthMgmt{"of the store": db.AuthMgmt().Store.(*memory.AuthMgmt), "of its own": other.AuthMgmt().Store.(*memory.AuthMgmt)} {
		t.Run(name, func(t *testing.T) {
			org := "acme " + name
			s, err := authmgmt.New(authmgmt.Backend{Store: db.AuthMgmt().Store, Directory: directory}, &authmgmt.Options{
				AcceptURL: "https://app.example.com/join/", InvitationKey: testKey,
			})
			require.NoError(t, err)
			require.NoError(t, s.SetRBAC(t.Context(), org, full, true))
			_, _, err = s.CreateClient(t.Context(), org, full, authmgmt.NewClient{Name: "x", Roles: []access.Role{{ID: "viewer"}}})
			require.NoError(t, err)
			deleteAll(t, s, org, full)
			_, err = directory.AccessControl(t.Context(), org)
			require.ErrorIs(t, err, mortise.ErrNotFound)
			require.ErrorIs(t, s.SetRBAC(t.Context(), org, full, true), mortise.ErrDeleted)
			refusesAll(t, s, org)
			since, err := directory.DeletedAt(t.Context(), org)
			require.NoError(t, err)
			at, err := db.AuthMgmt().Store.DeletedAt(t.Context(), org)
			require.NoError(t, err)
			require.True(t, since.Equal(at))
		})
	}
}

// ownDirectory is a host's that cannot delete.
type ownDirectory struct{ organizations map[string]bool }

func (d ownDirectory) AccessControl(_ context.Context, org string) (authmgmt.Organization, error) {
	rbac, ok := d.organizations[org]
	if !ok {
		return authmgmt.Organization{}, mortise.ErrNotFound
	}
	return authmgmt.Organization{ID: org, RBAC: rbac}, nil
}

// TestDeleteOrganizationOfHost: what the host's own directory says of a deleted
// organization changes nothing.
func TestDeleteOrganizationOfHost(t *testing.T) {
	for _, orgs := range []map[string]bool{{}, {"acme": true}, {"acme": false}} {
		r := newRigIn(t, ownDirectory{orgs}, authmgmt.Options{})
		deleteAll(t, r.Service, "acme", full)
		refusesAll(t, r.Service, "acme")
	}
}

// TestDeleteOrganizationGoesOn: whatever fails, the next call goes on, and the first one
// who marked it stays who it was.
func TestDeleteOrganizationGoesOn(t *testing.T) {
	for _, op := range []string{
		"Deletion.DeletedAt", "Deletion.MarkDeleted", "Deletion.RemoveDeleted",
		"Directory.DeletedAt", "Directory.MarkDeleted", "Directory.RemoveDeleted",
	} {
		db, err := memory.Open(t.Context(), nil)
		require.NoError(t, err)
		own, err := memory.Open(t.Context(), nil)
		require.NoError(t, err)
		fail := authmgmttest.On(authmgmttest.Nth(1), op)
		faults := &authmgmttest.Faults{Before: fail}
		s, err := authmgmt.New(authmgmt.Backend{Store: faults.Store(db.AuthMgmt().Store), Directory: faults.Directory(own.AuthMgmt().Store.(*memory.AuthMgmt))}, &authmgmt.Options{
			Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)},
		})
		require.NoError(t, err)
		_, err = s.DeleteOrganization(t.Context(), "acme", full)
		require.ErrorIs(t, err, mortise.ErrUnavailable, op)
		second := authmgmt.Caller{Actor: "second", Access: access.Full()}
		deleteAll(t, s, "acme", second)
		refused := s.SetRBAC(t.Context(), "acme", full, true)
		require.ErrorIs(t, refused, mortise.ErrDeleted, op)
		page, err := s.ListAuditEvents(t.Context(), "acme", authmgmt.AuditQuery{})
		require.NoError(t, err)
		require.Len(t, page.Items, 1)
		want := full.Actor
		if op == "Deletion.DeletedAt" || op == "Deletion.MarkDeleted" {
			want = "second"
		}
		require.Equal(t, want, page.Items[0].Actor, op)
	}
}

// TestDeleteOrganizationInSteps: a call removes a thousand rows.
func TestDeleteOrganizationInSteps(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	for range 1100 {
		_, _, err := r.IssueToken(t.Context(), "acme", full, authmgmt.NewToken{Subject: "ada", FullAccess: true})
		require.NoError(t, err)
	}
	// 1100 tokens, and as many events.
	require.Equal(t, 3, deleteAll(t, r.Service, "acme", full))
}

// TestGrantOfDeleted: an attempt that is under way when the organization is deleted ends
// quietly, whether it succeeds or fails, and whether a person waits for it or not.
func TestGrantOfDeleted(t *testing.T) {
	for _, attended := range []bool{true, false} {
		for _, failure := range []error{nil, errors.New("mailbox full"), authmgmt.ErrUnattended} {
			var s *authmgmt.Service
			calls, warned, deleting := 0, 0, attended
			r := newRig(t, authmgmt.Options{
				Grant: func(ctx context.Context, a authmgmt.Acceptance) (mortise.Secret, error) {
					if calls++; !deleting {
						return mortise.Secret{}, errors.New("not yet")
					}
					_, err := s.DeleteOrganization(ctx, a.Invitation.Organization, full)
					require.NoError(t, err)
					return mortise.NewSecret("welcome"), failure
				},
			})
			s = r.Service
			i := r.invite(t, "alan@example.com")
			link := r.link(&i)
			_, _, err := r.Accept(t.Context(), link, "alan")
			if attended {
				require.ErrorIs(t, err, mortise.ErrNotFound)
			} else {
				require.ErrorIs(t, err, authmgmt.ErrGrantPending)
				deleting = true
				r.advance(time.Minute)
				warned = len(r.logs.String())
				r.observations()
				granted, err := r.RunOnce(t.Context())
				require.NoError(t, err)
				require.Zero(t, granted)
			}
			made := calls
			for _, o := range r.observations() {
				require.NoError(t, o.Err, "%s", o.Kind)
				require.NotEqual(t, mortise.KindGranted, o.Kind)
			}
			require.NotContains(t, r.logs.String()[warned:], "WARN")
			for range 3 {
				r.advance(time.Hour)
				_, err := r.RunOnce(t.Context())
				require.NoError(t, err)
				_, _, err = r.Accept(t.Context(), link, "alan")
				require.ErrorIs(t, err, mortise.ErrNotFound)
			}
			require.Equal(t, made, calls, "it is not tried again")
			require.Len(t, r.trail(t, "acme"), 1)
		}
	}
}
