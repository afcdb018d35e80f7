package audiosearchdb

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
)

// modelTest is a dataset with a current model that has scored some videos, and another
// one that has scored as many.
type modelTest struct {
	*testing.T
	*Store
	change audiosearch.ModelChange
}

func newModelTest(t *testing.T, videos int) *modelTest {
	db := openHeard(t, filetest.EmptyFile(t), nil)
	m := &modelTest{t, db.audiosearch, audiosearch.ModelChange{Family: "f", From: "old", To: "new", At: filetest.SomeTime}}
	for i := range videos {
		m.score("old", i)
		m.score("new", i)
	}
	require.NoError(t, m.SetModel(t.Context(), "acme", "d", audiosearch.ModelChange{Family: "f", To: "old"}))
	return m
}

func (m *modelTest) score(model string, video int) {
	m.Helper()
	s := audiosearch.Scoring{Model: model, Windows: 1, Classes: []sound.Class{"x"}}
	require.NoError(m, m.PutScoring(context.Background(), "acme", "d", heardVideo(video), "p", s, [][]uint16{{1}}))
}

// seen is what SetModel has looked at before the writer has its turn.
func (m *modelTest) seen() (at audioDataset) {
	m.Helper()
	require.NoError(m, m.within(m.Context(), "acme", "d", func(_ *file.Conn, d *audioDataset) error {
		at = *d
		return nil
	}))
	return at
}

// set does the rest of SetModel.
func (m *modelTest) set(at audioDataset) error {
	return m.db.Write(m.Context(), func(tx *file.Tx) error { return setModel(tx, "acme", "d", &m.change, &at) })
}

func (m *modelTest) current() (current string) {
	m.Helper()
	models, err := m.Models(m.Context(), "acme", "d")
	require.NoError(m, err)
	for _, d := range models {
		if d.Current {
			current += d.ID
		}
	}
	return current
}

// TestSetModelMeanwhile: what changes after it was found that the new model has scored
// everything counts, too.
func TestSetModelMeanwhile(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*modelTest)
		err    error
	}{
		"nothing":                       {func(*modelTest) {}, nil},
		"a video that both have scored": {func(m *modelTest) { m.score("old", 1) }, nil},
		"another model's scores":        {func(m *modelTest) { m.score("third", 9) }, nil},
		"a video that is gone": {func(m *modelTest) {
			require.NoError(m, m.DeleteVideo(m.Context(), "acme", "d", heardVideo(1)))
		}, nil},
		"a video that only the old one has": {func(m *modelTest) { m.score("old", 9) }, audiosearch.ErrConflict},
		"the new one's scores are dropped": {func(m *modelTest) {
			for _, g := range []audiosearch.ModelChange{{Family: "g", To: "new"}, {Family: "g", From: "new", To: "third", Incomplete: true}} {
				require.NoError(m, m.SetModel(m.Context(), "acme", "d", g))
			}
			for more := true; more; {
				var err error
				_, more, err = m.Compact(m.Context(), audiosearch.CompactOptions{ReplacedBefore: filetest.SomeTime}, 100_000)
				require.NoError(m, err)
			}
		}, audiosearch.ErrConflict},
		"another dataset of the name": {func(m *modelTest) {
			require.NoError(m, m.DeleteDataset(m.Context(), "acme", "d"))
			require.NoError(m, m.CreateDataset(m.Context(), audiosearch.Dataset{Organization: "acme", ID: "d"}))
			require.NoError(m, m.SetModel(m.Context(), "acme", "d", audiosearch.ModelChange{Family: "f", To: "old"}))
		}, errChanged},
		"too much": {func(m *modelTest) {
			var videos []audiosearch.Video
			for i := range removeAtOnce + 1 {
				videos = append(videos, audiosearch.Video{ID: heardVideo(1000 + i), Path: "p"})
			}
			require.NoError(m, m.PutVideos(m.Context(), "acme", "d", videos))
		}, errChanged},
		"another change of the model": {func(m *modelTest) {
			change := m.change
			change.To = "third"
			change.Incomplete = true
			require.NoError(m, m.SetModel(m.Context(), "acme", "d", change))
		}, audiosearch.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModelTest(t, 4)
			at := m.seen()
			c.change(m)
			was := m.current()
			err := m.set(at)
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
				require.Equal(t, was, m.current())
				return
			}
			require.NoError(t, err)
			require.Equal(t, "new", m.current())
		})
	}
}

// TestSetModelOfWhatChanges: a change ends although the dataset changes whenever it
// waits, and it never leaves a video out.
func TestSetModelOfWhatChanges(t *testing.T) {
	m := newModelTest(t, 2)
	var next atomic.Int64
	change := func() {
		if i := int(next.Add(1)); i < heardVideos {
			s := audiosearch.Scoring{Model: "old", Windows: 1, Classes: []sound.Class{"x"}}
			_ = m.PutScoring(context.Background(), "acme", "d", heardVideo(i), "p", s, [][]uint16{{1}})
		}
	}
	require.ErrorIs(t, m.SetModel(changing{t.Context(), change}, "acme", "d", m.change), audiosearch.ErrConflict)
	require.Positive(t, next.Load())
	require.Equal(t, "old", m.current())
}

// TestReplacedModels: what a replaced model has goes in bounded steps, is not looked at
// again, and goes again if somebody stores more by it. The model stays known.
func TestReplacedModels(t *testing.T) {
	m := newModelTest(t, heardVideos)
	s := audiosearch.Scoring{Model: "old", Problem: "no sound"}
	require.NoError(t, m.PutScoring(t.Context(), "acme", "d", heardVideo(3), "p", s, nil))
	require.NoError(t, m.SetModel(t.Context(), "acme", "d", m.change))
	compact := func(opts audiosearch.CompactOptions) (steps int) {
		for more := true; more; steps++ {
			var err error
			_, more, err = m.Compact(t.Context(), opts, 100_000)
			require.NoError(t, err)
		}
		return steps - 1
	}
	scored := func() []int {
		return filetest.Numbers(t, m.db, "SELECT coalesce(sum(scorings), 0) FROM audiosearch_models WHERE model = 'old'")
	}
	require.Zero(t, compact(audiosearch.CompactOptions{}), "zero times remove nothing")
	require.Zero(t, compact(audiosearch.CompactOptions{ReplacedBefore: filetest.SomeTime}))
	require.Equal(t, []int{heardVideos}, scored())
	opts := audiosearch.CompactOptions{ReplacedBefore: filetest.SomeTime.Add(1)}
	require.Positive(t, compact(opts))
	require.Equal(t, []int{0}, scored())
	require.Zero(t, compact(opts), "it is done")
	checkAudioTables(t, m.db)

	models, err := m.Models(t.Context(), "acme", "d")
	require.NoError(t, err)
	require.Equal(t, []audiosearch.DatasetModel{
		{ID: "new", Family: "f", Current: true, Classes: []sound.Class{"x"}},
		{ID: "old", Family: "f", ReplacedAt: filetest.SomeTime},
	}, models)
	hits, err := m.Search(t.Context(), "acme", "d", audiosearch.ScoreQuery{Model: "old", Class: "x", Limit: 9})
	require.NoError(t, err)
	require.Empty(t, hits)
	hits, err = m.Search(t.Context(), "acme", "d", audiosearch.ScoreQuery{Model: "new", Class: "x", Limit: 9})
	require.NoError(t, err)
	require.Len(t, hits, 9)

	m.score("old", 7) // somebody comes late
	require.Equal(t, []int{1}, scored())
	require.Positive(t, compact(opts))
	require.Equal(t, []int{0}, scored())
	checkAudioTables(t, m.db)

	// It is current again.
	back := audiosearch.ModelChange{Family: "f", From: "new", To: "old", At: filetest.SomeTime, Incomplete: true}
	require.NoError(t, m.SetModel(t.Context(), "acme", "d", back))
	m.score("old", 7)
	require.Positive(t, compact(opts))
	require.Equal(t, []int{1}, scored())
	models, err = m.Models(t.Context(), "acme", "d")
	require.NoError(t, err)
	require.Equal(t, []audiosearch.DatasetModel{
		{ID: "new", Family: "f", ReplacedAt: filetest.SomeTime},
		{ID: "old", Family: "f", Current: true, Classes: []sound.Class{"x"}},
	}, models)
}

// TestReplacedModelPacked: a step of what a replaced model has packed is bounded, too,
// and what others have beside it stays.
func TestReplacedModelPacked(t *testing.T) {
	m := newModelTest(t, 0)
	const videos = 2*removeAtOnce + 7
	var put []audiosearch.Video
	for i := range videos {
		put = append(put, audiosearch.Video{ID: heardVideo(1000 + i), Path: "p"})
	}
	require.NoError(t, m.PutVideos(t.Context(), "acme", "d", put))
	for i := range videos {
		m.score("old", 1000+i)
		m.score("new", 1000+i)
	}
	count := func(model string) int {
		return filetest.Numbers(t, m.db, "SELECT coalesce(sum(scorings), 0) FROM audiosearch_models WHERE model = '"+model+"'")[0]
	}
	for more := true; more; {
		var err error
		_, more, err = m.Compact(t.Context(), audiosearch.CompactOptions{}, 100_000)
		require.NoError(t, err)
	}
	require.NotZero(t, filetest.Numbers(t, m.db, "SELECT count(*) FROM audiosearch_blocks WHERE packed = 1")[0])
	require.NoError(t, m.SetModel(t.Context(), "acme", "d", m.change))
	for more := true; more; {
		was := count("old")
		var err error
		_, more, err = m.Compact(t.Context(), audiosearch.CompactOptions{ReplacedBefore: filetest.SomeTime.Add(1)}, 100_000)
		require.NoError(t, err)
		require.LessOrEqual(t, was-count("old"), removeAtOnce)
	}
	require.Zero(t, count("old"))
	require.Equal(t, videos, count("new"))
	checkAudioTables(t, m.db)
}
