package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres"
)

// claimed are the jobs that a claim takes, each with its organization.
func claimed(t *testing.T, ctx context.Context, db *postgres.DB, limit int) (jobs []string) {
	t.Helper()
	leases, err := db.Jobs().Claim(ctx, mortise.Claim{Token: uuid.New(), Kinds: []string{"k"}, Limit: limit, TTL: time.Hour})
	require.NoError(t, err)
	for _, l := range leases {
		jobs = append(jobs, l.Job.Organization+"/"+l.Job.ID)
	}
	return jobs
}

func putJob(t *testing.T, db *postgres.DB, org, id string) {
	t.Helper()
	require.NoError(t, db.Jobs().Add(t.Context(), mortise.Job{Kind: "k", Organization: org, ID: id}))
}

// manyJobs stores so many jobs of each of so many organizations.
func manyJobs(t *testing.T, d *database, organizations, jobs int) {
	t.Helper()
	_, err := d.pool(t).Exec(t.Context(), "INSERT INTO mortise.jobs (id, kind, organization, claimable_at, deliveries, dead)"+
		" SELECT convert_to(j::text, 'UTF8'), 'k', convert_to(to_char(o, 'FM00000'), 'UTF8'), now() - interval '1 minute', 0, false"+
		" FROM generate_series(1, $1::int) o, generate_series(1, $2::int) j", organizations, jobs)
	require.NoError(t, err)
}

// TestMoreOrganizationsThanPlaces: each organization that finds a place in line is served once
// before the others find one. Then the oldest job of an organization comes first.
func TestMoreOrganizationsThanPlaces(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	db := d.open(t, nil)
	manyJobs(t, d, 10_000, 2)
	putJob(t, db, "z", "old")
	served := make(map[string]bool)
	for len(served) < 10_000 {
		jobs := claimed(t, t.Context(), db, 1000)
		require.NotEmpty(t, jobs)
		for _, job := range jobs {
			org, _, _ := strings.Cut(job, "/")
			require.False(t, served[org], "%s is served again", org)
			served[org] = true
		}
	}
	putJob(t, db, "z", "new")
	require.Equal(t, []string{"z/old"}, claimed(t, t.Context(), db, 10))
	for taken := 0; taken <= 10_000; {
		jobs := claimed(t, t.Context(), db, 1000)
		require.NotEmpty(t, jobs)
		taken += len(jobs)
	}
	require.Empty(t, claimed(t, t.Context(), db, 1000))
}

// TestLockedOrganizationBlocksNobody: while a transaction holds the jobs of the organization
// whose turn it is, claims take the jobs of others.
func TestLockedOrganizationBlocksNobody(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	db := d.open(t, nil)
	for i := range 40 {
		putJob(t, db, "a", fmt.Sprint(i))
	}
	putJob(t, db, "b", "1")
	require.NoError(t, inTx(t, d.pool(t), func(ctx context.Context) error {
		for i := range 40 {
			require.NoError(t, db.Jobs().Cancel(ctx, mortise.Job{Kind: "k", Organization: "a", ID: fmt.Sprint(i)}))
		}
		require.Equal(t, []string{"b/1"}, claimed(t, t.Context(), db, 1))
		return nil
	}))
}

// TestClaimIsRolledBack: a claim in a transaction of the host's that is rolled back hides no
// job.
func TestClaimIsRolledBack(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	db := d.open(t, nil)
	now := time.Now().Add(time.Hour) // long after the job came
	db.SetNow(func() time.Time { return now })
	putJob(t, db, "a", "1")
	now = now.Add(5 * time.Second)
	require.ErrorIs(t, inTx(t, d.pool(t), func(ctx context.Context) error {
		require.Len(t, claimed(t, ctx, db, 10), 1)
		return context.Canceled
	}), context.Canceled)
	require.Len(t, claimed(t, t.Context(), db, 10), 1)
}

// TestTurnOfAJobThatIsGone: it is not filled by a second job of another organization while
// further ones wait.
func TestTurnOfAJobThatIsGone(t *testing.T) {
	t.Parallel()
	db := newDatabase(t).open(t, nil)
	for _, job := range []string{"1/a", "2/a", "2/b", "2/c", "3/a", "4/a"} {
		putJob(t, db, job[:1], job[2:])
	}
	require.Equal(t, []string{"1/a"}, claimed(t, t.Context(), db, 1))
	require.NoError(t, db.Jobs().Cancel(t.Context(), mortise.Job{Kind: "k", Organization: "3", ID: "a"}))
	require.Equal(t, []string{"2/a"}, claimed(t, t.Context(), db, 2))
	require.Contains(t, claimed(t, t.Context(), db, 2), "4/a")
}

// TestLineThatOthersHaveServed: a claim passes organizations whose jobs are gone with few
// statements.
func TestLineThatOthersHaveServed(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	var sent batches
	pool := d.traced(t, &sent)
	one, err := postgres.Open(pool, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, one.Close()) }()
	two := d.open(t, nil)
	manyJobs(t, d, 2000, 1)
	require.Len(t, claimed(t, t.Context(), one, 1), 1)
	for len(claimed(t, t.Context(), two, 2000)) > 0 {
	}
	putJob(t, one, "new", "1")
	before := sent.Load()
	require.Equal(t, []string{"new/1"}, claimed(t, t.Context(), one, 1))
	claims := sent.Load() - before
	require.Positive(t, claims)
	require.Less(t, claims, int64(100))
}

// batches is a tracer that counts the batches of statements. A claim's statement is in one.
type batches struct{ atomic.Int64 }

func (b *batches) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	b.Add(1)
	return ctx
}

func (b *batches) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (b *batches) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

func (b *batches) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (b *batches) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestCommittedAMomentLate: a job that became claimable in a transaction which took a while to
// commit is claimed after one of the next looks, without a notice.
func TestCommittedAMomentLate(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(ctx context.Context, db *postgres.DB, l mortise.Lease) error{
		"released": func(ctx context.Context, db *postgres.DB, l mortise.Lease) error {
			return db.Jobs().Release(ctx, l, 0)
		},
		"given up": func(ctx context.Context, db *postgres.DB, l mortise.Lease) error {
			return db.Jobs().Extend(ctx, l, time.Millisecond)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			db := d.open(t, nil)
			now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
			db.SetNow(func() time.Time { return now })
			putJob(t, db, "a", "1")
			leases, err := db.Jobs().Claim(t.Context(), mortise.Claim{Token: uuid.New(), Kinds: []string{"k"}, Limit: 1, TTL: time.Hour})
			require.NoError(t, err)
			require.Len(t, leases, 1)
			require.NoError(t, inTx(t, d.pool(t), func(ctx context.Context) error {
				require.NoError(t, change(ctx, db, leases[0]))
				now = now.Add(200 * time.Millisecond)
				require.Empty(t, claimed(t, t.Context(), db, 1))
				return nil
			}))
			var taken []string
			for range 10 {
				now = now.Add(150 * time.Millisecond)
				taken = slices.Concat(taken, claimed(t, t.Context(), db, 1))
			}
			require.Equal(t, []string{"a/1"}, taken)
		})
	}
}
