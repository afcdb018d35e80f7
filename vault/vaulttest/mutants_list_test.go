package vaulttest_test

import (
	"slices"

	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/vault"
)

// listMutants are wrong about what they are asked for.
var listMutants = []broken{
	{name: "finds each value once", breaks: "tokens/find-answers-every-fingerprint tokens/find-many", mutate: out(func(found *[][]string) {
		for _, tokens := range *found {
			seen := make(map[string]bool)
			for j, token := range tokens {
				if seen[token] {
					tokens[j] = ""
				}
				seen[token] = true
			}
		}
	}, "FindTokens")},
	{name: "answers the first lookup of a scope", breaks: "tokens/find-answers-every-fingerprint tokens/find-many", mutate: around(
		func(_ *mutant, c *mutate.Call) {
			c.Go()
			seen := make(map[string]bool)
			for i, tokens := range *mutate.Get[[][]string](c.Out) {
				scope := (*mutate.Get[[]vault.Lookup](c.In))[i].Scope
				if seen[scope] {
					clear(tokens)
				}
				seen[scope] = true
			}
		}, "FindTokens")},
	{name: "leaves out rows that are not there", breaks: "tokens/rows-in-order tokens/rows-many tokens/delete-forgets", mutate: out(
		func(rows *[]vault.Row) {
			*rows = slices.DeleteFunc(*rows, func(r vault.Row) bool { return r.Token == "" })
		}, "Rows")},
	{name: "returns each row once", breaks: "tokens/rows-in-order tokens/rows-many", mutate: out(func(rows *[]vault.Row) {
		seen := make(map[string]bool)
		for i, r := range *rows {
			if seen[r.Token] {
				(*rows)[i] = vault.Row{}
			}
			seen[r.Token] = true
		}
	}, "Rows")},
}
