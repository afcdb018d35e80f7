package vaulttest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/vault"
)

// importRaceRules are about imports beside other calls.
var importRaceRules = []rule{
	{Rule{"imports/one-token-of-a-value", "Of many imports of one value at once with different tokens one succeeds, with its event, and the others are TakenErrors."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			for round := range 10 {
				value := fmt.Sprint("value ", round)
				winner := s.oneImport(t, v, func(i int) []vault.Row {
					return []vault.Row{row(fmt.Sprint("a", round, "-", i), email, fmt.Sprint(round, "-", i), 1), row(fmt.Sprint("t", round, "-", i), email, value, 1)}
				})
				require.Equal(t, []string{fmt.Sprint("t", round, "-", winner)}, s.find(t, v, email, 1, value))
				require.Len(t, s.dump(t, v), 2*(round+1))
			}
		}},

	{Rule{"imports/one-value-of-a-token", "Of many imports of one token at once with different values one succeeds, with its event, and the others are TakenErrors."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			for round := range 10 {
				token := fmt.Sprint("t", round)
				rowOf := func(i int) vault.Row {
					if i%4 == 3 {
						return row(token, "persons.phone", fmt.Sprint(i))
					}
					return row(token, email, fmt.Sprint(round, "-", i), 1)
				}
				winner := s.oneImport(t, v, func(i int) []vault.Row { return []vault.Row{rowOf(i)} })
				s.hasRow(t, v, rowOf(winner))
				require.Len(t, s.dump(t, v), round+1)
			}
		}},

	{Rule{"imports/beside-insertions", "Imports and insertions of one value at once give it one token: if an import succeeds, it is the import's."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			for round := range 10 {
				value, imported := fmt.Sprint("value ", round), fmt.Sprint("t", round)
				var tokens [8]string
				var errs [8]error
				conformance.Together(len(errs), func(i int) {
					if i = (i + round) % len(errs); i == 0 {
						errs[i] = s.importing(t, v, vault.AuditEvent{}, row(imported, email, value, 1))
						return
					}
					var got []string
					if got, errs[i] = s.insert(t, v, row(fmt.Sprint("u", round, "-", i), email, value, 1)); errs[i] == nil {
						tokens[i] = got[0]
					}
				})
				conformance.NoErrors(t, errs[1:])
				want := tokens[1]
				if errs[0] == nil {
					want = imported
				} else {
					require.ErrorAs(t, errs[0], new(*vault.TakenError))
					require.NotEqual(t, imported, want, "the token of an import that was refused")
				}
				for _, token := range tokens[1:] {
					require.Equal(t, want, token)
				}
				require.Equal(t, []string{want}, s.find(t, v, email, 1, value))
				require.Len(t, s.dump(t, v), round+1)
			}
		}},

	{Rule{"imports/beside-deletion", "An import of a token that is there, and of others, is not done once the token was deleted: not the others either."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			for round := range 10 {
				there, more := row(fmt.Sprint("t", round), email, fmt.Sprint(round), 1), row(fmt.Sprint("u", round), email, fmt.Sprint("more ", round), 1)
				s.adds(t, v, there)
				e := importEvent(v)
				var errs [2]error
				early := false // the others were there right after the deletion
				conformance.Together(len(errs), func(i int) {
					if i == round%2 {
						errs[0] = s.importing(t, v, e, there, more)
						return
					}
					early, errs[1] = s.deletesAndLooks(t.Context(), v, there.Token, more.Token)
				})
				require.NoError(t, errs[1])
				s.noRow(t, v, there)
				if errs[0] == nil {
					require.True(t, early, "an import of a token that was deleted before")
					s.hasRow(t, v, more)
					s.HasEvent(t, e)
					continue
				}
				require.ErrorAs(t, errs[0], new(*vault.TakenError))
				s.noRow(t, v, more)
				s.NoEvent(t, e)
			}
		}},

	{Rule{"imports/left-scope-meanwhile", "A change that leaves a scope and imports into it at the old revision do not both succeed."}, 0,
		func(t *testing.T, s *subject) {
			for round := range 10 {
				v := s.addVault(t, newVault(orgA, fmt.Sprint("v", round)))
				var errs [8]error
				conformance.Together(len(errs), func(i int) {
					if i = (i + round) % len(errs); i == 0 {
						errs[i] = s.Store.PutVault(t.Context(), changed(v), []string{email}, vault.AuditEvent{})
						return
					}
					errs[i] = s.importing(t, v, vault.AuditEvent{}, row(fmt.Sprint("t", i), email, fmt.Sprint(i), 1))
				})
				imported := countOf(t, errs[1:], vault.ErrConflict)
				if errs[0] == nil {
					require.Zero(t, imported, "rows of a scope that was left")
					continue
				}
				require.ErrorIs(t, errs[0], vault.ErrScopeInUse)
				require.Equal(t, len(errs)-1, imported)
			}
		}},

	{Rule{"imports/whole", "A caller sees all rows of an import and its event, or none of them."}, 0,
		func(t *testing.T, s *subject) {
			v := s.addVault(t, newVault(orgB, "customers"))
			look := func(int) error {
				page, err := s.Store.ListAuditEvents(t.Context(), orgB, vault.AuditQuery{Kind: mortise.KindImported, Limit: mortise.MaxPageSize})
				if err != nil {
					return err
				}
				rows, err := s.Store.ListRows(t.Context(), orgB, "customers", "", 10_000)
				if err != nil {
					return err
				}
				// There may be more since.
				if len(rows.Items)%wholeBatch != 0 || len(rows.Items) < wholeBatch*len(page.Items) {
					return fmt.Errorf("%d rows after %d events of %d rows each", len(rows.Items), len(page.Items), wholeBatch)
				}
				return nil
			}
			conformance.Watch(t, 3, look, 15, func(batch int) {
				rows := make([]vault.Row, wholeBatch)
				for i := range rows {
					rows[i] = row(fmt.Sprintf("t%03d-%d", batch, i), email, fmt.Sprint(batch, "-", i), 1)
				}
				s.imports(t, v, rows...)
			})
		}},
}

// oneImport makes many imports at once and requires that one succeeds. It returns which
// one.
func (s *subject) oneImport(t *testing.T, v vault.Vault, rows func(i int) []vault.Row) int {
	t.Helper()
	var errs [16]error
	var events [16]vault.AuditEvent
	conformance.Together(len(errs), func(i int) {
		events[i] = importEvent(v)
		errs[i] = s.importing(t, v, events[i], rows(i)...)
	})
	winner := -1
	for i, err := range errs {
		var taken *vault.TakenError
		switch {
		case err == nil && winner < 0:
			winner = i
			s.HasEvent(t, events[i])
		case err == nil:
			t.Fatalf("imports %d and %d both succeeded", winner, i)
		case errors.As(err, &taken):
			require.Equal(t, []int{len(rows(i)) - 1}, taken.Rows)
			s.NoEvent(t, events[i])
		default:
			require.NoError(t, err)
		}
	}
	require.GreaterOrEqual(t, winner, 0, "no import succeeded")
	return winner
}

// deletesAndLooks deletes a token and returns whether another one is there after that.
func (s *subject) deletesAndLooks(ctx context.Context, v vault.Vault, token, other string) (bool, error) {
	if err := s.Store.DeleteToken(ctx, v.Organization, v.ID, token, vault.AuditEvent{}); err != nil {
		return false, err
	}
	rows, err := s.Store.Rows(ctx, v.Organization, v.ID, []string{other})
	return err == nil && rows[0].Token != "", err
}
