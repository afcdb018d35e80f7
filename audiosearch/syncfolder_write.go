package audiosearch

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/hook"
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
		now := Video{ID: v.ID, Path: file.path, Metadata: v.Metadata}
		if y.opts.Metadata != nil {
			m, ok, err := y.metadata(ctx, y.inFolder(file.path))
			if err != nil {
				return err
			}
			if !ok {
				y.out.Unseen++
				if file.state == fileMoved {
					file.state = fileTaken
				}
				continue
			}
			now.Metadata = m
		}
		if now.Path == v.Path && maps.Equal(now.Metadata, v.Metadata) {
			y.out.Unchanged++
			continue
		}
		if file.state == fileMoved {
			file.state = fileThere
		}
		if err := batch.put(ctx, now); err != nil {
			return err
		}
	}
	return batch.flush(ctx)
}

// changed returns the file that a video has, or is to have; nil if there is none.
func (y *folderSync) changed(v Video) *foundFile {
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
		v := Video{ID: f.id, Path: f.path}
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
		if err := batch.put(ctx, v); err != nil {
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
		if err != nil && !errors.Is(err, ErrVideoNotFound) {
			return err
		}
		y.out.Deleted++
	}
	return nil
}

// videoBatch collects videos, and notes their IDs when they are stored.
type videoBatch struct {
	y      *folderSync
	videos []Video
	stored *[]string
}

func (y *folderSync) batch(stored *[]string) *videoBatch {
	return &videoBatch{y: y, stored: stored}
}

func (b *videoBatch) put(ctx context.Context, v Video) error {
	if b.videos = append(b.videos, v); len(b.videos) < pageSize {
		return nil
	}
	return b.flush(ctx)
}

func (b *videoBatch) flush(ctx context.Context) error {
	if len(b.videos) == 0 {
		return nil
	}
	if err := b.y.s.PutVideos(ctx, b.y.org, b.y.by, b.y.dataset, b.videos...); err != nil {
		return err
	}
	for _, v := range b.videos {
		*b.stored = append(*b.stored, v.ID)
	}
	clear(b.videos)
	b.videos = b.videos[:0]
	return nil
}

// metadata is SyncOptions.Metadata. Without ok, the file is skipped. An error is none of
// the file.
func (y *folderSync) metadata(ctx context.Context, path string) (_ metadata.Map, ok bool, err error) {
	var m metadata.Map
	var problem string
	opts := &y.s.opts
	work := func(context.Context, func(time.Duration)) error {
		info, err := fs.Stat(y.files, path)
		if err != nil {
			problem = readProblem(err)
			return nil
		}
		if m, err = y.opts.Metadata(path, info); err != nil {
			problem = "it has no metadata: " + videoMessage(err)
			return nil
		}
		var p problems
		checkMetadata(&p, "metadata", m)
		if err := p.err(); err != nil {
			problem = videoMessage(err) + ": have SyncOptions.Metadata return other"
			return nil
		}
		m = maps.Clone(m) // it waits for its batch, and the function may change its own
		return nil
	}
	err = watched(ctx, opts.Open, opts.Grace, y.s.panicked(ctx, "SyncOptions.Metadata"), work)
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
