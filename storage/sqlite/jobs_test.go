package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// TestManyJobsBecomeClaimable: the job of another organization has its turn in the first
// claim, however many have become claimable before it.
func TestManyJobsBecomeClaimable(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, db.writer.write(t.Context(), func(tx *tx) error {
		_, err := tx.exec("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)" +
			" INSERT INTO audiosearch_jobs (run, organization, claimable_at, deliveries, ready)" +
			" SELECT i, iif(i < 2500, 'acme', 'other'), i, 0, 0 FROM n")
		return err
	}))
	leases, err := db.AudioSearch().Claim(t.Context(), uuid.New(), time.UnixMicro(10_000), time.Now(), 3)
	require.NoError(t, err)
	var runs []int64
	for _, l := range leases {
		runs = append(runs, l.Job.RunID)
	}
	require.ElementsMatch(t, []int64{1, 2, 2500}, runs)
}
