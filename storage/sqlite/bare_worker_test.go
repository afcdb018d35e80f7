package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
)

// bareWorker is a worker as a Go service would write it by hand, with our promises and no
// others: an attempt is on the disk before its work begins, the end of the work and that of
// the job are one transaction, who dies loses the jobs by the end of their leases, and all
// that waits shares a transaction. It knows of one organization, of no retries and of no
// settings.
type bareWorker struct {
	*bareSubmissions
	due, lease, attempt, done, remove *sql.Stmt

	free chan struct{} // a token for each attempt that may begin
	wake chan struct{}
	work func()

	ended atomic.Int64 // attempts that are written down
}

// bareJob is a job under way.
type bareJob struct {
	seq     int64
	event   uuid.UUID
	attempt int
	body    string
	context []byte
}

func newBareWorker(b *testing.B, concurrency int, work func()) *bareWorker {
	w := &bareWorker{
		bareSubmissions: newBareSubmissions(newBareFile(b, emptySchema(b), true)), work: work,
		free: make(chan struct{}, concurrency), wake: make(chan struct{}, 1),
	}
	w.due = w.writing("SELECT seq, id FROM mortise_jobs WHERE dead = 0 AND ready = 1 AND kind = 'trigger' AND organization = 'acme'" +
		" AND claimable_at <= ? ORDER BY claimable_at, seq LIMIT 64")
	w.lease = w.writing("UPDATE mortise_jobs SET claimable_at = ?, token = ?, deliveries = deliveries + 1, ready = 0 WHERE seq = ?")
	w.attempt = w.writing("UPDATE trigger_events SET status = 1, attempts = attempts + 1, started_at = ?, due_at = ? WHERE id = ? AND status < 2" +
		" RETURNING attempts, instructions, context")
	w.done = w.writing("UPDATE trigger_events SET status = 2, finished_at = ?, outcome_summary = ? WHERE id = ? AND attempts = ? AND status = 1")
	w.remove = w.writing("DELETE FROM mortise_jobs WHERE seq = ? AND token = ?")
	for range concurrency {
		w.free <- struct{}{}
	}
	var claimer, running sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	claimer.Go(func() { w.claim(ctx, &running) })
	b.Cleanup(func() {
		stop()
		claimer.Wait()
		running.Wait()
	})
	return w
}

func (w *bareWorker) submit(ctx context.Context) error {
	if err := w.bareSubmissions.submit(ctx); err != nil {
		return err
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return nil
}

// claim leases jobs for all attempts that may begin, and runs them.
func (w *bareWorker) claim(ctx context.Context, running *sync.WaitGroup) {
	for {
		slots := 0
		select {
		case <-w.free:
			slots++
		case <-ctx.Done():
			return
		}
		for more := true; more; {
			select {
			case <-w.free:
				slots++
			default:
				more = false
			}
		}
		token := uuid.New()
		jobs, err := w.lock(slots, token)
		if err != nil {
			return
		}
		for range slots - len(jobs) {
			w.free <- struct{}{}
		}
		for _, j := range jobs {
			running.Go(func() {
				w.work()
				if w.write(func() error { return w.finish(&j, token) }) == nil {
					w.ended.Add(1)
				}
				w.free <- struct{}{}
			})
		}
		if len(jobs) == 0 {
			select {
			case <-w.wake:
			case <-ctx.Done():
				return
			case <-time.After(500 * time.Millisecond):
			}
		}
	}
}

// lock leases so many jobs at most, and notes the attempts, in one transaction.
func (w *bareWorker) lock(limit int, token uuid.UUID) (jobs []bareJob, err error) {
	ctx := context.Background()
	err = w.write(func() error {
		now := time.Now()
		rows, err := w.due.QueryContext(ctx, now.UnixMicro())
		if err != nil {
			return err
		}
		for len(jobs) < limit && rows.Next() {
			var j bareJob
			var id string
			if err := rows.Scan(&j.seq, &id); err != nil {
				return errors.Join(err, rows.Close())
			}
			if j.event, err = uuid.Parse(id[:36]); err != nil {
				return errors.Join(err, rows.Close())
			}
			jobs = append(jobs, j)
		}
		if err := rows.Close(); err != nil {
			return err
		}
		until, over := now.Add(15*time.Second).UnixMicro(), now.Add(10*time.Minute).UnixMicro()
		for i := range jobs {
			j := &jobs[i]
			if _, err := w.lease.ExecContext(ctx, until, token[:], j.seq); err != nil {
				return err
			}
			row := w.attempt.QueryRowContext(ctx, now.UnixMicro(), over, j.event[:])
			if err := row.Scan(&j.attempt, &j.body, &j.context); err != nil {
				return err
			}
		}
		return nil
	})
	return jobs, err
}

// finish writes the end of an attempt and removes its job.
func (w *bareWorker) finish(j *bareJob, token uuid.UUID) error {
	ctx := context.Background()
	if _, err := w.done.ExecContext(ctx, time.Now().UnixMicro(), "Nothing to do.", j.event[:], j.attempt); err != nil {
		return err
	}
	_, err := w.remove.ExecContext(ctx, j.seq, token[:])
	return err
}
