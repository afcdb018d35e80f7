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
	{name: "lists the other way round", breaks: []string{"tokens/list-by-token"}, mutate: func(m *mutant) {
		m.everyListing(func(rows []vault.Row) []vault.Row { slices.Reverse(rows); return rows })
	}},
	{name: "lists from the given token on", breaks: []string{"tokens/list-after", "tokens/list-by-token"}, mutate: func(m *mutant) {
		list := m.listRows
		m.listRows = func(ctx context.Context, org, id, after string, limit int) ([]vault.Row, error) {
			return list(ctx, org, id, after[:max(0, len(after)-1)], limit)
		}
	}},
	{name: "lists more than it should", breaks: []string{"tokens/list-after", "tokens/list-by-token"}, mutate: func(m *mutant) {
		list := m.listRows
		m.listRows = func(ctx context.Context, org, id, after string, limit int) ([]vault.Row, error) {
			return list(ctx, org, id, after, limit+1)
		}
	}},
}
