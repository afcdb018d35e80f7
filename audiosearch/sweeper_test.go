package audiosearch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

func TestWorkerAndSweeperNeedAService(t *testing.T) {
	_, err := audiosearch.NewWorker(nil, nil)
	require.ErrorContains(t, err, "NewWorker needs a service")
	_, err = audiosearch.NewSweeper(nil, nil)
	require.ErrorContains(t, err, "NewSweeper needs a service")
}

// sweeping runs a sweeper until the function that it returns is called.
func sweeping(t *testing.T, w *audiosearch.Sweeper) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		require.NoError(t, <-ended)
	}
}

// A host that is pushed its jobs has no Worker that runs: its Sweeper finds lost jobs
// alone.
func TestSweeperAloneFindsLostJobs(t *testing.T) {
	lossy(t, func(n int) bool { return n == 1 }, func(t *testing.T, r *rig, _ *lossyQueue) {
		stop := sweeping(t, r.sweeper)
		id := r.start(audiosearch.Query{Class: loud})
		time.Sleep(time.Hour + 16*time.Second)
		stop()
		r.drain(10)
		require.Equal(t, audiosearch.Success, r.results(id).Termination)
	})
}

// It also has datasets scored by new models, and the store tidied up.
func TestSweeperAloneRenewsDatasets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newScorerRig(t, newFlat("f", "1", "Loud"))
		r.video("a", 4000, nil, nil)
		r.ingest()
		s := r.another(nil, newFlat("f", "2", "Loud"))
		w, err := audiosearch.NewSweeper(s, &audiosearch.SweeperOptions{KeepReplaced: time.Hour})
		require.NoError(t, err)
		stop := sweeping(t, w)
		r.find(s, audiosearch.Query{Class: "Loud"})
		synctest.Wait()
		assert.Len(t, r.find(s, audiosearch.Query{Class: "Loud", Model: "f/1"}).Results, 2)
		assert.Equal(t, map[string]bool{"f/1": false, "f/2": true}, r.models())
		time.Sleep(2 * time.Hour)
		_, err = s.Search(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: "Loud", Model: "f/1"})
		var invalid *mortise.ValidationError
		require.ErrorAs(t, err, &invalid, "the scores are gone")
		stop()
	})
}

// A run whose attempt may still be alive, or its job on its way, is not taken for lost.
func TestLostAfterHasAMinimum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newMemory(t)
		queue := &lossyQueue{StepQueue: db.Queue(nil), loses: func(n int) bool { return n == 1 }}
		r := newRigOver(t, db, db.AudioSearch().Store, queue,
			func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) { o.LostAfter = 1 })
		r.start(audiosearch.Query{Class: loud})
		time.Sleep(15 * time.Minute)
		r.sweep(0)
		time.Sleep(time.Second)
		r.sweep(1)
	})
}
