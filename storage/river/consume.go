package river

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	riverqueue "github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/seed-6363c74e/mortise"
)

// Consume implements [mortise.Queue]: it runs a client of River's, which may be elected the
// leader of its schema. It refuses a MaxHandle that is not below Options.RescueAfter: the
// job would be handed out a second time.
func (q *Queue) Consume(ctx context.Context, opts mortise.ConsumeOptions, handle mortise.Handler) error {
	if len(opts.Kinds) == 0 {
		return errors.New("river: a consumer needs the kinds of jobs that it takes")
	}
	kinds := slices.Compact(slices.Sorted(slices.Values(opts.Kinds)))
	for _, kind := range kinds {
		if err := (mortise.Job{Kind: kind, Organization: "any", ID: "any"}).Check(); err != nil {
			return err
		}
	}
	switch {
	case q.pool == nil:
		return fmt.Errorf("river: the host's client works the jobs: give NewWorker the worker's Handle, start the client, "+
			"and run a Sweeper in place of the Worker: %w", errors.ErrUnsupported)
	case opts.MaxHandle > q.opts.longest():
		return fmt.Errorf("river: a handler that takes up to %v needs Options.RescueAfter to be more than a tenth, or a minute, above that, and not %v",
			opts.MaxHandle, q.opts.RescueAfter)
	}
	config := q.consumer(ctx, kinds, min(max(opts.Workers, 1), riverqueue.QueueNumWorkersMax), handle)
	for pause := leastPause; ctx.Err() == nil; pause = min(2*pause, mostPause) {
		client, err := riverqueue.NewClient(riverpgxv5.New(q.pool), config)
		if err != nil {
			return fmt.Errorf("river: %w", err)
		}
		if err = run(ctx, client); err == nil {
			return nil
		}
		if pause == leastPause {
			q.opts.Logger.WarnContext(ctx, "cannot take jobs; trying on", "kinds", kinds, "error", advised(err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}

// How long a failure to start is waited out before the next try.
const (
	leastPause = 50 * time.Millisecond
	mostPause  = 2 * time.Second

	doneAge = 24 * time.Hour      // how long a job that is done is kept, for River's UI
	deadAge = 30 * 24 * time.Hour // how long a dead one is kept
)

// run works jobs until ctx ends, and the running handlers have. It returns an error if the
// client could not be started. From then on, that waits failures out itself.
func run(ctx context.Context, client *riverqueue.Client[pgx.Tx]) error {
	unending := context.WithoutCancel(ctx) // the end of Start's context would cut off the handlers
	started := make(chan error, 1)
	go func() { started <- client.Start(unending) }()
	select {
	case err := <-started:
		if err != nil {
			return err
		}
	case <-ctx.Done():
		for starting := true; starting; {
			_ = client.Stop(unending) // it does nothing if Start has not begun yet
			select {
			case <-started:
				starting = false
			case <-time.After(leastPause):
			}
		}
	}
	<-ctx.Done()
	return client.Stop(unending)
}

const (
	// patience is how long a job that River has handed out waits here for a worker: River's
	// workers are of a queue, which is a kind, and Consume's are of all its kinds.
	patience = time.Second

	// givenBack is how long it is left alone then.
	givenBack = time.Second
)

// consumer returns the settings of a client that works jobs.
func (q *Queue) consumer(ctx context.Context, kinds []string, workers int, handle mortise.Handler) *riverqueue.Config {
	w := &worker{handle: handle, opts: q.opts, take: taker(ctx, workers)}
	c := q.config()
	c.Queues = make(map[string]riverqueue.QueueConfig, len(kinds))
	for _, kind := range kinds {
		c.Queues[QueueName(kind)] = riverqueue.QueueConfig{MaxWorkers: workers}
	}
	c.Workers = riverqueue.NewWorkers()
	riverqueue.AddWorker(c.Workers, w)
	c.JobTimeout = q.opts.longest()
	c.RescueStuckJobsAfter = q.opts.RescueAfter
	c.CompletedJobRetentionPeriod = doneAge
	c.CancelledJobRetentionPeriod = deadAge
	return c
}

// taker returns what waits for one of the workers, of all kinds. Jobs that were handed out
// when ctx had ended are given back.
func taker(ctx context.Context, workers int) func(context.Context) (release func(), ok bool) {
	free := make(chan struct{}, workers)
	for range workers {
		free <- struct{}{}
	}
	return func(job context.Context) (release func(), ok bool) {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return nil, false
		default:
		}
		select {
		case <-free:
			return func() { free <- struct{}{} }, true
		case <-ctx.Done():
		case <-job.Done():
		case <-timer.C:
		}
		return nil, false
	}
}
