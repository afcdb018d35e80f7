package folder_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// TestSync: what is added, changed and gone; it deletes only if told; and a second
// call finds everything unchanged.
func TestSync(t *testing.T) {
	r := newRig(t)
	tree := files("a.mp4", "b/c.WAV", "b/notes.txt", ".hidden/a.mp4", "b/._c.wav", "mp4")
	assert.Equal(t, folder.Synced{Added: []string{"a.mp4", "b/c.WAV"}}, r.sync(tree, nil))
	assert.Equal(t, []string{"a.mp4 a.mp4", "b/c.WAV b/c.WAV"}, r.catalog())
	assert.Equal(t, folder.Synced{Unchanged: 2}, r.sync(tree, nil))

	delete(tree, "a.mp4")
	gone := folder.Synced{Gone: []string{"a.mp4"}, Unchanged: 1}
	assert.Equal(t, gone, r.sync(tree, nil))
	assert.Len(t, r.catalog(), 2)
	assert.Equal(t, gone, r.sync(tree, &folder.SyncOptions{}), "still")
	gone.Deleted = 1
	assert.Equal(t, gone, r.sync(tree, &folder.SyncOptions{Delete: true}))
	assert.Equal(t, []string{"b/c.WAV b/c.WAV"}, r.catalog())
	assert.Equal(t, folder.Synced{Unchanged: 1},
		r.sync(tree, &folder.SyncOptions{Delete: true}))
}

// TestSyncMetadata: it is that of the function, or stays.
func TestSyncMetadata(t *testing.T) {
	r := newRig(t)
	r.put("a.mp4", "a.mp4", "kept")
	tree := files("a.mp4", "b.mp4")
	assert.Equal(t, folder.Synced{Added: []string{"b.mp4"}, Unchanged: 1}, r.sync(tree, nil))
	assert.Equal(t, []string{"a.mp4 a.mp4 kept", "b.mp4 b.mp4"}, r.catalog())

	shared := metadata.Map{}
	opts := &folder.SyncOptions{Metadata: func(p string, info fs.FileInfo) (metadata.Map, error) {
		shared["x"] = metadata.String(fmt.Sprint(p, info.Size()))
		return shared, nil
	}}
	assert.Equal(t, folder.Synced{Changed: []string{"a.mp4", "b.mp4"}}, r.sync(tree, opts))
	assert.Equal(t, []string{"a.mp4 a.mp4 a.mp45", "b.mp4 b.mp4 b.mp45"}, r.catalog())
	assert.Equal(t, folder.Synced{Unchanged: 2}, r.sync(tree, opts))
	tree["c.mp4"] = &fstest.MapFile{}
	assert.Equal(t, folder.Synced{Added: []string{"c.mp4"}, Unchanged: 2}, r.sync(tree, opts))
	assert.Equal(t, "c.mp4 c.mp4 c.mp40", r.catalog()[2])
}

// TestSyncMetadataFails: the file is skipped, its video stays as it is, and others go on.
func TestSyncMetadataFails(t *testing.T) {
	r := newRig(t)
	r.put("bad.mp4", "bad.mp4", "old")
	tree := files("bad.mp4", "good.mp4", "large.mp4", "panic.mp4")
	opts := &folder.SyncOptions{Metadata: func(p string, _ fs.FileInfo) (metadata.Map, error) {
		switch p {
		case "bad.mp4":
			return nil, errors.New("it has no tags: tag it")
		case "large.mp4":
			return metadata.Map{"x": metadata.String(strings.Repeat("x", metadata.MaxBytes))}, nil
		case "panic.mp4":
			panic("oh")
		}
		return metadata.Map{"x": metadata.Int(1)}, nil
	}}
	got := r.sync(tree, opts)
	assert.Equal(t, folder.Synced{Added: []string{"good.mp4"}, Unseen: 1, Skipped: []folder.FileProblem{
		{Path: "bad.mp4", Message: "it has no metadata: it has no tags: tag it"},
		{Path: "large.mp4", Message: "invalid request: metadata: must be at most 65536 bytes: have SyncOptions.Metadata return other"},
		{Path: "panic.mp4", Message: "SyncOptions.Metadata panicked: a value of type string: mend it"},
	}}, got)
	assert.Equal(t, []string{"bad.mp4 bad.mp4 old", "good.mp4 good.mp4 1"}, r.catalog())
}

// TestSyncMoved: a file with an ID of its own takes its video along; one that trades
// places with another, too.
func TestSyncMoved(t *testing.T) {
	r := newRig(t)
	opts := &folder.SyncOptions{ID: base, Delete: true}
	assert.Equal(t, folder.Synced{Added: []string{"a", "b"}},
		r.sync(files("x/a.mp4", "x/b.mp4"), opts))
	r.put("a", "x/a.mp4", "kept")
	assert.Equal(t, folder.Synced{Changed: []string{"a"}, Unchanged: 1},
		r.sync(files("y/a.mp4", "x/b.mp4"), opts))
	assert.Equal(t, []string{"a y/a.mp4 kept", "b x/b.mp4"}, r.catalog())
	assert.Equal(t, folder.Synced{Changed: []string{"a", "b"}},
		r.sync(files("x/a.mp4", "y/b.mp4"), opts), "all moved, none is gone")
	assert.Equal(t, folder.Synced{Unchanged: 2}, r.sync(files("x/a.mp4", "y/b.mp4"), opts))
	assert.Equal(t, folder.Synced{Changed: []string{"a"}, Gone: []string{"b"}, Deleted: 1},
		r.sync(files("y/a.mp4"), opts), "not everything is gone")
	assert.Equal(t, folder.Synced{Added: []string{"b"}, Changed: []string{"a"}},
		r.sync(files("x/a.mp4", "y/b.mp4"), opts))
	opts.Metadata = func(p string, _ fs.FileInfo) (metadata.Map, error) {
		return metadata.Map{"x": metadata.String(p)}, nil
	}
	assert.Equal(t, folder.Synced{Changed: []string{"a", "b"}},
		r.sync(files("z/a.mp4", "y/b.mp4"), opts))
	assert.Equal(t, []string{"a z/a.mp4 z/a.mp4", "b y/b.mp4 y/b.mp4"}, r.catalog())
}

// TestSyncMovedWithoutMetadata: a video whose new place has none stays as it is.
func TestSyncMovedWithoutMetadata(t *testing.T) {
	r := newRig(t)
	r.put("a", "x/a.mp4", "old")
	calls := 0
	got := r.sync(files("y/a.mp4"), &folder.SyncOptions{ID: base, Delete: true,
		Metadata: func(string, fs.FileInfo) (metadata.Map, error) {
			calls++
			return nil, errBroken
		}})
	assert.Equal(t, 1, calls)
	assert.Equal(t, folder.Synced{Unseen: 1, Skipped: []folder.FileProblem{
		{Path: "y/a.mp4", Message: "it has no metadata: broken at /secret/place"},
	}}, got)
	assert.Equal(t, []string{"a x/a.mp4 old"}, r.catalog())
}

// TestSyncIDs: a file is one video, whoever entered it; and no two files have one ID.
func TestSyncIDs(t *testing.T) {
	r := newRig(t)
	r.put("1", "a.mp4", "")
	r.put("2", "a.mp4", "") // twice, on purpose
	r.put("b.mp4", "a.mp4", "")
	got := r.sync(files("a.mp4", "b.mp4"), nil)
	assert.Equal(t, folder.Synced{Unchanged: 3, Skipped: []folder.FileProblem{
		{Path: "b.mp4", Message: "its ID is that of another video: have SyncOptions.ID give it one of its own"},
	}}, got)

	r = newRig(t)
	opts := &folder.SyncOptions{ID: base, Delete: true}
	twice := folder.FileProblem{Path: "y/a.mp4", Message: "its ID is that of x/a.mp4: have SyncOptions.ID give each file one of its own"}
	tree := files("x/a.mp4", "y/a.mp4", "y/b.mp4")
	assert.Equal(t, folder.Synced{Added: []string{"a", "b"}, Skipped: []folder.FileProblem{twice}},
		r.sync(tree, opts))
	twice.Message = "its ID is that of another video: have SyncOptions.ID give it one of its own"
	assert.Equal(t, folder.Synced{Unchanged: 2, Skipped: []folder.FileProblem{twice}},
		r.sync(tree, opts))
	delete(tree, "x/a.mp4")
	assert.Equal(t, folder.Synced{Changed: []string{"a"}, Unchanged: 1}, r.sync(tree, opts))

	for id, want := range map[string]string{"": "must not be empty", strings.Repeat("n", 256): "at most 255", "\xff": "UTF-8"} {
		got := r.sync(files("new.mp4", "y/a.mp4", "y/b.mp4"), &folder.SyncOptions{ID: func(string) string { return id }})
		require.Len(t, got.Skipped, 1)
		assert.Contains(t, got.Skipped[0].Message, want)
		assert.Equal(t, 2, got.Unchanged)
	}
}

// TestSyncLongPaths: they have IDs that differ and stay.
func TestSyncLongPaths(t *testing.T) {
	r := newRig(t)
	long := strings.Repeat("é", 200)
	deep := strings.Repeat(strings.Repeat("d", 199)+"/", 21)
	tree := files(long+"1.mp4", long+"2.mp4", deep+"x.mp4")
	first := r.sync(tree, nil)
	require.Len(t, first.Added, 2)
	for _, id := range first.Added {
		assert.True(t, strings.HasPrefix(id, long[:210]+"~"), id)
		assert.Len(t, id, 210+1+(sha256.Size*8+5)/6)
	}
	require.Len(t, first.Skipped, 1)
	assert.Equal(t, "its path is too long: shorten the names of its folders", first.Skipped[0].Message)
	again := r.sync(tree, nil)
	assert.Equal(t, 2, again.Unchanged)
	assert.Equal(t, first.Skipped, again.Skipped)
}

// TestSyncUnder: videos from elsewhere are not of the folder, and folders of one dataset
// do not fight.
func TestSyncUnder(t *testing.T) {
	r := newRig(t)
	r.put("1", "callsign.mp4", "")
	r.put("2", "calls/../talks/x.mp4", "")
	r.put("3", "https://example.com/x.mp4", "")
	r.put("4", "calls/x.xyz", "")
	calls := &folder.SyncOptions{Under: "calls", Delete: true, DeleteAll: true}
	talks := &folder.SyncOptions{Under: "talks/2024", Delete: true}
	assert.Equal(t, folder.Synced{Added: []string{"calls/a.mp4", "calls/b.mp4"}},
		r.sync(files("a.mp4", "b.mp4"), calls))
	assert.Equal(t, folder.Synced{Added: []string{"talks/2024/a.mp4"}},
		r.sync(files("a.mp4"), talks))
	assert.Equal(t, folder.Synced{Gone: []string{"calls/b.mp4"}, Deleted: 1, Unchanged: 1},
		r.sync(files("a.mp4"), calls))
	assert.Equal(t, folder.Synced{Unchanged: 1}, r.sync(files("a.mp4"), talks))
	assert.Equal(t, folder.Synced{Gone: []string{"calls/a.mp4"}, Deleted: 1},
		r.sync(files(), calls))
	assert.Len(t, r.catalog(), 5)

	all := r.sync(files("callsign.mp4"), &folder.SyncOptions{})
	assert.Equal(t, folder.Synced{Gone: []string{"talks/2024/a.mp4"}, Unchanged: 1}, all, "what could be a file of the root")
	taken := r.sync(files("a.mp4"), &folder.SyncOptions{Under: "calls", ID: func(string) string { return "1" }})
	require.Len(t, taken.Skipped, 1, "the ID of a video from elsewhere")
	assert.Contains(t, r.catalog(), "1 callsign.mp4")

	for _, under := range []string{"/", "/a", "a/", ".", "..", "a/../b", "a\x00", "\xff", strings.Repeat("a", 4096)} {
		_, err := folder.Sync(t.Context(), r.Service, org, "", "d", files("a.mp4"), &folder.SyncOptions{Under: under})
		var invalid *mortise.ValidationError
		require.ErrorAs(t, err, &invalid, "%q", under)
	}
	_, err := folder.Sync(t.Context(), r.Service, org, "", "d", nil, nil)
	require.ErrorContains(t, err, "files: must not be nil")
}

// TestSyncOrganizations: the dataset of another organization stays as it is.
func TestSyncOrganizations(t *testing.T) {
	r := newRig(t)
	_, err := r.CreateDataset(t.Context(), "other", "", "d")
	require.NoError(t, err)
	require.NoError(t, r.PutVideos(t.Context(), "other", "", "d", audiosearch.Video{ID: "a.mp4", Path: "x.mp4"}))
	opts := &folder.SyncOptions{Delete: true, DeleteAll: true}
	r.sync(files("a.mp4"), opts)
	assert.Equal(t, folder.Synced{Gone: []string{"a.mp4"}, Deleted: 1}, r.sync(files(), opts))
	v, err := r.Video(t.Context(), "other", "d", "a.mp4")
	require.NoError(t, err)
	assert.Equal(t, "x.mp4", v.Path)
	for _, other := range []string{"nobody", "d"} {
		_, err = folder.Sync(t.Context(), r.Service, other, "", "d", files("a.mp4"), nil)
		require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
	}
}

// TestSyncNothing: a folder that is not mounted deletes nothing, unless told so.
func TestSyncNothing(t *testing.T) {
	r := newRig(t)
	r.sync(files("a.mp4", "b.mp4"), nil)
	before := r.catalog()
	opts := &folder.SyncOptions{Delete: true}
	for _, empty := range []fs.FS{files(), files("README"), files("lost+found/.keep")} {
		for _, o := range []*folder.SyncOptions{nil, opts} {
			synced, err := folder.Sync(t.Context(), r.Service, org, "", "d", empty, o)
			require.ErrorIs(t, err, folder.ErrNoFiles)
			assert.Zero(t, synced)
		}
	}
	synced, err := folder.Sync(t.Context(), r.Service, org, "", "d", files("other.mp4"), opts)
	require.ErrorIs(t, err, folder.ErrAllGone)
	assert.Equal(t, folder.Synced{Gone: []string{"a.mp4", "b.mp4"}}, synced, "nothing was added either")
	assert.Equal(t, before, r.catalog())

	opts.DeleteAll = true
	assert.Equal(t, folder.Synced{Added: []string{"other.mp4"}, Gone: []string{"a.mp4", "b.mp4"}, Deleted: 2},
		r.sync(files("other.mp4"), opts))
	assert.Equal(t, []string{"other.mp4 other.mp4"}, r.catalog())
	r.sync(files(), opts)
	assert.Empty(t, r.catalog())
	assert.Zero(t, r.sync(files(), opts))
}

// TestSyncScores: a video that stays keeps its scores, one that is deleted loses them.
func TestSyncScores(t *testing.T) {
	fake := audiosearchtest.New(t, &audiosearchtest.Options{Tapes: map[string]audiosearchtest.Tape{"a.mp4": {}, "b.mp4": {}}})
	_, err := fake.CreateDataset(t.Context(), org, "", "d")
	require.NoError(t, err)
	_, err = folder.Sync(t.Context(), fake.Service, org, "", "d", files("a.mp4", "b.mp4"), nil)
	require.NoError(t, err)
	ingested, err := fake.Ingest(t.Context(), org, "", "d")
	require.NoError(t, err)
	require.Equal(t, 2, ingested.Scored)

	opts := &folder.SyncOptions{Delete: true, Metadata: func(string, fs.FileInfo) (metadata.Map, error) {
		return metadata.Map{"x": metadata.Int(1)}, nil
	}}
	_, err = folder.Sync(t.Context(), fake.Service, org, "", "d", files("a.mp4"), opts)
	require.NoError(t, err)
	_, err = fake.Scoring(t.Context(), org, "d", "a.mp4")
	require.NoError(t, err)
	_, err = fake.Scoring(t.Context(), org, "d", "b.mp4")
	require.ErrorIs(t, err, audiosearch.ErrNotScored)
}

// TestIsMediaFile: by the end of the path.
func TestIsMediaFile(t *testing.T) {
	for _, yes := range []string{"a.mp4", "A.MP4", "x y/z.flac", "a.b.Wav", "x.d/a.ogg", "disc/VTS_01_1.VOB", "a.caf", "a.m4b", "a.ac3", "a.dv", "a.f4v"} {
		assert.True(t, folder.IsMediaFile(yes), yes)
	}
	for _, no := range []string{"", "mp4", ".mp4", "a.mp4/b", "a.mp4.part", ".x/a.mp4", "x/.a.mp4", "a.", "a.txt", "\xff"} {
		assert.False(t, folder.IsMediaFile(no), no)
	}
}

// TestSyncRefusedMetadata: what the service refuses is skipped, and all others of its
// batch are stored, those that are new, changed and moved alike.
func TestSyncRefusedMetadata(t *testing.T) {
	r := newRig(t)
	r.put("moved", "old/moved.mp4", "old")
	r.put("moves", "old/moves.mp4", "old")
	r.put("kept", "kept.mp4", "old")
	refused := "invalid request: metadata: values must be valid UTF-8: have SyncOptions.Metadata return other"
	opts := &folder.SyncOptions{Delete: true, ID: base, Metadata: func(p string, _ fs.FileInfo) (metadata.Map, error) {
		if strings.Contains(p, "kept") || strings.Contains(p, "moved") || strings.Contains(p, "bad") {
			return metadata.Map{"x": metadata.String("\xff")}, nil
		}
		return metadata.Map{"x": metadata.String("new")}, nil
	}}
	got := r.sync(files("bad1.mp4", "good.mp4", "bad2.mp4", "kept.mp4", "new/moved.mp4", "new/moves.mp4"), opts)
	assert.Equal(t, folder.Synced{
		Added: []string{"good"}, Changed: []string{"moves"}, Unseen: 2, Skipped: []folder.FileProblem{
			{Path: "bad1.mp4", Message: refused}, {Path: "bad2.mp4", Message: refused},
			{Path: "kept.mp4", Message: refused}, {Path: "new/moved.mp4", Message: refused},
		},
	}, got)
	assert.Equal(t, []string{
		"good good.mp4 new", "kept kept.mp4 old", "moved old/moved.mp4 old", "moves new/moves.mp4 new",
	}, r.catalog())
}

// TestSyncLargeMetadata: what is far too large does not wait for 500 of its kind.
func TestSyncLargeMetadata(t *testing.T) {
	r := newRig(t)
	large := strings.Repeat("x", 20<<20)
	var skipped []int // how many videos there are before each call
	opts := &folder.SyncOptions{Metadata: func(p string, _ fs.FileInfo) (metadata.Map, error) {
		skipped = append(skipped, len(r.catalog()))
		if strings.HasPrefix(p, "a") {
			return metadata.Map{"x": metadata.String(large)}, nil
		}
		return metadata.Map{"x": metadata.String("small")}, nil
	}}
	got := r.sync(files("0.mp4", "a1.mp4", "a2.mp4", "b.mp4"), opts)
	assert.Equal(t, []string{"0.mp4", "b.mp4"}, got.Added)
	assert.Len(t, got.Skipped, 2)
	assert.Equal(t, []int{0, 0, 0, 1}, skipped, "32 MB are stored, or refused, at once")
}

// TestSyncNeedsAService: without one there is an error.
func TestSyncNeedsAService(t *testing.T) {
	r := newRig(t)
	_, err := folder.Sync(t.Context(), nil, org, "", "d", files("a.mp4"), nil)
	require.ErrorContains(t, err, "service: must not be nil")
	assert.Empty(t, r.catalog())
}
