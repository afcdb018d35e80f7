package memory

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/pages"
)

// PutVideos implements [audiosearch.Catalog].
func (a *AudioSearch) PutVideos(ctx context.Context, org, dataset string, videos []audiosearch.Video) error {
	return a.write(ctx, org, dataset, func(d *audioDataset) error {
		for _, v := range videos {
			v.Metadata = maps.Clone(v.Metadata)
			d.put(v)
		}
		return nil
	})
}

// maxVideosBytes is how much metadata Videos returns beside that of one video.
const maxVideosBytes = 1 << 20

// Videos implements [audiosearch.Catalog].
func (a *AudioSearch) Videos(ctx context.Context, org, dataset string, ids []string) (found []audiosearch.Video, looked int, err error) {
	err = a.read(ctx, org, dataset, func(d *audioDataset) error {
		size := 0
		for _, id := range ids {
			v, ok := d.videos[id]
			if ok {
				if size += metadataSize(v.video.Metadata); size > maxVideosBytes && len(found) > 0 {
					break
				}
				found = append(found, cloneVideo(v.video))
			}
			looked++
		}
		return nil
	})
	return found, looked, err
}

func cloneVideo(v audiosearch.Video) audiosearch.Video {
	v.Metadata = maps.Clone(v.Metadata)
	return v
}

// metadataSize returns how many bytes metadata are, about.
func metadataSize(m metadata.Map) (n int) {
	for key, value := range m {
		n += len(key) + len(value.Text())
	}
	return n
}

// ListVideos implements [audiosearch.Catalog].
func (a *AudioSearch) ListVideos(
	ctx context.Context, org, dataset string, after mortise.Cursor, limit int,
) (page mortise.Page[audiosearch.Video], err error) {
	from, err := position(after)
	if err != nil {
		return page, err
	}
	id := ""
	if from != nil {
		id = from.ID
	}
	err = a.read(ctx, org, dataset, func(d *audioDataset) error {
		page = pages.Cut(d.page(id, limit+1, maps.Values(d.videos)), limit, (*audiosearch.Video).Position)
		return nil
	})
	return page, err
}

// page returns videos by ID.
func (d *audioDataset) page(after string, limit int, videos iter.Seq[*audioVideo]) []audiosearch.Video {
	var ids []string
	first := func() []string {
		slices.Sort(ids)
		return ids[:min(limit, len(ids))]
	}
	for v := range videos {
		if v.video.ID <= after {
			continue
		}
		if ids = append(ids, v.video.ID); len(ids)/2 >= max(limit, 1000) {
			ids = first() // so that a page does not cost as much as all that follow
		}
	}
	var list []audiosearch.Video
	for _, id := range first() {
		list = append(list, cloneVideo(d.videos[id].video))
	}
	return list
}

// DeleteVideo implements [audiosearch.Catalog].
func (a *AudioSearch) DeleteVideo(ctx context.Context, org, dataset, id string) error {
	return a.write(ctx, org, dataset, func(d *audioDataset) error {
		v, ok := d.videos[id]
		if !ok {
			return audiosearch.ErrVideoNotFound
		}
		d.rows.remove(v)
		delete(d.videos, id)
		return nil
	})
}

// MissingKeys implements [audiosearch.Catalog].
func (a *AudioSearch) MissingKeys(ctx context.Context, org, dataset string, keys []string) (missing []string, err error) {
	err = a.read(ctx, org, dataset, func(d *audioDataset) error {
		for _, key := range keys {
			if !d.rows.columns.HasKey(key) {
				missing = append(missing, key)
			}
		}
		return nil
	})
	return missing, err
}
