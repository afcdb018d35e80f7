package audiosearchdb

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/jobs"
)

// Store implements [audiosearch.Store], [audiosearch.TxStore], [audiosearch.Pruner]
// and [mortise.HostTx].
type Store struct {
	db    *file.File
	jobs  *jobs.Jobs
	views *views
	file.Revoked
}

var (
	_ audiosearch.Store   = (*Store)(nil)
	_ audiosearch.TxStore = (*Store)(nil)
	_ audiosearch.Pruner  = (*Store)(nil)
)

const (
	insertDataset = "INSERT INTO audiosearch_datasets (organization, id, created_at, revision, forgotten) VALUES (?,?,?,0,0) ON CONFLICT DO NOTHING"
	datasetByID   = "SELECT seq, revision, forgotten, created_at FROM audiosearch_datasets WHERE organization = ? AND id = ?" + datasetThere
	// With the organization twice: so the mark is looked for once, and not for each row.
	datasetsAfter = "SELECT id, created_at FROM audiosearch_datasets WHERE organization = ? AND id > ?" +
		" AND" + notGone + " WHERE organization = ?) ORDER BY id LIMIT 0 + ?"
	// What the dataset holds goes later, see sweep.
	deleteDataset = "UPDATE audiosearch_datasets SET (organization, id) = (NULL, NULL) WHERE organization = ? AND id = ?" + datasetThere
)

// audioDataset is a row of datasetByID.
type audioDataset struct {
	seq                 int64 // 0: there is none
	revision, forgotten int64
	created             int64 // microseconds
}

func (d *audioDataset) scan(r *file.Row) error {
	d.seq, d.revision, d.forgotten, d.created = file.Cell[int64](r, 0), file.Cell[int64](r, 1), file.Cell[int64](r, 2), file.Cell[int64](r, 3)
	return nil
}

// New returns the store. memory bounds its views, in bytes.
func New(db *file.File, jobs *jobs.Jobs, memory int) *Store {
	return &Store{db, jobs, &views{limit: memory}, db.Revoked()}
}

// AfterCommit implements [mortise.HostTx].
func (a *Store) AfterCommit(ctx context.Context, f func(ctx context.Context)) bool {
	return a.db.AfterCommit(ctx, f)
}

// found returns an error unless the dataset is there.
func (d *audioDataset) found(err error) error {
	if err == nil && d.seq == 0 {
		err = audiosearch.ErrDatasetNotFound
	}
	return err
}

// within calls read with a dataset and a connection, for both of which nothing changes
// meanwhile. It may call read again, if another process holds the file. An error of
// read's costs the connection, so it is for failures only.
func (a *Store) within(ctx context.Context, org, dataset string, read func(*file.Conn, *audioDataset) error) error {
	var d audioDataset
	err := a.db.ReadLong(ctx, org, func(c *file.Conn) error {
		d = audioDataset{}
		// As long as this statement is not at its end, all others see the same state of
		// the database.
		return c.Query(context.Background(), datasetByID, []any{org, dataset}, func(r *file.Row) error {
			if err := d.scan(r); err != nil {
				return err
			}
			return read(c, &d)
		})
	})
	return d.found(err)
}

// CreateDataset implements [audiosearch.Datasets].
func (a *Store) CreateDataset(ctx context.Context, d audiosearch.Dataset) error {
	return a.db.Write(ctx, func(tx *file.Tx) error {
		if err := orgThere(tx, d.Organization); err != nil {
			return err
		}
		created, err := tx.Exec(insertDataset, d.Organization, d.ID, d.CreatedAt.UnixMicro())
		if err == nil && created == 0 {
			err = mortise.ErrExists
		}
		return err
	})
}

// Dataset implements [audiosearch.Datasets].
func (a *Store) Dataset(ctx context.Context, org, id string) (audiosearch.Dataset, error) {
	d := audiosearch.Dataset{Organization: org, ID: id}
	var found audioDataset
	err := a.db.Find(ctx, org, datasetByID, []any{org, id}, func(r *file.Row) error {
		d.CreatedAt = r.Moment(3)
		return found.scan(r)
	})
	if err := found.found(err); err != nil {
		return audiosearch.Dataset{}, err
	}
	return d, nil
}

// ListDatasets implements [audiosearch.Datasets].
func (a *Store) ListDatasets(
	ctx context.Context, org string, after mortise.Cursor, limit int,
) (page mortise.Page[audiosearch.Dataset], err error) {
	_, id, _, err := pages.ByNameAlone(after)
	if err != nil {
		return page, err
	}
	var datasets []audiosearch.Dataset
	err = a.db.List(ctx, org, datasetsAfter, []any{org, id, org, limit + 1}, func(r *file.Row) error {
		datasets = append(datasets, audiosearch.Dataset{Organization: org, ID: r.Text(0), CreatedAt: r.Moment(1)})
		return nil
	})
	if err != nil {
		return page, err
	}
	return pages.Cut(datasets, limit, (*audiosearch.Dataset).Position), nil
}

// DeleteDataset implements [audiosearch.Datasets].
func (a *Store) DeleteDataset(ctx context.Context, org, id string) error {
	return a.db.Write(ctx, func(tx *file.Tx) error {
		deleted, err := tx.Exec(deleteDataset, org, id)
		if err == nil && deleted == 0 {
			err = audiosearch.ErrDatasetNotFound
		}
		if err != nil {
			return err
		}
		return tx.Apply(file.TookAway(time.Time{}))
	})
}
