package vaulttest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/audittest"
	"github.com/seed-6363c74e/mortise/vault"
)

// concurrentRules are about calls at once, on vaults and tokens.
var concurrentRules = []rule{
	{Rule{"vaults/made-once", "PutVault is atomic: of many that make one vault at once one wins, with its event, and the others are ErrExists."}, 0,
		func(t *testing.T, s *subject) {
			var vaults [16]vault.Vault
			var errs [16]error
			for i := range vaults {
				vaults[i] = newVault(orgA, "customers")
				vaults[i].CreatedAt = moment(time.Duration(i) * time.Second)
			}
			conformance.Together(len(errs), func(i int) {
				errs[i] = s.Store.PutVault(t.Context(), vaults[i], nil, newEvent(orgA, mortise.KindVaultCreated, "customers", time.Duration(i)*time.Second))
			})
			winner := conformance.OneWins(t, errs[:], mortise.ErrExists)
			s.hasVault(t, vaults[winner])
			trail := s.Trail(t, orgA)
			require.Len(t, trail, 1)
			require.True(t, trail[0].At.Equal(vaults[winner].CreatedAt), "the event is another one's")
		}},

	{Rule{"vaults/changed-by-one", "PutVault is atomic: of many that store the same revision at once one wins, with its event, and the others are ErrConflict."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			for range 5 {
				before := len(s.Trail(t, orgA))
				var vaults [16]vault.Vault
				var errs [16]error
				for i := range vaults {
					vaults[i] = changed(v)
					vaults[i].Schema.Tables[0].Name = fmt.Sprint("by ", i)
				}
				conformance.Together(len(errs), func(i int) {
					errs[i] = s.Store.PutVault(t.Context(), vaults[i], nil, newEvent(orgA, mortise.KindSchemaChanged, "customers", 0))
				})
				v = vaults[conformance.OneWins(t, errs[:], vault.ErrConflict)]
				s.hasVault(t, v)
				require.Len(t, s.Trail(t, orgA), before+1)
			}
		}},

	{Rule{"vaults/left-scope-while-inserting", "A change that leaves a scope and insertions into it at the old revision do not both succeed."}, 0,
		func(t *testing.T, s *subject) {
			for round := range 16 {
				v := s.addVault(t, newVault(orgA, fmt.Sprint("v", round)))
				errs := s.inserting(t, v, round, func() error {
					return s.Store.PutVault(t.Context(), changed(v), []string{email}, vault.AuditEvent{})
				}, func(i int) vault.Row { return row(fmt.Sprint("t", i), email, fmt.Sprint(i), 1) })
				inserted := countOf(t, errs[1:], vault.ErrConflict)
				if errs[0] == nil {
					require.Zero(t, inserted, "rows of a scope that was left")
					continue
				}
				require.ErrorIs(t, errs[0], vault.ErrScopeInUse)
				require.Equal(t, len(errs)-1, inserted)
			}
		}},

	{Rule{"tokens/one-token-of-a-value", "Many insertions of one value at once give it one token."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			for round := range 10 {
				var tokens [16][]string
				var errs [16]error
				conformance.Together(len(errs), func(i int) {
					rows := rowsOf(v, []vault.Row{row(fmt.Sprint("t", round, "-", i), email, fmt.Sprint("value ", round), 1)})
					tokens[i], errs[i] = s.Store.InsertTokens(t.Context(), orgA, "customers", 1, rows)
				})
				conformance.NoErrors(t, errs[:])
				for i := range tokens {
					require.Equal(t, tokens[0], tokens[i])
				}
				require.Equal(t, tokens[0], s.find(t, v, email, 1, fmt.Sprint("value ", round)))
				require.Len(t, s.dump(t, v), round+1)
			}
		}},

	{Rule{"tokens/one-token-of-each-value", "Batches that overlap, in whatever order, give each value one token, and all of them end."}, 0,
		func(t *testing.T, s *subject) {
			const values = 60
			v := s.customers(t)
			var tokens [16][]string
			var errs [16]error
			conformance.Together(len(errs), func(i int) {
				rows := make([]vault.Row, values)
				for n := range rows {
					value := (n*[]int{1, 7, 11, 59}[i%4] + i) % values
					rows[n] = row(fmt.Sprint("t", i, "-", value), email, fmt.Sprint(value), 1)
				}
				got, err := s.Store.InsertTokens(t.Context(), orgA, "customers", 1, rowsOf(v, rows))
				tokens[i], errs[i] = make([]string, values), err
				for n := range got {
					tokens[i][(n*[]int{1, 7, 11, 59}[i%4]+i)%values] = got[n]
				}
			})
			conformance.NoErrors(t, errs[:])
			for i := range tokens {
				require.Equal(t, tokens[0], tokens[i])
			}
			require.Len(t, s.dump(t, v), values)
		}},

	{Rule{"tokens/one-token-during-a-rotation", "Many insertions of one value at once, by callers with different versions that have one in common, give it one token, which has the fingerprints of all."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			for round := range 10 {
				value := fmt.Sprint("value ", round)
				var tokens [16][]string
				var errs [16]error
				conformance.Together(len(errs), func(i int) {
					versions := [][]int{{1, 2}, {2}, {2, 1}, {2, 3}}[i%4]
					tokens[i], errs[i] = s.Store.InsertTokens(t.Context(), orgA, "customers", 1, rowsOf(v, []vault.Row{row(fmt.Sprint(value, i), email, value, versions...)}))
				})
				conformance.NoErrors(t, errs[:])
				for i := range tokens {
					require.Equal(t, tokens[0], tokens[i])
				}
				for version := 1; version <= 3; version++ {
					require.Equal(t, tokens[0], s.find(t, v, email, version, value), "version %d", version)
				}
			}
		}},

	{Rule{"tokens/given-once", "Of many insertions of different values with one token at once one gets it, and the others are TakenErrors."}, 0,
		func(t *testing.T, s *subject) {
			const rounds = 10
			v := s.customers(t)
			for round := range rounds {
				token := fmt.Sprint("t", round)
				var errs [16]error
				conformance.Together(len(errs), func(i int) {
					r := row(token, email, fmt.Sprint(round, "-", i), 1)
					if i%4 == 3 {
						r = row(token, "persons.phone", "random")
					}
					_, errs[i] = s.Store.InsertTokens(t.Context(), orgA, "customers", 1, rowsOf(v, []vault.Row{r}))
				})
				winners := 0
				for _, err := range errs {
					var taken *vault.TakenError
					switch {
					case err == nil:
						winners++
					case errors.As(err, &taken):
						require.Equal(t, []int{0}, taken.Rows)
					default:
						require.NoError(t, err)
					}
				}
				require.Equal(t, 1, winners)
			}
			require.Len(t, s.dump(t, v), rounds)
		}},

	{Rule{"tokens/deleted-once", "Of many that delete one token at once one does, with its event, and the others are ErrTokenNotFound."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			for round := range 10 {
				token := fmt.Sprint("t", round)
				s.adds(t, v, row(token, email, token, 1))
				before := len(s.Trail(t, orgA))
				var errs [16]error
				conformance.Together(len(errs), func(i int) {
					errs[i] = s.Store.DeleteToken(t.Context(), orgA, "customers", token, newEvent(orgA, mortise.KindDeleted, "customers", 0))
				})
				conformance.OneWins(t, errs[:], vault.ErrTokenNotFound)
				require.Len(t, s.Trail(t, orgA), before+1)
				s.noRow(t, v, row(token, email, token, 1))
			}
		}},

	{Rule{"store/reads-are-whole", "A caller sees all effects of another's call or none: batches, deleted tokens, and changes of a vault with their events."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			conformance.Watch(t, 4, func(i int) error { return s.whole(t, i) }, 20, func(batch int) {
				rows := make([]vault.Row, wholeBatch)
				for i := range rows {
					rows[i] = row(fmt.Sprintf("t%03d-%d", batch, i), email, fmt.Sprint(batch, "-", i), 1)
				}
				s.adds(t, v, rows...)
				s.addVault(t, newVault(orgB, fmt.Sprint("v", batch)))
			})
		}},
}

// wholeBatch is how many rows the batches of store/reads-are-whole have.
const wholeBatch = 7

// whole returns an error if a read, in one of several ways, shows half of what
// store/reads-are-whole does in a call.
func (s *subject) whole(t *testing.T, way int) error {
	n := 0
	switch way {
	case 0:
		rows, err := s.Store.ListRows(t.Context(), orgA, "customers", "", 10_000)
		if err != nil {
			return err
		}
		n = len(rows.Items)
	case 1:
		l := vault.Lookup{Scope: email, Version: 1}
		for i := range 40 * wholeBatch {
			l.Fingerprints = append(l.Fingerprints, fingerprintOf(1, fmt.Sprint(i/wholeBatch, "-", i%wholeBatch)))
		}
		found, err := s.Store.FindTokens(t.Context(), orgA, "customers", 1, []vault.Lookup{l})
		if err != nil {
			return err
		}
		n = len(slices.DeleteFunc(found[0], func(token string) bool { return token == "" }))
	case 2:
		var tokens []string
		for i := range 40 * wholeBatch {
			tokens = append(tokens, fmt.Sprintf("t%03d-%d", i/wholeBatch, i%wholeBatch))
		}
		rows, err := s.Store.Rows(t.Context(), orgA, "customers", tokens)
		if err != nil {
			return err
		}
		n = len(slices.DeleteFunc(rows, func(r vault.Row) bool { return r.Token == "" }))
	case 3:
		return s.eventsAfterVaults(t)
	}
	if n%wholeBatch != 0 {
		return fmt.Errorf("half a batch: %d rows, read in way %d", n, way)
	}
	return nil
}

// eventsAfterVaults returns an error if there is the event of a vault that is not there.
func (s *subject) eventsAfterVaults(t *testing.T) error {
	page, err := s.List(t.Context(), orgB, audittest.Everything)
	if err != nil {
		return err
	}
	for _, e := range page.Items {
		if _, err := s.Store.Vault(t.Context(), orgB, e.Vault); err != nil {
			return fmt.Errorf("the event of %s was there before the vault: %w", e.Vault, err)
		}
	}
	return nil
}
