package authmgmt_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// Nobody locks out somebody who holds more: each way to take something away, by each
// caller, from each target.
func TestNobodyLocksOutSuperiors(t *testing.T) {
	catalogue, err := access.NewCatalogue(map[string][]access.Action{
		"viewer": {access.GetClient},
		"editor": {access.GetClient, access.InsertRecords},
		"admin":  {access.AnyAction},
		"none":   nil, // every caller with a role may give it
	})
	require.NoError(t, err)
	with := func(subject string, held ...access.Role) authmgmt.Caller {
		return authmgmt.Caller{Actor: mortise.Actor(subject), Access: catalogue.Access(held...)}
	}
	opts := authmgmt.Options{Catalogue: catalogue}
	adminOfClients := access.Role{ID: "admin", Resource: access.Client}
	viewerOfClients := access.Role{ID: "viewer", Resource: access.Client}
	callers := []authmgmt.Caller{
		full, with("admin", access.Role{ID: "admin"}), with("admin of clients", adminOfClients),
		with("editor", access.Role{ID: "editor"}), nobody,
	}
	for _, target := range []struct {
		name  string
		holds []access.Role
		may   []bool // as callers
	}{
		{"full access", nil, []bool{true, false, false, false, false}},
		{"admin", roles("admin"), []bool{true, true, false, false, false}},
		{"editor and viewer", roles("editor", "viewer"), []bool{true, true, false, true, false}},
		{"admin of clients", []access.Role{adminOfClients}, []bool{true, true, true, false, false}},
		{"viewer of clients", []access.Role{viewerOfClients}, []bool{true, true, true, true, false}},
		{"viewer and admin of clients", append(roles("viewer"), adminOfClients), []bool{true, true, false, false, false}},
		{"a role that the catalogue has no more", roles("gone"), []bool{true, true, true, true, false}},
		{"viewer, and a role that is gone", roles("viewer", "gone"), []bool{true, true, false, true, false}},
	} {
		for i, by := range callers {
			for _, way := range lockouts {
				t.Run(way.name+": "+target.name+" by "+string(by.Actor), func(t *testing.T) {
					r := newRig(t, opts)
					id := way.make(t, r, target.holds)
					before := len(r.trail(t, "acme"))
					err := way.take(t.Context(), r, "acme", by, id)
					may := target.may[i]
					if way.name == "rotate a secret" && slices.ContainsFunc(target.holds, func(r access.Role) bool { return r.ID == "gone" }) {
						may = by.Access.Allows(access.AnyAction, access.Resource{}) // the secret may open more elsewhere
					}
					if may {
						require.NoError(t, err)
						assert.Len(t, r.trail(t, "acme"), before+1)
						return
					}
					assert.Equal(t, authmgmt.ErrForbidden, err)
					assert.Len(t, r.trail(t, "acme"), before, "nothing was changed")
				})
			}
		}
	}
	// What is not there, or not here, is told before who may.
	for _, way := range lockouts {
		t.Run(way.name+": unknown", func(t *testing.T) {
			r := newRig(t, opts)
			id := way.make(t, r, nil)
			assert.ErrorIs(t, way.take(t.Context(), r, "globex", nobody, id), mortise.ErrNotFound, "of another organization")
			assert.ErrorIs(t, way.take(t.Context(), r, "acme", nobody, uuid.Max.String()), mortise.ErrNotFound)
		})
	}
}

// lockout is a way to take away what somebody holds.
type lockout struct {
	name string
	make func(t *testing.T, r *rig, holds []access.Role) (id string)
	take func(ctx context.Context, r *rig, org string, by authmgmt.Caller, id string) error
}

var lockouts = []lockout{
	{"narrow a client", storeClient, func(ctx context.Context, r *rig, org string, by authmgmt.Caller, id string) error {
		_, err := r.UpdateClient(ctx, org, by, id, authmgmt.ClientUpdate{Roles: &[]access.Role{{ID: "none"}}})
		return err
	}},
	{"delete a client", storeClient, func(ctx context.Context, r *rig, org string, by authmgmt.Caller, id string) error {
		return r.DeleteClient(ctx, org, by, id)
	}},
	{"rotate a secret", storeClient, func(ctx context.Context, r *rig, org string, by authmgmt.Caller, id string) error {
		_, _, err := r.RotateSecret(ctx, org, by, id, -1)
		return err
	}},
	{"revoke a secret", storeClient, func(ctx context.Context, r *rig, org string, by authmgmt.Caller, id string) error {
		secret := uuid.Max
		if c, err := r.Client(ctx, org, id); err == nil {
			secret = c.Secrets[0].ID
		}
		return r.RevokeSecret(ctx, org, by, id, secret)
	}},
	{"revoke a token", func(t *testing.T, r *rig, holds []access.Role) string {
		token := authmgmt.Token{ID: uuid.New(), Organization: "acme", Subject: "s", Roles: holds, CreatedAt: r.now()}
		require.NoError(t, r.store.CreateToken(t.Context(), token, authmgmt.AuditEvent{}))
		return token.ID.String()
	}, revokeToken},
	{"revoke a client's token", func(t *testing.T, r *rig, holds []access.Role) string {
		c, secret := r.newClient(t)
		_, token := r.login(t, c.ID, secret)
		require.NoError(t, r.store.UpdateClient(t.Context(), "acme", c.ID, func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
			c.Roles = holds
			return authmgmt.AuditEvent{}, nil
		}))
		return token.ID.String()
	}, revokeToken},
}

// storeClient stores a client with these roles, whatever the catalogue has.
func storeClient(t *testing.T, r *rig, holds []access.Role) string {
	c, _ := r.newClient(t)
	require.NoError(t, r.store.UpdateClient(t.Context(), "acme", c.ID, func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
		c.Roles = holds
		return authmgmt.AuditEvent{}, nil
	}))
	return c.ID
}

func revokeToken(ctx context.Context, r *rig, org string, by authmgmt.Caller, id string) error {
	return r.RevokeToken(ctx, org, by, uuid.MustParse(id))
}

// TestCancelTakesNothingFromAnybody: nobody has yet what a pending invitation gives.
func TestCancelTakesNothingFromAnybody(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	i := r.invite(t, "alan@example.com") // with full access
	require.NoError(t, r.CancelInvitation(t.Context(), "acme", nobody, i.ID))
	require.ErrorIs(t, r.CancelInvitation(t.Context(), "acme", nobody, i.ID), mortise.ErrNotFound)
}
