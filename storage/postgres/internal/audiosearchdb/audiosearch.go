// Package audiosearchdb keeps package audiosearch in PostgreSQL.
package audiosearchdb

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/jobs"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
)

// Store implements [audiosearch.Store], [audiosearch.TxStore], [audiosearch.Pruner]
// and [mortise.HostTx].
//
// Filters are answered from a copy of a dataset's metadata in memory. Each search reads,
// in its own snapshot, what was changed since the copy was made, by any process.
type Store struct {
	db       *engine.DB
	jobs     *jobs.Jobs
	names    audioNames
	catalogs audioCatalogs
	engine.Revoked
}

// New returns a store whose catalogs take a memory of limit bytes, about.
func New(db *engine.DB, jobs *jobs.Jobs, limit int) *Store {
	return &Store{db: db, jobs: jobs, catalogs: audioCatalogs{limit: limit}, Revoked: db.Revoked()}
}

var (
	_ audiosearch.Store   = (*Store)(nil)
	_ audiosearch.TxStore = (*Store)(nil)
	_ audiosearch.Pruner  = (*Store)(nil)
	_ mortise.HostTx      = (*Store)(nil)
)

// AfterCommit implements [mortise.HostTx], as [Trigger.AfterCommit] does.
func (a *Store) AfterCommit(ctx context.Context, f func(ctx context.Context)) bool {
	return a.db.AfterCommit(ctx, f)
}

// SharesWith is [Trigger.SharesWith].
func (a *Store) SharesWith(q mortise.Queue) bool {
	return a.db.QueueIs(q)
}

// For an organization, and for that of a row.
const (
	audioNotDeleted = "NOT EXISTS (SELECT FROM @.audiosearch_deleted AS x WHERE x.organization = $1)"
	runNotDeleted   = "(SELECT x.since FROM @.audiosearch_deleted AS x WHERE x.organization = r.organization) IS NULL"
)

// For an organization and an ID. Whoever changes something of a dataset locks its row first,
// so that versions are committed in their order.
const (
	datasetRow     = "SELECT d.seq, d.version, d.removed FROM @.audiosearch_datasets AS d WHERE d.organization = $1 AND d.id = $2 AND " + audioNotDeleted
	datasetLocking = " FOR UPDATE OF d"
)

// audioDataset is a row of audiosearch_datasets.
type audioDataset struct {
	seq     int64
	version int64
	removed int64
}

// dataset reads one, or returns [audiosearch.ErrDatasetNotFound].
func findDataset(s *engine.Session, org, id, locking string) (d audioDataset, err error) {
	err = s.Row(datasetRow+locking, []any{org, id}, &d.seq, &d.version, &d.removed)
	if engine.IsNoRow(err) {
		err = audiosearch.ErrDatasetNotFound
	}
	return d, err
}

// read calls do with a dataset, in a snapshot.
func (a *Store) read(ctx context.Context, org, dataset string, do func(*engine.Session, audioDataset) error) error {
	return a.db.Snapshot(ctx, org, func(s *engine.Session) error {
		d, err := findDataset(s, org, dataset, "")
		if err != nil {
			return err
		}
		return do(s, d)
	})
}

// write calls do with a dataset that nobody else changes.
func (a *Store) write(ctx context.Context, org, dataset string, do func(*engine.Session, audioDataset) error) error {
	return a.db.Transact(ctx, org, func(s *engine.Session) error {
		d, err := findDataset(s, org, dataset, datasetLocking)
		if err != nil {
			return err
		}
		return do(s, d)
	})
}

// CreateDataset implements [audiosearch.Datasets].
func (a *Store) CreateDataset(ctx context.Context, d audiosearch.Dataset) error {
	return a.db.Transact(ctx, d.Organization, func(s *engine.Session) error {
		if err := keepAudio(s, d.Organization); err != nil {
			return err
		}
		return s.Insert("INSERT INTO @.audiosearch_datasets (organization, id, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
			d.Organization, d.ID, sqltext.Stamp(d.CreatedAt))
	})
}

// For an organization, an ID and a limit.
const (
	listDatasets = "SELECT id, created_at FROM @.audiosearch_datasets WHERE organization = $1 AND id > $2 AND " + audioNotDeleted +
		" ORDER BY id LIMIT $3"
	oneDataset = "SELECT id, created_at FROM @.audiosearch_datasets WHERE organization = $1 AND id = $2 AND " + audioNotDeleted + " LIMIT $3"
)

// Dataset implements [audiosearch.Datasets].
func (a *Store) Dataset(ctx context.Context, org, id string) (audiosearch.Dataset, error) {
	found, err := a.datasets(ctx, org, oneDataset, id, 1)
	if err != nil {
		return audiosearch.Dataset{}, err
	}
	if len(found) == 0 {
		return audiosearch.Dataset{}, audiosearch.ErrDatasetNotFound
	}
	return found[0], nil
}

// ListDatasets implements [audiosearch.Datasets].
func (a *Store) ListDatasets(
	ctx context.Context, org string, after mortise.Cursor, limit int,
) (page mortise.Page[audiosearch.Dataset], err error) {
	_, id, _, err := pages.ByNameAlone(after)
	if err != nil {
		return page, err
	}
	datasets, err := a.datasets(ctx, org, listDatasets, id, limit+1)
	if err != nil {
		return page, err
	}
	return pages.Cut(datasets, limit, (*audiosearch.Dataset).Position), nil
}

func (a *Store) datasets(ctx context.Context, org, statement, id string, limit int) ([]audiosearch.Dataset, error) {
	return engine.ListOf(ctx, a.db, org, func(rows pgx.Rows) (audiosearch.Dataset, error) {
		var id []byte
		var created pgtype.Timestamptz
		err := rows.Scan(&id, &created)
		return audiosearch.Dataset{Organization: org, ID: string(id), CreatedAt: sqltext.TimeOf(created)}, err
	}, statement, org, id, limit)
}

// For a dataset. What it has goes later: see Compact.
const throwAway = "WITH gone AS (DELETE FROM @.audiosearch_datasets WHERE organization = $1 AND seq = $2 RETURNING organization, seq)" +
	" INSERT INTO @.audiosearch_trash (organization, seq) SELECT organization, seq FROM gone"

// DeleteDataset implements [audiosearch.Datasets].
func (a *Store) DeleteDataset(ctx context.Context, org, id string) error {
	return a.write(ctx, org, id, func(s *engine.Session, d audioDataset) error {
		if _, err := s.Exec(throwAway, org, d.seq); err != nil {
			return err
		}
		return s.TookAway(time.Time{})
	})
}

// errRetrySnapshot: the snapshot is older than what is known already.
var errRetrySnapshot = errors.New("postgres: a newer snapshot is needed")
