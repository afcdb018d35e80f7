package sqlite

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// plannedVault opens a database with some thousands of rows of package vault.
func plannedVault(t *testing.T) *DB {
	t.Helper()
	db, err := Open(t.Context(), EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	const rows = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000) INSERT INTO "
	require.NoError(t, db.writer.write(t.Context(), func(tx *tx) error {
		for _, statement := range []string{
			"vault_vaults SELECT i, 'org' || (i % 3), 'vault' || i, 1, i, i, '{}' FROM n WHERE i <= 40",
			"vault_scopes SELECT i, i % 40 + 1, 'scope' || i FROM n WHERE i <= 400",
			"vault_tokens SELECT i, i % 40 + 1, 'token' || i, i % 400 + 1, i % 10 > 0, i, iif(i % 20, 1, NULL), iif(i % 20, x'00', NULL) FROM n",
			"vault_counts SELECT i, 1, 1, 1 FROM n WHERE i <= 400",
			"vault_fingerprints SELECT randomblob(32), i % 400 + 1, 1 + i % 2, i, 'token' || i FROM n",
			"vault_keys SELECT iif(i % 2, 'seal', 'fingerprint'), i, x'00', 0, 0 FROM n WHERE i <= 6",
			"vault_audit SELECT i, randomblob(16), 'org' || (i % 3), i, 'x', 'x', 'vault' || (i % 40), NULL, NULL FROM n",
		} {
			if _, err := tx.exec(rows + statement); err != nil {
				return err
			}
		}
		return nil
	}))
	return db
}

// TestPlansOfVault: no statement reads a whole table, and those that take the first of
// many rows find them in the order of an index.
func TestPlansOfVault(t *testing.T) {
	db := plannedVault(t)
	const (
		vaults   = "USING INDEX sqlite_autoindex_vault_vaults_1 (organization=? AND id=?)"
		covering = "USING COVERING INDEX sqlite_autoindex_vault_vaults_1 (organization=? AND id=?)"
		tokens   = "USING INDEX sqlite_autoindex_vault_tokens_1 (vault=? AND token=?)"
		key      = "USING PRIMARY KEY (fingerprint=? AND scope=? AND version=?)"
		ofRow    = "USING COVERING INDEX vault_fingerprints_row (version=? AND row=?)"
	)
	for _, c := range []struct{ statement, uses string }{
		{vaultByID, vaults},
		{vaultRevision, vaults},
		{vaultsAfter, "USING INDEX sqlite_autoindex_vault_vaults_1 (organization=? AND id>?)"},
		{insertVault, ""},
		{updateVault, "INTEGER PRIMARY KEY"},
		{scopeByName, "COVERING INDEX sqlite_autoindex_vault_scopes_1 (vault=? AND name=?)"},
		{insertScope, ""},
		{scopeHasValues, "vault_counts USING PRIMARY KEY (scope=? AND deterministic=?)"},
		{countSealed, ""},
		{dropCount, "vault_counts USING PRIMARY KEY (scope=? AND deterministic=? AND sealed=?)"},
		{findInScope, "vault_fingerprints " + key},
		{findInScope, "vault_numbers USING INTEGER PRIMARY KEY (rowid<?)"},
		{findOneInScope, key},
		{scopeOfVault, "vault_vaults " + vaults},
		{scopeOfVault, "s USING COVERING INDEX sqlite_autoindex_vault_scopes_1 (vault=? AND name=?)"},
		{findTokens, "f " + key},
		{findTokens, "vault_numbers USING INTEGER PRIMARY KEY (rowid<?)"},
		{findTokens, "s USING COVERING INDEX sqlite_autoindex_vault_scopes_1 (vault=? AND name=?)"},
		{rowsOfTokens, "t " + tokens},
		{rowsOfTokens, "v " + covering},
		{rowsAfterToken, "t USING INDEX sqlite_autoindex_vault_tokens_1 (vault=? AND token>?)"},
		{liveToken, "t " + tokens},
		{liveToken, "vault_vaults " + covering},
		{buryToken, "INTEGER PRIMARY KEY"},
		{deleteFingerprints, "vault_fingerprints USING INDEX vault_fingerprints_row (version=? AND row=?)"},
		{lastVaultRow, ""},
		{insertVaultRow, ""},
		{insertFingerprint, ""},
		{undoFingerprint, "vault_fingerprints " + ofRow},
		{undoVaultRow, "INTEGER PRIMARY KEY (rowid=?)"},
		{rowByFingerprint, key},
		{rowOfToken, "vault_tokens " + tokens},
		{tokenIsTaken, "COVERING INDEX sqlite_autoindex_vault_tokens_1 (vault=? AND token=?)"},
		{vaultKeyByID, "PRIMARY KEY (purpose=? AND version=?)"},
		{insertVaultKey, ""},
		{requireVaultKey, "PRIMARY KEY (purpose=? AND version=?)"},
		{retireVaultKey, "PRIMARY KEY (purpose=? AND version=?)"},
		{sealedUnder, "SCAN vault_counts"},
		{rowsWithoutFingerprint, "t USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
		{rowsWithoutFingerprint, "f " + ofRow},
		{rowsNotSealedUnder, "t USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
		{nameOfScope, "INTEGER PRIMARY KEY"},
		{fingerprintRowAt, "vault_tokens USING INTEGER PRIMARY KEY (rowid=?)"},
		{resealRowAt, "vault_tokens USING INTEGER PRIMARY KEY (rowid=?)"},
		{placeOfRow, "t " + tokens},
		{placeOfRow, "f " + ofRow},
		{removeFingerprints, "vault_fingerprints " + key},
		{removeFingerprints, "COVERING INDEX vault_fingerprints_row (version=?)"},
		{insertVaultAudit, ""},
		{pruneVaultAudit, "vault_audit_time (at<?)"},
		{addVaultAudit, "vault_deleted_vaults USING PRIMARY KEY (organization=? AND id=?)"},
		{addVaultAudit, "vault_deleted_orgs USING PRIMARY KEY (organization=?)"},
		{scopeOfVault, "d USING PRIMARY KEY (organization=?)"},
		{deletedVaultOrg, "PRIMARY KEY (organization=?)"},
		{deletedVault, "PRIMARY KEY (organization=? AND id=?)"},
		{isDeleted, "PRIMARY KEY (organization=? AND id=?)"},
		{hideVault, "INTEGER PRIMARY KEY"},
		{vaultEventByID, "vault_audit_listing (organization=? AND at=? AND id=?)"},
		{nothingIsLeft, "PRIMARY KEY (organization=?)"},
		{hiddenVault, covering},
		{anyVault, "sqlite_autoindex_vault_vaults_1 (organization=?)"},
		{tokenToRemove, "COVERING INDEX sqlite_autoindex_vault_tokens_1 (vault=?)"},
		{tokensToRemove, "vault_tokens USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
		{goneFingerprints, "COVERING INDEX vault_fingerprints_row (version=?)"},
		{scopesToRemove, "COVERING INDEX sqlite_autoindex_vault_scopes_1 (vault=?)"},
		{eventsToRemove, "vault_audit_listing (organization=?)"},
		{removeFingerprintsOf, "f " + ofRow},
		{removeFingerprintsOf, "vault_fingerprints " + key},
		{removeTokens, "INTEGER PRIMARY KEY"},
		{removeScopes, "INTEGER PRIMARY KEY"},
		{removeEvents, "INTEGER PRIMARY KEY"},
		{removeVault, "INTEGER PRIMARY KEY"},
		{removeMarks, "PRIMARY KEY (organization=?)"},
	} {
		plan := db.plan(t, c.statement)
		t.Log(c.statement, "\n    ", strings.Join(plan, "\n     "))
		requireNoScan(t, c.statement, slices.DeleteFunc(slices.Clone(plan), smallScan))
		requireNoSort(t, c.statement, plan)
		assert.Contains(t, strings.Join(plan, "\n"), c.uses, c.statement)
	}
}

// smallScan reports whether a line is about what is read as a whole because it is small,
// or was found by the statement itself: lists of the call, pages, the versions that are
// stored, the counts of tokens (when a key that seals is retired).
func smallScan(line string) bool {
	switch line {
	case "SCAN json_each VIRTUAL TABLE INDEX 1:", "SCAN asked", "SCAN l", "SCAN page", "SCAN vault_counts", "SCAN s", "SCAN j VIRTUAL TABLE INDEX 1:", "SCAN stored", "SCAN CONSTANT ROW":
		return true
	}
	return strings.HasPrefix(line, "SCAN (subquery-")
}

// TestPlanOfKeyUsage: what counts everything reads indexes only, not the ciphertexts, and
// all before the first row, so that a context can end it.
func TestPlanOfKeyUsage(t *testing.T) {
	plan := strings.Join(plannedVault(t).plan(t, vaultKeyUsage), "\n")
	require.True(t, strings.HasPrefix(plan, "MATERIALIZE counted\n"), plan)
	require.Contains(t, plan, "SCAN vault_counts")
	require.NotContains(t, plan, "SCAN vault_tokens")
	require.Contains(t, plan, "SCAN vault_fingerprints USING COVERING INDEX vault_fingerprints_row")
}
