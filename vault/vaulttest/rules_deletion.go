package vaulttest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/steptest"
	"github.com/seed-6363c74e/mortise/vault"
)

// deletionRules are the rules of Deletion, but for its steps and what comes beside it.
var deletionRules = []rule{
	{Rule{
		"deletion/organization-is-hidden",
		"From the mark on, all that an organization has reads as what does not exist, in every method, and nothing of it can be changed: " +
			"before, between and after the steps.",
	}, 0, func(t *testing.T, s *subject) { s.hides(t, true) }},

	{Rule{
		"deletion/vault-is-hidden",
		"From the mark on, a vault reads as what does not exist, in every method, and nothing of it can be changed: before, between and " +
			"after the steps.",
	}, 0, func(t *testing.T, s *subject) { s.hides(t, false) }},

	{Rule{
		"deletion/organization-never-again",
		"PutVault of a new vault is ErrDeleted if the organization is marked, whatever its ID, and stores nothing.",
	}, 0, func(t *testing.T, s *subject) { s.neverAgain(t, true) }},

	{Rule{
		"deletion/vault-never-again",
		"PutVault of a new vault is ErrDeleted if one of its ID is marked, and stores nothing; so none of its tokens is given again.",
	}, 0, func(t *testing.T, s *subject) { s.neverAgain(t, false) }},

	{Rule{
		"deletion/leaves-others-alone",
		"A deletion changes nothing of what others have: the same IDs in other organizations, and organizations and vaults whose names are alike.",
	}, 0,
		func(t *testing.T, s *subject) {
			d, others := s.addDeleted(t, true)
			trails := make(map[string]int)
			for _, v := range others {
				trails[v.Organization] = len(s.Trail(t, v.Organization))
			}
			d.mark(t, moment(0), d.event)
			for _, limit := range []int{1, 3, 100} {
				d.step(t, limit)
				s.ofOthers(t, others)
			}
			d.finish(t, 2, func() { s.ofOthers(t, others) })
			for org, n := range trails {
				require.Len(t, s.Trail(t, org), n, "events of %q", org)
			}
			s.adds(t, others[0], row("new", email, "new", 1))
			s.addVault(t, newVault(orgB, "new"))
		}},

	{Rule{
		"deletion/names-are-bytes",
		"Organizations and vaults to delete are compared as bytes: what differs in one stays.",
	}, 0,
		func(t *testing.T, s *subject) {
			for _, text := range hard {
				s.addVault(t, newVault(text, "customers"))
				s.addVault(t, newVault(orgA, text))
			}
			for i, text := range hard {
				for _, left := range hard[i:] { // each at least before its own mark
					s.hasVault(t, newVault(left, "customers"))
					s.hasVault(t, newVault(orgA, left))
				}
				for _, d := range []*deleted{
					{s: s, name: "the organization", org: text, vaults: []vault.Vault{newVault(text, "customers")}, rows: [][]vault.Row{rowsOfDeleted("")}},
					{s: s, name: "the vault", org: orgA, id: text, vaults: []vault.Vault{newVault(orgA, text)}, rows: [][]vault.Row{rowsOfDeleted("")}},
				} {
					d.mark(t, moment(0), vault.AuditEvent{})
					d.finish(t, 10, nil)
					d.isHidden(t)
					d.neverAgain(t)
				}
			}
		}},

	{Rule{
		"deletion/event-of-an-organization",
		"The event that comes with an organization's mark is all of its trail that can be read, whatever is asked for, and is pruned as others are.",
	}, 0,
		func(t *testing.T, s *subject) {
			d, _ := s.addDeleted(t, true)
			// By a clock that is ahead.
			older := newEvent(orgA, mortise.KindDetokenized, "customers", 2*time.Hour)
			s.Record(t, older)
			d.mark(t, moment(0), d.event)
			s.onlyMark(t, d.event)
			d.finish(t, 2, func() { s.onlyMark(t, d.event) })
			steptest.All(t, 10, func(ctx context.Context, limit int) (int, bool, error) {
				return s.Store.PruneAudit(ctx, moment(3*time.Hour), limit)
			})
			require.Empty(t, s.Trail(t, orgA))
			d.isHidden(t)
			d.neverAgain(t)
			require.False(t, d.step(t, 10))
		}},

	{Rule{
		"deletion/trail-of-a-vault",
		"The trail of a deleted vault is its organization's, and stays, with the event that comes with its mark.",
	}, 0,
		func(t *testing.T, s *subject) {
			d, _ := s.addDeleted(t, false)
			before := s.Trail(t, orgA)
			d.mark(t, moment(0), d.event)
			check := func() {
				s.HasEvent(t, d.event)
				for _, e := range before {
					s.HasEvent(t, e)
				}
				require.Len(t, s.Trail(t, orgA), len(before)+1)
			}
			check()
			d.finish(t, 2, check)
			s.Record(t, newEvent(orgA, mortise.KindDetokenized, "customers ", 0), newEvent(orgA, mortise.KindDetokenized, "", 0))
		}},

	{Rule{
		"deletion/the-first-time-stays",
		"To mark what is marked changes nothing, stores no event, and returns the time of the first mark, which is UTC and has microseconds.",
	}, 0,
		func(t *testing.T, s *subject) {
			for i, at := range exactTimes {
				for _, d := range []*deleted{{s: s, org: fmt.Sprint("org ", i)}, {s: s, org: orgB, id: fmt.Sprint("vault ", i)}} {
					v := s.addVault(t, newVault(d.org, fmt.Sprint("vault ", i)))
					s.adds(t, v, row("t1", email, "ann", 1))
					first, second := newEvent(d.org, "first", v.ID, 0), newEvent(d.org, "second", v.ID, time.Hour)
					since := d.mark(t, at, first)
					conformance.SameTime(t, "the time of the mark", at, &since)
					since = d.mark(t, moment(9*time.Hour), second)
					conformance.SameTime(t, "the time of the first mark", at, &since)
					s.HasEvent(t, first)
					s.NoEvent(t, second)
					d.finish(t, 10, nil)
					since = d.mark(t, moment(5*time.Hour), second)
					conformance.SameTime(t, "the time of the mark after the last step", at, &since)
					s.NoEvent(t, second)
				}
			}
		}},

	{Rule{
		"deletion/of-nothing",
		"An organization need not have anything to be deleted. A vault that never was cannot be: ErrNotFound, and it can be made later.",
	}, 0,
		func(t *testing.T, s *subject) {
			e := newEvent(orgB, mortise.KindVaultDeleted, "customers", 0)
			_, err := s.Store.MarkVaultDeleted(t.Context(), orgB, "customers", moment(0), e)
			require.ErrorIs(t, err, mortise.ErrNotFound)
			s.NoEvent(t, e)
			d := &deleted{s: s, name: "the organization", org: orgA, event: newEvent(orgA, mortise.KindOrganizationDeleted, "", 0)}
			_, _, err = d.stepping(t.Context(), 10)
			require.ErrorIs(t, err, mortise.ErrNotFound, "RemoveDeleted of an organization that is not marked")
			s.addVault(t, newVault(orgB, "customers"))
			_, _, err = s.Store.RemoveDeletedVault(t.Context(), orgB, "customers", 10)
			require.ErrorIs(t, err, mortise.ErrNotFound, "RemoveDeletedVault of a vault that is not marked")
			s.hasVault(t, newVault(orgB, "customers"))

			since := d.mark(t, moment(0), d.event)
			conformance.SameTime(t, "the time of the mark", moment(0), &since)
			s.onlyMark(t, d.event)
			d.finish(t, 10, nil)
			d.vaults, d.rows = []vault.Vault{newVault(orgA, "customers")}, [][]vault.Row{rowsOfDeleted("")}
			d.isHidden(t)
			d.neverAgain(t)
		}},

	{Rule{
		"deletion/without-event",
		"An audit event without ID is none, with a mark, too.",
	}, 0,
		func(t *testing.T, s *subject) {
			d, _ := s.addDeleted(t, true)
			n := len(s.Trail(t, orgA))
			of := &deleted{s: s, name: "the vault", org: orgA, id: "customers"}
			of.mark(t, moment(0), vault.AuditEvent{Organization: orgA, Kind: mortise.KindVaultDeleted})
			require.Len(t, s.Trail(t, orgA), n)
			d.mark(t, moment(0), vault.AuditEvent{Organization: orgA, Kind: mortise.KindOrganizationDeleted})
			require.Empty(t, s.Trail(t, orgA))
			d.finish(t, 3, func() { require.Empty(t, s.Trail(t, orgA)) })
		}},
}

// hides checks what is hidden, step by step.
func (s *subject) hides(t *testing.T, whole bool) {
	t.Helper()
	d, _ := s.addDeleted(t, whole)
	d.mark(t, moment(0), d.event)
	d.isHidden(t)
	d.finish(t, 3, func() { d.isHidden(t) })
	d.step(t, 10)
	d.isHidden(t)
}

// neverAgain checks what cannot be made, step by step.
func (s *subject) neverAgain(t *testing.T, whole bool) {
	t.Helper()
	d, _ := s.addDeleted(t, whole)
	d.mark(t, moment(0), d.event)
	d.neverAgain(t)
	d.finish(t, 3, func() { d.neverAgain(t) })
	if !whole {
		s.addVault(t, newVault(orgA, "new"))
	}
}
