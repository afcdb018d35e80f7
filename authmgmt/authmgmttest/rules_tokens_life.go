package authmgmttest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// tokenLifeRules say how tokens change and when they are gone.
var tokenLifeRules = []rule{
	{Rule{"tokens/roles-follow-the-client", "Roles of a client's token are the client's as they are now."}, needStore,
		func(t *testing.T, s *subject) {
			c := s.addClient(t, newClient(orgA, "build", 0))
			k, own := s.addToken(t, clientToken(c, 0, 0)), s.addToken(t, filledToken(orgA))
			namesake := s.addClient(t, newClient(orgB, "build", 0))
			other := s.addToken(t, clientToken(namesake, 0, 0))
			for _, roles := range [][]access.Role{{{ID: "viewer"}}, someRoles(), nil} {
				s.updateClient(t, c, func(c *authmgmt.Client) { c.Roles = roles })
				k.Roles = roles
				s.hasToken(t, k)
				s.hasToken(t, own)
				s.hasToken(t, other)
			}
		}},

	{Rule{"tokens/update-changes-the-revocation", "UpdateToken changes RevokedAt of a token, whoever's it is, expired or not."}, needStore,
		func(t *testing.T, s *subject) {
			c := s.addClient(t, filledClient(orgA, "build"))
			bystander := s.addToken(t, newToken(orgA, 0))
			for _, k := range []authmgmt.Token{newToken(orgA, 0), filledToken(orgA), clientToken(c, 0, 0)} {
				s.addToken(t, k)
				for _, at := range []time.Time{moment(time.Microsecond), moment(time.Hour), {}} {
					var seen authmgmt.Token
					s.updateToken(t, k, func(stored *authmgmt.Token) {
						seen = stored.Clone()
						stored.RevokedAt = at
					})
					seen.Roles = k.Roles // whether update gets those of the client is not said
					sameToken(t, k, seen)
					k.RevokedAt = at
					s.hasToken(t, k)
					s.hasToken(t, bystander)
				}
			}
		}},

	{Rule{"tokens/update-ignores-the-rest", "Changes of anything but RevokedAt by UpdateToken are ignored."}, needStore,
		func(t *testing.T, s *subject) {
			c := s.addClient(t, filledClient(orgA, "build"))
			for _, k := range []authmgmt.Token{filledToken(orgA), clientToken(c, 0, 0)} {
				s.addToken(t, k)
				moved := newToken(orgB, time.Hour)
				moved.Subject, moved.Client, moved.Secret = "mallory", "other", newDigest()
				moved.Roles, moved.ExpiresAt, moved.RevokedAt = []access.Role{{ID: "admin"}}, moment(1000*time.Hour), moment(time.Minute)
				s.updateToken(t, k, func(k *authmgmt.Token) { *k = moved.Clone() })
				k.RevokedAt = moved.RevokedAt
				s.hasToken(t, k)
				s.hasClient(t, c)
				s.noToken(t, moved)
			}
			require.Equal(t, 2, len(s.listTokens(t, orgA)))
		}},

	{Rule{"tokens/die-with-their-secret", "Tokens that were got with a secret which is not among the client's any more are gone with it; others stay."}, needStore,
		func(t *testing.T, s *subject) {
			c, other := s.addClient(t, filledClient(orgA, "build")), s.addClient(t, filledClient(orgA, "other"))
			var tokens []authmgmt.Token
			for secret := range c.Secrets {
				tokens = append(tokens, s.addToken(t, clientToken(c, secret, 0)), s.addToken(t, clientToken(c, secret, time.Hour)))
			}
			stay := []authmgmt.Token{s.addToken(t, clientToken(other, 1, 0)), s.addToken(t, newToken(orgA, 0))}
			s.updateToken(t, tokens[2], func(k *authmgmt.Token) { k.RevokedAt = moment(0) })
			s.updateClient(t, c, func(c *authmgmt.Client) {
				c.Secrets = []authmgmt.ClientSecret{c.Secrets[2], newSecret(0), c.Secrets[0]}
			})
			s.noToken(t, tokens[2])
			s.noToken(t, tokens[3])
			for _, k := range append(stay, tokens[0], tokens[1], tokens[4], tokens[5]) {
				s.hasToken(t, k)
			}
			s.updateClient(t, c, func(c *authmgmt.Client) { c.Secrets = nil })
			for _, k := range tokens {
				s.noToken(t, k)
			}
			for _, k := range stay {
				s.hasToken(t, k)
			}
			require.Equal(t, len(stay), len(s.listTokens(t, orgA)))
		}},

	{Rule{"tokens/stay-with-their-digest", "A secret is the same one as long as its digest is: a changed end, ID or place, and other changes of the client, leave its tokens."}, needStore,
		func(t *testing.T, s *subject) {
			c := s.addClient(t, filledClient(orgA, "build"))
			first, last := s.addToken(t, clientToken(c, 0, 0)), s.addToken(t, clientToken(c, 2, 0))
			s.updateClient(t, c, func(c *authmgmt.Client) {
				c.Name = "renamed"
				c.Secrets[0].ID, c.Secrets[0].ExpiresAt = uuid.New(), moment(0)
				c.Secrets[0], c.Secrets[2] = c.Secrets[2], c.Secrets[0]
			})
			s.hasToken(t, first)
			s.hasToken(t, last)
			s.updateClient(t, c, func(c *authmgmt.Client) { c.Secrets[0].Digest = newDigest() })
			s.hasToken(t, first)
			s.noToken(t, last)
		}},

	{Rule{"tokens/die-with-their-client", "The tokens of a deleted client are gone with its secrets, whatever the function left of those; others stay."}, needStore,
		func(t *testing.T, s *subject) {
			c, namesake := s.addClient(t, filledClient(orgA, "build")), s.addClient(t, filledClient(orgB, "build"))
			gone := []authmgmt.Token{s.addToken(t, clientToken(c, 0, 0)), s.addToken(t, clientToken(c, 1, 0))}
			stay := []authmgmt.Token{s.addToken(t, clientToken(namesake, 0, 0)), s.addToken(t, newToken(orgA, 0))}
			s.updateClient(t, c, func(c *authmgmt.Client) { c.DeletedAt = moment(time.Hour) })
			for _, k := range gone {
				s.noToken(t, k)
			}
			for _, k := range stay {
				s.hasToken(t, k)
			}
		}},

	{Rule{"tokens/do-not-come-back", "A token that is gone stays gone when its client gets the secret again, or another client does."}, needStore,
		func(t *testing.T, s *subject) {
			c := s.addClient(t, newClient(orgA, "build", 0))
			k := s.addToken(t, clientToken(c, 0, 0))
			s.updateClient(t, c, func(c *authmgmt.Client) { c.Secrets = nil })
			s.updateClient(t, c, func(stored *authmgmt.Client) { stored.Secrets = c.Clone().Secrets })
			s.noToken(t, k)
			s.deleteClient(t, c)
			other := newClient(orgA, "other", 0)
			other.Secrets = c.Secrets
			s.addClient(t, other)
			s.noToken(t, k)
		}},

	{Rule{"tokens/stay-if-the-change-is-refused", "An update that is refused leaves the tokens of secrets that it would have removed."}, needStore,
		func(t *testing.T, s *subject) {
			c := s.addClient(t, newClient(orgA, "build", 0))
			k := s.addToken(t, clientToken(c, 0, 0))
			require.ErrorIs(t, s.Store.UpdateClient(t.Context(), orgA, "build", func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
				c.Secrets, c.DeletedAt = nil, moment(time.Hour)
				return authmgmt.AuditEvent{}, errRefused
			}), errRefused)
			s.hasToken(t, k)
			s.hasClient(t, c)
		}},
}
