package audiosearch_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// slowly makes the rig's scorer take a second for each batch, which is three seconds of
// sound.
func (r *rig) slowly() {
	hook := func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
			return nil
		}
	}
	r.scorer.hook.Store(&hook)
}

// oneAtATime is how the rigs of these tests work.
func oneAtATime(o *audiosearch.Options, w *audiosearch.WorkerOptions) {
	o.Ingesting, o.Part, w.Watch = 1, 10*time.Second, time.Second
}

// begin has the worker carry out a run, and returns once it has. Nothing happens before
// the caller waits.
func (r *rig) begin(q audiosearch.Query) (id int64, ended chan error) {
	id, ended = r.start(q), make(chan error, 1)
	go func() {
		_, err := r.worker.RunOnce(r.t.Context())
		ended <- err
	}()
	return id, ended
}

// about requires a progress with some tolerance: it is written every few seconds.
func about(t *testing.T, p audiosearch.SoundProgress, done, total time.Duration, speed float64) {
	t.Helper()
	assert.InDelta(t, done.Seconds(), p.Done.Seconds(), 15, "done")
	assert.Equal(t, total, p.Total)
	assert.InDelta(t, speed, p.Speed, speed/5, "speed")
}

// TestSoundOfARun: a run says how much sound it has scored, how fast, and so how long the
// rest takes, and at its end that all is done.
func TestSoundOfARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, oneAtATime)
		r.video("scored", 5000, nil, nil)
		_, err := r.Ingest(t.Context(), org, "", "d")
		require.NoError(t, err)
		r.slowly()
		for i := range 4 {
			r.video(fmt.Sprint(i), 90_000, nil, nil)
		}
		r.file("!broken", []byte("BAD"), nil)
		id, ended := r.begin(audiosearch.Query{Class: loud})
		time.Sleep(500 * time.Millisecond)
		assert.Zero(t, r.results(id).Sound, "nobody knows anything")
		time.Sleep(45 * time.Second)
		run := r.results(id)
		about(t, run.Sound, 135*time.Second, 360*time.Second, 3)
		left, ok := run.Sound.Left()
		assert.True(t, ok)
		assert.InDelta(t, 75, left.Seconds(), 8)
		assert.Equal(t, []int{3, 6}, []int{run.Done, run.Total})
		require.NoError(t, <-ended)
		run = r.results(id)
		assert.Equal(t, []time.Duration{6 * time.Minute, 6 * time.Minute}, []time.Duration{run.Sound.Done, run.Sound.Total})
		assert.InDelta(t, 3, run.Sound.Speed, 0.3)
		assert.Equal(t, []int{6, 6}, []int{run.Done, run.Total})

		run = r.search(audiosearch.Query{Class: loud})
		assert.Zero(t, run.Sound, "nothing had to be scored")
	})
}

// TestSoundTakenOver: what a process has left behind is done, and does not make the next
// one faster.
func TestSoundTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, oneAtATime)
		r.video("long", 300_000, nil, nil)
		r.slowly()
		slow := *r.scorer.hook.Load()
		cut := func(ctx context.Context) error {
			if r.scorer.clips.Load() >= 200 {
				return errors.New("the scorer is gone")
			}
			return slow(ctx)
		}
		r.scorer.hook.Store(&cut)
		id, ended := r.begin(audiosearch.Query{Class: loud})
		require.NoError(t, <-ended)
		failed := r.results(id)
		require.Equal(t, audiosearch.StateQueued, failed.State)
		about(t, failed.Sound, 195*time.Second, 300*time.Second, 3)

		r.slowly()
		first := true
		slow = *r.scorer.hook.Load()
		slower := func(ctx context.Context) error {
			if first {
				first = false
				time.Sleep(19 * time.Second)
			}
			return slow(ctx)
		}
		r.scorer.hook.Store(&slower)
		go func() {
			_, err := r.worker.RunOnce(t.Context())
			ended <- err
		}()
		time.Sleep(500 * time.Millisecond)
		assert.Zero(t, r.results(id).Sound, "the attempt has just begun")
		time.Sleep(10 * time.Second)
		about(t, r.results(id).Sound, 190*time.Second, 300*time.Second, 0)
		time.Sleep(24 * time.Second)
		about(t, r.results(id).Sound, 234*time.Second, 300*time.Second, 3)
		require.NoError(t, <-ended)
		assert.Equal(t, 5*time.Minute, r.results(id).Sound.Done)
	})
}

// TestSoundOfTwoRuns: a run that waits for what another one has begun is as far as that,
// and not faster.
func TestSoundOfTwoRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, oneAtATime)
		r.video("long", 300_000, nil, nil)
		r.slowly()
		working, stop := context.WithCancel(t.Context())
		worked := make(chan error, 1)
		go func() { worked <- r.worker.Run(working) }()
		first := r.start(audiosearch.Query{Class: loud})
		time.Sleep(40*time.Second + 500*time.Millisecond)
		second := r.start(audiosearch.Query{Class: quiet})
		time.Sleep(20 * time.Second)
		about(t, r.results(first).Sound, 180*time.Second, 300*time.Second, 3)
		about(t, r.results(second).Sound, 180*time.Second, 300*time.Second, 3)
		time.Sleep(time.Minute)
		assert.Equal(t, 5*time.Minute, r.results(second).Sound.Done)
		stop()
		require.NoError(t, <-worked)
	})
}

// TestSoundOfAMovedVideo: what was scored of a video that gets another file meanwhile is
// not done, and it is still expected.
func TestSoundOfAMovedVideo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, oneAtATime)
		for _, id := range []string{"0", "1", "2"} {
			r.video(id, 90_000, nil, nil)
		}
		r.slowly()
		id, ended := r.begin(audiosearch.Query{Class: loud})
		time.Sleep(15 * time.Second)
		about(t, r.results(id).Sound, 40*time.Second, 270*time.Second, 3)
		require.NoError(t, r.PutVideos(t.Context(), org, "", "d", audiosearch.Video{ID: "0", Path: "1"}))
		time.Sleep(20 * time.Second)
		about(t, r.results(id).Sound, 45*time.Second, 270*time.Second, 3)
		require.NoError(t, <-ended)
		assert.Equal(t, 270*time.Second, r.results(id).Sound.Done)
	})
}

// writes counts the updates of runs.
type writes struct {
	audiosearch.Store
	n int
}

func (w *writes) UpdateRun(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
	w.n++
	return w.Store.UpdateRun(ctx, org, id, update)
}

// TestIngestTells: an Ingest tells how far it is with the videos, the scored ones
// included, and with the sound of those that are not.
func TestIngestTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, oneAtATime)
		for i := range 3 {
			r.video(fmt.Sprint("a", i), 60_000, nil, nil)
		}
		_, err := r.Ingest(t.Context(), org, "", "d")
		require.NoError(t, err)
		r.slowly()
		for i := range 3 {
			r.video(fmt.Sprint("b", i), 90_000, nil, nil)
		}
		r.mu.Lock()
		r.events = nil
		r.mu.Unlock()
		start := time.Now()
		_, err = r.Ingest(t.Context(), org, "", "d")
		require.NoError(t, err)
		var told []mortise.Observation
		for _, o := range r.events {
			if o.Kind == mortise.KindScoring {
				told = append(told, o)
			}
		}
		require.InDelta(t, time.Since(start).Seconds(), len(told), 1, "once a second")
		for _, o := range told {
			d := o.Detail.(audiosearch.Detail)
			assert.Equal(t, []any{org, "d", "d", "volume/1", 6}, []any{o.Organization, o.Object, d.Dataset, d.Model, d.Total})
		}
		middle := told[len(told)/2].Detail.(audiosearch.Detail)
		assert.Equal(t, 4, middle.Done)
		about(t, middle.Sound, 135*time.Second, 270*time.Second, 3)
	})
}

// TestSoundIsWrittenSeldom: a run that scores for hours is not written more than once in
// three seconds for that.
func TestSoundIsWrittenSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, err := memory.Open(t.Context(), nil)
		require.NoError(t, err)
		store := &writes{Store: db.AudioSearch().Store}
		r := newRigOn(t, db, store, oneAtATime)
		r.video("long", 300_000, nil, nil)
		r.slowly()
		before := store.n
		id, ended := r.begin(audiosearch.Query{Class: loud})
		require.NoError(t, <-ended)
		assert.Equal(t, audiosearch.Success, r.results(id).Termination)
		assert.LessOrEqual(t, store.n-before, 40, "in 100 seconds")
	})
}

// TestLeft: no time is said that nobody knows.
func TestLeft(t *testing.T) {
	for _, test := range []struct {
		p    audiosearch.SoundProgress
		left time.Duration
		ok   bool
	}{
		{audiosearch.SoundProgress{}, 0, false},
		{audiosearch.SoundProgress{Done: time.Minute, Speed: 2}, 0, false},
		{audiosearch.SoundProgress{Total: time.Minute}, 0, false},
		{audiosearch.SoundProgress{Total: time.Minute, Speed: 1e-300}, 0, false},
		{audiosearch.SoundProgress{Total: time.Minute, Speed: -1}, 0, false},
		{audiosearch.SoundProgress{Done: time.Minute, Total: 10 * time.Minute, Speed: 2}, 4*time.Minute + 30*time.Second, true},
		{audiosearch.SoundProgress{Total: math.MaxInt64, Speed: 1e6}, time.Duration(math.MaxInt64 / 1_000_000).Round(time.Second), true},
		{audiosearch.SoundProgress{Done: 2 * time.Minute, Total: time.Minute, Speed: 2}, 0, true},
	} {
		left, ok := test.p.Left()
		assert.Equal(t, []any{test.left, test.ok}, []any{left, ok}, "%+v", test.p)
	}
}
