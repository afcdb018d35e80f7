package postgres

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Each number of these is counted by entries of an index, and no further than a limit. A
// statement has one snapshot for all of its numbers.
const (
	// For an organization and a limit: vaults, scopes, tokens, and deleted ones.
	countVaults = "SELECT (SELECT count(*) FROM (" + someVaults + ") v)," +
		" (SELECT count(*) FROM (" + someScopes + ") s)," +
		" (SELECT count(*) FROM (SELECT FROM (" + someScopes + ") s" + tokensOfScope + " LIMIT $2) t)," +
		" (SELECT count(*) FROM (SELECT FROM (" + someVaults + ") v" + deletedOfVault + " LIMIT $2) t)"

	someVaults = "SELECT v.seq FROM @.vault_vaults v WHERE v.organization = $1" + vaultIsThere + " LIMIT $2"
	someScopes = "SELECT s.seq FROM (" + someVaults + ") v JOIN @.vault_scopes s ON s.vault = v.seq LIMIT $2"

	// For an organization, a limit and a vault: scopes, tokens, and deleted ones; no row if
	// there is no such vault.
	countVault = "SELECT (SELECT count(*) FROM (" + scopesOfVault + ") s)," +
		" (SELECT count(*) FROM (SELECT FROM (" + scopesOfVault + ") s" + tokensOfScope + " LIMIT $2) t)," +
		" (SELECT count(*) FROM (SELECT FROM @.vault_tokens WHERE vault = v.seq AND sealed IS NULL LIMIT $2) t)" +
		" FROM @.vault_vaults v WHERE v.organization = $1 AND v.id = $3" + vaultIsThere

	scopesOfVault  = "SELECT seq FROM @.vault_scopes WHERE vault = v.seq LIMIT $2"
	tokensOfScope  = " CROSS JOIN LATERAL (SELECT FROM @.vault_tokens WHERE scope = s.seq AND sealed IS NOT NULL LIMIT $2) t"
	deletedOfVault = " CROSS JOIN LATERAL (SELECT FROM @.vault_tokens WHERE vault = v.seq AND sealed IS NULL LIMIT $2) t"

	// For a version that seals and a limit: vaults, tokens, deleted ones, those that are
	// sealed under another version, and fingerprints of retired versions; then the keys.
	countAll = "SELECT (SELECT count(*) FROM (SELECT FROM @.vault_vaults WHERE deleted_at IS NULL AND seq NOT IN (" + goneVaults + ") LIMIT $2) v)," +
		" (SELECT count(*) FROM (SELECT FROM @.vault_tokens WHERE sealed IS NOT NULL AND scope NOT IN (" + goneScopes + ") LIMIT $2) t)," +
		" (SELECT count(*) FROM (SELECT FROM @.vault_tokens WHERE sealed IS NULL AND vault NOT IN (" + goneVaults + ") LIMIT $2) t)," +
		" (SELECT count(*) FROM (SELECT FROM @.vault_scopes s CROSS JOIN (VALUES (false), (true)) AS d (deterministic) CROSS JOIN LATERAL (" +
		"(" + sealedBeside + "< $1 LIMIT $2) UNION ALL (" + sealedBeside + "> $1 LIMIT $2)) t" +
		" WHERE s.vault NOT IN (" + goneVaults + ") LIMIT $2) t)," +
		" (SELECT count(*) FROM (SELECT FROM @.vault_keys k CROSS JOIN LATERAL (SELECT FROM @.vault_fingerprints" +
		" WHERE version = k.version AND scope NOT IN (" + goneScopes + ") LIMIT $2) f" +
		" WHERE k.purpose = 'fingerprint' AND k.retired LIMIT $2) f)," +
		" ARRAY(SELECT purpose" + keysInOrder + "), ARRAY(SELECT version" + keysInOrder + "), ARRAY(SELECT check_value" + keysInOrder + ")," +
		" ARRAY(SELECT required" + keysInOrder + "), ARRAY(SELECT retired" + keysInOrder + ")"

	sealedBeside = "SELECT FROM @.vault_tokens t WHERE t.scope = s.seq AND t.deterministic = d.deterministic AND t.sealed "
	keysInOrder  = " FROM @.vault_keys ORDER BY purpose, version"
)

// Stats implements [vault.Counter].
func (s *Vault) Stats(ctx context.Context, org string, most int) (stats vault.Stats, err error) {
	var vaults, scopes, tokens, deleted int
	err = s.db.read(ctx, org, func(q *session) error {
		return q.row(countVaults, []any{bytes(org), most + 1}, &vaults, &scopes, &tokens, &deleted)
	})
	if err != nil {
		return vault.Stats{}, err
	}
	stats.Vaults = mortise.CountUpTo(vaults, most)
	stats.Tokens, stats.Deleted = tokenCounts(scopes, tokens, deleted, most)
	// The tokens of the first most+1 vaults were counted.
	stats.Tokens.More = stats.Tokens.More || stats.Vaults.More
	stats.Deleted.More = stats.Deleted.More || stats.Vaults.More
	return stats, nil
}

// tokenCounts returns the tokens, and those that were deleted. Those of the first most+1
// scopes were counted.
func tokenCounts(scopes, n, gone, most int) (tokens, deleted mortise.Count) {
	tokens, deleted = mortise.CountUpTo(n, most), mortise.CountUpTo(gone, most)
	tokens.More = tokens.More || scopes > most
	return tokens, deleted
}

// VaultStats implements [vault.Counter].
func (s *Vault) VaultStats(ctx context.Context, org, id string, most int) (stats vault.Stats, err error) {
	var scopes, tokens, deleted int
	err = s.db.read(ctx, org, func(q *session) error {
		return q.row(countVault, []any{bytes(org), most + 1, bytes(id)}, &scopes, &tokens, &deleted)
	})
	if isNoRow(err) {
		err = mortise.ErrNotFound
	}
	if err != nil {
		return vault.Stats{}, err
	}
	stats.Tokens, stats.Deleted = tokenCounts(scopes, tokens, deleted, most)
	return stats, nil
}

// StatsAll implements [vault.Counter].
func (s *Vault) StatsAll(ctx context.Context, seal, most int) (totals vault.AllStats, err error) {
	var counts [5]int
	var purposes []string
	var versions []int
	var checks [][]byte
	var required, retired []bool
	err = s.db.read(ctx, noOrg, func(q *session) error {
		return q.row(countAll, []any{seal, most + 1}, &counts[0], &counts[1], &counts[2], &counts[3], &counts[4],
			&purposes, &versions, &checks, &required, &retired)
	})
	if err != nil {
		return vault.AllStats{}, err
	}
	for i, count := range []*mortise.Count{&totals.Vaults, &totals.Tokens, &totals.Deleted, &totals.ToRewrap, &totals.ToRemove} {
		*count = mortise.CountUpTo(counts[i], most)
	}
	for i := range purposes {
		k := keyring.Key{Purpose: keyring.Purpose(purposes[i]), Version: versions[i], Required: required[i], Retired: retired[i]}
		copy(k.Check[:], checks[i])
		totals.Keys = append(totals.Keys, k)
	}
	return totals, nil
}
