package sqlite

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Each number of these is counted by entries of an index, or is the sum of counts, each of
// which is one at least: so it needs no more of them than its limit says. A statement has
// one snapshot for all of its numbers.
const (
	// For an organization and a limit: vaults, scopes, tokens, and deleted ones.
	countVaults = "SELECT (SELECT count(*) FROM (" + someVaults + "))," +
		" (SELECT count(*) FROM (" + someScopes + "))," +
		" (SELECT ifnull(sum(n), 0) FROM (SELECT n FROM (" + someScopes + ") s" + tokensOfScope + " LIMIT 0 + ?2))," +
		" (SELECT count(*) FROM (SELECT 1 FROM (" + someVaults + ") v CROSS JOIN vault_tokens t" +
		" INDEXED BY vault_tokens_deleted ON t.vault = v.seq AND t.sealed IS NULL LIMIT 0 + ?2))"

	someVaults = "SELECT seq FROM vault_vaults WHERE organization = ?1" + orgIsThere + " LIMIT 0 + ?2"
	someScopes = "SELECT s.seq FROM (" + someVaults + ") v CROSS JOIN vault_scopes s ON s.vault = v.seq LIMIT 0 + ?2"

	// For an organization, a limit and a vault: one, scopes, tokens, and deleted ones; no
	// row if there is no such vault.
	countVault = "SELECT 1," +
		" (SELECT count(*) FROM (" + scopesOfVault + "))," +
		" (SELECT ifnull(sum(n), 0) FROM (SELECT n FROM (" + scopesOfVault + ") s" + tokensOfScope + " LIMIT 0 + ?2))," +
		" (SELECT count(*) FROM (SELECT 1 FROM vault_tokens INDEXED BY vault_tokens_deleted" +
		" WHERE vault = " + oneVault + " AND sealed IS NULL LIMIT 0 + ?2))" +
		" FROM vault_vaults WHERE organization = ?1 AND id = ?3" + orgIsThere

	oneVault      = "(SELECT seq FROM vault_vaults WHERE organization = ?1 AND id = ?3)"
	scopesOfVault = "SELECT seq FROM vault_scopes WHERE vault = " + oneVault + " LIMIT 0 + ?2"
	tokensOfScope = " CROSS JOIN vault_counts c ON c.scope = s.seq"

	// For a version that seals and a limit: vaults, tokens, deleted ones, those that are
	// sealed under another version, fingerprints of retired versions, and 0; then the
	// keys, and 1. What is sealed otherwise is found by a look at all counts.
	countAll = "SELECT (SELECT count(*) FROM (SELECT 1 FROM vault_vaults WHERE seq NOT IN (" + goneVaults + ") LIMIT 0 + ?2))," +
		" (SELECT ifnull(sum(n), 0) FROM (SELECT n FROM vault_counts WHERE scope NOT IN (" + goneScopes + ") LIMIT 0 + ?2))," +
		" (SELECT count(*) FROM (SELECT 1 FROM vault_tokens INDEXED BY vault_tokens_deleted" +
		" WHERE sealed IS NULL AND vault NOT IN (" + goneVaults + ") LIMIT 0 + ?2))," +
		" (SELECT ifnull(sum(n), 0) FROM (SELECT n FROM vault_counts WHERE sealed <> ?1 AND scope NOT IN (" + goneScopes + ") LIMIT 0 + ?2))," +
		" (SELECT count(*) FROM (SELECT 1 FROM vault_keys k CROSS JOIN vault_fingerprints f INDEXED BY vault_fingerprints_row" +
		" ON f.version = k.version WHERE k.purpose = 'fingerprint' AND k.retired = 1 AND f.scope NOT IN (" + goneScopes + ") LIMIT 0 + ?2)), 0" +
		" UNION ALL SELECT " + vaultKeyColumns + ", 1 FROM vault_keys"
)

// Stats implements [vault.Counter].
func (s *Vault) Stats(ctx context.Context, org string, most int) (stats vault.Stats, err error) {
	err = s.db.list(ctx, org, countVaults, []any{org, most + 1}, func(r *row) error {
		stats.Vaults = mortise.CountUpTo(r.number(0), most)
		stats.Tokens, stats.Deleted = tokenCounts(r, most)
		// The tokens of the first most+1 vaults were counted.
		stats.Tokens.More = stats.Tokens.More || stats.Vaults.More
		stats.Deleted.More = stats.Deleted.More || stats.Vaults.More
		return nil
	})
	if err != nil {
		return vault.Stats{}, err
	}
	return stats, nil
}

// tokenCounts returns the tokens, and those that were deleted. Those of the first most+1
// scopes were counted.
func tokenCounts(r *row, most int) (tokens, deleted mortise.Count) {
	tokens, deleted = mortise.CountUpTo(r.number(2), most), mortise.CountUpTo(r.number(3), most)
	tokens.More = tokens.More || r.number(1) > most
	return tokens, deleted
}

// VaultStats implements [vault.Counter].
func (s *Vault) VaultStats(ctx context.Context, org, id string, most int) (stats vault.Stats, err error) {
	found := false
	err = s.db.list(ctx, org, countVault, []any{org, most + 1, id}, func(r *row) error {
		found = true
		stats.Tokens, stats.Deleted = tokenCounts(r, most)
		return nil
	})
	if err == nil && !found {
		err = mortise.ErrNotFound
	}
	if err != nil {
		return vault.Stats{}, err
	}
	return stats, nil
}

// StatsAll implements [vault.Counter].
func (s *Vault) StatsAll(ctx context.Context, seal, most int) (totals vault.AllStats, err error) {
	err = s.db.list(ctx, noOrg, countAll, []any{seal, most + 1}, func(r *row) error {
		if r.number(5) == 1 {
			totals.Keys = append(totals.Keys, scanVaultKey(r))
			return nil
		}
		for i, count := range []*mortise.Count{
			&totals.Vaults, &totals.Tokens, &totals.Deleted, &totals.ToRewrap, &totals.ToRemove,
		} {
			*count = mortise.CountUpTo(r.number(i), most)
		}
		return nil
	})
	if err != nil {
		return vault.AllStats{}, err
	}
	slices.SortFunc(totals.Keys, func(a, b keyring.Key) int { // a union promises no order
		return cmp.Or(strings.Compare(string(a.Purpose), string(b.Purpose)), cmp.Compare(a.Version, b.Version))
	})
	return totals, nil
}
