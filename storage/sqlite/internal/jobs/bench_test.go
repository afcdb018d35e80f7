package jobs

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

// BenchmarkClaim claims four jobs and gives them back, among many jobs of one
// organization and among many organizations with a job each, of which all, or all but the
// first, are to be claimed later. Run it with
//
//	go test . -run '^$' -bench Claim -benchtime 200x
func BenchmarkClaim(b *testing.B) {
	for _, c := range []struct {
		name             string
		jobs, orgs, ripe int // of which so many are claimable now
	}{
		{"nothing", 0, 1, 0},
		{"jobs=1e5/orgs=1", 1e5, 1, 1e5},
		{"jobs=1e6/orgs=1", 1e6, 1, 1e6},
		{"jobs=1e4/orgs=1e4", 1e4, 1e4, 1e4},
		{"jobs=1e5/orgs=1e4/later", 1e5, 1e4, 1},
	} {
		b.Run(c.name, func(b *testing.B) {
			db, err := Open(b.Context(), filepath.Join(b.TempDir(), "claim.db"), nil)
			require.NoError(b, err)
			defer func() { require.NoError(b, db.Close()) }()
			require.NoError(b, db.Write(b.Context(), func(tx *file.Tx) error {
				later := time.Now().Add(time.Hour).UnixMicro()
				_, err := tx.Exec(fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 0 WHERE ?1 > 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)"+
					" INSERT INTO mortise_jobs (id, kind, organization, claimable_at, deliveries, dead, ready)"+
					" SELECT i + 1, 'search', printf('org%%06d', i %% ?2), iif(i < ?3, i, %d), 0, 0, i < ?3"+
					" FROM n",
					later), c.jobs, c.orgs, c.ripe)
				return err
			}))
			table := db.jobs
			for b.Loop() {
				leases, err := table.Claim(b.Context(), mortise.Claim{Token: uuid.New(),
					Kinds: []string{"search"}, Limit: 4, TTL: time.Minute})
				require.NoError(b, err)
				require.Len(b, leases, min(4, c.ripe))
				b.StopTimer()
				for _, l := range leases {
					require.NoError(b, table.Release(b.Context(), l, 0))
				}
				b.StartTimer()
			}
		})
	}
}
