package sqlite

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
)

// manyTokens opens a file in which an organization has so many tokens in ten scopes, of
// which every hundredth was deleted, and as many vaults and scopes without tokens.
func manyTokens(t testing.TB, tokens, empty int) *DB {
	db, err := Open(t.Context(), EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	const rows = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) INSERT INTO "
	require.NoError(t, db.writer.write(t.Context(), func(tx *tx) error {
		for _, s := range []struct {
			statement string
			n         int
		}{
			{"vault_vaults SELECT i, 'acme', 'v' || i, 1, i, i, '{}' FROM n", 1 + empty},
			{"vault_scopes SELECT i, 1 + max(i - 10, 0), 'scope' || i FROM n", 10 + empty},
			{"vault_tokens SELECT i, 1, 'token' || i, i % 10 + 1, i % 3 > 0, i, iif(i % 100, 1, NULL), iif(i % 100, zeroblob(60), NULL) FROM n", tokens},
		} {
			if _, err := tx.exec(rows+s.statement, s.n); err != nil {
				return err
			}
		}
		_, err := tx.exec("INSERT INTO vault_counts " + recount)
		return err
	}))
	return db
}

// TestVaultStatsOfMany: a number that is just the limit is exact, and beyond it there is
// "at least".
func TestVaultStatsOfMany(t *testing.T) {
	db := &Vault{db: manyTokens(t, 1000, 0)}
	exactly := func(n int) mortise.Count { return mortise.Count{N: n} }
	for most, want := range map[int]vault.Stats{
		990: {Vaults: exactly(1), Tokens: exactly(990), Deleted: exactly(10)},
		989: {Vaults: exactly(1), Tokens: mortise.Count{N: 989, More: true}, Deleted: exactly(10)},
		10:  {Vaults: exactly(1), Tokens: mortise.Count{N: 10, More: true}, Deleted: exactly(10)},
		9:   {Vaults: exactly(1), Tokens: mortise.Count{N: 9, More: true}, Deleted: mortise.Count{N: 9, More: true}},
	} {
		stats, err := db.Stats(t.Context(), "acme", most)
		require.NoError(t, err)
		require.Equal(t, want, stats)
		one, err := db.VaultStats(t.Context(), "acme", "v1", most)
		require.NoError(t, err)
		require.Equal(t, vault.Stats{Tokens: want.Tokens, Deleted: want.Deleted}, one)
		all, err := db.StatsAll(t.Context(), 2, most)
		require.NoError(t, err)
		require.Equal(t, vault.AllStats{Vaults: want.Vaults, Tokens: want.Tokens, Deleted: want.Deleted, ToRewrap: want.Tokens}, all)
	}
}

// TestVaultStatsOfManyScopes: what is not counted for the number of vaults or scopes
// alone is said to be more.
func TestVaultStatsOfManyScopes(t *testing.T) {
	db := &Vault{db: manyTokens(t, 1000, 50)}
	stats, err := db.Stats(t.Context(), "acme", 50) // one vault too many
	require.NoError(t, err)
	require.Equal(t, vault.Stats{
		Vaults: mortise.Count{N: 50, More: true}, Tokens: mortise.Count{N: 50, More: true}, Deleted: mortise.Count{N: 10, More: true},
	}, stats)
	stats, err = db.Stats(t.Context(), "acme", 55) // five scopes too many
	require.NoError(t, err)
	require.Equal(t, vault.Stats{
		Vaults: mortise.Count{N: 51}, Tokens: mortise.Count{N: 55, More: true}, Deleted: mortise.Count{N: 10},
	}, stats)
	one, err := db.VaultStats(t.Context(), "acme", "v1", 9) // one scope too many
	require.NoError(t, err)
	require.True(t, one.Tokens.More)
	one, err = db.VaultStats(t.Context(), "acme", "v7", 1)
	require.NoError(t, err)
	require.Zero(t, one)
}

// BenchmarkVaultStats: what a service asks, of an organization with so many tokens, and
// as many scopes without.
func BenchmarkVaultStats(b *testing.B) {
	for _, n := range []struct{ tokens, empty int }{{1000, 0}, {1_000_000, 0}, {1000, 100_000}} {
		b.Run(fmt.Sprintf("tokens=%d/empty=%d", n.tokens, n.empty), func(b *testing.B) {
			db := &Vault{db: manyTokens(b, n.tokens, n.empty)}
			b.Run("Stats", func(b *testing.B) {
				for b.Loop() {
					_, err := db.Stats(b.Context(), "acme", mortise.MaxCount)
					require.NoError(b, err)
				}
			})
			b.Run("VaultStats", func(b *testing.B) {
				for b.Loop() {
					_, err := db.VaultStats(b.Context(), "acme", "v1", mortise.MaxCount)
					require.NoError(b, err)
				}
			})
			b.Run("StatsAll", func(b *testing.B) {
				for b.Loop() {
					_, err := db.StatsAll(b.Context(), 1, mortise.MaxCount)
					require.NoError(b, err)
				}
			})
		})
	}
}
