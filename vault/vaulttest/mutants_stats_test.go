package vaulttest_test

import (
	"reflect"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// everyCount applies change to the tokens and the deleted ones that the mutant has
// counted.
func everyCount(change func(tokens, deleted *mortise.Count, most int)) func(*mutant) {
	return around(func(_ *mutant, c *mutate.Call) {
		c.Go()
		most := int(c.In[len(c.In)-1].Int())
		if s := mutate.Get[vault.Stats](c.Out); s != nil {
			change(&s.Tokens, &s.Deleted, most)
		} else {
			s := mutate.Get[vault.AllStats](c.Out)
			change(&s.Tokens, &s.Deleted, most)
		}
	}, "Stats", "VaultStats", "StatsAll")
}

// everyTotal applies change to what StatsAll returns.
func everyTotal(change func(m *mutant, totals *vault.AllStats, most int)) func(*mutant) {
	return around(func(m *mutant, c *mutate.Call) {
		c.Go()
		change(m, mutate.Get[vault.AllStats](c.Out), int(c.In[2].Int()))
	}, "StatsAll")
}

// deletedOf makes a method count deleted tokens once more, with most changed and after
// do.
func deletedOf(method string, do func(), most func(int64) int64) func(*mutant) {
	return around(func(_ *mutant, c *mutate.Call) {
		c.Go()
		counted := reflect.New(c.Out[0].Type()).Elem()
		counted.Set(c.Out[0])
		do()
		limit := c.In[len(c.In)-1]
		limit.SetInt(most(limit.Int()))
		c.Go()
		counted.FieldByName("Deleted").Set(c.Out[0].FieldByName("Deleted"))
		c.Out[0].Set(counted)
	}, method)
}

func same(most int64) int64 { return most }

// statsMutants count wrong.
var statsMutants = []broken{
	{name: "does not know who has nothing", breaks: "counter/nothing", mutate: around(func(_ *mutant, c *mutate.Call) {
		if c.Go(); *mutate.Get[vault.Stats](c.Out) == (vault.Stats{}) {
			*c.Err() = mortise.ErrNotFound
		}
	}, "Stats")},
	{name: "counts nothing in a vault that is not there", breaks: "counter/nothing", mutate: accepting(mortise.ErrNotFound, "VaultStats")},
	{name: "counts a vault as one of itself", breaks: "counter/of-organization",
		mutate: out(func(s *vault.Stats) { s.Vaults.N = 1 }, "VaultStats")},
	{name: "counts tokens that were deleted as those that are there", breaks: "counter/tokens", mutate: everyCount(
		func(tokens, deleted *mortise.Count, most int) { *tokens = mortise.CountUpTo(tokens.N+deleted.N, most) })},
	{name: "counts insertions", breaks: "counter/tokens", mutate: func(m *mutant) {
		found := 0
		inserted(func(_ *mutant, _ *mutate.Call, token *string, r *vault.Row) {
			if *token != r.Token {
				found++
			}
		})(m)
		everyCount(func(tokens, _ *mortise.Count, _ int) { tokens.N += found })(m)
	}},
	{name: "counts deterministic tokens only", breaks: "counter/tokens", mutate: func(m *mutant) {
		out(func(s *vault.Stats) {
			for _, r := range m.rowsOf(bg, "org-a", "customers") {
				if !r.Deterministic {
					s.Tokens.N--
				}
			}
		}, "Stats")(m)
	}},
	{name: "counts what organizations have that are alike", breaks: "counter/of-organization", mutate: arg(
		func(org *string) { *org = strings.ToLower(*org) }, "Stats")},
	{name: "counts what vaults have that are alike", breaks: "counter/of-organization", mutate: around(func(_ *mutant, c *mutate.Call) {
		c.In[2].SetString(strings.TrimRight(id(c), " "))
		c.Go()
	}, "VaultStats")},
	{name: "counts what all organizations have but one", breaks: "counter/of-organization", mutate: everyTotal(
		func(m *mutant, totals *vault.AllStats, most int) {
			one, _ := m.db.Stats(bg, "acme", most)
			totals.Vaults.N -= one.Vaults.N
		})},
	{name: "says more when it is just most", breaks: "counter/most", mutate: everyCount(
		func(tokens, _ *mortise.Count, most int) { tokens.More = tokens.N >= most })},
	{name: "counts deleted tokens to the end", breaks: "counter/most counter/most-vaults", mutate: deletedOf(
		"Stats", func() {}, func(int64) int64 { return 1_000_000 })},
	{name: "counts all vaults to the end", breaks: "counter/most", mutate: everyTotal(func(m *mutant, totals *vault.AllStats, _ int) {
		whole, _ := m.db.StatsAll(bg, 1, 1_000_000)
		totals.Vaults = whole.Vaults
	})},
	{name: "takes the tokens of the first vaults for all", breaks: "counter/most-vaults", mutate: out(func(s *vault.Stats) {
		if s.Vaults.More {
			s.Tokens = mortise.Count{}
		}
	}, "Stats")},
	{name: "takes the tokens of the first scope for all", breaks: "counter/most-vaults", mutate: around(func(_ *mutant, c *mutate.Call) {
		if c.Go(); *mutate.Get[int](c.In) < 4 {
			mutate.Get[vault.Stats](c.Out).Tokens = mortise.Count{}
		}
	}, "VaultStats")},
	{name: "counts tokens, and then deleted ones", breaks: "counter/one-moment", mutate: deletedOf("Stats", conformance.Seam, same)},
	{name: "counts tokens of a vault, and then deleted ones", breaks: "counter/one-moment",
		mutate: deletedOf("VaultStats", conformance.Seam, same)},
	{name: "counts tokens of all, and then deleted ones", breaks: "counter/one-moment", mutate: deletedOf("StatsAll", conformance.Seam, same)},
	{name: "loses what it counted", breaks: "counter/durable", reopen: empty, mutate: func(*mutant) {}},

	{name: "lists the youngest key first", breaks: "counter/old-keys", mutate: out(func(s *vault.AllStats) { slices.Reverse(s.Keys) })},
	{name: "counts what is sealed under older versions", breaks: "counter/old-keys", mutate: around(func(m *mutant, c *mutate.Call) {
		c.Go()
		usage, _ := m.db.KeyUsage(bg)
		old := 0
		for version, n := range usage.Sealed {
			if version < int(c.In[1].Int()) {
				old += n
			}
		}
		mutate.Get[vault.AllStats](c.Out).ToRewrap = mortise.CountUpTo(old, int(c.In[2].Int()))
	}, "StatsAll")},
	{name: "takes what is not required for retired", breaks: "counter/old-keys", mutate: everyTotal(
		func(m *mutant, totals *vault.AllStats, most int) {
			usage, _ := m.db.KeyUsage(bg)
			n := 0
			for _, k := range totals.Keys {
				if k.Purpose == keyring.FingerprintKey && !k.Required {
					n += usage.Fingerprints[k.Version]
				}
			}
			totals.ToRemove = mortise.CountUpTo(n, most)
		})},
}
