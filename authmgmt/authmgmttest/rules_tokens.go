package authmgmttest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// tokenRules say what a Store keeps of a token.
var tokenRules = []rule{
	{Rule{"tokens/create-stores-every-field", "CreateToken stores t, every field of it; TokenByDigest and ListTokens return it."}, needStore,
		func(t *testing.T, s *subject) {
			own, c := filledToken(orgA), filledClient(orgB, "build")
			s.addClient(t, c)
			s.addToken(t, own)
			got := s.addToken(t, clientToken(c, 1, 0))
			s.hasToken(t, own)
			s.hasToken(t, got)
			for _, k := range []authmgmt.Token{own, got} {
				page := s.listTokens(t, k.Organization)
				require.Len(t, page, 1)
				sameToken(t, k, page[0])
			}
		}},

	{Rule{"tokens/newest-of-client", "Beside a new token of a client the newest of its tokens stay, up to MaxClientTokens; the others are gone."}, needStore,
		func(t *testing.T, s *subject) {
			c, other := s.addClient(t, filledClient(orgA, "build")), s.addClient(t, newClient(orgA, "other", 0))
			alone := s.addToken(t, newToken(orgA, 0))
			others := s.addToken(t, clientToken(other, 0, 0))
			var made []authmgmt.Token
			for i := range authmgmt.MaxClientTokens {
				k := clientToken(c, i%len(c.Secrets), time.Duration(i/2)*time.Second)
				if i%3 == 0 {
					k.RevokedAt = k.CreatedAt
				}
				made = append(made, s.addToken(t, k))
			}
			slices.SortFunc(made, func(a, b authmgmt.Token) int { return a.Position().Compare(b.Position()) })
			for _, k := range made {
				s.hasToken(t, k)
			}
			late := s.addToken(t, clientToken(c, 1, time.Hour))
			old := s.addToken(t, clientToken(c, 0, -time.Hour)) // by a clock that is behind
			for _, gone := range made[:2] {
				_, err := s.Store.TokenByDigest(t.Context(), gone.Digest)
				require.ErrorIs(t, err, mortise.ErrNotFound)
			}
			for _, k := range append(made[2:], late, old, alone, others) {
				s.hasToken(t, k)
			}
			require.Equal(t, authmgmt.MaxClientTokens+2, len(s.listTokens(t, orgA)))
		}},

	{Rule{"tokens/unset-stays-unset", "No roles come back as none, and zero times as zero: a token that never expires and is not revoked."}, needStore,
		func(t *testing.T, s *subject) {
			s.hasToken(t, s.addToken(t, newToken(orgA, 0)))
			empty := newToken(orgA, 0)
			empty.Roles = []access.Role{}
			s.hasToken(t, s.addToken(t, empty))
		}},

	{Rule{"tokens/times-keep-microseconds", "Times of tokens keep microseconds, and are UTC."}, needStore,
		func(t *testing.T, s *subject) {
			for _, at := range exactTimes {
				k := newToken(orgA, 0)
				k.CreatedAt, k.ExpiresAt, k.RevokedAt = at, at, at
				s.addToken(t, k)
				s.hasToken(t, k)
			}
		}},

	{Rule{"tokens/longest", "Every text of a token comes back whole, as long as it can be."}, needStore,
		func(t *testing.T, s *subject) {
			own := filledToken(orgA)
			mutate.Stretch(&own)
			own.Client = ""
			s.addToken(t, own)
			s.hasToken(t, own)
			c := filledClient(orgB, "build")
			mutate.Stretch(&c)
			s.addClient(t, c)
			k := clientToken(c, 0, 0)
			k.Subject = own.Subject
			s.addToken(t, k)
			s.hasToken(t, k)
		}},

	{Rule{"tokens/strings-keep-every-byte", "Strings keep every byte: a token's organization, subject and roles, and the ID of its client."}, needStore,
		func(t *testing.T, s *subject) {
			for _, text := range hard {
				k := newToken(text, 0)
				k.Subject = text
				k.Roles = []access.Role{{ID: text, Resource: access.ResourceType(text), ResourceInstance: text}}
				s.addToken(t, k)
				s.hasToken(t, k)
				require.Equal(t, 1, len(s.listTokens(t, text)), "tokens of %q", text)
				c := s.addClient(t, newClient(orgA, text, 0))
				s.hasToken(t, s.addToken(t, clientToken(c, 0, 0)))
			}
		}},

	{Rule{"tokens/copies", "Arguments and results are the receiver's own: tokens and the events stored with them are copies."}, needStore,
		func(t *testing.T, s *subject) {
			k, e := filledToken(orgA), filledEvent(orgA, "token")
			mine, event := k.Clone(), e.Clone()
			require.NoError(t, s.Store.CreateToken(t.Context(), mine, event))
			spoilRoles(mine.Roles)
			spoilSnapshot(event.After)
			s.hasToken(t, k)
			s.HasEvent(t, e)
			got, err := s.Store.TokenByDigest(t.Context(), k.Digest)
			require.NoError(t, err)
			spoilRoles(got.Roles)
			s.hasToken(t, k)
			spoilRoles(s.listTokens(t, orgA)[0].Roles)
			s.hasToken(t, k)
			s.updateToken(t, k, func(k *authmgmt.Token) { spoilRoles(k.Roles) })
			s.hasToken(t, k)
		}},

	{Rule{"tokens/client-roles-are-copies", "The roles that a client's token comes back with are the receiver's own."}, needStore,
		func(t *testing.T, s *subject) {
			c := s.addClient(t, filledClient(orgA, "build"))
			k := s.addToken(t, clientToken(c, 0, 0))
			got, err := s.Store.TokenByDigest(t.Context(), k.Digest)
			require.NoError(t, err)
			spoilRoles(got.Roles)
			spoilRoles(s.listTokens(t, orgA)[0].Roles)
			s.hasToken(t, k)
			s.hasClient(t, c)
		}},

	{Rule{"tokens/create-refuses-an-id-that-is-taken", "CreateToken is ErrExists if the ID is stored already, of whatever organization."}, needStore,
		func(t *testing.T, s *subject) {
			k := s.addToken(t, filledToken(orgA))
			for _, org := range []string{orgA, orgB} {
				twin := newToken(org, time.Hour)
				twin.ID = k.ID
				s.refusesToken(t, twin, mortise.ErrExists)
				_, err := s.Store.TokenByDigest(t.Context(), twin.Digest)
				require.ErrorIs(t, err, mortise.ErrNotFound)
				s.hasToken(t, k)
			}
		}},

	{Rule{"tokens/create-refuses-a-stored-digest", "CreateToken is ErrExists if the digest is stored already, of whatever organization, revoked and expired ones included."}, needStore,
		func(t *testing.T, s *subject) {
			k := s.addToken(t, filledToken(orgA))
			for _, org := range []string{orgA, orgB} {
				twin := newToken(org, time.Hour)
				twin.Digest = k.Digest
				s.refusesToken(t, twin, mortise.ErrExists)
				s.hasToken(t, k)
				require.NotContains(t, tokenIDs(s.listTokens(t, org)), twin.ID)
			}
		}},

	{Rule{"tokens/create-needs-the-secret", "CreateToken is ErrNotFound if t is a client's and that client does not have the secret: unknown, deleted, another organization's, without it, or no more with it."}, needStore,
		func(t *testing.T, s *subject) {
			c, other := s.addClient(t, filledClient(orgA, "build")), s.addClient(t, filledClient(orgA, "other"))
			elsewhere := s.addClient(t, filledClient(orgB, "build"))
			gone, removed := s.addClient(t, newClient(orgA, "gone", 0)), c.Secrets[2]
			s.deleteClient(t, gone)
			s.updateClient(t, c, func(c *authmgmt.Client) { c.Secrets = c.Secrets[:2] })
			for name, change := range map[string]func(*authmgmt.Token){
				"unknown client":         func(k *authmgmt.Token) { k.Client = "unknown" },
				"unknown secret":         func(k *authmgmt.Token) { k.Secret = newDigest() },
				"no secret":              func(k *authmgmt.Token) { k.Secret = [32]byte{} },
				"secret of another":      func(k *authmgmt.Token) { k.Secret = other.Secrets[0].Digest },
				"secret of a namesake":   func(k *authmgmt.Token) { k.Secret = elsewhere.Secrets[0].Digest },
				"other organization":     func(k *authmgmt.Token) { k.Organization = orgB },
				"no such organization":   func(k *authmgmt.Token) { k.Organization = "org-c" },
				"deleted client":         func(k *authmgmt.Token) { k.Client, k.Secret = gone.ID, gone.Secrets[0].Digest },
				"secret that is removed": func(k *authmgmt.Token) { k.Secret = removed.Digest },
			} {
				k := clientToken(c, 0, 0)
				change(&k)
				require.ErrorIs(t, s.createToken(t, k), mortise.ErrNotFound, name)
				_, err := s.Store.TokenByDigest(t.Context(), k.Digest)
				require.ErrorIs(t, err, mortise.ErrNotFound, name)
			}
			for _, org := range []string{orgA, orgB} {
				require.Zero(t, len(s.listTokens(t, org)))
			}
			s.addToken(t, clientToken(c, 0, 0))
		}},

	{Rule{"tokens/create-refused-stores-no-event", "The event of a token that is not stored is not stored, either."}, needStore,
		func(t *testing.T, s *subject) {
			c := s.addClient(t, filledClient(orgA, "build"))
			unknown := clientToken(c, 0, 0)
			unknown.Secret = newDigest()
			s.refusesToken(t, unknown, mortise.ErrNotFound)
			s.refusesToken(t, s.addToken(t, newToken(orgA, 0)), mortise.ErrExists)
		}},

	{Rule{"tokens/create-with-an-ended-secret", "A secret that has ended is one that the client has: whether it works is not the store's to say."}, needStore,
		func(t *testing.T, s *subject) {
			c := newClient(orgA, "build", 0)
			c.Secrets[0].ExpiresAt = moment(time.Microsecond)
			s.addClient(t, c)
			s.hasToken(t, s.addToken(t, clientToken(c, 0, time.Hour)))
		}},

	{Rule{"tokens/create-keeps-no-roles-of-a-client", "Of a client's token, Roles are not kept: it comes back with the client's."}, needStore,
		func(t *testing.T, s *subject) {
			for n, c := range []authmgmt.Client{newClient(orgA, "full", 0), filledClient(orgA, "bound")} {
				s.addClient(t, c)
				k := clientToken(c, 0, time.Duration(n)*time.Hour)
				k.Roles = []access.Role{{ID: "admin"}}
				s.addToken(t, k)
				k.Roles = c.Roles
				s.hasToken(t, k)
			}
		}},

	{Rule{"tokens/create-keeps-no-secret-of-others", "Of a token that stands for itself, Secret is not kept, and is nothing to it: not even if a client has such a secret, and loses it."}, needStore,
		func(t *testing.T, s *subject) {
			c := s.addClient(t, newClient(orgA, "build", 0))
			for _, digest := range [][32]byte{newDigest(), c.Secrets[0].Digest} {
				k := newToken(orgA, 0)
				k.Secret = digest
				s.addToken(t, k)
				k.Secret = [32]byte{}
				s.hasToken(t, k)
				s.updateClient(t, c, func(c *authmgmt.Client) { c.Secrets = nil })
				s.hasToken(t, k)
				s.updateClient(t, c, func(stored *authmgmt.Client) { stored.Secrets = c.Clone().Secrets })
			}
		}},

	{Rule{"tokens/create-looks-for-the-secret-first", "CreateToken is ErrNotFound for a client's token without its secret, even if the ID or the digest is stored already."}, needStore,
		func(t *testing.T, s *subject) {
			c, old := s.addClient(t, newClient(orgA, "build", 0)), s.addToken(t, newToken(orgA, 0))
			for _, change := range []func(*authmgmt.Token){
				func(k *authmgmt.Token) { k.ID = old.ID },
				func(k *authmgmt.Token) { k.Digest = old.Digest },
			} {
				k := clientToken(c, 0, 0)
				change(&k)
				s.refusesToken(t, k, mortise.ErrExists)
				k.Secret = newDigest()
				s.refusesToken(t, k, mortise.ErrNotFound)
			}
			s.hasToken(t, old)
		}},

	{Rule{"tokens/own-roles-are-kept", "A token that stands for itself keeps its roles, in their order."}, needStore,
		func(t *testing.T, s *subject) {
			k := newToken(orgA, 0)
			k.Roles = append(someRoles(), someRoles()...)
			s.addToken(t, k)
			s.hasToken(t, k)
		}},

	{Rule{"tokens/by-digest-unknown", "TokenByDigest is ErrNotFound for a digest that no token has."}, needStore,
		func(t *testing.T, s *subject) {
			k := newToken(orgA, 0)
			_, err := s.Store.TokenByDigest(t.Context(), k.Digest)
			require.ErrorIs(t, err, mortise.ErrNotFound)
			s.addToken(t, k)
			c := s.addClient(t, newClient(orgA, "build", 0))
			digests := [][32]byte{{}, c.Secrets[0].Digest}
			for _, i := range []int{0, 15, 31} {
				near := k.Digest
				near[i] ^= 1
				digests = append(digests, near)
			}
			for _, digest := range digests {
				_, err = s.Store.TokenByDigest(t.Context(), digest)
				require.ErrorIs(t, err, mortise.ErrNotFound)
			}
		}},

	{Rule{"tokens/by-digest-ended", "TokenByDigest returns a token, revoked or expired or not, of whatever organization."}, needStore,
		func(t *testing.T, s *subject) {
			for _, org := range []string{orgA, orgB} {
				expired, revoked := newToken(org, 0), newToken(org, 0)
				expired.ExpiresAt, revoked.RevokedAt = moment(time.Microsecond), moment(0)
				s.hasToken(t, s.addToken(t, expired))
				s.hasToken(t, s.addToken(t, revoked))
			}
		}},
}

// refusesToken requires that CreateToken returns the sentinel and stores no event.
func (s *subject) refusesToken(t *testing.T, k authmgmt.Token, sentinel error) {
	t.Helper()
	e := newEvent(k.Organization, mortise.KindTokenIssued, k.ID.String(), 0)
	require.ErrorIs(t, s.Store.CreateToken(t.Context(), k.Clone(), e), sentinel)
	s.NoEvent(t, e)
}

// tokenListRules are the rules of ListTokens.
var tokenListRules = []rule{
	{Rule{"tokens/list-newest-first", "ListTokens returns tokens newest first, by CreatedAt, those that have ended included."}, needStore,
		func(t *testing.T, s *subject) {
			c := s.addClient(t, filledClient(orgA, "build"))
			want := make([]authmgmt.Token, 6)
			for _, i := range []int{3, 0, 5, 4, 1, 2} {
				want[i] = newToken(orgA, -time.Duration(i)*time.Microsecond)
				switch i {
				case 1:
					want[i] = clientToken(c, 1, -time.Microsecond)
				case 2:
					want[i].RevokedAt = moment(0)
				case 3:
					want[i].ExpiresAt = moment(0)
				}
				s.addToken(t, want[i])
			}
			page := s.listTokens(t, orgA)
			require.Equal(t, tokenIDs(want), tokenIDs(page))
			for i := range want {
				sameToken(t, want[i], page[i])
			}
		}},

	{Rule{"tokens/list-roles-follow-the-client", "Roles are as in TokenByDigest: those of a client's token are the client's as they are now."}, needStore,
		func(t *testing.T, s *subject) {
			want := make(map[uuid.UUID]authmgmt.Token)
			for n, roles := range [][]access.Role{nil, someRoles(), {{ID: "viewer"}}} {
				c := newClient(orgA, fmt.Sprint("c", n), 0)
				c.Roles = []access.Role{{ID: "editor"}}
				s.addClient(t, c)
				k := s.addToken(t, clientToken(c, 0, 0))
				s.updateClient(t, c, func(c *authmgmt.Client) { c.Roles = roles })
				k.Roles = roles
				want[k.ID] = k
			}
			page := s.listTokens(t, orgA)
			require.Len(t, page, len(want))
			for _, got := range page {
				sameToken(t, want[got.ID], got)
			}
		}},
}
