package audiosearch_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// shakyStore fails now and then, before or after the work.
type shakyStore struct {
	audiosearch.Store
	tx   audiosearch.TxStore
	calm atomic.Bool
}

// sharingQueue is a queue whose jobs stand in the database of a store.
type sharingQueue struct {
	*leases.Queue
	store any
}

func (q sharingQueue) Shares(store any) bool { return store == q.store }

func (s *shakyStore) shake() error {
	if !s.calm.Load() && rand.IntN(12) == 0 {
		return errBroken
	}
	return nil
}

func (s *shakyStore) UpdateRun(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
	if err := s.shake(); err != nil {
		return err
	}
	if err := s.Store.UpdateRun(ctx, org, id, update); err != nil {
		return err
	}
	return s.shake()
}

func (s *shakyStore) CreateRunAndAdd(
	ctx context.Context, r audiosearch.Run, most int, j mortise.Job,
) error {
	return s.tx.CreateRunAndAdd(ctx, r, most, j)
}

func (s *shakyStore) UpdateRunAndJobs(
	ctx context.Context, org string, id int64, update func(*audiosearch.Run) ([]mortise.Job, error), l mortise.Lease,
) error {
	if err := s.shake(); err != nil {
		return err
	}
	if err := s.tx.UpdateRunAndJobs(ctx, org, id, update, l); err != nil {
		return err
	}
	return s.shake()
}

func (s *shakyStore) PutScoring(ctx context.Context, org, dataset, video, path string, scoring audiosearch.Scoring, columns [][]uint16) error {
	if err := s.shake(); err != nil {
		return err
	}
	if err := s.Store.PutScoring(ctx, org, dataset, video, path, scoring, columns); err != nil {
		return err
	}
	return s.shake()
}

// TestEveryRunEnds: two programs on one store, with failures, lost leases, restarts and
// cancellations. Each run ends, and what succeeded is right; whether the queue shares the
// store or not.
func TestEveryRunEnds(t *testing.T) {
	for name, shares := range map[string]bool{"one database": true, "two databases": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyRunEnds(t, shares)
		})
	}
}

func everyRunEnds(t *testing.T, shares bool) {
	db := newMemory(t)
	store := &shakyStore{Store: db.AudioSearch().Store, tx: db.AudioSearch().Store.(*memory.AudioSearch)}
	store.calm.Store(true)
	r := newRigOn(t, db, store, nil)
	for _, id := range []string{"a", "b", "c"} {
		r.video(id, 5000, map[int]byte{2500: 255}, nil)
	}
	r.file("bad", []byte("BAD"), nil)
	store.calm.Store(false)
	hook := func(context.Context) error {
		time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
		if !store.calm.Load() && rand.IntN(10) == 0 {
			return errBroken
		}
		return nil
	}
	r.scorer.hook.Store(&hook)
	logger := slog.New(slog.DiscardHandler)
	program := func() (*audiosearch.Service, *audiosearch.Worker) {
		table := db.Queue(&leases.Options{TTL: 30 * time.Millisecond, Poll: 5 * time.Millisecond,
			Logger: logger})
		var queue mortise.Queue = table
		if shares {
			queue = sharingQueue{table, store}
		}
		s, err := audiosearch.New(audiosearch.Backend{Store: store, Queue: queue}, &audiosearch.Options{Scorers: []sound.Scorer{r.scorer}, Media: r.media, Files: mustFolder(t, r.dir), Env: mortise.Env{Logger: logger}, Ingesting: 2, OnEnd: mailOf})
		require.NoError(t, err)
		w, err := audiosearch.NewWorker(s, &audiosearch.WorkerOptions{Backoff: func(int) time.Duration { return time.Millisecond }, Watch: time.Millisecond,
			Sweep: audiosearch.SweeperOptions{Every: 10 * time.Millisecond},
			Drain: time.Millisecond, MaxAttempts: 1000})
		require.NoError(t, err)
		return s, w
	}
	ctx, stop := context.WithCancel(t.Context())
	var programs sync.WaitGroup
	var present [2]atomic.Pointer[audiosearch.Service]
	for i := range present {
		programs.Go(func() {
			for ctx.Err() == nil {
				s, w := program()
				present[i].Store(s)
				life, kill := context.WithTimeout(ctx, time.Duration(10+rand.IntN(100))*time.Millisecond)
				assert.NoError(t, w.Run(life))
				kill()
			}
		})
	}
	var ids []int64
	cancelled := map[int64]bool{}
	for range 300 {
		s := present[rand.IntN(2)].Load()
		if s == nil {
			time.Sleep(time.Millisecond)
			continue
		}
		run, err := s.Start(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud})
		require.NoError(t, err)
		ids = append(ids, run.ID)
		if rand.IntN(4) == 0 {
			id := ids[rand.IntN(len(ids))]
			if _, err := s.Cancel(t.Context(), org, "", "d", id); err == nil {
				cancelled[id] = true
			}
		}
		if rand.IntN(30) == 0 { // scored anew
			_ = db.AudioSearch().Store.DeleteVideo(t.Context(), org, "d", "a")
			r.video("a", 5000, map[int]byte{2500: 255}, nil)
		}
		time.Sleep(time.Duration(rand.IntN(4)) * time.Millisecond)
	}
	store.calm.Store(true)
	assert.Eventually(t, func() bool {
		for _, id := range ids {
			run, err := db.AudioSearch().Store.Run(t.Context(), org, id)
			if err != nil || run.State != audiosearch.StateTerminated {
				return false
			}
		}
		return true
	}, time.Minute, 10*time.Millisecond)
	stop()
	programs.Wait()
	how := map[string]int{}
	told := mailed(t, db)
	for _, id := range ids {
		run, err := db.AudioSearch().Store.Run(t.Context(), org, id)
		require.NoError(t, err)
		results, err := db.AudioSearch().Store.RunResults(t.Context(), org, id, 0)
		require.NoError(t, err)
		how[string(run.State)+" "+string(run.Termination)+" "+run.Message]++
		if run.Termination == audiosearch.Success {
			how[string(rune('0'+len(results)%75))+" results"]++
			if cancelled[id] {
				how["cancelled, but success"]++
			}
		}
		if !shares && !run.WakeAt.IsZero() {
			how["ended, still to be told"]++
		} else {
			assert.Contains(t, told, mailID(id, run.Termination))
		}
		if run.StartedAt.IsZero() {
			assert.False(t, run.FinishedAt.Before(run.CreatedAt))
		} else {
			assert.False(t, run.FinishedAt.Before(run.StartedAt) || run.StartedAt.Before(run.CreatedAt), "%+v", run)
		}
	}
	for k, v := range how {
		t.Log(v, k)
	}
	kinds := []string{audiosearch.JobKind}
	leases, err := db.Jobs().Claim(t.Context(), mortise.Claim{Token: uuid.New(), Kinds: kinds,
		Limit: 1000, TTL: time.Hour})
	require.NoError(t, err)
	t.Log("jobs left:", len(leases))
}
