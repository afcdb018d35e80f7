package audiosearch

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// foundVideos takes the videos of what a search found, each once, as the search comes
// upon them. Those of a run go to the store in batches: a thousand of them may have 64 MB
// of metadata.
type foundVideos struct {
	metadata map[string]metadata.Map // by ID; nil: nobody needs it here
	put      func(ctx context.Context, videos []Video) error
	begin    func() error // a set of its own for what is put; nil, as put: nothing is put

	batch []Video // to be put
	bytes int     // of its metadata
}

// About how much is put at a time. It is encoded in memory.
const (
	putBytes  = 1 << 20
	putVideos = 100
)

// restart forgets all videos.
func (f *foundVideos) restart() error {
	clear(f.metadata)
	f.batch, f.bytes = nil, 0
	if f.begin == nil {
		return nil
	}
	return f.begin()
}

func (f *foundVideos) add(ctx context.Context, v Video) error {
	if f.metadata != nil {
		f.metadata[v.ID] = v.Metadata
	}
	if f.put == nil {
		return nil
	}
	f.batch = append(f.batch, v)
	f.bytes += metadataSize(v.Metadata)
	if f.bytes < putBytes && len(f.batch) < putVideos {
		return nil
	}
	return f.flush(ctx)
}

// flush puts what has not been put yet.
func (f *foundVideos) flush(ctx context.Context) error {
	if len(f.batch) == 0 {
		return nil
	}
	videos := f.batch
	f.batch, f.bytes = nil, 0
	return f.put(ctx, videos)
}

// resultSet is where an attempt at a run leaves what it found.
type resultSet struct {
	w   *Worker
	run *Run
	id  uuid.UUID
}

// begin makes a new set. What was put into the one before is forgotten when the run ends.
func (rs *resultSet) begin() error {
	var b [16]byte
	if _, err := io.ReadFull(rs.w.service.opts.Rand, b[:]); err != nil {
		return unavailable("name a set of results", err)
	}
	rs.id = uuid.UUID(b)
	if rs.id == uuid.Nil { // which is none
		binary.BigEndian.PutUint64(b[8:], 1)
		rs.id = uuid.UUID(b)
	}
	return nil
}

func (rs *resultSet) putVideos(ctx context.Context, videos []Video) error {
	return rs.write(ctx, func(ctx context.Context) error {
		return rs.w.service.store.PutResultVideos(ctx, rs.run.Organization, rs.run.ID, rs.id, videos)
	})
}

func (rs *resultSet) putResults(ctx context.Context, results []Result) error {
	return rs.write(ctx, func(ctx context.Context) error {
		return rs.w.service.store.PutResults(ctx, rs.run.Organization, rs.run.ID, rs.id, results)
	})
}

// errEnded: others have ended the run that an attempt is made at, or have forgotten it.
var errEnded = errors.New("audiosearch: the run has ended meanwhile")

// write is Worker.try, with errEnded if the run has ended.
func (rs *resultSet) write(ctx context.Context, put func(context.Context) error) error {
	err := rs.w.try(ctx, func(ctx context.Context) error { return unavailable("store results", put(ctx)) })
	if errors.Is(err, ErrFinished) || errors.Is(err, ErrRunNotFound) {
		return fmt.Errorf("%w: %w", errEnded, err)
	}
	return err
}
