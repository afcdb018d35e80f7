package localkeys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// names returns what is in the folder.
func names(t *testing.T, folder string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}

func same(a, b Root) bool { return *a.bytes() == *b.bytes() }

// TestRootFile: a file is made once, for its owner alone, and read as it is from then on.
func TestRootFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if f, err := OpenRootFile(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%+v, %v", f, err)
	}
	first, err := EnsureRootFile(path)
	if err != nil || !first.Made() || first.Exposed != 0 || first.Path != path {
		t.Fatalf("%+v, %v", first, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for mode, exposed := range map[fs.FileMode]fs.FileMode{0o600: 0, 0o400: 0, 0o640: 0o640, 0o604: 0o604, 0o601: 0o601} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		found, err := OpenRootFile(path)
		if err != nil || found.Made() || !same(found.Root, first.Root) || found.Exposed != exposed {
			t.Errorf("%o: %+v, %v", mode, found, err)
		}
	}
	if same(RandomRoot(), RandomRoot()) || same(RandomRoot(), first.Root) {
		t.Error("two keys are the same")
	}
}

// TestRootFileUnsynced: a folder that cannot be synced is told, and the key is there all the
// same. (testRootKeyIsSynced of internal/e2e sees the folder of a file synced.)
func TestRootFileUnsynced(t *testing.T) {
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o300); err != nil {
		t.Fatal(err)
	}
	_, readable := os.ReadDir(folder) // root may do so
	f, err := EnsureRootFile(filepath.Join(folder, "key"))
	if err != nil || !f.Made() || (f.Unsynced == nil) != (readable == nil) {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestRootFileRefused: what is no key is neither repeated nor replaced.
func TestRootFileRefused(t *testing.T) {
	const content = "ffeeddccbbaa99887766554433221100"
	for name, text := range map[string]string{
		"empty": "", "short": content, "far": content + content + strings.Repeat(" ", maxRootFile) + "x",
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, open := range []func(string) (*RootFile, error){OpenRootFile, EnsureRootFile} {
			_, err := open(path)
			if err == nil || !strings.HasPrefix(err.Error(), path+": localkeys: a root key must be written") || strings.Contains(err.Error(), content[:8]) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("the file was changed: %v", err)
		}
	}
}

// TestRootFileAtOnce: processes that start at once on one folder agree on one key.
func TestRootFileAtOnce(t *testing.T) {
	for range 20 {
		folder := t.TempDir()
		path := filepath.Join(folder, "key")
		var found [8]*RootFile
		var group sync.WaitGroup
		for i := range found {
			group.Go(func() {
				var err error
				if found[i], err = EnsureRootFile(path); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if t.Failed() {
			return
		}
		made := 0
		for _, k := range found {
			if !same(k.Root, found[0].Root) {
				t.Fatal("two keys")
			}
			if k.Made() {
				made++
			}
		}
		if left := names(t, folder); made != 1 || len(left) != 1 {
			t.Errorf("made %d times; in the folder: %q", made, left)
		}
	}
}

// TestRootFileLeftovers: what a process left that died while it made the file is removed,
// for it may be a second copy of the key.
func TestRootFileLeftovers(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "key")
	if err := os.WriteFile(path+".new-456", nil, 0o600); err != nil { // by one that died before it had made the file
		t.Fatal(err)
	}
	first, err := EnsureRootFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if left := names(t, folder); len(left) != 1 {
		t.Errorf("in the folder: %q", left)
	}
	if err := errors.Join(os.Link(path, path+".new-123"), os.WriteFile(filepath.Join(folder, "other"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if found, err := EnsureRootFile(path); err != nil || !same(found.Root, first.Root) {
		t.Errorf("%+v, %v", found, err)
	}
	if left := names(t, folder); len(left) != 2 {
		t.Errorf("in the folder: %q", left)
	}
	if made, err := makeRootFile(path, "1"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("another file was replaced: %v, %v", made, err)
	}
}

// TestDiscardedRootFile: only the file that was made is removed, not one that an
// operator puts in its place at that moment.
func TestDiscardedRootFile(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "key")
	made, err := EnsureRootFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(folder, "other")
	if err := errors.Join(os.WriteFile(other, []byte("x"), 0o600), os.Rename(other, made.Path), made.Discard()); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(made.Path); err != nil || string(text) != "x" {
		t.Errorf("%q, %v", text, err)
	}
	if err := errors.Join(os.Remove(made.Path), made.Discard()); err != nil {
		t.Errorf("one that is gone already: %v", err)
	}

	first, err := EnsureRootFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found, err := EnsureRootFile(path)
	if err != nil || found.Made() || !same(found.Root, first.Root) || found.Discard() != nil || len(names(t, folder)) != 1 {
		t.Errorf("one that was found was discarded: %+v, %v", found, err)
	}
	if first.Discard() != nil || len(names(t, folder)) != 0 {
		t.Error("one that was made was not discarded")
	}
}
