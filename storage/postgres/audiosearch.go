package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/pages"
)

// AudioSearch implements [audiosearch.Store], [audiosearch.TxStore], [audiosearch.Pruner]
// and [mortise.HostTx].
//
// Filters are answered from a copy of a dataset's metadata in memory. Each search reads,
// in its own snapshot, what was changed since the copy was made, by any process.
type AudioSearch struct {
	db       *engine
	jobs     *Jobs
	names    audioNames
	catalogs audioCatalogs
}

// newAudioSearch returns a store whose catalogs take a memory of limit bytes, about.
func newAudioSearch(db *engine, jobs *Jobs, limit int) *AudioSearch {
	return &AudioSearch{db: db, jobs: jobs, catalogs: audioCatalogs{limit: limit}}
}

var (
	_ audiosearch.Store   = (*AudioSearch)(nil)
	_ audiosearch.TxStore = (*AudioSearch)(nil)
	_ audiosearch.Pruner  = (*AudioSearch)(nil)
	_ mortise.HostTx      = (*AudioSearch)(nil)
)

// AfterCommit implements [mortise.HostTx], as [Trigger.AfterCommit] does.
func (a *AudioSearch) AfterCommit(ctx context.Context, f func(ctx context.Context)) bool {
	return a.db.afterCommit(ctx, f)
}

// SharesWith is [Trigger.SharesWith].
func (a *AudioSearch) SharesWith(q mortise.Queue) bool {
	return a.db.queue != nil && mortise.Queue(a.db.queue) == q
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
func (s *session) dataset(org, id, locking string) (d audioDataset, err error) {
	err = s.row(datasetRow+locking, []any{bytes(org), bytes(id)}, &d.seq, &d.version, &d.removed)
	if isNoRow(err) {
		err = audiosearch.ErrDatasetNotFound
	}
	return d, err
}

// read calls do with a dataset, in a snapshot.
func (a *AudioSearch) read(ctx context.Context, org, dataset string, do func(*session, audioDataset) error) error {
	return a.db.snapshot(ctx, org, func(s *session) error {
		d, err := s.dataset(org, dataset, "")
		if err != nil {
			return err
		}
		return do(s, d)
	})
}

// write calls do with a dataset that nobody else changes.
func (a *AudioSearch) write(ctx context.Context, org, dataset string, do func(*session, audioDataset) error) error {
	return a.db.transact(ctx, org, func(s *session) error {
		d, err := s.dataset(org, dataset, datasetLocking)
		if err != nil {
			return err
		}
		return do(s, d)
	})
}

// CreateDataset implements [audiosearch.Datasets].
func (a *AudioSearch) CreateDataset(ctx context.Context, d audiosearch.Dataset) error {
	return a.db.transact(ctx, d.Organization, func(s *session) error {
		if err := s.keepAudio(d.Organization); err != nil {
			return err
		}
		return s.insert("INSERT INTO @.audiosearch_datasets (organization, id, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
			bytes(d.Organization), bytes(d.ID), stamp(d.CreatedAt))
	})
}

// For an organization, an ID and a limit.
const (
	listDatasets = "SELECT id, created_at FROM @.audiosearch_datasets WHERE organization = $1 AND id > $2 AND " + audioNotDeleted +
		" ORDER BY id LIMIT $3"
	oneDataset = "SELECT id, created_at FROM @.audiosearch_datasets WHERE organization = $1 AND id = $2 AND " + audioNotDeleted + " LIMIT $3"
)

// Dataset implements [audiosearch.Datasets].
func (a *AudioSearch) Dataset(ctx context.Context, org, id string) (audiosearch.Dataset, error) {
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
func (a *AudioSearch) ListDatasets(
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

func (a *AudioSearch) datasets(ctx context.Context, org, statement, id string, limit int) ([]audiosearch.Dataset, error) {
	return listOf(ctx, a.db, org, func(rows pgx.Rows) (audiosearch.Dataset, error) {
		var id []byte
		var created pgtype.Timestamptz
		err := rows.Scan(&id, &created)
		return audiosearch.Dataset{Organization: org, ID: string(id), CreatedAt: timeOf(created)}, err
	}, statement, bytes(org), bytes(id), limit)
}

// For a dataset. What it has goes later: see Compact.
const throwAway = "WITH gone AS (DELETE FROM @.audiosearch_datasets WHERE organization = $1 AND seq = $2 RETURNING organization, seq)" +
	" INSERT INTO @.audiosearch_trash (organization, seq) SELECT organization, seq FROM gone"

// DeleteDataset implements [audiosearch.Datasets].
func (a *AudioSearch) DeleteDataset(ctx context.Context, org, id string) error {
	return a.write(ctx, org, id, func(s *session, d audioDataset) error {
		_, err := s.exec(throwAway, bytes(org), d.seq)
		return err
	})
}

// errRetrySnapshot: the snapshot is older than what is known already.
var errRetrySnapshot = errors.New("postgres: a newer snapshot is needed")
