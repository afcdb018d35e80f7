package authmgmttest

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance/steptest"
)

// boundedSteps are the bounded steps of a Store.
var boundedSteps = []steptest.Step[*subject]{
	{ID: "prune-audit", Method: "PruneAudit", Units: "old events of all organizations", Needs: needStore | needPruner,
		Fill: func(t *testing.T, s *subject, units int) steptest.Work { return s.PruneWork(t, units) }},

	{ID: "prune-tokens", Method: "PruneTokens", Units: "expired tokens of all organizations", Needs: needStore | needPruner,
		Fill: func(t *testing.T, s *subject, units int) steptest.Work {
			valid := s.addToken(t, newToken(orgA, 0))
			for i := range units {
				k := newToken([]string{orgA, orgB}[i%2], 0)
				k.ExpiresAt = moment(0)
				s.addToken(t, k)
			}
			return steptest.Work{
				Do: before(s.pruner().PruneTokens, time.Hour), Exact: true,
				Left: func(t *testing.T) int {
					return len(s.listTokens(t, orgA)) + len(s.listTokens(t, orgB)) - 1
				},
				Kept: func(t *testing.T) { s.hasToken(t, valid) },
			}
		}},

	{ID: "remove-tokens", Method: "RemoveTokens", Units: "tokens of all organizations that are not revoked", Needs: needStore | needRestorable,
		Fill: func(t *testing.T, s *subject, units int) steptest.Work {
			c, revoked := s.addClient(t, newClient(orgA, "build", 0)), newToken(orgA, 0)
			revoked.RevokedAt = moment(0)
			s.addToken(t, revoked)
			for i := range units {
				k := newToken([]string{orgA, orgB}[i%2], 0)
				if i%3 == 1 {
					k = clientToken(c, 0, 0)
				}
				s.addToken(t, k)
			}
			return steptest.Work{
				Do: s.Store.(authmgmt.Restorable).RemoveTokens, Exact: true,
				Left: func(t *testing.T) int { return len(s.listTokens(t, orgA)) + len(s.listTokens(t, orgB)) - 1 },
				Kept: func(t *testing.T) {
					s.hasClient(t, c)
					s.hasToken(t, revoked)
				},
			}
		}},

	{ID: "prune-invitations", Method: "PruneInvitations", Units: "ended invitations of all organizations", Needs: needStore | needPruner,
		Fill: func(t *testing.T, s *subject, units int) steptest.Work {
			pending := s.addInvitation(t, newInvitation(orgA, "pending", 0))
			for i := range units {
				s.addInvitation(t, newInvitation([]string{orgA, orgB}[i%2], fmt.Sprint("i", i), -10*day))
			}
			return steptest.Work{
				Do: before(s.pruner().PruneInvitations, time.Hour), Exact: true,
				Left: func(t *testing.T) int {
					return len(s.listInvitations(t, orgA, time.Time{})) +
						len(s.listInvitations(t, orgB, time.Time{})) - 1
				},
				Kept: func(t *testing.T) { s.hasInvitation(t, pending) },
			}
		}},

	{ID: "remove-deleted", Method: "RemoveDeleted", Units: "rows of an organization that is marked", Needs: needStore,
		Fill: func(t *testing.T, s *subject, units int) steptest.Work {
			const other = "org-c"
			kept := s.addEstate(t, other)
			var tokens []authmgmt.Token
			var secrets [][32]byte
			for i := range units {
				if i%2 == 0 {
					tokens = append(tokens, s.addToken(t, newToken(orgA, 0)))
					continue
				}
				secrets = append(secrets, s.addClient(t, newClient(orgA, fmt.Sprint("c", i), 0)).Secrets[0].Digest)
			}
			s.mark(t, orgA)
			return steptest.Work{
				Do: removing(s.Store, orgA),
				// An ID or a digest is removed once another organization can store it.
				Left: func(t *testing.T) int {
					tokens, secrets = s.notFree(t, tokens), s.secretsNotFree(t, secrets)
					return len(tokens) + len(secrets)
				},
				Kept: func(t *testing.T) { s.hasEstate(t, kept) },
			}
		}},
}

func stepRules() (rules []rule) {
	for _, r := range steptest.Rules(boundedSteps) {
		rules = append(rules, rule{Rule{r.ID, r.Text}, r.Needs, r.Check})
	}
	return rules
}
