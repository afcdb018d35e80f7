package river

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	riverqueue "github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/seed-6363c74e/mortise"
)

// Cancel implements [mortise.Queue].
func (q *Queue) Cancel(ctx context.Context, j mortise.Job) error {
	if err := j.Check(); err != nil {
		return err
	}
	var err error
	if tx, ok := q.hostTx(ctx); ok {
		err = q.within(ctx, tx, func(ctx context.Context) error {
			return q.cancel(&j, func(p *riverqueue.JobListParams) (*riverqueue.JobListResult, error) {
				return q.client.JobListTx(ctx, tx, p)
			}, func(id int64) error {
				_, err := q.client.JobDeleteTx(ctx, tx, id)
				return err
			})
		})
	} else {
		ctx, cancel := context.WithTimeout(ctx, q.opts.Timeout)
		defer cancel()
		err = q.cancel(&j, func(p *riverqueue.JobListParams) (*riverqueue.JobListResult, error) {
			return q.client.JobList(ctx, p)
		}, func(id int64) error {
			_, err := q.client.JobDelete(ctx, id)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("river: cancel %s: %w", j, err)
	}
	return nil
}

func (q *Queue) cancel(
	j *mortise.Job, list func(*riverqueue.JobListParams) (*riverqueue.JobListResult, error), remove func(id int64) error,
) error {
	args := argsOf(j)
	args.Trace = "" // whatever it was added with
	name, err := json.Marshal(args)
	if err != nil {
		return err
	}
	found, err := list(riverqueue.NewJobListParams().Kinds(args.Kind()).States(waiting...).
		Where("args @> @job::jsonb", riverqueue.NamedArgs{"job": string(name)})) // River has an index for it
	if err != nil {
		return err
	}
	for _, row := range found.Jobs {
		err := remove(row.ID)
		if err != nil && !errors.Is(err, rivertype.ErrJobRunning) && !errors.Is(err, rivertype.ErrNotFound) {
			return err
		}
	}
	return nil
}
