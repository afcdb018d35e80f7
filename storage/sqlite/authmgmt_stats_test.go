package sqlite

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPlansOfAuthMgmtStats: each number is counted in an index that has all that is asked
// for, within its bounds. Only the oldest of all grants is looked for among all that
// wait.
func TestPlansOfAuthMgmtStats(t *testing.T) {
	db := plannedAuthMgmt(t)
	for _, c := range []struct {
		statement string
		args      int
		want      []string
	}{
		{countAuthMgmt, 3, []string{
			"SEARCH authmgmt_clients USING COVERING INDEX authmgmt_clients_listing (organization=?)",
			"SEARCH authmgmt_tokens USING COVERING INDEX authmgmt_tokens_live (organization=? AND expires_at>?)",
			"SEARCH authmgmt_tokens USING COVERING INDEX authmgmt_tokens_live (organization=? AND expires_at=? AND revoked_at=?)",
			"SEARCH authmgmt_invitations USING COVERING INDEX authmgmt_invitations_open (organization=? AND expires_at>?)",
			"SEARCH authmgmt_invitations USING COVERING INDEX authmgmt_invitations_waiting (organization=? AND accepted_at>?)",
			"SEARCH authmgmt_invitations USING COVERING INDEX authmgmt_invitations_waiting (organization=? AND accepted_at>?)",
		}},
		{countGrants, 2, []string{
			"SCAN authmgmt_invitations USING COVERING INDEX authmgmt_invitations_waiting",
			"SEARCH authmgmt_invitations USING COVERING INDEX authmgmt_invitations_waiting",
			// Of which one row is read.
			"SEARCH authmgmt_invitations USING INDEX authmgmt_invitations_due (grant_due>?)",
		}},
	} {
		plan := db.planOf(t, c.statement, make([]any, c.args))
		t.Log(strings.Join(plan, "\n"))
		requireNoSort(t, c.statement, plan)
		var tables []string
		for _, line := range plan {
			if strings.Contains(line, "authmgmt_") && !strings.Contains(line, "authmgmt_deleted USING PRIMARY KEY") {
				tables = append(tables, line)
			}
		}
		require.Equal(t, c.want, tables)
	}
}
