package vaulttest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// deletionStepRules are about how what was deleted is removed.
var deletionStepRules = []rule{
	{Rule{
		"deletion/removes-events",
		"After the last step nothing is left of the trail of an organization that was deleted but the event of the mark.",
	}, 0,
		func(t *testing.T, s *subject) {
			for i := range 12 {
				s.Record(t, newEvent(orgA, mortise.KindDetokenized, "customers", time.Duration(i)*time.Hour))
			}
			d := &deleted{s: s, name: "the organization", org: orgA, event: newEvent(orgA, mortise.KindOrganizationDeleted, "", time.Hour)}
			d.mark(t, moment(0), d.event)
			d.finish(t, 10, func() { s.onlyMark(t, d.event) })
			s.Prunes(t, 1, 1000*time.Hour)
		}},

	{Rule{
		"deletion/organization-of-deleted-vaults",
		"With an organization goes what is left of its vaults that were deleted before.",
	}, 0,
		func(t *testing.T, s *subject) {
			d, others := s.addDeleted(t, true)
			half := &deleted{s: s, name: "the vault", org: orgA, id: d.vaults[0].ID}
			whole := &deleted{s: s, name: "the vault", org: orgA, id: d.vaults[1].ID}
			half.mark(t, moment(0), vault.AuditEvent{})
			require.True(t, half.step(t, 2))
			whole.mark(t, moment(0), vault.AuditEvent{})
			whole.finish(t, 100, nil)
			atLeast := len(s.Trail(t, orgA)) + 3 // rows of the first vault are left
			d.mark(t, moment(0), d.event)
			d.isHidden(t)
			steps := d.finish(t, 1, func() { d.isHidden(t); d.neverAgain(t) })
			require.GreaterOrEqual(t, steps, atLeast, "steps of one row")
			s.onlyMark(t, d.event)
			s.ofOthers(t, others)
		}},

	{Rule{
		"deletion/durable",
		"Marks outlive the process, with their times, and a deletion that was cut off goes on where it was: after the mark, and after each step.",
	}, needReopen,
		func(t *testing.T, s *subject) {
			for _, whole := range []bool{false, true} {
				s.Backend = s.h.Open(t)
				d, others := s.addDeleted(t, whole)
				at := exactTimes[len(exactTimes)-2]
				d.mark(t, at, d.event)
				check := func() {
					s.reopen(t)
					d.isHidden(t)
					d.neverAgain(t)
					since := d.mark(t, moment(0), newEvent(orgA, "again", d.id, 0))
					conformance.SameTime(t, "the time of the mark", at, &since)
					s.HasEvent(t, d.event)
				}
				check()
				require.Greater(t, d.finish(t, 3, check), 1)
				require.False(t, d.step(t, 3))
				s.ofOthersBeside(t, d, others)
			}
		}},
}

// ofOthersBeside is ofOthers after a deletion of whatever kind.
func (s *subject) ofOthersBeside(t *testing.T, d *deleted, others []vault.Vault) {
	t.Helper()
	if d.id == "" {
		s.ofOthers(t, others)
		return
	}
	for _, v := range others {
		s.hasVault(t, v)
		require.Equal(t, tokensOf(rowsOfDeleted(v.ID)), s.dump(t, v))
	}
}

// deletionRotationRules are about keys, and the rows of what was deleted.
var deletionRotationRules = []rule{
	{Rule{
		"deletion/no-part-in-rotation",
		"The rows of what is marked have no part in Keys and KeyRotation, whether they are removed or not: no scan returns them, nothing " +
			"counts or changes them.",
	}, 0,
		func(t *testing.T, s *subject) {
			d, others := s.addDeleted(t, true)
			first := &deleted{s: s, name: "the vault", org: orgA, id: d.vaults[0].ID}
			s.registers(t, keyring.FingerprintKey, 7)
			of := func() (rows []vault.Row) {
				for i, v := range d.vaults {
					rows = append(rows, rowsOf(v, d.rows[i])...)
				}
				return rows
			}
			untouched := func() {
				for _, r := range of() {
					r := r
					s.fill(t, 7, nil, vault.RowFingerprint{Row: r.ID(), Fingerprint: fingerprintOf(7, "the same for all")})
					s.reseals(t, 0, vault.Resealed{Row: r.ID(), From: r.Sealed, To: sealedAnew(r, 7)})
				}
			}
			// The second vault is there until the organization is deleted.
			first.mark(t, moment(0), vault.AuditEvent{})
			require.Len(t, s.withoutFingerprint(t, 7), (len(others)+1)*3)
			require.Len(t, s.notSealedUnder(t, 7), (len(others)+1)*4)
			d.mark(t, moment(0), d.event)
			s.ofOthers(t, others)
			untouched()
			d.finish(t, 3, func() { untouched(); s.ofOthers(t, others) })
		}},

	{Rule{
		"deletion/retires-keys",
		"No key is in use for rows of what is marked: a version that seals only such rows can be retired, and fingerprints of theirs are not removed with a version.",
	}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.FingerprintKey, 1, 2)
			s.requires(t, 2)
			s.registers(t, keyring.SealKey, 1, 2)
			a, b := s.addVault(t, newVault(orgA, "a")), s.addVault(t, newVault(orgA, "b"))
			c := s.addVault(t, newVault(orgB, "c"))
			for _, v := range []vault.Vault{a, b} {
				s.adds(t, v, row("t1", email, "ann", 1, 2), row("t2", email, "bea", 1, 2), row("t3", "persons.phone", "cleo"))
			}
			live := row("t1", email, "ann", 1, 2)
			live.Sealed.Version = 2
			s.adds(t, c, live)
			require.ErrorIs(t, s.Store.RetireKey(t.Context(), keyring.SealKey, 1, 0), keyring.ErrInUse)
			vaultOf := &deleted{s: s, name: "the vault", org: orgA, id: "a"}
			vaultOf.mark(t, moment(0), vault.AuditEvent{})
			require.ErrorIs(t, s.Store.RetireKey(t.Context(), keyring.SealKey, 1, 0), keyring.ErrInUse)
			d := &deleted{s: s, name: "the organization", org: orgA}
			d.mark(t, moment(0), vault.AuditEvent{})
			s.retires(t, keyring.SealKey, 1, 0)
			s.retires(t, keyring.FingerprintKey, 1, 2)
			s.usage(t, keyring.Usage{Rows: 1, Deterministic: 1, Fingerprints: map[int]int{1: 1, 2: 1}, Sealed: map[int]int{2: 1}})
			s.removes(t, 1, 1)
			s.usage(t, keyring.Usage{Rows: 1, Deterministic: 1, Fingerprints: map[int]int{2: 1}, Sealed: map[int]int{2: 1}})
			d.finish(t, 2, nil)
			s.usage(t, keyring.Usage{Rows: 1, Deterministic: 1, Fingerprints: map[int]int{2: 1}, Sealed: map[int]int{2: 1}})
			require.Equal(t, []string{"t1"}, s.find(t, c, email, 2, "ann"))
		}},

	{Rule{
		"deletion/beside-open-scans",
		"A scan that is open goes on beside a deletion as if the rows had been deleted: it returns each other row once.",
	}, 0,
		func(t *testing.T, s *subject) {
			for _, c := range []*scan{s.scanWithout(2), s.scanUnder(2)} {
				for _, whole := range []bool{false, true} {
					org := c.method + fmt.Sprint(whole)
					var want []vault.Row
					v := s.addVault(t, newVault(org, "deleted"))
					other := s.addVault(t, newVault(org+" too", "other"))
					for i := range 41 { // between each other, in whatever order
						for _, v := range []vault.Vault{v, other} {
							r := c.row(fmt.Sprint("t", i), fmt.Sprint(org, i))
							s.adds(t, v, r)
							if v.ID == "other" {
								want = append(want, rowsOf(v, []vault.Row{r})...)
							}
						}
					}
					d := &deleted{s: s, name: "the vault", org: org, id: "deleted"}
					if whole {
						d.name, d.id = "the organization", ""
					}
					marked := false
					var early []vault.Row // before the mark
					got := c.from(t, "", 3, func(page mortise.Page[vault.Row]) {
						if !marked {
							d.mark(t, moment(0), vault.AuditEvent{})
							marked = true
							early = page.Items
							return
						}
						d.step(t, 5)
					})
					of := func(rows []vault.Row, v vault.Vault) []vault.Row {
						return slices.DeleteFunc(slices.Clone(rows), func(r vault.Row) bool { return r.Organization != v.Organization })
					}
					sameRows(t, want, of(got, other))
					sameRows(t, of(early, v), of(got, v))
					d.finish(t, 10, nil)
					for _, r := range want {
						c.settle(t, r)
					}
				}
			}
		}},
}

// deletionRaceRules are about a deletion beside other calls.
var deletionRaceRules = []rule{
	{Rule{
		"deletion/beside-creation",
		"A vault that is made beside the mark of its organization either comes before it, and is hidden, or is ErrDeleted.",
	}, 0,
		func(t *testing.T, s *subject) {
			for round := range 10 {
				d := &deleted{s: s, name: "the organization", org: fmt.Sprint("org ", round)}
				var errs [5]error
				conformance.Together(len(errs), func(i int) {
					if i = (i + round) % len(errs); i == 0 {
						_, errs[i] = d.marking(t, moment(0), vault.AuditEvent{})
						return
					}
					errs[i] = s.Store.PutVault(t.Context(), newVault(d.org, fmt.Sprint(i)), nil, vault.AuditEvent{})
				})
				require.NoError(t, errs[0])
				made := orDeleted(t, errs[1:])
				require.LessOrEqual(t, made, len(errs)-1)
				for i := 1; i < len(errs); i++ {
					d.vaults = append(d.vaults, newVault(d.org, fmt.Sprint(i)))
					d.rows = append(d.rows, rowsOfDeleted(""))
				}
				d.isHidden(t)
				d.neverAgain(t)
				d.finish(t, 1, nil)
			}
		}},

	{Rule{
		"deletion/whole",
		"A caller sees a mark and its event, or neither.",
	}, 0,
		func(t *testing.T, s *subject) {
			const rounds = 15
			for i := range rounds {
				s.addVault(t, newVault(orgB, fmt.Sprint("v", i)))
			}
			look := func(int) error {
				page, err := s.Store.ListAuditEvents(t.Context(), orgB, vault.AuditQuery{Kind: mortise.KindVaultDeleted, Limit: mortise.MaxPageSize})
				if err != nil {
					return err
				}
				vaults, err := s.Store.ListVaults(t.Context(), orgB, "", 1000)
				if err != nil {
					return err
				}
				if len(vaults.Items) > rounds-len(page.Items) {
					return fmt.Errorf("%d vaults of %d after %d were deleted", len(vaults.Items), rounds, len(page.Items))
				}
				if page, err = s.Store.ListAuditEvents(t.Context(), orgB, vault.AuditQuery{Kind: mortise.KindVaultDeleted, Limit: mortise.MaxPageSize}); err != nil {
					return err
				}
				if len(vaults.Items) < rounds-len(page.Items) {
					return fmt.Errorf("%d vaults of %d are left, and there are events of %d", len(vaults.Items), rounds, len(page.Items))
				}
				return nil
			}
			conformance.Watch(t, 3, look, rounds, func(i int) {
				d := &deleted{s: s, name: "the vault", org: orgB, id: fmt.Sprint("v", i)}
				d.mark(t, moment(0), newEvent(orgB, mortise.KindVaultDeleted, d.id, 0))
			})
		}},
}
