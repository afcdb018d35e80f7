package sqlite

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPlansOfAuditEvents: as TestPlansOfList, for the trails of all domains.
func TestPlansOfAuditEvents(t *testing.T) {
	for _, c := range []struct {
		table *auditTable
		open  func(t *testing.T) *DB
	}{
		{&authmgmtAudit, plannedAuthMgmt}, {&vaultAudit, plannedVault},
	} {
		t.Run(c.table.table, func(t *testing.T) { checkAuditPlans(t, c.open(t), c.table) })
	}
}

func checkAuditPlans(t *testing.T, db *DB, table *auditTable) {
	at := time.Date(2026, 11, 21, 12, 30, 0, 0, time.UTC)
	for bits := range 1 << 6 {
		q := auditSelection{limit: 50}
		index := table.table + "_listing (organization=?"
		if bits&1 != 0 {
			q.from = at
		}
		if bits&2 != 0 {
			q.to = at.Add(time.Hour)
		}
		if bits&4 != 0 {
			q.beforeAt, q.beforeID = at.Add(30*time.Minute), uuid.UUID{1}
		}
		if bits&8 != 0 {
			q.kind = "deleted"
		}
		if bits&16 != 0 {
			q.actor = "ada"
		}
		if bits&32 != 0 {
			q.about = "something"
			index = table.index + " (organization=? AND " + table.about + "=?"
		}
		statement, _ := table.listing("org1", &q)
		plan := listingPlan(t, table, db.plan(t, statement))
		require.Len(t, plan, 4, statement)
		require.Equal(t, []string{"MATERIALIZE page", plan[1], "SCAN page", "SEARCH " + table.table + " USING INTEGER PRIMARY KEY (rowid=?)"}, plan)
		assert.Containsf(t, plan[1], index, "%s", statement)
		switch {
		case bits&4 != 0: // or each page would read again what the pages before it have shown
			assert.Containsf(t, plan[1], "(at,id)<(?,?)", "%s does not begin after the last page", statement)
		case bits&2 != 0:
			assert.Containsf(t, plan[1], "at<?", "%s does not begin at its bound", statement)
		}
		if bits&1 != 0 {
			assert.Containsf(t, plan[1], "at>?", "%s does not end at its bound", statement)
		}
	}
}

// listingPlan returns the lines of a plan that are about a listing, without those about
// organizations that were deleted.
func listingPlan(t *testing.T, table *auditTable, plan []string) []string {
	t.Helper()
	if table.deleted == "" {
		return plan
	}
	const byNumber = " USING INTEGER PRIMARY KEY (rowid=?)"
	isDeleted := "SEARCH " + table.deleted + " USING PRIMARY KEY (organization=?)"
	require.Equal(t, []string{"COMPOUND QUERY", "LEFT-MOST SUBQUERY"}, plan[:2])
	end := slices.Index(plan, "UNION ALL")
	require.Positive(t, end)
	require.Equal(t, []string{"UNION ALL", "SEARCH " + table.table + byNumber}, plan[end:end+2])
	require.Equal(t, isDeleted, plan[len(plan)-1])
	return slices.DeleteFunc(plan[2:end], func(line string) bool {
		return line == isDeleted || strings.HasPrefix(line, "SCALAR SUBQUERY")
	})
}
