package vaulttest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// listRules are the rules of ListRows.
var listRules = []rule{
	{Rule{"tokens/list-by-token", "ListRows returns the rows of a vault by token, as bytes, with all fields but Fingerprints."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			var rows []vault.Row
			for i, text := range hard {
				rows = append(rows, row(text, []string{email, "emails"}[i%2], fmt.Sprint(i), 1, 2))
			}
			rows[3] = row(hard[3], "persons.phone", "random")
			s.adds(t, v, rows...)
			slices.SortFunc(rows, func(a, b vault.Row) int { return slices.Compare([]byte(a.Token), []byte(b.Token)) })
			want, got := rowsOf(v, rows), s.list(t, v)
			require.Equal(t, tokensOf(want), tokensOf(got), "rows of a list")
			for i := range want {
				sameRow(t, want[i], got[i])
			}
		}},

	{Rule{"tokens/list-of-vault", "ListRows returns the rows of the vault and of no other; none if there are none."}, 0,
		func(t *testing.T, s *subject) {
			v, other, foreign, empty := s.customers(t), s.addVault(t, newVault(orgA, "other")), s.addVault(t, newVault(orgB, "customers")), s.addVault(t, newVault(orgB, "empty"))
			for i, in := range []vault.Vault{v, other, foreign} {
				s.adds(t, in, row(fmt.Sprint("t", i), email, "ann", 1), row(fmt.Sprint("u", i), email, "bea", 1))
			}
			for i, in := range []vault.Vault{v, other, foreign} {
				require.Equal(t, []string{fmt.Sprint("t", i), fmt.Sprint("u", i)}, s.dump(t, in))
				for _, r := range s.list(t, in) {
					require.Equal(t, id(in, r.Token), r.ID())
				}
			}
			require.Empty(t, s.dump(t, empty))
		}},
}

// deleteRules are the rules of DeleteToken, and of what it leaves.
var deleteRules = []rule{
	{Rule{"tokens/delete-forgets", "DeleteToken forgets the value and the fingerprints of a token, deterministic or not: no method shows it any more."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			ann, bea, cleo := row("t1", email, "ann", 1, 2), row("t2", email, "bea", 1), row("t3", "persons.phone", "cleo")
			s.adds(t, v, ann, bea, cleo)
			s.deletes(t, v, "t1")
			s.noRow(t, v, ann)
			require.Equal(t, []string{""}, s.find(t, v, email, 1, "ann"))
			require.Equal(t, []string{""}, s.find(t, v, email, 2, "ann"))
			s.deletes(t, v, "t3")
			s.noRow(t, v, cleo)
			s.hasRow(t, v, bea)
			require.Equal(t, []string{"t2"}, s.dump(t, v))
			s.usage(t, keyring.Usage{Rows: 1, Deterministic: 1, Fingerprints: map[int]int{1: 1}, Sealed: map[int]int{1: 1}})
		}},

	{Rule{"tokens/delete-stores-the-event", "DeleteToken stores the audit event, as its own copy."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.adds(t, v, row("t1", email, "ann", 1))
			e := filledEvent(orgA, "customers")
			mine := e.Clone()
			require.NoError(t, s.Store.DeleteToken(t.Context(), orgA, "customers", "t1", mine))
			spoilEvent(&mine)
			s.HasEvent(t, e)
		}},

	{Rule{"tokens/delete-unknown", "DeleteToken is ErrTokenNotFound if there is no such token, or it was deleted before, and stores no event."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.addVault(t, newVault(orgA, "other"))
			s.addVault(t, newVault(orgB, "customers"))
			s.adds(t, v, row("t1", email, "ann", 1), row("t2", email, "bea", 1), row("t3", email, "cleo"))
			s.deletes(t, v, "t2")
			s.deletes(t, v, "t3")
			for _, c := range []struct{ org, vault, token string }{
				{orgA, "customers", "t4"}, {orgA, "customers", ""}, {orgA, "customers", "T1"}, {orgA, "customers", "t2"}, {orgA, "customers", "t3"},
				{orgA, "other", "t1"}, {orgB, "customers", "t1"}, {orgA, "no vault", "t1"}, {"org-c", "customers", "t1"},
			} {
				e := newEvent(c.org, mortise.KindDeleted, c.vault, 0)
				require.ErrorIs(t, s.Store.DeleteToken(t.Context(), c.org, c.vault, c.token, e), vault.ErrTokenNotFound, "%+v", c)
				s.NoEvent(t, e)
			}
			s.hasRow(t, v, row("t1", email, "ann", 1))
		}},

	{Rule{"tokens/deleted-are-not-given-again", "A token is never given again, not even after it was deleted, whatever it was of."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.adds(t, v, row("t1", email, "ann", 1), row("t2", "persons.phone", "bea"))
			s.deletes(t, v, "t1")
			s.deletes(t, v, "t2")
			s.takes(t, v, []int{0}, row("t1", email, "ann", 1))
			s.takes(t, v, []int{1, 2}, row("t3", email, "cleo", 1), row("t1", "emails", "bea", 1), row("t2", email, "ann"))
			v = s.changeVault(t, v, email)
			s.takes(t, v, []int{0}, row("t1", email, "ann", 1))
			s.adds(t, v, row("t3", email, "ann", 1))
		}},

	{Rule{"tokens/deleted-while-inserted", "A token that is deleted is not given again by an insertion at the same moment: it is taken before and after."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			for round := range 10 {
				token := fmt.Sprint("t", round)
				s.adds(t, v, row(token, email, "ann "+token, 1))
				var errs [8]error
				conformance.Together(len(errs), func(i int) {
					if i == 0 {
						errs[i] = s.Store.DeleteToken(t.Context(), orgA, v.ID, token, vault.AuditEvent{})
						return
					}
					_, errs[i] = s.insert(t, v, row(token, email, fmt.Sprint("bea ", round, i), 1))
				})
				require.NoError(t, errs[0], "DeleteToken")
				for _, err := range errs[1:] {
					var taken *vault.TakenError
					require.ErrorAs(t, err, &taken, "an insertion of a token that is deleted at the same moment")
				}
				require.Empty(t, s.dump(t, v), "tokens after the deletion")
			}
		}},

	{Rule{"tokens/deleted-values-get-another-token", "The fingerprints of a deleted token are free: its value gets another one."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.adds(t, v, row("t1", email, "ann", 1, 2))
			for i := range 3 {
				s.deletes(t, v, fmt.Sprint("t", 1+i))
				next := row(fmt.Sprint("t", 2+i), email, "ann", 1, 2)
				s.adds(t, v, next)
				s.hasRow(t, v, next)
				s.gives(t, v, []string{next.Token}, row("more", email, "ann", 2))
			}
			require.Equal(t, []string{"t4"}, s.dump(t, v))
		}},
}
