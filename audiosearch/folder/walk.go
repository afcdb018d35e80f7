package folder

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/internal/watch"
)

// walk finds the files of the folder. A file system that hangs is left behind when ctx
// ends, so the walker has what it finds for itself until it is done.
func (y *folderSync) walk(ctx context.Context) error {
	w := &folderWalk{folderSync: &folderSync{files: y.files, opts: y.opts, prefix: y.prefix}}
	err := watch.Run(ctx, patience, grace, y.panicked(ctx, "the folder"), w.run)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, errTooManyFiles):
		return err
	default:
		return unavailable("read the folder", err)
	}
	y.found, y.byID, y.skipped, y.out.Skipped = w.found, w.byID, w.skipped, w.out.Skipped
	return nil
}

// folderWalk finds files. Of folderSync it has only what that needs.
type folderWalk struct {
	*folderSync
	folders int
	pending []string
}

func (w *folderWalk) run(ctx context.Context, beat func(next time.Duration)) error {
	w.pending = []string{"."}
	for len(w.pending) > 0 {
		last := len(w.pending) - 1
		dir := w.pending[last]
		w.pending = w.pending[:last]
		beat(patience)
		entries, err := fs.ReadDir(w.files, dir)
		if err != nil && dir == "." {
			return err
		} else if err != nil {
			w.skip(dir, readProblem(err)) // and what it gave of its entries, counts
		}
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				return err
			}
			w.entry(dir, e, beat)
			if w.folders > w.opts.Max || len(w.found)+len(w.out.Skipped) > w.opts.Max {
				return errTooManyFiles
			}
		}
	}
	byPath := func(a, b foundFile) int { return strings.Compare(a.path, b.path) }
	slices.SortFunc(w.found, byPath)
	w.found = slices.CompactFunc(w.found, func(a, b foundFile) bool { return a.path == b.path })
	w.byID = make([]int32, len(w.found))
	for i := range w.byID {
		w.byID[i] = int32(i)
	}
	slices.SortFunc(w.byID, func(a, b int32) int {
		return cmp.Or(strings.Compare(w.found[a].id, w.found[b].id), cmp.Compare(a, b))
	})
	return ctx.Err()
}

// entry notes what a folder has.
func (w *folderWalk) entry(dir string, e fs.DirEntry, beat func(next time.Duration)) {
	path, kind := e.Name(), e.Type()
	odd := path == "" || path == "." || path == ".." || strings.Contains(path, "/")
	if dir != "." {
		path = dir + "/" + path
	}
	if odd {
		w.skip(path, "this is not the name of a file: mend the file system")
		return
	}
	if kind.IsDir() {
		if problem := w.pathProblem(path); problem != "" {
			w.skip(path, problem)
			return
		}
		w.folders++
		w.pending = append(w.pending, path)
		return
	}
	if kind&fs.ModeSymlink != 0 {
		beat(patience)
		info, err := fs.Stat(w.files, path)
		if err != nil {
			w.skip(path, readProblem(err)) // it may lead to a folder
			return
		}
		if kind = info.Mode().Type(); kind.IsDir() {
			w.skip(path, "links to folders are not followed: sync that folder itself, or put it here")
			return
		}
	}
	if !w.opts.Match(path) {
		return
	}
	if problem := w.pathProblem(path); problem != "" {
		w.skip(path, problem)
		return
	}
	if !kind.IsRegular() {
		w.skip(path, "this is not a plain file: remove it, or have SyncOptions.Match refuse it")
		return
	}
	id := w.id(path)
	f := foundFile{path: w.prefix + path, id: id}
	if id == f.path {
		f.id = f.path // one text in memory
	} else if len(id) > name.Max {
		f.id = strings.Clone(id[:name.Max+1]) // which is too long, too
	}
	w.found = append(w.found, f)
}

// pathProblem says why a path of the folder cannot stand in the catalog, "" if it can.
func (y *folderSync) pathProblem(path string) string {
	switch {
	case len(y.prefix)+len(path) > maxPath:
		return "its path is too long: shorten the names of its folders"
	case !validText(path):
		return "its name is not valid UTF-8 without U+0000: rename it"
	}
	return ""
}

// id is SyncOptions.ID, or its default.
func (y *folderSync) id(path string) string {
	if y.opts.ID == nil {
		return idOfPath(y.prefix + path)
	}
	return y.opts.ID(path)
}

// idOfPath is the path, or as much of it as an ID has room for beside its digest.
func idOfPath(path string) string {
	if len(path) <= name.Max {
		return path
	}
	sum := sha256.Sum256([]byte(path))
	digest := "~" + base64.RawURLEncoding.EncodeToString(sum[:])
	cut := name.Max - len(digest)
	for !utf8.RuneStart(path[cut]) {
		cut--
	}
	return path[:cut] + digest
}

// skip reports a path of the folder once.
func (y *folderSync) skip(path, message string) {
	if _, ok := y.skipped[path]; ok {
		return
	}
	if y.skipped == nil {
		y.skipped = make(map[string]struct{})
	}
	y.skipped[path] = struct{}{}
	problem := FileProblem{strings.ToValidUTF8(path, "\uFFFD"), oneLine(errors.New(message))}
	y.out.Skipped = append(y.out.Skipped, problem)
}

// readProblem says what a failure to read means.
func readProblem(err error) string {
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "it cannot be read: let the program read it"
	case errors.Is(err, fs.ErrNotExist):
		return "it is not there any more, or leads to nothing: remove it, or sync again"
	case errors.As(err, &path):
		err = path.Err // without the path, which is said already
	}
	return "it cannot be read: " + err.Error()
}
