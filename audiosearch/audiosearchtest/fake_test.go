package audiosearchtest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

func TestFake(t *testing.T) {
	f := park(t)
	assert.Zero(t, f.Drain(t.Context()))
	start := f.Now()
	run, err := f.Start(t.Context(), "acme", "ada", audiosearch.Query{Dataset: "walks", Class: dog})
	require.NoError(t, err)
	assert.Equal(t, start, run.CreatedAt)
	f.Advance(time.Second)
	assert.Equal(t, 1, f.Drain(t.Context()))
	run, err = f.Results(t.Context(), "acme", "walks", run.ID)
	require.NoError(t, err)
	assert.Equal(t, start.Add(time.Second), run.FinishedAt)
	assert.Len(t, run.Results, 4)
	events := f.Observations()
	events[0].Kind = "changed"
	assert.NotEqual(t, events[0], f.Observations()[0], "a copy")
}

func TestFakeKeepsTheHostsSettings(t *testing.T) {
	heard := 0
	f := audiosearchtest.New(t, &audiosearchtest.Options{
		Classes: []sound.Class{"Bark", dog},
		Worker:  audiosearch.WorkerOptions{MaxAttempts: 1},
		Service: audiosearch.Options{MaxLimit: 7, Env: mortise.Env{Observer: func(context.Context, mortise.Observation) { heard++ }}},
	})
	assert.Equal(t, 7, f.Limits().Results)
	classes, err := f.Classes(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []sound.Class{"Bark", dog}, classes)
	_, err = f.CreateDataset(t.Context(), "acme", "", "d")
	require.NoError(t, err)
	_, err = f.Start(t.Context(), "acme", "ada", audiosearch.Query{Dataset: "d", Class: "Cat"})
	var invalid *mortise.ValidationError
	require.ErrorAs(t, err, &invalid, "a class that it does not know")
	run, err := f.Start(t.Context(), "acme", "ada", audiosearch.Query{Dataset: "d", Class: "Bark"})
	require.NoError(t, err)
	heal := f.Break(audiosearchtest.ScorerPart)
	f.Drain(t.Context())
	heal()
	run, err = f.Run(t.Context(), "acme", "d", run.ID)
	require.NoError(t, err)
	assert.Equal(t, audiosearch.InternalError, run.Termination)
	assert.Equal(t, len(f.Observations()), heard)
}

func TestBreak(t *testing.T) {
	f := park(t)
	start := func() error {
		_, err := f.Start(t.Context(), "acme", "ada", audiosearch.Query{Dataset: "walks", Class: dog})
		return err
	}
	first, second := f.Break(audiosearchtest.StorePart), f.Break(audiosearchtest.StorePart)
	require.ErrorIs(t, start(), mortise.ErrUnavailable)
	first()
	first()
	require.ErrorIs(t, start(), mortise.ErrUnavailable, "broken twice, healed once")
	second()
	require.NoError(t, start())
	heal := f.Break(audiosearchtest.QueuePart)
	require.NoError(t, start(), "the store queues it")
	assert.Zero(t, f.Drain(t.Context()))
	heal()
	assert.Equal(t, 2, f.Drain(t.Context()))
	heal = f.Break(audiosearchtest.ScorerPart)
	require.NoError(t, start(), "there are scores")
	heal()

	f = park(t)
	heal = f.Break(audiosearchtest.ScorerPart)
	require.ErrorIs(t, start(), mortise.ErrUnavailable, "nothing is scored")
	heal()
	require.NoError(t, start())
}

func TestDrainStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := park(t)
	_, err := f.Start(t.Context(), "acme", "ada", audiosearch.Query{Dataset: "walks", Class: dog})
	require.NoError(t, err)
	cancel()
	assert.Zero(t, f.Drain(ctx))
	assert.Equal(t, 1, f.Drain(t.Context()))
}

func TestFakeIsSafeForConcurrentUse(t *testing.T) {
	f := park(t)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 15 {
				path := fmt.Sprint(i, "-", n, ".mp4")
				f.Sounds.Record(path, audiosearchtest.Tape{Heard: map[sound.Class][]float64{dog: {1}}})
				assert.NoError(t, f.PutVideos(t.Context(), "acme", "", "walks", audiosearch.Video{ID: path, Path: path}))
				_, err := f.Start(t.Context(), "acme", "ada", audiosearch.Query{Dataset: "walks", Class: dog})
				assert.NoError(t, err)
				f.Advance(time.Millisecond)
				f.Drain(t.Context())
				f.Observations()
			}
		})
	}
	wg.Wait()
	f.Drain(t.Context())
	found, err := f.Search(t.Context(), "acme", "ada", audiosearch.Query{Dataset: "walks", Class: dog, Limit: 100, MinScore: 1})
	require.NoError(t, err)
	assert.Len(t, found.Results, 60)
}

func TestSounds(t *testing.T) {
	f := park(t)
	f.Sounds.Record("long.mp4", audiosearchtest.Tape{Duration: 10 * time.Hour, Heard: map[sound.Class][]float64{dog: append(make([]float64, 17_000), 1)}})
	f.Sounds.Record("locked.mp4", audiosearchtest.Tape{Err: errors.New("the disk is away")})
	for _, id := range []string{"long", "locked", "nowhere"} {
		require.NoError(t, f.PutVideos(t.Context(), "acme", "", "walks", audiosearch.Video{ID: id, Path: id + ".mp4"}))
	}
	found, err := f.Search(t.Context(), "acme", "ada", audiosearch.Query{Dataset: "walks", Class: dog, MinScore: 1})
	require.NoError(t, err)
	require.Len(t, found.Results, 1)
	assert.Equal(t, 34_000*time.Second, found.Results[0].Start)
	assert.Equal(t, found.Results[0].Start, found.Results[0].Keyframe.At, "no video: a keyframe at each segment's start")
	require.Len(t, found.Problems, 2)
	assert.Equal(t, "locked", found.Problems[0].Video)
	assert.Contains(t, found.Problems[1].Message, "Sounds.Record")

	f.Sounds.Erase("park.mp4")
	ingested, err := f.Ingest(t.Context(), "acme", "", "walks")
	require.NoError(t, err)
	assert.Len(t, ingested.Problems, 3)
	assert.Equal(t, 1, ingested.Unchanged)
}

func TestFakeGoesByTheClockItIsGiven(t *testing.T) {
	clock := new(audiosearchtest.Clock)
	clock.Advance(time.Hour)
	f := audiosearchtest.New(t, &audiosearchtest.Options{Clock: clock})
	assert.Same(t, clock, f.Clock)
	clock.Advance(time.Minute)
	assert.Equal(t, clock.Now(), f.Now())
	f.Advance(time.Minute)
	assert.Equal(t, clock.Now(), f.Now())
	assert.NotSame(t, audiosearchtest.New(t, nil).Clock, audiosearchtest.New(t, nil).Clock, "by default each has its own")
}
