package vaulttest_test

import (
	"context"
	"slices"

	"github.com/seed-6363c74e/mortise/vault"
)

// listMutants are wrong about what they are asked for.
var listMutants = []broken{
	{name: "finds each value once", breaks: []string{"tokens/find-answers-every-fingerprint", "tokens/find-many"}, mutate: func(m *mutant) {
		find := m.findTokens
		m.findTokens = func(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
			found, err := find(ctx, org, id, revision, lookups)
			for i := range found {
				seen := make(map[string]bool)
				for j, token := range found[i] {
					if seen[token] {
						found[i][j] = ""
					}
					seen[token] = true
				}
			}
			return found, err
		}
	}},
	{name: "answers the first lookup of a scope", breaks: []string{"tokens/find-answers-every-fingerprint", "tokens/find-many"}, mutate: func(m *mutant) {
		find := m.findTokens
		m.findTokens = func(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
			found, err := find(ctx, org, id, revision, lookups)
			seen := make(map[string]bool)
			for i := range found {
				if seen[lookups[i].Scope] {
					clear(found[i])
				}
				seen[lookups[i].Scope] = true
			}
			return found, err
		}
	}},
	{name: "leaves out rows that are not there", breaks: []string{"tokens/rows-in-order", "tokens/rows-many", "tokens/delete-forgets"}, mutate: func(m *mutant) {
		rows := m.rows
		m.rows = func(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error) {
			got, err := rows(ctx, org, id, tokens)
			return slices.DeleteFunc(got, func(r vault.Row) bool { return r.Token == "" }), err
		}
	}},
	{name: "returns each row once", breaks: []string{"tokens/rows-in-order", "tokens/rows-many"}, mutate: func(m *mutant) {
		rows := m.rows
		m.rows = func(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error) {
			got, err := rows(ctx, org, id, tokens)
			seen := make(map[string]bool)
			for i := range got {
				if seen[got[i].Token] {
					got[i] = vault.Row{}
				}
				seen[got[i].Token] = true
			}
			return got, err
		}
	}},
	{name: "lists the other way round", breaks: []string{
		"tokens/list-by-token", "rotation/rows-without-fingerprint-in-order", "rotation/rows-not-sealed-under-in-order",
	}, mutate: func(m *mutant) {
		reversed := func(rows []vault.Row) []vault.Row { slices.Reverse(rows); return rows }
		m.everyListing(reversed)
		m.everyMaintenance(func(*vault.RowID, *int) {}, reversed)
	}},
	{name: "lists from the given token on", breaks: []string{
		"tokens/list-after", "tokens/list-by-token", "rotation/rows-without-fingerprint-in-order", "rotation/rows-not-sealed-under-in-order",
	}, mutate: func(m *mutant) {
		before := func(token string) string {
			if token == "" {
				return ""
			}
			return token[:len(token)-1]
		}
		list := m.listRows
		m.listRows = func(ctx context.Context, org, id, after string, limit int) ([]vault.Row, error) {
			return list(ctx, org, id, before(after), limit)
		}
		m.everyMaintenance(func(after *vault.RowID, _ *int) { after.Token = before(after.Token) }, func(rows []vault.Row) []vault.Row { return rows })
	}},
	{name: "lists more than it should", breaks: []string{
		"tokens/list-after", "tokens/list-by-token", "rotation/rows-without-fingerprint-in-order", "rotation/rows-not-sealed-under-in-order",
	}, mutate: func(m *mutant) {
		list := m.listRows
		m.listRows = func(ctx context.Context, org, id, after string, limit int) ([]vault.Row, error) {
			return list(ctx, org, id, after, limit+1)
		}
		m.everyMaintenance(func(_ *vault.RowID, limit *int) { *limit++ }, func(rows []vault.Row) []vault.Row { return rows })
	}},
	{name: "pages by token alone", breaks: []string{"rotation/rows-without-fingerprint-in-order", "rotation/rows-not-sealed-under-in-order"}, mutate: func(m *mutant) {
		m.everyMaintenance(func(after *vault.RowID, _ *int) {
			if after.Token != "" {
				after.Vault += "\xff"
			}
		}, func(rows []vault.Row) []vault.Row { return rows })
	}},
	{name: "maintains one organization", breaks: []string{
		"rotation/rows-without-fingerprint-in-order", "rotation/rows-not-sealed-under-in-order",
	}, mutate: func(m *mutant) {
		m.everyMaintenance(func(*vault.RowID, *int) {}, func(rows []vault.Row) []vault.Row {
			return slices.DeleteFunc(rows, func(r vault.Row) bool { return r.Organization != rows[0].Organization })
		})
	}},
	{name: "lists random rows as those without fingerprints", breaks: []string{"rotation/rows-without-fingerprint"}, mutate: func(m *mutant) {
		m.rowsWithoutFingerprint = func(ctx context.Context, _ int, after vault.RowID, limit int) ([]vault.Row, error) {
			return m.db.RowsNotSealedUnder(ctx, -1, after, limit)
		}
	}},
	{name: "lists deterministic rows only", breaks: []string{"rotation/rows-not-sealed-under", "rotation/rows-not-sealed-under-in-order"}, mutate: func(m *mutant) {
		under := m.rowsNotSealedUnder
		m.rowsNotSealedUnder = func(ctx context.Context, version int, after vault.RowID, limit int) ([]vault.Row, error) {
			rows, err := under(ctx, version, after, limit)
			return slices.DeleteFunc(rows, func(r vault.Row) bool { return !r.Deterministic }), err
		}
	}},
}
