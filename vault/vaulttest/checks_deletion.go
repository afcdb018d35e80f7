package vaulttest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/audittest"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// deleted is what a rule deletes: all that an organization has, or one vault.
type deleted struct {
	s      *subject
	name   string
	org    string
	id     string        // the vault; "" for the organization
	vaults []vault.Vault // what goes, with its rows
	rows   [][]vault.Row // of each vault
	gone   string        // a token of the first vault that was deleted before
	event  vault.AuditEvent
}

// rowsOfDeleted are the rows of a vault that goes: of each kind.
func rowsOfDeleted(id string) []vault.Row {
	return []vault.Row{
		row("t1", email, "ann of "+id, 1, 2), row("t2", email, "bea", 1), row("t3", "persons.phone", "cleo"), row("t4", "emails", "dora", 2),
	}
}

// addDeleted stores what both kinds of deletion delete in orgA, and others beside it:
// vaults of the same IDs and tokens, in organizations whose names are alike, and a vault
// of the organization's that a deletion of a vault leaves alone. whole says which kind.
func (s *subject) addDeleted(t *testing.T, whole bool) (d *deleted, others []vault.Vault) {
	t.Helper()
	s.registers(t, keyring.FingerprintKey, 1)
	d = &deleted{s: s, name: "the vault", org: orgA, id: "customers", gone: "gone"}
	add := func(v vault.Vault) vault.Vault {
		s.addVault(t, v)
		v = s.changeVault(t, v)
		s.adds(t, v, withVersion1(rowsOfDeleted(v.ID))...)
		s.adds(t, v, row("gone", email, "eve", 1))
		s.deletes(t, v, "gone")
		s.Record(t, filledEvent(v.Organization, v.ID))
		return v
	}
	first, second := add(newVault(orgA, "customers")), add(newVault(orgA, "customers "))
	d.vaults, d.rows = []vault.Vault{first}, [][]vault.Row{withVersion1(rowsOfDeleted(first.ID))}
	d.event = newEvent(orgA, mortise.KindVaultDeleted, "customers", time.Hour)
	if whole {
		d.name, d.id = "the organization", ""
		d.vaults, d.rows = append(d.vaults, second), append(d.rows, withVersion1(rowsOfDeleted(second.ID)))
		d.event = newEvent(orgA, mortise.KindOrganizationDeleted, "", time.Hour)
	} else {
		others = append(others, second)
	}
	for _, org := range []string{orgA + " ", "org-", orgA + "\x01", "ORG-A", orgB} {
		others = append(others, add(newVault(org, "customers")))
	}
	return d, others
}

// withVersion1 returns rows whose deterministic ones all have a fingerprint of version 1,
// which is required.
func withVersion1(rows []vault.Row) []vault.Row {
	for i := range rows {
		if r := &rows[i]; r.Deterministic && r.Fingerprints[0].Version != 1 {
			r.Fingerprints = append(r.Fingerprints, vault.VersionedFingerprint{Version: 1, Fingerprint: fingerprintOf(1, r.Token)})
		}
	}
	return rows
}

// mark marks it with its event, and returns since when it is marked.
func (d *deleted) mark(t *testing.T, at time.Time, e vault.AuditEvent) time.Time {
	t.Helper()
	since, err := d.marking(t, at, e)
	require.NoError(t, err, "mark %s as deleted", d.name)
	return since
}

func (d *deleted) marking(t *testing.T, at time.Time, e vault.AuditEvent) (time.Time, error) {
	t.Helper()
	if d.id == "" {
		return d.s.Store.MarkDeleted(t.Context(), d.org, at, e.Clone())
	}
	return d.s.Store.MarkVaultDeleted(t.Context(), d.org, d.id, at, e.Clone())
}

// step removes at most limit rows.
func (d *deleted) step(t *testing.T, limit int) (more bool) {
	t.Helper()
	_, more, err := d.stepping(t.Context(), limit)
	require.NoError(t, err, "remove what is left of %s", d.name)
	return more
}

func (d *deleted) stepping(ctx context.Context, limit int) (n int, more bool, err error) {
	if d.id == "" {
		return d.s.Store.RemoveDeleted(ctx, d.org, limit)
	}
	return d.s.Store.RemoveDeletedVault(ctx, d.org, d.id, limit)
}

// maxSteps is more than any deletion of a rule takes.
const maxSteps = 10_000

// finish takes steps until nothing is left, calls between after each of them, and returns
// how many they were.
func (d *deleted) finish(t *testing.T, limit int, between func()) (steps int) {
	t.Helper()
	for steps = 1; steps < maxSteps; steps++ {
		more := d.step(t, limit)
		if between != nil {
			between()
		}
		if !more {
			return steps
		}
	}
	require.FailNow(t, "a deletion does not end", d.name)
	return steps
}

// isHidden requires that no method finds anything of it, and that nothing of it can be
// changed.
func (d *deleted) isHidden(t *testing.T) {
	t.Helper()
	s, ctx := d.s, t.Context()
	for i, v := range d.vaults {
		s.noVault(t, v.Organization, v.ID)
		for revision := range int64(4) { // as a service would that remembers one
			old := v
			old.Revision = revision
			_, err := s.Store.FindTokens(ctx, v.Organization, v.ID, revision, []vault.Lookup{{Scope: email, Version: 1,
				Fingerprints: []keyring.Fingerprint{fingerprintOf(1, "ann of "+v.ID)}}})
			require.ErrorIs(t, err, mortise.ErrNotFound, "FindTokens")
			_, err = s.Store.FindTokens(ctx, v.Organization, v.ID, revision, []vault.Lookup{{Scope: email, Version: 1,
				Fingerprints: []keyring.Fingerprint{fingerprintOf(1, "ann of "+v.ID), fingerprintOf(1, "bea")}}})
			require.ErrorIs(t, err, mortise.ErrNotFound, "FindTokens of two")
			_, err = s.Store.FindTokens(ctx, v.Organization, v.ID, revision, []vault.Lookup{{Scope: email, Version: 1}, {Scope: "emails", Version: 2}})
			require.ErrorIs(t, err, mortise.ErrNotFound, "FindTokens in two scopes")
			_, err = s.insert(t, old, d.rows[i][0])
			require.ErrorIs(t, err, mortise.ErrNotFound, "InsertTokens")
			require.ErrorIs(t, s.importing(t, old, importEvent(v), d.rows[i][0]), mortise.ErrNotFound, "ImportTokens")
			if revision != 1 {
				require.ErrorIs(t, s.Store.PutVault(ctx, old, nil, newEvent(v.Organization, mortise.KindSchemaChanged, v.ID, 0)),
					mortise.ErrNotFound, "PutVault of revision %d", revision)
			}
		}
		_, err := s.Store.Rows(ctx, v.Organization, v.ID, tokensOf(d.rows[i]))
		require.ErrorIs(t, err, mortise.ErrNotFound, "Rows")
		e := newEvent(v.Organization, mortise.KindDeleted, v.ID, 0)
		require.ErrorIs(t, s.Store.DeleteToken(ctx, v.Organization, v.ID, "t1", e), vault.ErrTokenNotFound, "DeleteToken")
		require.NotContains(t, idsOf(s.listVaults(t, v.Organization)), v.ID, "ListVaults")
		e = newEvent(v.Organization, mortise.KindDetokenized, v.ID, 0)
		require.ErrorIs(t, s.Store.AddAuditEvent(ctx, e), mortise.ErrNotFound, "AddAuditEvent")
		s.NoEvent(t, e)
	}
	if d.id != "" {
		return
	}
	require.Empty(t, s.listVaults(t, d.org))
	for _, id := range []string{d.vaults[0].ID, "unknown"} {
		_, err := s.Store.MarkVaultDeleted(ctx, d.org, id, moment(0), newEvent(d.org, mortise.KindVaultDeleted, id, 0))
		require.ErrorIs(t, err, mortise.ErrNotFound, "MarkVaultDeleted")
		_, _, err = s.Store.RemoveDeletedVault(ctx, d.org, id, 10)
		require.ErrorIs(t, err, mortise.ErrNotFound, "RemoveDeletedVault")
	}
	e := newEvent(d.org, mortise.KindDetokenized, "", 0)
	require.ErrorIs(t, s.Store.AddAuditEvent(ctx, e), mortise.ErrNotFound, "AddAuditEvent")
}

// neverAgain requires that nothing of its name can be made.
func (d *deleted) neverAgain(t *testing.T) {
	t.Helper()
	ids := idsOf(d.vaults)
	if d.id == "" {
		ids = append(ids, "new", "")
	}
	for _, id := range ids {
		e := newEvent(d.org, mortise.KindVaultCreated, id, 0)
		err := d.s.Store.PutVault(t.Context(), newVault(d.org, id), nil, e)
		require.ErrorIs(t, err, mortise.ErrDeleted, "PutVault of %q", id)
		d.s.NoEvent(t, e)
		d.s.noVault(t, d.org, id)
	}
}

// ofOthers requires that the others have all that they had, and nobody anything else.
func (s *subject) ofOthers(t *testing.T, others []vault.Vault) {
	t.Helper()
	usage := keyring.Usage{Fingerprints: make(map[int]int), Sealed: make(map[int]int)}
	var without, notUnder []vault.Row
	for _, v := range others {
		s.hasVault(t, v)
		rows := withVersion1(rowsOfDeleted(v.ID))
		for _, r := range rows {
			s.hasRow(t, v, r)
			usage.Rows++
			usage.Sealed[1]++
			if r.Deterministic {
				usage.Deterministic++
				for _, f := range r.Fingerprints {
					usage.Fingerprints[f.Version]++
				}
				without = append(without, rowsOf(v, []vault.Row{r})...)
			}
			notUnder = append(notUnder, rowsOf(v, []vault.Row{r})...)
		}
		s.noRow(t, v, row("gone", email, "eve", 1))
		s.takes(t, v, []int{0}, row("gone", email, "eve", 1))
		require.Equal(t, tokensOf(rows), s.dump(t, v))
		require.Equal(t, []string{v.ID}, idsOf(s.listVaults(t, v.Organization)))
	}
	s.usage(t, usage)
	sameRows(t, byID(without), s.withoutFingerprint(t, 7))
	sameRows(t, byID(notUnder), s.notSealedUnder(t, 7))
}

// onlyMark requires that just this event, of all of an organization's, can be read.
func (s *subject) onlyMark(t *testing.T, e vault.AuditEvent) {
	t.Helper()
	s.OnlyEvent(t, e, audittest.Event{Kind: string(mortise.KindDetokenized), Actor: "user:bob", About: "customers"})
}

// orDeleted returns how many of the calls succeeded. The others must be ErrDeleted.
func orDeleted(t *testing.T, errs []error) (n int) {
	t.Helper()
	for _, err := range errs {
		if !errors.Is(err, mortise.ErrDeleted) {
			require.NoError(t, err)
			n++
		}
	}
	return n
}
