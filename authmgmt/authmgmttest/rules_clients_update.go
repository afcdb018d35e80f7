package authmgmttest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// clientUpdateRules are the rules of UpdateClient, but for those that all updates have.
var clientUpdateRules = []rule{
	{Rule{"clients/update-stores-what-it-leaves", "UpdateClient calls update with what is stored and stores what it leaves: name, roles, secrets and UpdatedAt."}, needStore,
		func(t *testing.T, s *subject) {
			plain, filled := newClient(orgA, "build", 0), filledClient(orgA, "build")
			s.addClient(t, plain)
			bystander := s.addClient(t, filledClient(orgA, "bystander"))
			for _, step := range []struct{ before, after authmgmt.Client }{{plain, filled}, {filled, plain}} {
				var seen authmgmt.Client
				s.updateClient(t, plain, func(c *authmgmt.Client) { seen, *c = c.Clone(), step.after.Clone() })
				sameClient(t, step.before, seen)
				s.hasClient(t, step.after)
				s.hasClient(t, bystander)
			}
		}},

	{Rule{"clients/update-copies", "UpdateClient calls update with a copy, and keeps a copy of what it leaves and of the event that it returns."}, needStore,
		func(t *testing.T, s *subject) {
			c := s.addClient(t, filledClient(orgA, "build"))
			mine, e := c.Clone(), filledEvent(orgA, "build")
			event := e.Clone()
			var kept *authmgmt.Client
			require.NoError(t, s.Store.UpdateClient(t.Context(), orgA, "build", func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
				kept = c
				return authmgmt.AuditEvent{}, nil
			}))
			spoilClient(kept)
			s.hasClient(t, c)
			require.NoError(t, s.Store.UpdateClient(t.Context(), orgA, "build", func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
				c.Roles, c.Secrets = mine.Roles, mine.Secrets
				return event, nil
			}))
			spoilClient(&mine)
			spoilSnapshot(event.Before)
			spoilSnapshot(event.After)
			s.hasClient(t, c)
			s.HasEvent(t, e)
		}},

	{Rule{"clients/update-ignores-fixed-fields", "Organization, ID and CreatedAt of a client cannot change; such changes are ignored."}, needStore,
		func(t *testing.T, s *subject) {
			c := s.addClient(t, filledClient(orgA, "build"))
			s.updateClient(t, c, func(c *authmgmt.Client) {
				c.Organization, c.ID, c.CreatedAt = orgB, "moved", moment(time.Hour)
				c.Name = "renamed"
			})
			c.Name = "renamed"
			s.hasClient(t, c)
			got, err := s.Store.ClientBySecret(t.Context(), c.Secrets[0].Digest)
			require.NoError(t, err)
			sameClient(t, c, got)
			for _, org := range []string{orgA, orgB} {
				s.noClient(t, org, "moved")
			}
			s.noClient(t, orgB, "build")
			require.Zero(t, len(s.listClients(t, orgB)))
		}},

	{Rule{"clients/delete-ends-it", "Once DeletedAt is set, the client is as one that is unknown: for Client, ClientBySecret, UpdateClient and ListClients."}, needStore,
		func(t *testing.T, s *subject) {
			c := s.addClient(t, filledClient(orgA, "build"))
			other := s.addClient(t, newClient(orgA, "other", 0))
			s.deleteClient(t, c)
			s.noClient(t, orgA, "build")
			for _, secret := range c.Secrets {
				s.noSecret(t, secret.Digest)
			}
			require.ErrorIs(t, s.Store.UpdateClient(t.Context(), orgA, "build", func(*authmgmt.Client) (authmgmt.AuditEvent, error) {
				t.Error("update was called")
				return authmgmt.AuditEvent{}, nil
			}), mortise.ErrNotFound)
			page := s.listClients(t, orgA)
			require.Equal(t, []string{other.ID}, clientIDs(page))
			require.Len(t, page, 1)
		}},

	{Rule{"clients/deleted-has-no-secrets", "Once DeletedAt is set, the client has no secrets, whatever the function left: their digests are free."}, needStore,
		func(t *testing.T, s *subject) {
			c := s.addClient(t, filledClient(orgA, "build"))
			added := newSecret(0)
			s.updateClient(t, c, func(c *authmgmt.Client) {
				c.DeletedAt = moment(time.Hour)
				c.Secrets = append(c.Secrets, added)
			})
			for n, secret := range append(c.Secrets, added) {
				s.noSecret(t, secret.Digest)
				other := newClient(orgB, string(rune('a'+n)), 0)
				other.Secrets = []authmgmt.ClientSecret{secret}
				s.hasClient(t, s.addClient(t, other))
			}
		}},

	{Rule{"clients/delete-keeps-the-event", "The event of a client's deletion is stored with it, and the events before stay."}, needStore,
		func(t *testing.T, s *subject) {
			first, last := newEvent(orgA, mortise.KindClientCreated, "build", 0), newEvent(orgA, mortise.KindClientDeleted, "build", time.Hour)
			require.NoError(t, s.Store.CreateClient(t.Context(), newClient(orgA, "build", 0), first))
			require.NoError(t, s.Store.UpdateClient(t.Context(), orgA, "build", func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
				c.DeletedAt = moment(time.Hour)
				return last, nil
			}))
			s.HasEvent(t, first)
			s.HasEvent(t, last)
		}},
}

// secretRules say what an update may do to secrets.
var secretRules = []rule{
	{Rule{"clients/update-adds-a-digest", "A new secret's digest is found from then on, and is taken."}, needStore,
		func(t *testing.T, s *subject) {
			c := s.addClient(t, newClient(orgA, "build", 0))
			c.Secrets = append(c.Secrets, newSecret(time.Hour))
			s.updateClient(t, c, func(stored *authmgmt.Client) { stored.Secrets = c.Clone().Secrets })
			for _, secret := range c.Secrets {
				got, err := s.Store.ClientBySecret(t.Context(), secret.Digest)
				require.NoError(t, err)
				sameClient(t, c, got)
			}
			other := newClient(orgB, "other", 0)
			other.Secrets[0].Digest = c.Secrets[1].Digest
			s.refusesClient(t, other)
		}},

	{Rule{"clients/update-refuses-a-stored-digest", "A new digest that is stored already is ErrExists, and nothing is changed."}, needStore,
		func(t *testing.T, s *subject) {
			a, b := s.addClient(t, filledClient(orgA, "a")), s.addClient(t, filledClient(orgB, "b"))
			c := s.addClient(t, filledClient(orgA, "c"))
			token := s.addToken(t, clientToken(c, 0, 0))
			for _, owner := range []authmgmt.Client{a, b} {
				for _, secret := range owner.Secrets {
					added, twin := newSecret(0), newSecret(0)
					twin.Digest = secret.Digest
					e := newEvent(orgA, mortise.KindSecretRotated, "c", 0)
					err := s.Store.UpdateClient(t.Context(), orgA, "c", func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
						c.Name = "renamed"
						c.Secrets = []authmgmt.ClientSecret{added, twin}
						return e, nil
					})
					require.ErrorIs(t, err, mortise.ErrExists)
					s.hasClient(t, c)
					s.hasClient(t, owner)
					s.hasToken(t, token)
					s.noSecret(t, added.Digest)
					s.NoEvent(t, e)
				}
			}
		}},

	{Rule{"clients/digest-is-there-once", "A digest that is there twice among a client's secrets is ErrExists, for a new client and a changed one, and nothing is changed."}, needStore,
		func(t *testing.T, s *subject) {
			c := s.addClient(t, filledClient(orgA, "build"))
			twice := newClient(orgA, "other", 0)
			twin := newSecret(0)
			twin.Digest = twice.Secrets[0].Digest
			twice.Secrets = append(twice.Secrets, twin)
			s.refusesClient(t, twice)
			s.noClient(t, orgA, "other")
			s.noSecret(t, twin.Digest)
			for _, digest := range [][32]byte{c.Secrets[0].Digest, newDigest()} {
				err := s.Store.UpdateClient(t.Context(), orgA, "build", func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
					one, other := newSecret(0), newSecret(0)
					one.Digest, other.Digest = digest, digest
					c.Secrets = []authmgmt.ClientSecret{one, other}
					return authmgmt.AuditEvent{}, nil
				})
				require.ErrorIs(t, err, mortise.ErrExists)
				s.hasClient(t, c)
			}
		}},

	{Rule{"clients/update-keeps-own-digests", "A digest that the client has already is not new: it may stay, with another end and last use, at another place, beside others."}, needStore,
		func(t *testing.T, s *subject) {
			c := s.addClient(t, filledClient(orgA, "build"))
			c.Secrets[0].LastUsedAt, c.Secrets[0].ExpiresAt = moment(time.Minute), moment(time.Hour)
			c.Secrets = []authmgmt.ClientSecret{newSecret(0), c.Secrets[2], c.Secrets[0]}
			s.updateClient(t, c, func(stored *authmgmt.Client) { stored.Secrets = c.Clone().Secrets })
			s.hasClient(t, c)
		}},

	{Rule{"clients/update-frees-a-removed-digest", "A secret that an update removes is found no more, and its digest is free."}, needStore,
		func(t *testing.T, s *subject) {
			c := s.addClient(t, filledClient(orgA, "build"))
			removed := c.Secrets[1]
			c.Secrets = []authmgmt.ClientSecret{c.Secrets[0], c.Secrets[2]}
			s.updateClient(t, c, func(stored *authmgmt.Client) { stored.Secrets = c.Clone().Secrets })
			s.hasClient(t, c)
			s.noSecret(t, removed.Digest)
			for _, kept := range c.Secrets {
				_, err := s.Store.ClientBySecret(t.Context(), kept.Digest)
				require.NoError(t, err)
			}
			other := newClient(orgB, "other", 0)
			other.Secrets = []authmgmt.ClientSecret{removed}
			s.hasClient(t, s.addClient(t, other))
		}},
}
