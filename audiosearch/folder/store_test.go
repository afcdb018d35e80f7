package folder_test

import (
	"context"
	"fmt"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// failingCatalog fails from a call on.
type failingCatalog struct {
	audiosearch.Store
	lists, puts, deletes int // how many succeed
	then                 func() error
	listing              func(left int) // before ListVideos
}

func (f *failingCatalog) ListVideos(
	ctx context.Context, org, dataset string, after mortise.Cursor, limit int,
) (mortise.Page[audiosearch.Video], error) {
	if f.lists--; f.lists < 0 {
		return mortise.Page[audiosearch.Video]{}, f.then()
	}
	if f.listing != nil {
		f.listing(f.lists)
	}
	return f.Store.ListVideos(ctx, org, dataset, after, limit)
}

func (f *failingCatalog) PutVideos(ctx context.Context, org, dataset string, videos []audiosearch.Video) error {
	if f.puts--; f.puts < 0 {
		return f.then()
	}
	return f.Store.PutVideos(ctx, org, dataset, videos)
}

func (f *failingCatalog) DeleteVideo(ctx context.Context, org, dataset, id string) error {
	if f.deletes--; f.deletes < 0 {
		return f.then()
	}
	return f.Store.DeleteVideo(ctx, org, dataset, id)
}

// many is a folder of n files.
func many(n int) fstest.MapFS {
	tree := fstest.MapFS{}
	for i := range n {
		tree[fmt.Sprintf("%02d/%04d.mp4", i%7, i)] = &fstest.MapFile{}
	}
	return tree
}

// TestSyncStoreFails: what was done until then is said, and the next call does the rest.
func TestSyncStoreFails(t *testing.T) {
	store := &failingCatalog{Store: newStore(t), lists: 1000, puts: 2, then: func() error { return errBroken }}
	r := newRigOn(t, store)
	tree := many(1700)
	synced, err := folder.Sync(t.Context(), r.Service, org, "", "d", tree, nil)
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.ErrorIs(t, err, errBroken)
	assert.Len(t, synced.Added, 1000)
	assert.Len(t, r.catalog(), 1000)
	for _, id := range synced.Added {
		_, err := r.Video(t.Context(), org, "d", id)
		require.NoError(t, err)
	}
	store.puts = 100
	synced = r.sync(tree, nil)
	assert.Equal(t, []int{700, 1000}, []int{len(synced.Added), synced.Unchanged})

	store.deletes = 3
	opts := &folder.SyncOptions{Delete: true}
	synced, err = folder.Sync(t.Context(), r.Service, org, "", "d", many(1690), opts)
	require.ErrorIs(t, err, errBroken)
	assert.Equal(t, []int{10, 3, 1690}, []int{len(synced.Gone), synced.Deleted, synced.Unchanged})
	left := r.catalog()
	assert.Len(t, left, 1697)
	assert.NotContains(t, left, synced.Gone[2]+" "+synced.Gone[2])
	assert.Contains(t, left, synced.Gone[3]+" "+synced.Gone[3])
	store.deletes = 100
	synced = r.sync(many(1690), opts)
	assert.Equal(t, []int{7, 7, 1690}, []int{len(synced.Gone), synced.Deleted, synced.Unchanged})
}

// TestSyncListFails: at the first reading of the catalog, and at the second.
func TestSyncListFails(t *testing.T) {
	store := &failingCatalog{Store: newStore(t), lists: 1000, puts: 1000, then: func() error { return errBroken }}
	r := newRigOn(t, store)
	tree := many(1200) // three pages
	r.sync(tree, nil)
	opts := &folder.SyncOptions{Metadata: func(string, fs.FileInfo) (metadata.Map, error) {
		return metadata.Map{"x": metadata.Int(1)}, nil
	}}
	for lists, changed := range map[int]int{0: 0, 2: 0, 3: 0, 4: 500, 5: 1000} {
		require.NoError(t, r.DeleteDataset(t.Context(), org, "", "d"))
		_, err := r.CreateDataset(t.Context(), org, "", "d")
		require.NoError(t, err)
		store.lists = 1000
		r.sync(tree, nil)
		store.lists = lists
		synced, err := folder.Sync(t.Context(), r.Service, org, "", "d", tree, opts)
		require.ErrorIs(t, err, errBroken)
		assert.Equal(t, changed, len(synced.Changed), "%d pages were read", lists)
	}
}

// TestSyncVideoGoesMeanwhile: what somebody else has deleted is gone all the same.
func TestSyncVideoGoesMeanwhile(t *testing.T) {
	store := &failingCatalog{Store: newStore(t), lists: 1000, puts: 1, then: func() error { return audiosearch.ErrVideoNotFound }}
	r := newRigOn(t, store)
	r.sync(files("a.mp4", "b.mp4"), nil)
	got := r.sync(files("a.mp4"), &folder.SyncOptions{Delete: true})
	assert.Equal(t, folder.Synced{Gone: []string{"b.mp4"}, Deleted: 1, Unchanged: 1}, got)
}

// TestSyncVideoComesMeanwhile: a file that somebody else has entered is not entered
// twice.
func TestSyncVideoComesMeanwhile(t *testing.T) {
	store := &failingCatalog{Store: newStore(t), lists: 2, puts: 1000}
	r := newRigOn(t, store)
	store.listing = func(left int) {
		if left == 0 { // the second reading
			r.put("9", "a.mp4", "")
		}
	}
	got := r.sync(files("a.mp4"), &folder.SyncOptions{
		Metadata: func(string, fs.FileInfo) (metadata.Map, error) { return nil, nil }})
	assert.Equal(t, folder.Synced{Unchanged: 1}, got)
}

// TestSyncContextEnds: at each place, with what was done until then.
func TestSyncContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	store := &failingCatalog{Store: newStore(t), lists: 1000, puts: 1, then: func() error { cancel(errBroken); return nil }}
	r := newRigOn(t, store)
	synced, err := folder.Sync(ctx, r.Service, org, "", "d", many(1700), nil)
	require.ErrorIs(t, err, errBroken)
	assert.Len(t, synced.Added, 1000, "the second call of the store was a success")
	_, err = folder.Sync(ctx, r.Service, org, "", "d", files("a.mp4"), nil)
	require.Error(t, err)

	ctx, cancel = context.WithCancelCause(t.Context())
	store.puts = 1000
	calls := 0
	synced, err = folder.Sync(ctx, r.Service, org, "", "d", many(1700), &folder.SyncOptions{
		Metadata: func(string, fs.FileInfo) (metadata.Map, error) {
			if calls++; calls == 600 {
				cancel(errBroken)
			}
			return nil, nil
		},
	})
	require.ErrorIs(t, err, errBroken)
	assert.Equal(t, []int{600, 500}, []int{calls, synced.Unchanged + len(synced.Added)})
}
