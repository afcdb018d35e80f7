package authmgmttest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// clientRules say what a Store keeps of a client.
var clientRules = []rule{
	{Rule{"clients/create-stores-every-field", "CreateClient stores c with all its fields."}, needStore,
		func(t *testing.T, s *subject) {
			c := s.addClient(t, filledClient(orgA, "build"))
			s.hasClient(t, c)
			for _, secret := range c.Secrets {
				got, err := s.Store.ClientBySecret(t.Context(), secret.Digest)
				require.NoError(t, err)
				sameClient(t, c, got)
			}
			page := s.listClients(t, orgA)
			require.Len(t, page, 1)
			sameClient(t, c, page[0])
		}},

	{Rule{"clients/unset-stays-unset", "No roles come back as none, and zero times as zero: a client without roles, a secret that never ends, a client without secrets."}, needStore,
		func(t *testing.T, s *subject) {
			s.hasClient(t, s.addClient(t, newClient(orgA, "plain", 0)))
			bare := newClient(orgA, "bare", 0)
			bare.Secrets = nil
			s.hasClient(t, s.addClient(t, bare))
			empty := newClient(orgA, "empty", 0)
			empty.Roles = []access.Role{}
			s.hasClient(t, s.addClient(t, empty))
		}},

	{Rule{"clients/times-keep-microseconds", "Times keep microseconds, and are UTC."}, needStore,
		func(t *testing.T, s *subject) {
			for n, at := range exactTimes {
				c := newClient(orgA, fmt.Sprint("c", n), 0)
				c.CreatedAt, c.UpdatedAt = at, at
				c.Secrets[0].CreatedAt, c.Secrets[0].LastUsedAt, c.Secrets[0].ExpiresAt = at, at, at
				s.addClient(t, c)
				s.hasClient(t, c)
			}
		}},

	{Rule{"clients/names-are-apart", "A client is named by its organization and its ID: what reads the same when the two are joined is another client, and stays when this one is deleted."}, needStore,
		func(t *testing.T, s *subject) {
			clients, tokens := make(map[[2]string]authmgmt.Client), make(map[[2]string]authmgmt.Token)
			conformance.Apart(t,
				func(pair [2]string) {
					c := newClient(pair[0], pair[1], 0)
					c.Roles = []access.Role{{ID: strings.Join(pair[:], " of ")}}
					clients[pair] = s.addClient(t, c)
					tokens[pair] = s.addToken(t, clientToken(c, 0, 0))
				},
				func(pair [2]string) bool {
					_, err := s.Store.Client(t.Context(), pair[0], pair[1])
					if err != nil || len(s.listClients(t, pair[0])) == 0 {
						return false
					}
					c, err := s.Store.ClientBySecret(t.Context(), clients[pair].Secrets[0].Digest)
					require.NoError(t, err)
					sameClient(t, clients[pair], c)
					s.hasToken(t, tokens[pair])
					return true
				},
				func(pair [2]string) { s.deleteClient(t, authmgmt.Client{Organization: pair[0], ID: pair[1]}) })
		}},

	{Rule{"clients/longest", "Every text of a client comes back whole, as long as it can be."}, needStore,
		func(t *testing.T, s *subject) {
			c := filledClient(orgA, "build")
			mutate.Stretch(&c)
			s.addClient(t, c)
			sameClient(t, c, s.client(t, c.Organization, c.ID))
			sameClient(t, c, s.listClients(t, c.Organization)[0])
			short := s.addClient(t, newClient(orgB, "build", 0))
			short.Name, short.Roles = c.Name, c.Roles
			s.updateClient(t, short, func(left *authmgmt.Client) { left.Name, left.Roles = c.Name, c.Roles })
			sameClient(t, short, s.client(t, orgB, "build"))
		}},

	{Rule{"clients/strings-keep-every-byte", "Strings keep every byte: a client's organization, ID and name, and all of its roles."}, needStore,
		func(t *testing.T, s *subject) {
			for _, text := range hard {
				c := newClient(text, text, 0)
				c.Name = text
				c.Roles = []access.Role{{ID: text, Resource: access.ResourceType(text), ResourceInstance: text}}
				s.addClient(t, c)
				s.hasClient(t, c)
				s.updateClient(t, c, func(c *authmgmt.Client) { c.Name += text })
				c.Name += text
				s.hasClient(t, c)
			}
		}},

	{Rule{"clients/names-are-bytes", "Organizations and IDs of clients are compared as bytes: case, spaces and composed letters matter."}, needStore,
		func(t *testing.T, s *subject) {
			byOrg, byID := make(map[string]authmgmt.Client), make(map[string]authmgmt.Client)
			for _, text := range hard {
				byOrg[text] = s.addClient(t, newClient(text, "build", 0))
				byID[text] = s.addClient(t, newClient(orgA, text, 0))
			}
			for _, text := range hard {
				s.hasClient(t, byOrg[text])
				s.hasClient(t, byID[text])
				require.Equal(t, 1, len(s.listClients(t, text)), "clients of %q", text)
			}
			s.noClient(t, orgA, "Acme")
		}},

	{Rule{"clients/order-is-kept", "The order of roles and secrets is kept, equal roles included."}, needStore,
		func(t *testing.T, s *subject) {
			c := filledClient(orgA, "build")
			c.Roles = append(c.Roles, c.Roles[0])
			s.addClient(t, c)
			s.hasClient(t, c)
			c.Roles[0], c.Roles[2] = c.Roles[2], c.Roles[0]
			c.Secrets[0], c.Secrets[1], c.Secrets[2] = c.Secrets[2], c.Secrets[0], c.Secrets[1]
			s.updateClient(t, c, func(stored *authmgmt.Client) { *stored = c.Clone() })
			s.hasClient(t, c)
		}},

	{Rule{"clients/create-copies", "Arguments are the receiver's own: CreateClient copies what it keeps."}, needStore,
		func(t *testing.T, s *subject) {
			c, e := filledClient(orgA, "build"), filledEvent(orgA, "build")
			mine, event := c.Clone(), e.Clone()
			require.NoError(t, s.Store.CreateClient(t.Context(), mine, event))
			spoilClient(&mine)
			spoilSnapshot(event.Before)
			spoilSnapshot(event.After)
			s.hasClient(t, c)
			s.HasEvent(t, e)
			_, err := s.Store.ClientBySecret(t.Context(), c.Secrets[0].Digest)
			require.NoError(t, err)
		}},

	{Rule{"clients/get-copies", "Results are the receiver's own: Client, ClientBySecret and ListClients copy what they return."}, needStore,
		func(t *testing.T, s *subject) {
			c := s.addClient(t, filledClient(orgA, "build"))
			got := s.client(t, orgA, "build")
			spoilClient(&got)
			s.hasClient(t, c)
			got, err := s.Store.ClientBySecret(t.Context(), c.Secrets[1].Digest)
			require.NoError(t, err)
			spoilClient(&got)
			s.hasClient(t, c)
			page := s.listClients(t, orgA)
			spoilClient(&page[0])
			s.hasClient(t, c)
			sameClient(t, c, s.listClients(t, orgA)[0])
		}},

	{Rule{"clients/create-refuses-an-id-that-is-taken", "CreateClient is ErrExists if the organization has a client with the ID."}, needStore,
		func(t *testing.T, s *subject) {
			c := s.addClient(t, filledClient(orgA, "build"))
			s.refusesClient(t, newClient(orgA, "build", time.Hour))
			s.hasClient(t, c)
		}},

	{Rule{"clients/create-refuses-a-deleted-id", "CreateClient is ErrExists if the organization has deleted a client with the ID."}, needStore,
		func(t *testing.T, s *subject) {
			c := s.addClient(t, filledClient(orgA, "build"))
			s.deleteClient(t, c)
			s.refusesClient(t, newClient(orgA, "build", 2*time.Hour))
			s.noClient(t, orgA, "build")
			s.addClient(t, newClient(orgB, "build", 0))
		}},

	{Rule{"clients/create-refuses-a-stored-digest", "CreateClient is ErrExists if the digest of a secret is stored already, ended or not, of whatever organization."}, needStore,
		func(t *testing.T, s *subject) {
			c := s.addClient(t, filledClient(orgA, "build"))
			for n, secret := range c.Secrets {
				for _, org := range []string{orgA, orgB} {
					other := newClient(org, fmt.Sprint("other", n), 0)
					twin := newSecret(0)
					twin.Digest = secret.Digest
					other.Secrets = append(other.Secrets, twin)
					s.refusesClient(t, other)
					s.noClient(t, org, other.ID)
					s.noSecret(t, other.Secrets[0].Digest)
				}
			}
			s.hasClient(t, c)
		}},

	{Rule{"clients/id-is-of-its-organization", "A client's ID is unique within its organization: another one can have the same, and neither sees the other's."}, needStore,
		func(t *testing.T, s *subject) {
			a, b := filledClient(orgA, "build"), newClient(orgB, "build", time.Hour)
			s.addClient(t, a)
			s.addClient(t, b)
			s.hasClient(t, a)
			s.hasClient(t, b)
			s.updateClient(t, b, func(c *authmgmt.Client) { c.Name = "renamed" })
			b.Name = "renamed"
			s.deleteClient(t, a)
			s.noClient(t, orgA, "build")
			s.hasClient(t, b)
		}},

	{Rule{"clients/get-unknown", "An unknown client is ErrNotFound."}, needStore,
		func(t *testing.T, s *subject) {
			s.noClient(t, orgA, "build")
			s.noClient(t, "", "") // Service.Ping asks so
			s.addClient(t, newClient(orgA, "build", 0))
			s.noClient(t, orgA, "other")
			s.noClient(t, orgA, "")
			s.noClient(t, "", "")
		}},

	{Rule{"clients/get-other-organization", "What belongs to another organization is ErrNotFound, for Client."}, needStore,
		func(t *testing.T, s *subject) {
			s.addClient(t, newClient(orgA, "build", 0))
			s.addClient(t, newClient(orgB, "other", 0))
			s.noClient(t, orgB, "build")
			s.noClient(t, "", "build")
		}},

	{Rule{"clients/by-secret-unknown", "ClientBySecret is ErrNotFound for a digest that no secret has."}, needStore,
		func(t *testing.T, s *subject) {
			s.noSecret(t, [32]byte{})
			c := s.addClient(t, filledClient(orgA, "build"))
			bare := newClient(orgA, "bare", 0)
			bare.Secrets = nil
			s.addClient(t, bare)
			for _, i := range []int{0, 15, 31} {
				near := c.Secrets[0].Digest
				near[i] ^= 1
				s.noSecret(t, near)
			}
			s.noSecret(t, [32]byte{})
		}},

	{Rule{"clients/by-secret-ended", "ClientBySecret returns the client that has a secret with the digest, ended or not, of whatever organization."}, needStore,
		func(t *testing.T, s *subject) {
			for _, org := range []string{orgA, orgB} {
				c := newClient(org, "build", 0)
				c.Secrets[0].ExpiresAt = moment(time.Microsecond)
				c.Secrets = append(c.Secrets, newSecret(0))
				s.addClient(t, c)
				for _, secret := range c.Secrets {
					got, err := s.Store.ClientBySecret(t.Context(), secret.Digest)
					require.NoError(t, err)
					sameClient(t, c, got)
				}
			}
		}},
}

// refusesClient requires that CreateClient returns ErrExists.
func (s *subject) refusesClient(t *testing.T, c authmgmt.Client) {
	t.Helper()
	e := newEvent(c.Organization, mortise.KindClientCreated, c.ID, 0)
	require.ErrorIs(t, s.Store.CreateClient(t.Context(), c.Clone(), e), mortise.ErrExists)
	s.NoEvent(t, e)
}
