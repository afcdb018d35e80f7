package folder_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

type dirEntries = []fs.DirEntry

// oddFolder is a folder whose ReadDir may do anything.
type oddFolder struct {
	fstest.MapFS
	readDir func(dir string, entries dirEntries, err error) (dirEntries, error)
}

func (f *oddFolder) ReadDir(dir string) (dirEntries, error) {
	entries, err := f.MapFS.ReadDir(dir)
	return f.readDir(dir, entries, err)
}

// odd is an entry of a folder by itself.
type odd struct {
	name string
	kind fs.FileMode
}

func (o odd) Name() string               { return o.name }
func (o odd) IsDir() bool                { return o.kind.IsDir() }
func (o odd) Type() fs.FileMode          { return o.kind }
func (o odd) Info() (fs.FileInfo, error) { return nil, errBroken }

var deletesAll = &folder.SyncOptions{Delete: true, DeleteAll: true}

// TestSyncUnreadableFolder: what is under it is not gone, and its failure is said.
func TestSyncUnreadableFolder(t *testing.T) {
	for err, want := range map[error]string{
		errBroken: "it cannot be read: broken at /secret/place",
		&fs.PathError{Op: "open", Path: "/srv/b", Err: fs.ErrPermission}:       "it cannot be read: let the program read it",
		&fs.PathError{Op: "open", Path: "/srv/b", Err: errors.New("i/o\nbad")}: "it cannot be read: i/o bad",
		fs.ErrNotExist: "it is not there any more, or leads to nothing: remove it, or sync again",
	} {
		r := newRig(t)
		all := files("a.mp4", "b/c.mp4", "b/d/e.mp4", "b/z.mp4", "bb/f.mp4")
		r.sync(all, nil)
		delete(all, "bb/f.mp4")
		tree := &oddFolder{all, func(dir string, entries dirEntries, failed error) (dirEntries, error) {
			if dir == "b" {
				return entries[:1], err // b/c.mp4; b/d and b/z.mp4 are lost
			}
			return entries, failed
		}}
		got := r.sync(tree, deletesAll)
		assert.Equal(t, folder.Synced{Gone: []string{"bb/f.mp4"}, Deleted: 1, Unchanged: 2, Unseen: 2,
			Skipped: []folder.FileProblem{{Path: "b", Message: want}}}, got)
		assert.Len(t, r.catalog(), 4)
		assert.Equal(t, folder.Synced{Unchanged: 4}, r.sync(all, deletesAll))
	}
}

// TestSyncUnreadableRoot: an error, and nothing is deleted, whatever the options say.
func TestSyncUnreadableRoot(t *testing.T) {
	r := newRig(t)
	all := files("a.mp4", "b.mp4")
	r.sync(all, nil)
	for name, tree := range map[string]fs.FS{
		"no folder": os.DirFS(filepath.Join(t.TempDir(), "none")),
		"broken": &oddFolder{all, func(_ string, entries dirEntries, _ error) (dirEntries, error) {
			return entries[:1], errBroken
		}},
		"panics":    &oddFolder{all, func(string, dirEntries, error) (dirEntries, error) { panic("oh") }},
		"nil entry": &oddFolder{all, func(string, dirEntries, error) (dirEntries, error) { return make(dirEntries, 1), nil }},
	} {
		synced, err := folder.Sync(t.Context(), r.Service, org, "", "d", tree, deletesAll)
		require.ErrorIs(t, err, mortise.ErrUnavailable, name)
		assert.Zero(t, synced)
	}
	for _, panics := range []*folder.SyncOptions{{Match: func(string) bool { panic("oh") }}, {ID: func(string) string { panic("oh") }}} {
		panics.Delete, panics.DeleteAll = true, true
		_, err := folder.Sync(t.Context(), r.Service, org, "", "d", files("c.mp4"), panics)
		require.ErrorIs(t, err, mortise.ErrUnavailable)
	}
	assert.Len(t, r.catalog(), 2)
}

// TestSyncWeirdNames: none becomes a path that leads elsewhere, and none is a loop.
func TestSyncWeirdNames(t *testing.T) {
	r := newRig(t)
	given := dirEntries{
		odd{"..", fs.ModeDir}, odd{".", fs.ModeDir}, odd{"", fs.ModeDir}, odd{"../x.mp4", 0}, odd{"/x.mp4", 0},
		odd{"x/y.mp4", 0}, odd{"nul\x00.mp4", 0}, odd{"bad\xff.mp4", 0}, odd{"bad\xff", fs.ModeDir}, odd{"bad\xff.txt", 0},
		odd{"pipe.mp4", fs.ModeNamedPipe}, odd{"pipe", fs.ModeNamedPipe}, odd{"dangling.txt", fs.ModeSymlink},
		odd{strings.Repeat("n", 5000) + ".mp4", 0}, odd{strings.Repeat("n", 5000), fs.ModeDir},
		odd{"twice.mp4", 0}, odd{"twice.mp4", 0}, odd{"folder.mp4", fs.ModeDir}, odd{"line\nbreak.mp4", 0}, odd{`back\slash.mp4`, 0},
	}
	tree := &oddFolder{files(), func(dir string, _ dirEntries, _ error) (dirEntries, error) {
		switch dir {
		case ".":
			return append(given, odd{"sub", fs.ModeDir}), nil
		case "sub":
			return given, nil
		}
		return nil, nil
	}}
	got := r.sync(tree, nil)
	assert.Equal(t, []string{"back\\slash.mp4", "line\nbreak.mp4", "sub/back\\slash.mp4", "sub/line\nbreak.mp4", "sub/twice.mp4", "twice.mp4"}, got.Added)
	assert.Len(t, got.Skipped, 2*13)
	for _, problem := range got.Skipped {
		assert.NotEmpty(t, problem.Message)
		assert.NotContains(t, problem.Path, "\xff")
	}
	again := r.sync(tree, deletesAll)
	assert.Equal(t, []any{6, got.Skipped, 0}, []any{again.Unchanged, again.Skipped, again.Deleted})
}

// TestSyncLinks: to files they are files; to folders they are skipped with what is under
// them.
func TestSyncLinks(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "real"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "real", "a.mp4"), []byte("sound"), 0o600))
	for name, to := range map[string]string{
		"file.mp4": "real/a.mp4", "folder": "real", "real/loop": "..", "self": "self", "text.txt": "real/a.mp4", "none.mp4": "nowhere",
	} {
		require.NoError(t, os.Symlink(filepath.FromSlash(to), filepath.Join(dir, filepath.FromSlash(name))))
	}
	r := newRig(t)
	r.put("1", "folder/a.mp4", "")
	r.put("2", "none.mp4", "")
	r.put("3", "real/gone.mp4", "")
	got := r.sync(os.DirFS(dir), &folder.SyncOptions{Delete: true, DeleteAll: true,
		Metadata: func(_ string, info fs.FileInfo) (metadata.Map, error) {
			return metadata.Map{"x": metadata.Int(info.Size())}, nil
		}})
	var skipped []string
	for _, problem := range got.Skipped {
		skipped = append(skipped, problem.Path)
		assert.NotContains(t, problem.Message, dir)
	}
	assert.Equal(t, []string{"folder", "none.mp4", "real/loop", "self"}, skipped)
	got.Skipped = nil
	assert.Equal(t, folder.Synced{Added: []string{"file.mp4", "real/a.mp4"}, Gone: []string{"3"}, Deleted: 1, Unseen: 2}, got)
	assert.Contains(t, r.catalog(), "file.mp4 file.mp4 5")
}

// TestSyncTooMany: an error before anything is changed: of files, of what is skipped, of
// folders, even of one that has itself as a part, and of videos that are gone.
func TestSyncTooMany(t *testing.T) {
	r := newRig(t)
	r.sync(files("a.mp4", "b.mp4", "c.mp4", "d.mp4"), nil)
	before := r.catalog()
	endless := &oddFolder{files(), func(string, dirEntries, error) (dirEntries, error) {
		return dirEntries{odd{"d", fs.ModeDir}, odd{"e", fs.ModeDir}}, nil
	}}
	unreadable := &oddFolder{files(), func(string, dirEntries, error) (dirEntries, error) {
		return dirEntries{odd{"x/y", 0}, odd{"x/z", 0}, odd{"x/w", 0}, odd{"x/v", 0}}, nil
	}}
	for name, tree := range map[string]fs.FS{
		"files": files("1.mp4", "2.mp4", "3.mp4", "4.mp4"), "folders": files("1/a", "2/a", "3/a", "4/a"),
		"endless": endless, "skipped": unreadable, "gone": files("1.mp4"),
	} {
		synced, err := folder.Sync(t.Context(), r.Service, org, "", "d", tree, &folder.SyncOptions{Delete: true, DeleteAll: true, Max: 3})
		want := "the folder is too large: raise SyncOptions.Max"
		if name == "gone" {
			want = "too many videos are gone"
		}
		require.ErrorContains(t, err, want, name)
		assert.Zero(t, synced)
	}
	assert.Equal(t, before, r.catalog())
	assert.Equal(t, 3, len(r.sync(files("1.mp4", "2.mp4", "a.mp4", "1/x", "2/x", "3/x"), &folder.SyncOptions{Max: 3}).Gone))
}

// TestSyncHangs: a file system or a function that does not answer is left when the
// context ends, or when it takes too long.
func TestSyncHangs(t *testing.T) {
	for _, ends := range []bool{true, false} {
		for _, where := range []string{".", "b", "metadata"} {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.put("gone.mp4", "gone.mp4", "")
				release := make(chan struct{})
				hang := func(at string) {
					if at == where {
						<-release
					}
				}
				tree := &oddFolder{files("a.mp4", "b/c.mp4"), func(dir string, entries dirEntries, err error) (dirEntries, error) {
					hang(dir)
					return entries, err
				}}
				opts := &folder.SyncOptions{Delete: true, DeleteAll: true,
					Metadata: func(string, fs.FileInfo) (metadata.Map, error) {
						hang("metadata")
						return nil, nil
					}}
				ctx, cancel := context.WithCancelCause(t.Context())
				if ends {
					time.AfterFunc(time.Minute, func() { cancel(errBroken) })
				}
				synced, err := folder.Sync(ctx, r.Service, org, "", "d", tree, opts)
				if ends {
					require.ErrorIs(t, err, errBroken)
				} else {
					require.ErrorIs(t, err, mortise.ErrUnavailable)
				}
				assert.Empty(t, synced.Added)
				assert.Zero(t, synced.Deleted)
				assert.Len(t, r.catalog(), 1)
				cancel(nil)
				close(release)
			})
		}
	}
}
