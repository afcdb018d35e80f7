package folder_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

const org = "acme"

var errBroken = errors.New("broken at /secret/place")

// rig is a service with an empty dataset "d".
type rig struct {
	t *testing.T
	*audiosearch.Service
}

func newRig(t *testing.T) *rig { return newRigOn(t, newStore(t)) }

func newStore(t *testing.T) audiosearch.Store {
	t.Helper()
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	return db.AudioSearch().Store
}

func newRigOn(t *testing.T, store audiosearch.Store) *rig {
	t.Helper()
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	backend := audiosearch.Backend{Store: store, Queue: db.AudioSearch().Queue}
	service, err := audiosearch.New(backend, &audiosearch.Options{Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
	require.NoError(t, err)
	_, err = service.CreateDataset(t.Context(), org, "", "d")
	require.NoError(t, err)
	return &rig{t, service}
}

// files is a folder of small files.
func files(paths ...string) fstest.MapFS {
	tree := fstest.MapFS{}
	for _, p := range paths {
		tree[p] = &fstest.MapFile{Data: []byte(p)}
	}
	return tree
}

func (r *rig) sync(tree fs.FS, opts *folder.SyncOptions) folder.Synced {
	r.t.Helper()
	synced, err := folder.Sync(r.t.Context(), r.Service, org, "", "d", tree, opts)
	require.NoError(r.t, err)
	return synced
}

// catalog returns what is in the catalog: "id path metadata".
func (r *rig) catalog() (lines []string) {
	r.t.Helper()
	for v, err := range r.Videos(r.t.Context(), org, "d") {
		require.NoError(r.t, err)
		line := v.ID + " " + v.Path
		if x, ok := v.Metadata["x"]; ok {
			line += " " + x.Text()
		}
		lines = append(lines, line)
	}
	return lines
}

func (r *rig) put(id, path, x string) {
	r.t.Helper()
	v := audiosearch.Video{ID: id, Path: path}
	if x != "" {
		v.Metadata = metadata.Map{"x": metadata.String(x)}
	}
	require.NoError(r.t, r.PutVideos(r.t.Context(), org, "", "d", v))
}

func base(p string) string { return strings.TrimSuffix(path.Base(p), path.Ext(p)) }
