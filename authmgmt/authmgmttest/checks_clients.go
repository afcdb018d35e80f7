package authmgmttest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// newSecret returns a secret that never ends.
func newSecret(created time.Duration) authmgmt.ClientSecret {
	return authmgmt.ClientSecret{ID: uuid.New(), Digest: newDigest(), CreatedAt: moment(created)}
}

// newClient returns a client with one secret and no role.
func newClient(org, id string, created time.Duration) authmgmt.Client {
	return authmgmt.Client{
		Organization: org, ID: id, Name: "Nightly build", Secrets: []authmgmt.ClientSecret{newSecret(created)},
		CreatedAt: moment(created), UpdatedAt: moment(created),
	}
}

// someRoles are in an order that no sorting makes.
func someRoles() []access.Role {
	return []access.Role{
		{ID: "viewer", Resource: "dataset", ResourceInstance: "dogs"}, {ID: "admin"}, {ID: "editor", Resource: "vault"},
		{ID: "editor", Resource: "dataset", ResourceInstance: "cats"}, {ID: "viewer"},
	}
}

// filledClient returns a client whose every field but DeletedAt is set.
func filledClient(org, id string) authmgmt.Client {
	c := newClient(org, id, 0)
	c.Roles = someRoles()
	last := newSecret(-time.Hour)
	last.LastUsedAt, last.ExpiresAt = moment(-time.Microsecond), moment(time.Microsecond)
	c.Secrets = append(c.Secrets, last, newSecret(time.Second))
	c.UpdatedAt = moment(3 * time.Microsecond)
	return c
}

// addClient stores a client that must be new.
func (s *subject) addClient(t *testing.T, c authmgmt.Client) authmgmt.Client {
	t.Helper()
	err := s.Store.CreateClient(t.Context(), c.Clone(), newEvent(c.Organization, mortise.KindClientCreated, c.ID, 0))
	require.NoError(t, err, "CreateClient %q", c.ID)
	return c
}

// client reads a client that must be there.
func (s *subject) client(t *testing.T, org, id string) authmgmt.Client {
	t.Helper()
	c, err := s.Store.Client(t.Context(), org, id)
	require.NoError(t, err, "Client %q of %q", id, org)
	return c
}

// hasClient requires that the client is stored as it is here.
func (s *subject) hasClient(t *testing.T, want authmgmt.Client) {
	t.Helper()
	sameClient(t, want, s.client(t, want.Organization, want.ID))
}

// noClient requires that there is no such client.
func (s *subject) noClient(t *testing.T, org, id string) {
	t.Helper()
	_, err := s.Store.Client(t.Context(), org, id)
	require.ErrorIs(t, err, mortise.ErrNotFound, "Client %q of %q", id, org)
}

// noSecret requires that no client has a secret with the digest.
func (s *subject) noSecret(t *testing.T, digest [32]byte) {
	t.Helper()
	_, err := s.Store.ClientBySecret(t.Context(), digest)
	require.ErrorIs(t, err, mortise.ErrNotFound)
}

// updateClient changes a client that must be there.
func (s *subject) updateClient(t *testing.T, c authmgmt.Client, change func(*authmgmt.Client)) {
	t.Helper()
	require.NoError(t, s.Store.UpdateClient(t.Context(), c.Organization, c.ID, func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
		change(c)
		return newEvent(c.Organization, mortise.KindClientUpdated, c.ID, 0), nil
	}))
}

// deleteClient deletes a client that must be there.
func (s *subject) deleteClient(t *testing.T, c authmgmt.Client) {
	t.Helper()
	s.updateClient(t, c, func(c *authmgmt.Client) { c.DeletedAt, c.Secrets = moment(time.Hour), nil })
}

// listClients returns all clients of an organization, on one page, and requires that so
// many are counted.
func (s *subject) listClients(t *testing.T, org string) []authmgmt.Client {
	t.Helper()
	page, err := s.Store.ListClients(t.Context(), org, "", mortise.MaxPageSize)
	require.NoError(t, err)
	n, err := s.Store.CountClients(t.Context(), org, mortise.MaxCount)
	return whole(t, page, n, err)
}

// whole returns the items of a page that is the only one.
func whole[T any](t *testing.T, page mortise.Page[T], n mortise.Count, err error) []T {
	t.Helper()
	require.NoError(t, err)
	require.Empty(t, page.Next, "Next of the last page")
	require.Equal(t, mortise.Count{N: len(page.Items)}, n, "the count of a list")
	return page.Items
}

// sameClient compares all fields.
func sameClient(t *testing.T, want, got authmgmt.Client) {
	t.Helper()
	want, got = want.Clone(), got.Clone()
	conformance.SameTime(t, "CreatedAt", want.CreatedAt, &got.CreatedAt)
	conformance.SameTime(t, "UpdatedAt", want.UpdatedAt, &got.UpdatedAt)
	conformance.SameTime(t, "DeletedAt", want.DeletedAt, &got.DeletedAt)
	require.Len(t, got.Secrets, len(want.Secrets), "secrets of client %q", want.ID)
	for i := range want.Secrets {
		conformance.SameTime(t, "CreatedAt of a secret", want.Secrets[i].CreatedAt, &got.Secrets[i].CreatedAt)
		conformance.SameTime(t, "LastUsedAt of a secret", want.Secrets[i].LastUsedAt, &got.Secrets[i].LastUsedAt)
		conformance.SameTime(t, "ExpiresAt of a secret", want.Secrets[i].ExpiresAt, &got.Secrets[i].ExpiresAt)
	}
	noneIsNil(&want.Roles)
	noneIsNil(&got.Roles)
	noneIsNil(&want.Secrets)
	noneIsNil(&got.Secrets)
	conformance.Same(t, want, got)
}

// clientIDs returns the IDs of clients, in their order.
func clientIDs(clients []authmgmt.Client) []string {
	return conformance.Each(clients, func(x *authmgmt.Client) string { return x.ID })
}

// spoilClient changes everything in a client that a shallow copy shares.
func spoilClient(c *authmgmt.Client) {
	spoilRoles(c.Roles)
	for i := range c.Secrets {
		c.Secrets[i] = authmgmt.ClientSecret{Digest: [32]byte{1}}
	}
	c.Name = "spoiled"
}

func spoilRoles(roles []access.Role) {
	for i := range roles {
		roles[i] = access.Role{ID: "spoiled"}
	}
}
