package vaulttest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/steptest"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// boundedSteps are the bounded steps of a Store.
var boundedSteps = []steptest.Step[*subject]{
	{ID: "prune-audit", Method: "PruneAudit", Units: "old events of all organizations",
		Fill: func(t *testing.T, s *subject, units int) steptest.Work { return s.PruneWork(t, units) }},

	{ID: "remove-fingerprints", Method: "RemoveFingerprints", Units: "fingerprints of a version that is retired, of all organizations",
		Fill: func(t *testing.T, s *subject, units int) steptest.Work {
			s.registers(t, keyring.FingerprintKey, 1, 2)
			s.requires(t, 2)
			vaults := []vault.Vault{s.customers(t), s.addVault(t, newVault(orgB, "customers"))}
			for i := range units {
				s.adds(t, vaults[i%2], row(fmt.Sprint("t", i), email, fmt.Sprint(i), 1, 2))
			}
			s.adds(t, vaults[0], row("gone", email, "gone", 1, 2))
			s.deletes(t, vaults[0], "gone")
			s.retires(t, keyring.FingerprintKey, 1, 2)
			of := func(t *testing.T, version int) int {
				usage, err := s.Store.KeyUsage(t.Context())
				require.NoError(t, err)
				return usage.Fingerprints[version]
			}
			return steptest.Work{
				Do: s.removing(1), Exact: true,
				Left: func(t *testing.T) int { return of(t, 1) },
				Kept: func(t *testing.T) {
					require.Equal(t, units, of(t, 2), "fingerprints of another version")
					for i := range units {
						require.Equal(t, []string{fmt.Sprint("t", i)}, s.find(t, vaults[i%2], email, 2, fmt.Sprint(i)))
					}
				},
			}
		}},

	// No method shows the rows that are left of a deleted owner.
	{ID: "remove-deleted", Method: "RemoveDeleted", Units: "rows of an organization that is marked",
		Fill: func(t *testing.T, s *subject, units int) steptest.Work {
			d := &deleted{s: s, name: "the organization", org: orgA}
			kept := s.fillDeleted(t, d, units)
			for i := range units {
				s.Record(t, newEvent(orgA, mortise.KindDetokenized, "customers", time.Duration(i)*time.Hour))
			}
			d.mark(t, moment(0), vault.AuditEvent{})
			return steptest.Work{Do: d.stepping, Kept: kept}
		}},

	{ID: "remove-deleted-vault", Method: "RemoveDeletedVault", Units: "rows of a vault that is marked",
		Fill: func(t *testing.T, s *subject, units int) steptest.Work {
			d := &deleted{s: s, name: "the vault", org: orgA, id: "customers"}
			kept := s.fillDeleted(t, d, units)
			d.mark(t, moment(0), vault.AuditEvent{})
			return steptest.Work{Do: d.stepping, Kept: kept}
		}},
}

// fillDeleted stores tokens in a vault that is to be deleted, and one in a vault of another
// organization. kept requires that the latter is there.
func (s *subject) fillDeleted(t *testing.T, d *deleted, tokens int) (kept func(t *testing.T)) {
	t.Helper()
	goes, stays := s.addVault(t, newVault(d.org, "customers")), s.addVault(t, newVault(orgB, "customers"))
	for i := range tokens {
		s.adds(t, goes, row(fmt.Sprint("t", i), email, fmt.Sprint(i), 1))
	}
	r := row("t0", email, "0", 1)
	s.adds(t, stays, r)
	return func(t *testing.T) {
		s.hasVault(t, stays)
		s.hasRow(t, stays, r)
	}
}

func stepRules() (rules []rule) {
	for _, r := range steptest.Rules(boundedSteps) {
		rules = append(rules, rule{Rule{r.ID, r.Text}, r.Needs, r.Check})
	}
	return rules
}
