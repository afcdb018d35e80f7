package folder

import (
	"context"
	"errors"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// How much is stored at a time: so many videos, or so much metadata. Of the latter each
// video may have 64 KiB; what is over that is refused soon, and not kept until there are
// 500 of it.
const (
	batchVideos = 500
	batchBytes  = batchVideos * metadata.MaxBytes
)

// videoBatch collects videos, and notes their IDs when they are stored.
type videoBatch struct {
	y      *folderSync
	videos []pendingVideo
	bytes  int // of their metadata
	stored *[]string
}

// pendingVideo is to be stored. refused is called if the metadata that the host has given
// it cannot be.
type pendingVideo struct {
	audiosearch.Video
	refused func()
}

func (y *folderSync) batch(stored *[]string) *videoBatch {
	return &videoBatch{y: y, stored: stored}
}

func (b *videoBatch) put(ctx context.Context, v audiosearch.Video, refused func()) error {
	b.videos = append(b.videos, pendingVideo{v, refused})
	for key, s := range v.Metadata {
		b.bytes += len(key) + len(s.Text())
	}
	if len(b.videos) < batchVideos && b.bytes < batchBytes {
		return nil
	}
	return b.flush(ctx)
}

// flush stores what was collected. What is refused is skipped, and the rest is stored.
func (b *videoBatch) flush(ctx context.Context) error {
	for len(b.videos) > 0 {
		videos := make([]audiosearch.Video, len(b.videos))
		for i := range b.videos {
			videos[i] = b.videos[i].Video
		}
		err := b.y.s.PutVideos(ctx, b.y.org, b.y.by, b.y.dataset, videos...)
		if err == nil {
			for i := range videos {
				*b.stored = append(*b.stored, videos[i].ID)
			}
			break
		}
		bad := b.badMetadata(err)
		if len(bad) == 0 {
			return err
		}
		left := b.videos[:0]
		for i, v := range b.videos {
			if message, ok := bad[i]; ok {
				b.y.skip(b.y.inFolder(v.Path), message)
				v.refused()
			} else {
				left = append(left, v)
			}
		}
		clear(b.videos[len(left):])
		b.videos = left
	}
	clear(b.videos)
	b.videos, b.bytes = b.videos[:0], 0
	return nil
}

// badMetadata returns what is wrong with metadata that SyncOptions.Metadata has returned,
// by the place of the video; nothing if anything else is wrong.
func (b *videoBatch) badMetadata(err error) map[int]string {
	var invalid *mortise.ValidationError
	if b.y.opts.Metadata == nil || !errors.As(err, &invalid) {
		return nil
	}
	bad := make(map[int]string)
	for _, p := range invalid.Problems {
		if len(p.Path) != 3 || p.Path[0].Field != "videos" || p.Path[2].Field != "metadata" {
			return nil
		}
		i := p.Path[1].Index
		p.Path = slices.Clone(p.Path[2:])
		one := &mortise.ValidationError{Problems: []mortise.Problem{p}}
		bad[i] = oneLine(one) + ": have SyncOptions.Metadata return other"
	}
	return bad
}
