package sqlite

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// plannedAuthMgmt opens a database with some thousands of rows of package authmgmt.
func plannedAuthMgmt(t *testing.T) *DB {
	t.Helper()
	db, err := Open(t.Context(), EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	const rows = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000) INSERT INTO "
	require.NoError(t, db.writer.write(t.Context(), func(tx *tx) error {
		for _, statement := range []string{
			"authmgmt_clients SELECT 'org' || (i % 3), 'client' || i, 'x', '', i, i, iif(i % 10 = 0, i, NULL) FROM n",
			"authmgmt_secrets SELECT sha(i), randomblob(16), 'org' || (i % 3), 'client' || i, 0, i, NULL FROM n",
			"authmgmt_tokens SELECT randomblob(32), randomblob(16), 'org' || (i % 3), 'x', 'client' || i, sha(i), NULL, i, i, NULL FROM n",
			"authmgmt_invitations SELECT 'org' || (i % 3), 'i' || i, 'x', 'x', i, 'x', '', 0, i, 0, i, NULL, iif(i % 2, i, NULL), 'x'," +
				" iif(i % 20, i, NULL), i, 1, 0, i FROM n",
			"authmgmt_audit SELECT i, randomblob(16), 'org' || (i % 3), i, 'x', 'x', i % 100, NULL, NULL FROM n",
			"authmgmt_deleted SELECT 'gone' || i, i, NULL FROM n",
		} {
			statement = strings.ReplaceAll(statement, "sha(i)", "CAST(printf('%032d', i) AS BLOB)")
			if _, err := tx.exec(rows + statement); err != nil {
				return err
			}
		}
		return nil
	}))
	return db
}

// TestPlansOfAuthMgmt: no statement reads a whole table, and those that take the first of
// many rows find them in the order of an index.
func TestPlansOfAuthMgmt(t *testing.T) {
	db := plannedAuthMgmt(t)
	for _, c := range []struct{ statement, uses string }{
		{clientByID, "c USING PRIMARY KEY (organization=? AND id=?)"},
		{clientByID, "s USING INDEX authmgmt_secrets_client (organization=? AND client=?)"},
		{clientBySecret, "k USING PRIMARY KEY (digest=?)"},
		{clientBySecret, "s USING INDEX authmgmt_secrets_client (organization=? AND client=?)"},
		{insertClient, ""},
		{updateClient, "PRIMARY KEY (organization=? AND id=?)"},
		{deleteClient, "PRIMARY KEY (organization=? AND id=?)"},
		{secretByDigest, "PRIMARY KEY (digest=?)"},
		{insertSecret, ""},
		{updateSecret, "PRIMARY KEY (digest=?)"},
		{deleteSecret, "PRIMARY KEY (digest=?)"},
		{tokenByDigest, "t USING PRIMARY KEY (digest=?)"},
		{tokenByDigest, "c USING PRIMARY KEY (organization=? AND id=?)"},
		{tokenByID, "sqlite_autoindex_authmgmt_tokens_2 (id=?)"},
		{insertToken, ""},
		{clientSecret, "PRIMARY KEY (digest=?)"},
		{revokeToken, "sqlite_autoindex_authmgmt_tokens_2 (id=?)"},
		{"DELETE FROM authmgmt_tokens WHERE secret = ?", "authmgmt_tokens_secret (secret=?)"}, // what ON DELETE CASCADE does
		{invitationByID, "PRIMARY KEY (organization=? AND id=?)"},
		{insertInvitation, ""},
		{updateInvitation, "PRIMARY KEY (organization=? AND id=?)"},
		{invitationID, "PRIMARY KEY (organization=? AND id=?)"},
		{pendingByEmail, "authmgmt_invitations_email (organization=? AND email_key=? AND expires_at>?)"},
		{insertAudit, ""},
		{rbacOf, "PRIMARY KEY"},
		{setRBAC, ""},
		{keyChecks, "PRIMARY KEY"},
		{putKeyChecks, ""},
		{pruneAudit, "authmgmt_audit_time (at<?)"},
		{pruneTokens, "authmgmt_tokens_expiry (expires_at<?)"},
		{pruneInvitations, "authmgmt_invitations_ended (ended_at<?)"},
		{markDeleted, ""},
		{noteEvent, ""},
		{deletedAt, ""},
		{eventOfDeleted, "SEARCH authmgmt_audit USING INTEGER PRIMARY KEY (rowid=?)"},
		{anythingLeft, "authmgmt_invitations USING COVERING INDEX authmgmt_invitations_listing (organization=?)"},
		{anythingLeft, "authmgmt_tokens USING COVERING INDEX authmgmt_tokens_listing (organization=?)"},
		{anythingLeft, "authmgmt_secrets USING COVERING INDEX authmgmt_secrets_client (organization=?)"},
		{anythingLeft, "authmgmt_clients USING PRIMARY KEY (organization=?)"},
		{anythingLeft, "authmgmt_audit USING COVERING INDEX authmgmt_audit_listing (organization=?)"},
		{removals[0], "authmgmt_invitations_listing (organization=?)"},
		{removals[1], "authmgmt_tokens_listing (organization=?)"},
		{removals[2], "authmgmt_secrets_client (organization=?)"},
		{removals[3], "PRIMARY KEY (organization=?)"},
		{removals[4], "authmgmt_audit_listing (organization=?)"},
		{removals[5], "PRIMARY KEY (id=?)"},
	} {
		plan := withoutMark(db.plan(t, c.statement))
		t.Log(c.statement, "\n    ", strings.Join(plan, "\n     "))
		requireNoScan(t, c.statement, plan)
		requireNoSort(t, c.statement, plan)
		assert.Contains(t, strings.Join(plan, "\n"), c.uses, c.statement)
	}
}

// TestPlansOfAuthMgmtLists: a page is read from an index in its order, from its position
// on and as far as it goes, and the total, if there is one, is counted in the index. Only
// the rows of the page are sorted once more.
func TestPlansOfAuthMgmtLists(t *testing.T) {
	db := plannedAuthMgmt(t)
	for uses, list := range map[string]placedList{
		"SEARCH authmgmt_clients USING COVERING INDEX authmgmt_clients_listing (organization=?%s)":         clientsOf,
		"SEARCH authmgmt_tokens USING COVERING INDEX authmgmt_tokens_listing (organization=?%s)":           tokensOf,
		"SEARCH authmgmt_invitations USING COVERING INDEX authmgmt_invitations_listing (organization=?%s)": allInvitations,
		"SEARCH authmgmt_invitations USING COVERING INDEX authmgmt_invitations_pending (organization=?%s)": pendingInvitations,
	} {
		behind := " AND (created_at,id)<(?,?)"
		if strings.Contains(uses, "clients") {
			behind = strings.ReplaceAll(behind, "<", ">")
		}
		whole := strings.Replace(uses, "%s", "", 1)
		for statement, page := range map[string]string{list.start: "", list.startTotal: "", list.after: behind, list.afterTotal: behind} {
			plan := withoutMark(db.plan(t, statement))
			t.Log(statement, "\n    ", strings.Join(plan, "\n     "))
			var total []string
			switch counts := strings.Contains(statement, "count(*)"); {
			case counts && strings.Contains(whole, "_pending"): // past those that have expired
				total = []string{"SEARCH authmgmt_invitations USING COVERING INDEX authmgmt_invitations_open (organization=? AND expires_at>?)"}
			case counts:
				total = []string{whole}
			}
			want := append(append([]string{"CO-ROUTINE total"}, total...),
				"MATERIALIZE page", strings.Replace(uses, "%s", page, 1), "SCAN total", "SCAN p LEFT-JOIN")
			require.Equal(t, want, plan[:len(want)])
			requireRowsByKey(t, plan[len(want):])
		}
	}
	plan := withoutMark(db.plan(t, dueGrants))
	uses := "SEARCH authmgmt_invitations USING INDEX authmgmt_invitations_due (grant_due<?)"
	require.Equal(t, []string{"MATERIALIZE page", uses, "SCAN p"}, plan[:3])
	requireRowsByKey(t, plan[3:])
}

// withoutMark leaves out of a plan how it is looked whether an organization is deleted,
// which is by the key.
func withoutMark(plan []string) (rest []string) {
	for i, line := range plan {
		bySubquery := i+1 < len(plan) && strings.HasPrefix(plan[i+1], "SEARCH authmgmt_deleted ") ||
			i+1 < len(plan) && strings.HasPrefix(plan[i+1], "SEARCH d ")
		switch {
		case bySubquery && strings.Contains(line, "SCALAR SUBQUERY"), line == "SCAN CONSTANT ROW":
		case line == "SEARCH authmgmt_deleted USING PRIMARY KEY (organization=?)":
		case line == "SEARCH d USING PRIMARY KEY (organization=?)":
		default:
			rest = append(rest, line)
		}
	}
	return rest
}

// requireRowsByKey requires that the rows of a page are looked up, and then sorted.
func requireRowsByKey(t *testing.T, plan []string) {
	t.Helper()
	last := len(plan) - 1
	require.Equal(t, "USE TEMP B-TREE FOR ORDER BY", plan[last])
	for _, line := range plan[:last] {
		require.True(t, strings.HasPrefix(line, "SEARCH "), line)
	}
}
