package vaulttest_test

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Stats is that of the mutant.
func (m *mutant) Stats(ctx context.Context, org string, most int) (vault.Stats, error) {
	if err := m.fail(); err != nil {
		return vault.Stats{}, err
	}
	return m.stats(ctx, org, most)
}

// VaultStats is that of the mutant.
func (m *mutant) VaultStats(ctx context.Context, org, id string, most int) (vault.Stats, error) {
	if err := m.fail(); err != nil {
		return vault.Stats{}, err
	}
	return m.vaultStats(ctx, org, id, most)
}

// StatsAll is that of the mutant.
func (m *mutant) StatsAll(ctx context.Context, seal, most int) (vault.AllStats, error) {
	if err := m.fail(); err != nil {
		return vault.AllStats{}, err
	}
	return m.statsAll(ctx, seal, most)
}

// everyCount applies change to the tokens and the deleted ones that the mutant has
// counted.
func (m *mutant) everyCount(change func(tokens, deleted *mortise.Count, most int)) {
	m.everyStats(func(s *vault.Stats, most int) { change(&s.Tokens, &s.Deleted, most) })
	one := m.vaultStats
	m.vaultStats = func(ctx context.Context, org, id string, most int) (vault.Stats, error) {
		got, err := one(ctx, org, id, most)
		change(&got.Tokens, &got.Deleted, most)
		return got, err
	}
	m.everyTotal(func(got *vault.AllStats, most int) { change(&got.Tokens, &got.Deleted, most) })
}

// everyStats applies change to what Stats returns.
func (m *mutant) everyStats(change func(s *vault.Stats, most int)) {
	stats := m.stats
	m.stats = func(ctx context.Context, org string, most int) (vault.Stats, error) {
		got, err := stats(ctx, org, most)
		change(&got, most)
		return got, err
	}
}

// everyTotal applies change to what StatsAll returns.
func (m *mutant) everyTotal(change func(totals *vault.AllStats, most int)) {
	all := m.statsAll
	m.statsAll = func(ctx context.Context, seal, most int) (vault.AllStats, error) {
		got, err := all(ctx, seal, most)
		change(&got, most)
		return got, err
	}
}

// statsMutants count wrong.
var statsMutants = []broken{
	{name: "does not know who has nothing", breaks: []string{"counter/nothing"}, mutate: func(m *mutant) {
		m.stats = func(ctx context.Context, org string, most int) (vault.Stats, error) {
			got, err := m.db.Stats(ctx, org, most)
			if err == nil && got == (vault.Stats{}) {
				err = vault.ErrNotFound
			}
			return got, err
		}
	}},
	{name: "counts nothing in a vault that is not there", breaks: []string{"counter/nothing"}, mutate: func(m *mutant) {
		m.vaultStats = func(ctx context.Context, org, id string, most int) (vault.Stats, error) {
			got, err := m.db.VaultStats(ctx, org, id, most)
			if errors.Is(err, vault.ErrNotFound) {
				err = nil
			}
			return got, err
		}
	}},
	{name: "counts a vault as one of itself", breaks: []string{"counter/of-organization"}, mutate: func(m *mutant) {
		m.vaultStats = func(ctx context.Context, org, id string, most int) (vault.Stats, error) {
			got, err := m.db.VaultStats(ctx, org, id, most)
			if err == nil {
				got.Vaults.N = 1
			}
			return got, err
		}
	}},
	{name: "counts tokens that were deleted as those that are there", breaks: []string{"counter/tokens"}, mutate: func(m *mutant) {
		m.everyCount(func(tokens, deleted *mortise.Count, most int) { *tokens = mortise.CountUpTo(tokens.N+deleted.N, most) })
	}},
	{name: "counts insertions", breaks: []string{"counter/tokens"}, mutate: func(m *mutant) {
		found := 0
		insert := m.insertTokens
		m.insertTokens = func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			tokens, err := insert(ctx, org, id, revision, rows)
			for i := range tokens {
				if tokens[i] != rows[i].Token {
					found++
				}
			}
			return tokens, err
		}
		m.everyCount(func(tokens, _ *mortise.Count, _ int) { tokens.N += found })
	}},
	{name: "counts deterministic tokens only", breaks: []string{"counter/tokens"}, mutate: func(m *mutant) {
		m.everyStats(func(s *vault.Stats, _ int) {
			for _, r := range m.rowsOf(context.Background(), "org-a", "customers") {
				if !r.Deterministic {
					s.Tokens.N--
				}
			}
		})
	}},
	{name: "counts what organizations have that are alike", breaks: []string{"counter/of-organization"}, mutate: func(m *mutant) {
		m.stats = func(ctx context.Context, org string, most int) (vault.Stats, error) {
			return m.db.Stats(ctx, strings.ToLower(org), most)
		}
	}},
	{name: "counts what vaults have that are alike", breaks: []string{"counter/of-organization"}, mutate: func(m *mutant) {
		m.vaultStats = func(ctx context.Context, org, id string, most int) (vault.Stats, error) {
			return m.db.VaultStats(ctx, org, strings.TrimRight(id, " "), most)
		}
	}},
	{name: "counts what all organizations have but one", breaks: []string{"counter/of-organization"}, mutate: func(m *mutant) {
		m.everyTotal(func(totals *vault.AllStats, most int) {
			one, _ := m.db.Stats(context.Background(), "acme", most)
			totals.Vaults.N -= one.Vaults.N
		})
	}},
	{name: "says more when it is just most", breaks: []string{"counter/most"}, mutate: func(m *mutant) {
		m.everyCount(func(tokens, _ *mortise.Count, most int) { tokens.More = tokens.N >= most })
	}},
	{name: "counts deleted tokens to the end", breaks: []string{"counter/most", "counter/most-vaults"}, mutate: func(m *mutant) {
		m.stats = func(ctx context.Context, org string, most int) (vault.Stats, error) {
			got, err := m.db.Stats(ctx, org, most)
			whole, _ := m.db.Stats(ctx, org, 1_000_000)
			got.Deleted = whole.Deleted
			return got, err
		}
	}},
	{name: "counts all vaults to the end", breaks: []string{"counter/most"}, mutate: func(m *mutant) {
		m.statsAll = func(ctx context.Context, seal, most int) (vault.AllStats, error) {
			got, err := m.db.StatsAll(ctx, seal, most)
			whole, _ := m.db.StatsAll(ctx, seal, 1_000_000)
			got.Vaults = whole.Vaults
			return got, err
		}
	}},
	{name: "takes the tokens of the first vaults for all", breaks: []string{"counter/most-vaults"}, mutate: func(m *mutant) {
		m.everyStats(func(s *vault.Stats, _ int) {
			if s.Vaults.More {
				s.Tokens = mortise.Count{}
			}
		})
	}},
	{name: "takes the tokens of the first scope for all", breaks: []string{"counter/most-vaults"}, mutate: func(m *mutant) {
		m.vaultStats = func(ctx context.Context, org, id string, most int) (vault.Stats, error) {
			got, err := m.db.VaultStats(ctx, org, id, most)
			if most < 4 {
				got.Tokens = mortise.Count{}
			}
			return got, err
		}
	}},
	{name: "counts tokens, and then deleted ones", breaks: []string{"counter/one-moment"}, mutate: func(m *mutant) {
		m.stats = func(ctx context.Context, org string, most int) (vault.Stats, error) {
			got, err := m.db.Stats(ctx, org, most)
			conformance.Seam()
			later, _ := m.db.Stats(ctx, org, most)
			got.Deleted = later.Deleted
			return got, err
		}
	}},
	{name: "counts tokens of a vault, and then deleted ones", breaks: []string{"counter/one-moment"}, mutate: func(m *mutant) {
		m.vaultStats = func(ctx context.Context, org, id string, most int) (vault.Stats, error) {
			got, err := m.db.VaultStats(ctx, org, id, most)
			conformance.Seam()
			later, _ := m.db.VaultStats(ctx, org, id, most)
			got.Deleted = later.Deleted
			return got, err
		}
	}},
	{name: "counts tokens of all, and then deleted ones", breaks: []string{"counter/one-moment"}, mutate: func(m *mutant) {
		m.statsAll = func(ctx context.Context, seal, most int) (vault.AllStats, error) {
			got, err := m.db.StatsAll(ctx, seal, most)
			conformance.Seam()
			later, _ := m.db.StatsAll(ctx, seal, most)
			got.Deleted = later.Deleted
			return got, err
		}
	}},
	{name: "loses what it counted", breaks: []string{"counter/durable"}, reopen: empty, mutate: func(*mutant) {}},

	{name: "lists the youngest key first", breaks: []string{"counter/old-keys"}, mutate: func(m *mutant) {
		m.everyTotal(func(totals *vault.AllStats, _ int) { slices.Reverse(totals.Keys) })
	}},
	{name: "counts what is sealed under older versions", breaks: []string{"counter/old-keys"}, mutate: func(m *mutant) {
		m.statsAll = func(ctx context.Context, seal, most int) (vault.AllStats, error) {
			got, err := m.db.StatsAll(ctx, seal, most)
			usage, _ := m.db.KeyUsage(ctx)
			old := 0
			for version, n := range usage.Sealed {
				if version < seal {
					old += n
				}
			}
			got.ToRewrap = mortise.CountUpTo(old, most)
			return got, err
		}
	}},
	{name: "takes what is not required for retired", breaks: []string{"counter/old-keys"}, mutate: func(m *mutant) {
		m.everyTotal(func(totals *vault.AllStats, most int) {
			usage, _ := m.db.KeyUsage(context.Background())
			n := 0
			for _, k := range totals.Keys {
				if k.Purpose == keyring.FingerprintKey && !k.Required {
					n += usage.Fingerprints[k.Version]
				}
			}
			totals.ToRemove = mortise.CountUpTo(n, most)
		})
	}},
}
