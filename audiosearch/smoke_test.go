package audiosearch_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

type loud struct{}

func (loud) Model(context.Context) (audiosearch.Model, error) {
	return audiosearch.Model{ID: "loud/1", SampleRate: 1000, Window: 2 * time.Second, Hop: time.Second, Classes: []audiosearch.Class{0, 3}}, nil
}
func (loud) Score(_ context.Context, clips [][]float32) ([]audiosearch.Scores, error) {
	var rows []audiosearch.Scores
	for _, c := range clips {
		var m float32
		for _, x := range c {
			m = max(m, x)
		}
		rows = append(rows, audiosearch.Scores{m, 1 - m})
	}
	return rows, nil
}

type raw struct{}

func (raw) Probe(context.Context, string) (audiosearch.Info, error) { return audiosearch.Info{}, nil }
func (raw) PCM(_ context.Context, path string, rate int) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		b, err := os.ReadFile(path)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, x := range b {
			if !yield([]float32{float32(x) / 255}, nil) {
				return
			}
		}
	}
}

func TestSmoke(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), make([]byte, 4500), 0o600))
	b := make([]byte, 3000)
	b[2500] = 200
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b"), b, 0o600))
	folder, err := audiosearch.OpenFolder(dir)
	require.NoError(t, err)
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	a := db.AudioSearch()
	s, err := audiosearch.New(a, a.Queue(nil), loud{}, &audiosearch.Options{Media: raw{}, Files: folder})
	require.NoError(t, err)
	ctx := t.Context()
	_, err = s.CreateDataset(ctx, "acme", "d1")
	require.NoError(t, err)
	require.NoError(t, s.PutVideos(ctx, "acme", "d1", audiosearch.Video{ID: "a", Path: "a"}, audiosearch.Video{ID: "b", Path: "b", Metadata: audiosearch.Metadata{"x": audiosearch.Int(3)}},
		audiosearch.Video{ID: "c", Path: "../x"}))
	r, err := s.Start(ctx, "acme", "me", audiosearch.Query{Dataset: "d1", Class: 0})
	require.NoError(t, err)
	w, err := audiosearch.NewWorker(s, nil)
	require.NoError(t, err)
	ok, err := w.RunOnce(ctx)
	require.NoError(t, err)
	require.True(t, ok)
	r, err = s.Results(ctx, "acme", "d1", r.ID)
	require.NoError(t, err)
	t.Logf("%+v", r)
}
