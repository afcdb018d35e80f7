package folder

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/hook"
	"github.com/seed-6363c74e/mortise/internal/watch"
)

// change reads the catalog again, and stores new paths and metadata. To keep the changes
// from the first reading until everything is decided would take too much memory.
func (y *folderSync) change(ctx context.Context) error {
	batch := y.batch(&y.out.Changed)
	for v, err := range y.s.Videos(ctx, y.org, y.dataset) {
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		file := y.changed(v)
		if file == nil {
			continue
		}
		now := audiosearch.Video{ID: v.ID, Path: file.path, Metadata: v.Metadata}
		if y.opts.Metadata != nil {
			m, ok, err := y.metadata(ctx, y.inFolder(file.path))
			if err != nil {
				return err
			}
			if !ok {
				y.leave(file, file.state == fileMoved)
				continue
			}
			now.Metadata = m
		}
		if now.Path == v.Path && maps.Equal(now.Metadata, v.Metadata) {
			y.out.Unchanged++
			continue
		}
		moved := file.state == fileMoved
		if moved {
			file.state = fileThere
		}
		if err := batch.put(ctx, now, func() { y.leave(file, moved) }); err != nil {
			return err
		}
	}
	return batch.flush(ctx)
}

// leave leaves a video as it is, because of its file.
func (y *folderSync) leave(file *foundFile, moved bool) {
	y.out.Unseen++
	if moved {
		file.state = fileTaken
	}
}

// changed returns the file that a video has, or is to have; nil if there is none.
func (y *folderSync) changed(v audiosearch.Video) *foundFile {
	if at, there := y.find(v.Path); there {
		y.found[at].state = fileThere // whoever entered it meanwhile
		return &y.found[at]
	}
	for _, i := range y.withID(v.ID) {
		if f := &y.found[i]; f.state == fileMoved {
			return f
		}
	}
	return nil
}

// add stores the new videos.
func (y *folderSync) add(ctx context.Context) error {
	batch := y.batch(&y.out.Added)
	for i := range y.found {
		f := &y.found[i]
		if f.state != fileNew && f.state != fileMoved { // its video was deleted meanwhile
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		v := audiosearch.Video{ID: f.id, Path: f.path}
		if y.opts.Metadata != nil {
			m, ok, err := y.metadata(ctx, y.inFolder(f.path))
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			v.Metadata = m
		}
		if err := batch.put(ctx, v, func() {}); err != nil {
			return err
		}
	}
	return batch.flush(ctx)
}

// remove deletes the videos that are gone.
func (y *folderSync) remove(ctx context.Context) error {
	for _, id := range y.out.Gone {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		err := y.s.DeleteVideo(ctx, y.org, y.by, y.dataset, id)
		if err != nil && !errors.Is(err, audiosearch.ErrVideoNotFound) {
			return err
		}
		y.out.Deleted++
	}
	return nil
}

// metadata is SyncOptions.Metadata. Without ok, the file is skipped. An error is none of
// the file.
func (y *folderSync) metadata(ctx context.Context, path string) (_ metadata.Map, ok bool, err error) {
	var m metadata.Map
	var problem string
	work := func(context.Context, func(time.Duration)) error {
		info, err := fs.Stat(y.files, path)
		if err != nil {
			problem = readProblem(err)
			return nil
		}
		if m, err = y.opts.Metadata(path, info); err != nil {
			problem = "it has no metadata: " + oneLine(err)
			return nil
		}
		m = maps.Clone(m) // it waits for its batch, and the function may change its own
		return nil
	}
	err = watch.Run(ctx, patience, grace, y.panicked(ctx, "SyncOptions.Metadata"), work)
	var panicked *hook.PanicError
	switch {
	case ctx.Err() != nil:
		return nil, false, context.Cause(ctx)
	case errors.As(err, &panicked):
		problem = panicked.Error() + ": mend it"
	case err != nil:
		return nil, false, unavailable("ask for metadata", err)
	}
	if problem != "" {
		y.skip(path, problem)
	}
	return m, problem == "", nil
}
