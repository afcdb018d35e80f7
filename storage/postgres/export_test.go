package postgres

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-6363c74e/mortise/storage/postgres/internal/audiosearchdb"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/authmgmtdb"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/jobs"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/triggerdb"
)

// Open is New without the comparison of the tables, for schemas that the tests have made.
func Open(pool *pgxpool.Pool, opts *Options) (*DB, error) { return open(pool, opts) }

// CallsInTx has each call of the stores and queues made in a transaction of the host's.
func CallsInTx(db *DB) { db.engine.Probe().CallsInTx() }

// ErrTimeout is why a call ends that takes longer than Options.Timeout.
var ErrTimeout = engine.Probe{}.Timeout()

// SetNow makes now the clock of the jobs, or the database's again if now is nil.
func (db *DB) SetNow(now func() time.Time) { db.jobs.Probe().SetNow(now) }

// LookedAtAll returns when a claim of a kind has looked at all jobs.
func (db *DB) LookedAtAll(kind string) time.Time { return db.jobs.Probe().LookedAtAll(kind) }

// ExpectGroup has the next group wait for so many operations until a time, and tells of the
// size of each group. It waits for the end of earlier groups.
func (db *DB) ExpectGroup(operations int, until time.Time, each func(size int)) {
	db.engine.Probe().ExpectGroup(operations, until, each)
}

// Describe returns the lines of expected for a schema.
func Describe(ctx context.Context, conn *pgx.Conn, schema string) ([]string, error) {
	return engine.Probe{}.Describe(ctx, conn, schema)
}

// Statements are the ones that DBs have sent, as they are written in the package.
var Statements sync.Map

// Note adds the statements that a DB has sent.
func Note(db *DB) { db.engine.Probe().Note(&Statements) }

// SQL returns a statement as it is sent.
func (db *DB) SQL(text string) string { return db.engine.Probe().SQL(text) }

// TriggerStatements are the statements of triggers whose plans a test looks at.
var TriggerStatements = triggerdb.Probe.Statements

// SharedStatements are shared by the operations of a group. Each has a pattern that its plan
// must match.
var SharedStatements = func() map[*engine.Shared]string {
	all := maps.Clone(triggerdb.Probe.Shared)
	maps.Copy(all, authmgmtdb.Probe.Shared)
	return all
}()

// ByKeptPlans is set before lists, GroupSettings before the statements of a group.
var ByKeptPlans, GroupSettings = engine.Probe{}.Settings()

// Statements of a claim, and of the removal of a job.
var NewJobs, AllJobs, TakeJobs, ClaimSettings, RemoveJob = jobs.Probe{}.Statements()

// Statements of other domains.
var (
	UpdateClientAlone = authmgmtdb.Probe.UpdateClientAlone
	LockToken         = authmgmtdb.Probe.LockToken
	VocabularyNames   = audiosearchdb.Probe.VocabularyNames
)
