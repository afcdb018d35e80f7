package audiosearch_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// flat is a Scorer of any family: it gives each of its classes the same score, the next
// ones half of it.
type flat struct {
	family, version string
	classes         []sound.Class
	away            atomic.Pointer[error]
	hangs           atomic.Bool
	asked, clips    atomic.Int64
}

func (f *flat) Model(ctx context.Context) (sound.Model, error) {
	f.asked.Add(1)
	if f.hangs.Load() {
		<-ctx.Done()
		return sound.Model{}, ctx.Err()
	}
	if err := f.away.Load(); err != nil {
		return sound.Model{}, *err
	}
	return sound.Model{
		ID: f.family + "/" + f.version, Family: f.family, SampleRate: 1000, Window: 2 * time.Second, Hop: 2 * time.Second,
		Classes: f.classes,
	}, nil
}

func (f *flat) Score(_ context.Context, clips [][]float32) ([]sound.Scores, error) {
	if err := f.away.Load(); err != nil {
		return nil, *err
	}
	f.clips.Add(int64(len(clips)))
	rows := make([]sound.Scores, len(clips))
	for i := range rows {
		score := float32(1)
		for range f.classes {
			rows[i] = append(rows[i], score)
			score /= 2
		}
	}
	return rows, nil
}

func (f *flat) leave(err error) {
	if err == nil {
		f.away.Store(nil)
	} else {
		f.away.Store(&err)
	}
}

func newFlat(family, version string, classes ...sound.Class) *flat {
	return &flat{family: family, version: version, classes: classes}
}

// newScorerRig has scorers in place of the rig's own.
func newScorerRig(t *testing.T, scorers ...sound.Scorer) *rig {
	t.Helper()
	return newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) { o.Scorers = scorers })
}

func (r *rig) find(s *audiosearch.Service, q audiosearch.Query) audiosearch.Found {
	r.t.Helper()
	q.Dataset = "d"
	found, err := s.Search(r.t.Context(), org, "", q)
	require.NoError(r.t, err)
	return found
}

// TestScorersSideBySide: each class belongs to the first scorer that predicts it.
func TestScorersSideBySide(t *testing.T) {
	first, second := newFlat("first", "1", "Loud", "Quiet"), newFlat("second", "1", "Bright", "Quiet", "Dark")
	r := newScorerRig(t, first, second)
	r.video("a", 4000, nil, nil)
	assert.InDelta(t, 0.5, r.find(r.Service, audiosearch.Query{Class: "Quiet"}).Results[0].Score, 0.001)
	assert.Zero(t, second.clips.Load(), "nobody needs its scores yet")
	assert.InDelta(t, 1, r.find(r.Service, audiosearch.Query{Class: "Bright"}).Results[0].Score, 0.001)
	assert.Equal(t, map[string]bool{"first/1": true, "second/1": true}, r.models())
	assert.Equal(t, []int64{2, 2}, []int64{first.clips.Load(), second.clips.Load()})

	assert.InDelta(t, 0.5, r.find(r.Service, audiosearch.Query{Class: "Quiet", Model: "second/1"}).Results[0].Score, 0.001)
	assert.Equal(t, audiosearch.Ingested{Unchanged: 1}, r.ingest())
	r.video("b", 4000, nil, nil)
	assert.Equal(t, audiosearch.Ingested{Scored: 1, Unchanged: 1}, r.ingest(), "each video counts once")
	assert.Equal(t, []int64{4, 4}, []int64{first.clips.Load(), second.clips.Load()})

	classes, err := r.Classes(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []sound.Class{"Loud", "Quiet", "Bright", "Dark"}, classes)
	heard, err := r.Top(t.Context(), org, "d", "a", 0, time.Second, 10)
	require.NoError(t, err)
	assert.Equal(t, []sound.Class{"Loud", "Bright", "Quiet", "Dark"},
		[]sound.Class{heard[0].Class, heard[1].Class, heard[2].Class, heard[3].Class})
	assert.Len(t, heard, 4)

	for q, text := range map[sound.Class]string{"bright": `did you mean "Bright"?`, "Dog": "Bright; Dark; Loud; Quiet"} {
		_, err := r.Start(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: q})
		var invalid *mortise.ValidationError
		require.ErrorAs(t, err, &invalid)
		assert.ErrorContains(t, err, text)
	}
	for _, q := range []audiosearch.Query{{Class: "Loud", Model: "third/1"}, {Class: "Loud", Model: "second/1"}, {Class: "Loud", Model: "\x00"}} {
		q.Dataset = "d"
		_, err := r.Search(t.Context(), org, "", q)
		var invalid *mortise.ValidationError
		require.ErrorAs(t, err, &invalid, q.Model)
	}
}

// TestScorerAway: searches over what is scored go on, and say what is left out; readiness
// asks the store.
func TestScorerWithoutClassesOfItsOwn(t *testing.T) {
	model := newFlat("model", "1", "Dog", "Rain", "Dial tone")
	signal := newFlat("signal", "1", "Dial tone")
	r := newScorerRig(t, model, signal)
	r.video("a", 4000, nil, nil)
	ingest := func() {
		t.Helper()
		_, err := r.Service.Ingest(t.Context(), org, "", "d")
		require.NoError(t, err)
	}
	ingest()
	require.EqualValues(t, 2, model.clips.Load())
	require.Zero(t, signal.clips.Load(), "no search would read its scores")
	found := r.find(r.Service, audiosearch.Query{Class: "Dial tone"})
	require.Len(t, found.Results, 2)
	require.InDelta(t, 0.25, found.Results[0].Score, 1e-4, "by the first that predicts it")

	found = r.find(r.Service, audiosearch.Query{Class: "Dial tone", Model: "signal/1"})
	require.EqualValues(t, 2, signal.clips.Load(), "somebody asked for it")
	require.InDelta(t, 1, found.Results[0].Score, 1e-4)

	// It stays so while the first scorer is away, and ends when that does not predict it.
	r.video("b", 4000, nil, nil)
	model.leave(errors.New("away"))
	_, err := r.Service.Ingest(t.Context(), org, "", "d")
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.EqualValues(t, 2, signal.clips.Load())
	model.leave(nil)
	signal.classes = []sound.Class{"Dial tone", "Pulse"}
	signal.version = "2"
	ingest()
	require.EqualValues(t, 4, model.clips.Load())
	require.EqualValues(t, 6, signal.clips.Load(), "both videos")
}

func TestScorerAway(t *testing.T) {
	scorer := newFlat("f", "1", "Loud")
	r := newScorerRig(t, scorer)
	r.video("a", 4000, nil, nil)
	scorer.leave(errBroken)
	require.NoError(t, r.Ping(t.Context()))
	require.ErrorIs(t, r.PingScorers(t.Context()), mortise.ErrUnavailable)
	_, err := r.Start(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: "Loud"})
	require.ErrorIs(t, err, mortise.ErrUnavailable, "nobody knows what it could find")
	scorer.leave(nil)
	r.ingest()
	r.video("b", 4000, nil, nil)
	scorer.leave(errBroken)

	found := r.find(r.Service, audiosearch.Query{Class: "Loud"})
	assert.Equal(t, []int{2, 1}, []int{len(found.Results), found.LeftOut})
	run := r.search(audiosearch.Query{Class: "Loud"})
	assert.Equal(t, audiosearch.Success, run.Termination)
	assert.Len(t, run.Results, 2)
	assert.Contains(t, run.Message, "1 of 2 videos were left out")
	assert.Equal(t, []int{1, 2}, []int{run.Done, run.Total})
	// So do services that never had the scorer, and those that never heard of it.
	for _, s := range []*audiosearch.Service{r.another(nil), r.another(nil, newFlat("other", "1", "Dark")), r.another(nil, scorer)} {
		found := r.find(s, audiosearch.Query{Class: "Loud"})
		assert.Equal(t, []int{2, 1}, []int{len(found.Results), found.LeftOut})
	}
	_, err = r.another(nil, scorer).Start(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: "Dark"})
	require.ErrorIs(t, err, mortise.ErrUnavailable, "the one that is away may know it")

	scorer.leave(nil)
	run = r.search(audiosearch.Query{Class: "Loud"})
	assert.Len(t, run.Results, 4)
	assert.Empty(t, run.Message)
}

// TestIngestWithoutAScorer: the others score, and whoever asked hears that one is away.
func TestIngestWithoutAScorer(t *testing.T) {
	first, second := newFlat("first", "1", "Loud"), newFlat("second", "1", "Bright")
	r := newScorerRig(t, first, second)
	r.video("a", 4000, nil, nil)
	first.leave(errBroken)
	in, err := r.Ingest(t.Context(), org, "", "d")
	require.ErrorIs(t, err, errBroken)
	assert.Equal(t, 1, in.Scored)
	assert.Len(t, r.find(r.Service, audiosearch.Query{Class: "Bright"}).Results, 2)
}

// TestScorerHangs: it costs a search five seconds, and the next ones nothing.
func TestScorerHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scorer := newFlat("f", "1", "Loud")
		r := newScorerRig(t, scorer)
		r.video("a", 4000, nil, nil)
		r.ingest()
		scorer.hangs.Store(true)
		for _, want := range []time.Duration{5 * time.Second, 0, 0} {
			start := time.Now()
			assert.Len(t, r.find(r.Service, audiosearch.Query{Class: "Loud"}).Results, 2)
			assert.Equal(t, want, time.Since(start))
		}
		scorer.hangs.Store(false)
		r.video("b", 4000, nil, nil)
		assert.Equal(t, 1, r.find(r.Service, audiosearch.Query{Class: "Loud"}).LeftOut)
		time.Sleep(10 * time.Second)
		assert.Len(t, r.find(r.Service, audiosearch.Query{Class: "Loud"}).Results, 4, "it is asked again")
	})
}

// TestNewModelTakesOver: it does so in one step, when it has scored what the old one has.
func TestNewModelTakesOver(t *testing.T) {
	before := newFlat("f", "1", "Loud")
	r := newScorerRig(t, before)
	for _, id := range []string{"a", "b"} {
		r.video(id, 4000, nil, nil)
	}
	r.ingest()
	r.video("c", 4000, nil, nil)

	after := newFlat("f", "2", "New", "Loud")
	s := r.another(nil, after)
	found := r.find(s, audiosearch.Query{Class: "Loud"})
	assert.Equal(t, []int{4, 1}, []int{len(found.Results), found.LeftOut})
	assert.InDelta(t, 1, found.Results[0].Score, 0.001, "by the old one")
	assert.Zero(t, after.clips.Load())

	// A class that only the new one predicts waits for it. A part of the videos is not
	// enough for it to take over.
	found = r.find(s, audiosearch.Query{Class: "New", Filters: []metadata.Filter{}})
	assert.Len(t, found.Results, 6)
	assert.Equal(t, map[string]bool{"f/1": false, "f/2": true}, r.models(), "it has scored all")
	assert.InDelta(t, 0.5, r.find(s, audiosearch.Query{Class: "Loud"}).Results[0].Score, 0.001, "by the new one")
	assert.InDelta(t, 1, r.find(s, audiosearch.Query{Class: "Loud", Model: "f/1"}).Results[0].Score, 0.001)

	// The service of before does not fight: it reads the new one's scores, and makes
	// none.
	clips := before.clips.Load()
	r.video("d", 4000, nil, nil)
	assert.Equal(t, audiosearch.Ingested{}, r.ingest())
	found = r.find(r.Service, audiosearch.Query{Class: "Loud"})
	assert.Equal(t, []int{6, 1}, []int{len(found.Results), found.LeftOut})
	_, err := r.sweeper.RunOnce(t.Context())
	require.NoError(t, err)
	assert.Equal(t, clips, before.clips.Load())
	assert.Equal(t, map[string]bool{"f/1": false, "f/2": true}, r.models())

	// Back only when told.
	require.NoError(t, r.UseModel(t.Context(), org, "", "d", "f/1"))
	require.NoError(t, r.UseModel(t.Context(), org, "", "d", "f/1"))
	assert.Equal(t, map[string]bool{"f/1": true, "f/2": false}, r.models())
	assert.Len(t, r.find(r.Service, audiosearch.Query{Class: "Loud"}).Results, 8)
	for _, unknown := range []string{"", "g/1"} {
		var invalid *mortise.ValidationError
		require.ErrorAs(t, r.UseModel(t.Context(), org, "", "d", unknown), &invalid)
	}
	require.ErrorIs(t, r.UseModel(t.Context(), "rival", "", "d", "f/1"), audiosearch.ErrDatasetNotFound)
}

// TestNewModelIsNotWhole: what it could not score keeps it from taking over.
func TestNewModelIsNotWhole(t *testing.T) {
	before := newFlat("f", "1", "Loud")
	r := newScorerRig(t, before)
	r.video("a", 4000, nil, metadata.Map{"n": metadata.Int(1)})
	r.video("b", 4000, nil, metadata.Map{"n": metadata.Int(2)})
	r.ingest()
	after := newFlat("f", "2", "New", "Loud")
	s := r.another(nil, after)
	one := []metadata.Filter{{Key: "n", Value: "1"}}
	assert.Len(t, r.find(s, audiosearch.Query{Class: "New", Filters: one}).Results, 2)
	assert.Equal(t, map[string]bool{"f/1": true, "f/2": false}, r.models(), "it has one of two videos")
	after.leave(errBroken)
	_, err := s.Ingest(t.Context(), org, "", "d")
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	assert.Equal(t, map[string]bool{"f/1": true, "f/2": false}, r.models())
	after.leave(nil)
	_, err = s.Ingest(t.Context(), org, "", "d")
	require.NoError(t, err)
	assert.Equal(t, map[string]bool{"f/1": false, "f/2": true}, r.models())
	assert.EqualValues(t, 4, after.clips.Load(), "each video once")
}

// TestWorkerRenewsDatasets: after a search has found a new model, its scores are made in
// the background.
func TestWorkerRenewsDatasets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newScorerRig(t, newFlat("f", "1", "Loud"))
		r.video("a", 4000, nil, nil)
		r.ingest()
		after := newFlat("f", "2", "Loud")
		s := r.another(nil, after)
		w, err := audiosearch.NewWorker(s, &audiosearch.WorkerOptions{Sweep: audiosearch.SweeperOptions{KeepReplaced: time.Hour}})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		synctest.Wait()
		assert.Equal(t, map[string]bool{"f/1": true}, r.models(), "nobody has asked")
		_, err = s.Start(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: "Loud"})
		require.NoError(t, err)
		time.Sleep(time.Minute)
		assert.Equal(t, map[string]bool{"f/1": false, "f/2": true}, r.models())
		assert.Len(t, r.find(s, audiosearch.Query{Class: "Loud", Model: "f/1"}).Results, 2, "they are kept")
		time.Sleep(2 * time.Hour)
		_, err = s.Search(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: "Loud", Model: "f/1"})
		var invalid *mortise.ValidationError
		require.ErrorAs(t, err, &invalid, "no longer than told")
		assert.Len(t, r.find(s, audiosearch.Query{Class: "Loud"}).Results, 2)
		stop()
		require.NoError(t, <-ended)
	})
}

// TestModelChosenMeanwhile: of two services that choose the first model of a dataset, one
// wins, and the other one reads its scores.
func TestModelChosenMeanwhile(t *testing.T) {
	one, two := newFlat("f", "1", "Loud"), newFlat("f", "2", "Loud")
	db := newMemory(t)
	var other *audiosearch.Service
	var once atomic.Bool
	faults := &audiosearchtest.Faults{Before: audiosearchtest.On(func(string) error {
		if once.CompareAndSwap(false, true) {
			_, err := other.Ingest(t.Context(), org, "", "d")
			assert.NoError(t, err)
		}
		return nil
	}, "Store.SetModel")}
	r := newRigOn(t, db, faults.Store(db.AudioSearch().Store), func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
		o.Scorers = []sound.Scorer{one}
	})
	r.video("a", 4000, nil, nil)
	other = r.another(nil, two)
	assert.Len(t, r.find(r.Service, audiosearch.Query{Class: "Loud"}).Results, 2)
	assert.Zero(t, one.clips.Load())
	assert.Equal(t, map[string]bool{"f/2": true}, r.models())
}

// TestScoringWhileAScorerHangs: what is stored is read all the same, by one model at
// once, by several after five seconds at most.
func TestScoringWhileAScorerHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := newFlat("first", "1", "Loud"), newFlat("second", "1", "Bright")
		r := newScorerRig(t, first)
		r.video("a", 4000, nil, nil)
		r.ingest()
		first.hangs.Store(true)
		fresh := r.another(nil, first)
		start := time.Now()
		scoring, err := fresh.Scoring(t.Context(), org, "d", "a")
		require.NoError(t, err)
		assert.Equal(t, "first/1", scoring.Model)
		assert.Equal(t, start, time.Now())

		_, err = r.another(nil, second).Ingest(t.Context(), org, "", "d")
		require.NoError(t, err)
		heard, err := r.another(nil, first, second).Top(t.Context(), org, "d", "a", 0, time.Second, 10)
		require.NoError(t, err)
		assert.Len(t, heard, 2)
		assert.Equal(t, start.Add(5*time.Second), time.Now())
	})
}

// TestRollingDeploy: a model that is older than the one that a dataset has does not take
// its place, though it was never replaced there.
func TestRollingDeploy(t *testing.T) {
	before := newFlat("f", "1", "Loud", "Old")
	r := newScorerRig(t, before)
	r.video("a", 4000, nil, nil)
	r.ingest() // the model is known
	after := newFlat("f", "2", "Loud")
	s := r.another(nil, after)
	_, err := s.CreateDataset(t.Context(), org, "", "new")
	require.NoError(t, err)
	require.NoError(t, s.PutVideos(t.Context(), org, "", "new", audiosearch.Video{ID: "a", Path: "a"}))
	_, err = s.Ingest(t.Context(), org, "", "new") // the new one is there first
	require.NoError(t, err)

	clips := before.clips.Load()
	current := func(id string) bool {
		known, err := r.Models(t.Context(), org, "new")
		require.NoError(t, err)
		return len(known) == 1 && known[0].ID == id && known[0].Current
	}
	for _, old := range []*audiosearch.Service{r.Service, r.another(nil, newFlat("f", "1", "Loud", "Old"))} {
		in, err := old.Ingest(t.Context(), org, "", "new")
		require.NoError(t, err)
		assert.Equal(t, audiosearch.Ingested{}, in)
		found, err := old.Search(t.Context(), org, "", audiosearch.Query{Dataset: "new", Class: "Loud"})
		require.NoError(t, err)
		assert.Len(t, found.Results, 2, "by the new one")
		var invalid *mortise.ValidationError
		for class, message := range map[sound.Class]string{
			"Old": "UseModel brings that back", "Dog": "which knows: Loud",
		} {
			_, err = old.Search(t.Context(), org, "", audiosearch.Query{Dataset: "new", Class: class})
			require.ErrorAs(t, err, &invalid)
			assert.ErrorContains(t, err, message)
			assert.NotContains(t, err.Error(), "knows: Loud; Old", "what cannot be found")
		}
		assert.True(t, current("f/2"))
	}
	assert.Equal(t, clips, before.clips.Load())

	_, err = r.another(nil, newFlat("f", "3", "Loud")).Ingest(t.Context(), org, "", "new")
	require.NoError(t, err)
	known, err := r.Models(t.Context(), org, "new")
	require.NoError(t, err)
	assert.Equal(t, []bool{false, true}, []bool{known[0].Current, known[1].Current}, "the next one does")
	require.NoError(t, r.UseModel(t.Context(), org, "", "new", "f/1"))
	found, err := r.Search(t.Context(), org, "", audiosearch.Query{Dataset: "new", Class: "Old"})
	require.NoError(t, err)
	assert.Len(t, found.Results, 2, "when told")
}

// TestRenewsManyVideos: more than the store lists at a time.
func TestRenewsManyVideos(t *testing.T) {
	r := newScorerRig(t, newFlat("f", "1", "Loud"))
	const videos = 501
	for i := range videos {
		r.video(fmt.Sprint("v", i), 100, nil, nil)
	}
	r.ingest()
	after := newFlat("f", "2", "Loud")
	s := r.another(nil, after)
	assert.Zero(t, r.find(s, audiosearch.Query{Class: "Loud"}).LeftOut)
	w, err := audiosearch.NewSweeper(s, nil)
	require.NoError(t, err)
	_, err = w.RunOnce(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, videos, after.clips.Load())
	assert.Equal(t, map[string]bool{"f/1": false, "f/2": true}, r.models())
}
