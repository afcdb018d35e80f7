package ingest_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/ingest"
	"github.com/seed-6363c74e/mortise/audiosearch/signal"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/synth"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// missing is a store that is away a few times when videos are listed.
type missing struct {
	audiosearch.Store

	mu    sync.Mutex
	times int
}

func (m *missing) ListVideos(ctx context.Context, org, dataset string, after mortise.Cursor, limit int) (mortise.Page[audiosearch.Video], error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.times > 0 {
		m.times--
		return mortise.Page[audiosearch.Video]{}, errors.New("connection refused, host=db")
	}
	return m.Store.ListVideos(ctx, org, dataset, after, limit)
}

// rig is a service with the videos a, which is there, and b and c, which are not.
type rig struct {
	service *audiosearch.Service
	store   *missing
	in      *ingest.Ingestion
	log     *bytes.Buffer
	told    []ingest.Progress
}

var datasets = []ingest.Dataset{{Organization: "acme", ID: "first"}, {Organization: "acme", ID: "second"}}

func newRig(t *testing.T) *rig {
	t.Helper()
	dir := t.TempDir()
	tone := synth.Samples(8000, 1, synth.Tones(0.2, 350, 440).For(10))
	require.NoError(t, wav.WriteFile(filepath.Join(dir, "a.wav"), 8000, tone))
	files, err := folder.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { _ = files.Close() })
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	scorer, err := signal.New(nil)
	require.NoError(t, err)
	media := wav.Media{}
	r := &rig{log: new(bytes.Buffer)}
	r.in = ingest.New(&ingest.Options{
		Logger:   slog.New(slog.NewJSONHandler(r.log, nil)),
		Progress: func(p ingest.Progress) { r.told = append(r.told, p) },
	})
	backend := db.AudioSearch()
	r.store = &missing{Store: backend.Store}
	backend.Store = r.store
	r.service, err = audiosearch.New(backend, &audiosearch.Options{
		Scorers: []sound.Scorer{scorer}, Media: media, Files: files,
		Env: mortise.Env{Observer: r.in.Observe, Logger: slog.New(slog.DiscardHandler)},
	})
	require.NoError(t, err)
	for _, d := range datasets {
		_, err := r.service.CreateDataset(t.Context(), d.Organization, "", d.ID)
		require.NoError(t, err)
	}
	for dataset, videos := range map[string][]audiosearch.Video{
		"first": {{ID: "b", Path: "b.wav"}, {ID: "c", Path: "c.wav"}}, "second": {{ID: "a", Path: "a.wav"}},
	} {
		require.NoError(t, r.service.PutVideos(t.Context(), "acme", "", dataset, videos...))
	}
	return r
}

// TestRunTriesAgain: a storage that is away for a while is waited for, and what is wrong
// with a video is said once.
func TestRunTriesAgain(t *testing.T) {
	r := newRig(t)
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		r.store.times = 5 // the first two are those that count
		begun := time.Now()
		r.in.Run(ctx, r.service, "", datasets)
		require.GreaterOrEqual(t, time.Since(begun), (1+2+4)*time.Second)
		for range 2 { // each is told once, however often it is looked at
			_, err := r.service.Ingest(ctx, "acme", "", "first")
			require.NoError(t, err)
		}
		for what, want := range map[string]int{
			`"cannot score videos; trying again","organization":"acme","dataset":"first","in":"1s"`: 1, "trying again": 3, `"in":"4s"`: 1,
			`"a video cannot be searched","organization":"acme","dataset":"first","video":"b"`: 1, "there is no such file": 2,
			`"all videos have been looked at","scored":1,"unchanged":0,"problems":2,"seconds":7`: 1,
		} {
			require.Equal(t, want, strings.Count(r.log.String(), what), "%s in %s", what, r.log)
		}
	})
}

// TestRunEnds: neither a pause nor a dataset that is gone holds it up. The latter is told.
func TestRunEnds(t *testing.T) {
	r := newRig(t)
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		r.in.Run(t.Context(), r.service, "", nil)
		require.Empty(t, r.log.String())
		r.in.Run(t.Context(), r.service, "", []ingest.Dataset{{Organization: "acme", ID: "gone"}})
		require.Zero(t, time.Since(begun))
		require.Contains(t, r.log.String(), `"msg":"there is no such dataset","organization":"acme","dataset":"gone"`)

		r.store.times = 100
		r.log.Reset()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		r.in.Run(ctx, r.service, "", datasets)
		require.Equal(t, 10*time.Second, time.Since(begun))
		require.NotContains(t, r.log.String(), "all videos")
	})
}

// TestProgress: it is told how far all datasets are together.
func TestProgress(t *testing.T) {
	r := newRig(t)
	r.in.Run(t.Context(), r.service, "", datasets)
	require.Equal(t, ingest.Progress{Total: 3}, r.told[0])
	require.Zero(t, r.told[len(r.told)-1], "there is nothing to do any more")
	last := r.told[len(r.told)-2]
	require.Equal(t, 3, last.Done)
	require.Equal(t, 3, last.Total)
	for i, p := range r.told {
		require.LessOrEqual(t, p.Done, p.Total)
		require.True(t, i == 0 || p != r.told[i-1], "the same is told twice")
	}

	told := len(r.told)
	r.in.Observe(t.Context(), scoring("first", 2, 9))
	require.Len(t, r.told, told, "Run has ended")
}

// TestProgressOfOthers: what is scored meanwhile in another dataset does not count, and a
// storage that is away when the videos are counted does not hide how far it is.
func TestProgressOfOthers(t *testing.T) {
	r := newRig(t)
	r.store.times = 1
	observed := false
	r.store.Store = &during{Store: r.store.Store, dataset: "first", at: 1, do: func() {
		observed = true
		told := len(r.told)
		other := scoring("second", 1, 1)
		r.in.Observe(t.Context(), other)
		other.Kind, other.Object = mortise.KindIngesting, "a"
		r.in.Observe(t.Context(), other)
		require.Len(t, r.told, told)
		r.in.Observe(t.Context(), scoring("first", 1, 2))
		require.Equal(t, ingest.Progress{Done: 1, Total: 2}, r.told[len(r.told)-1])
	}}
	r.in.Run(t.Context(), r.service, "", datasets[:1])
	require.True(t, observed)
}

// TestProgressOfModels: with two models it says which is at work, and there may be more
// videos than at the beginning.
func TestProgressOfModels(t *testing.T) {
	r := newRig(t)
	observed := false
	in := ingest.New(&ingest.Options{
		Logger:   slog.New(slog.DiscardHandler),
		Progress: func(p ingest.Progress) { r.told = append(r.told, p) },
	})
	sound := func(minutes time.Duration) audiosearch.SoundProgress {
		return audiosearch.SoundProgress{Done: minutes * time.Minute}
	}
	observe := func(model string, done int) ingest.Progress {
		o := scoring("first", done, 0)
		d := o.Detail.(audiosearch.Detail)
		d.Model, d.Sound.Done = model, time.Duration(done)*time.Minute
		o.Detail = d
		in.Observe(t.Context(), o)
		return r.told[len(r.told)-1]
	}
	r.store.Store = &during{Store: r.store.Store, dataset: "first", at: 2, do: func() {
		observed = true
		require.Equal(t, ingest.Progress{Done: 2, Total: 2, Sound: sound(2)}, observe("ast/1", 2))
		require.Equal(t, ingest.Progress{Done: 7, Total: 7, Model: "signal/1", Sound: sound(7)}, observe("signal/1", 7))
		in.Observe(t.Context(), mortise.Observation{
			Kind: mortise.KindIngesting, Organization: "acme", Object: "a",
			Detail: audiosearch.Detail{Dataset: "first", Position: time.Second, Length: time.Minute},
		})
		require.Equal(t, "a", r.told[len(r.told)-1].Video)
	}}
	in.Run(t.Context(), r.service, "", datasets[:1])
	require.True(t, observed)
}

// TestProgressOfDatasets: what was looked at before the present dataset counts.
func TestProgressOfDatasets(t *testing.T) {
	r := newRig(t)
	observed := false
	r.store.Store = &during{Store: r.store.Store, dataset: "second", at: 2, do: func() {
		observed = true
		r.in.Observe(t.Context(), scoring("second", 1, 1))
		require.Equal(t, 3, r.told[len(r.told)-1].Done)
	}}
	r.in.Run(t.Context(), r.service, "", datasets)
	require.True(t, observed)
}

// scoring is the observation that so many videos of a dataset were looked at.
func scoring(dataset string, done, total int) mortise.Observation {
	return mortise.Observation{
		Kind: mortise.KindScoring, Organization: "acme", Object: dataset,
		Detail: audiosearch.Detail{Dataset: dataset, Model: "ast/1", Done: done, Total: total},
	}
}

// during does something when the videos of a dataset are listed: the first time to count
// them, the second time to score them.
type during struct {
	audiosearch.Store
	dataset string
	at      int // which time
	lists   int
	do      func()
}

func (d *during) ListVideos(ctx context.Context, org, dataset string, after mortise.Cursor, limit int) (mortise.Page[audiosearch.Video], error) {
	if dataset == d.dataset {
		if d.lists++; d.lists == d.at {
			d.do()
		}
	}
	return d.Store.ListVideos(ctx, org, dataset, after, limit)
}
