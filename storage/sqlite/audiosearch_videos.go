package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/pages"
)

const (
	// Without the table's counter, a video could get the number of one that was deleted.
	// See PutVideos of how it is kept.
	lastVideo   = "SELECT seq FROM sqlite_sequence WHERE name = 'audiosearch_videos'"
	insertVideo = "INSERT INTO audiosearch_videos (seq, dataset, id, path, metadata) VALUES (?,?,?,?,?) ON CONFLICT DO NOTHING"
	updateVideo = "UPDATE audiosearch_videos SET (path, metadata) = (?,?) WHERE seq = ?"
	deleteVideo = "DELETE FROM audiosearch_videos WHERE seq = ?"
	videoByID   = "SELECT seq, path, metadata FROM audiosearch_videos WHERE dataset = ? AND id = ?"
	// ?2 is a list of IDs, in JSON.
	videosByID = "SELECT v.id, v.path, v.metadata, json_each.key FROM json_each(?2)" +
		" CROSS JOIN audiosearch_videos v ON v.dataset = ?1 AND v.id = value"
	videosAfter = datasetVideos + " LEFT JOIN audiosearch_videos v ON v.dataset = d.seq AND v.id > ?3" + ofDataset + " ORDER BY v.id LIMIT 0 + ?4"
	ofDataset   = " WHERE d.organization = ?1 AND d.id = ?2" + andThere
	// A dataset without such a video gives a row of NULLs.
	datasetVideos = "SELECT v.id, v.path, v.metadata FROM audiosearch_datasets d"
)

// storedVideo is a video as it is stored.
type storedVideo struct {
	id, path string
	metadata any // JSON, or nil
}

// PutVideos implements [audiosearch.Catalog].
func (a *AudioSearch) PutVideos(ctx context.Context, org, dataset string, videos []audiosearch.Video) error {
	own := make([]storedVideo, len(videos))
	for i, v := range videos {
		own[i] = storedVideo{id: v.ID, path: v.Path}
		if v.Metadata == nil {
			continue
		}
		metadata, err := json.Marshal(v.Metadata)
		if err != nil {
			return fmt.Errorf("sqlite: write the metadata of a video: %w", err)
		}
		own[i].metadata = string(metadata)
	}
	slices.SortFunc(own, func(a, b storedVideo) int { return strings.Compare(a.id, b.id) }) // as the index is
	return a.db.writer.write(ctx, func(tx *tx) error {
		c, err := tx.changeDataset(org, dataset)
		if err != nil {
			return err
		}
		if err := c.putVideos(own); err != nil {
			return err
		}
		return c.note()
	})
}

func (c *datasetChange) putVideos(videos []storedVideo) error {
	var last int64
	err := c.query(lastVideo, nil, func(r *row) error {
		last = cell[int64](r, 0)
		return nil
	})
	if err != nil {
		return err
	}
	for i := range videos {
		v := &videos[i]
		added, err := c.exec(insertVideo, last+1, c.seq, v.id, v.path, v.metadata)
		if err != nil {
			return err
		}
		if added > 0 {
			last++
			c.videos = append(c.videos, last)
		} else if err := c.replaceVideo(v); err != nil {
			return err
		}
	}
	return nil
}

// replaceVideo stores a video instead of one that is there.
func (c *datasetChange) replaceVideo(v *storedVideo) error {
	seq, was, err := c.video(v.id)
	if err != nil || was == *v {
		return err
	}
	if was.path != v.path {
		if err := c.removeScorings(seq); err != nil {
			return err
		}
	}
	c.videos = append(c.videos, seq)
	_, err = c.exec(updateVideo, v.path, v.metadata, seq)
	return err
}

// video returns a video of the dataset, with the number 0 if there is none.
func (c *datasetChange) video(id string) (seq int64, v storedVideo, err error) {
	err = c.query(videoByID, []any{c.seq, id}, func(r *row) error {
		seq, v = cell[int64](r, 0), storedVideo{id: id, path: r.text(1), metadata: text(r.text(2), !r.null(2))}
		return nil
	})
	return seq, v, err
}

// DeleteVideo implements [audiosearch.Catalog].
func (a *AudioSearch) DeleteVideo(ctx context.Context, org, dataset, id string) error {
	return a.db.writer.write(ctx, func(tx *tx) error {
		c, err := tx.changeDataset(org, dataset)
		if err != nil {
			return err
		}
		seq, _, err := c.video(id)
		if err == nil && seq == 0 {
			err = audiosearch.ErrVideoNotFound
		}
		if err != nil {
			return err
		}
		if err := c.removeScorings(seq); err != nil {
			return err
		}
		if _, err := c.exec(deleteVideo, seq); err != nil {
			return err
		}
		c.videos = append(c.videos, seq)
		return c.note()
	})
}

// metadataAtOnce is how many bytes of metadata Videos returns, beside those of one video.
const metadataAtOnce = 1 << 20

// Videos implements [audiosearch.Catalog].
func (a *AudioSearch) Videos(ctx context.Context, org, dataset string, ids []string) ([]audiosearch.Video, int, error) {
	list, err := idList(ids)
	if err != nil {
		return nil, 0, err
	}
	wanted := len(ids)
	var found []audiosearch.Video
	var looked int
	err = a.within(ctx, org, dataset, func(c *conn, d *audioDataset) error {
		found, looked = nil, wanted
		bytes := 0
		err := c.query(ctx, videosByID, []any{d.seq, list}, func(r *row) error {
			v := audiosearch.Video{ID: r.text(0), Path: r.text(1)}
			if err := scanMetadata(r, 2, &v.Metadata); err != nil {
				return err
			}
			found = append(found, v)
			if bytes += len(r.text(2)); bytes >= metadataAtOnce {
				looked = r.number(3) + 1
				return errEnough
			}
			return nil
		})
		if errors.Is(err, errEnough) {
			err = nil
		}
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return found, looked, nil
}

// ListVideos implements [audiosearch.Catalog].
func (a *AudioSearch) ListVideos(
	ctx context.Context, org, dataset string, after mortise.Cursor, limit int,
) (page mortise.Page[audiosearch.Video], err error) {
	_, id, _, err := pages.ByNameAlone(after)
	if err != nil {
		return page, err
	}
	videos, err := a.videos(ctx, videosAfter, org, dataset, id, limit+1)
	if err != nil {
		return page, err
	}
	return pages.Cut(videos, limit, (*audiosearch.Video).Position), nil
}

// videos reads the rows of a statement that begins with datasetVideos.
func (a *AudioSearch) videos(ctx context.Context, statement, org string, args ...any) ([]audiosearch.Video, error) {
	var videos []audiosearch.Video
	found := false
	err := a.db.list(ctx, org, statement, append([]any{org}, args...), func(r *row) error {
		found = true
		if r.null(0) {
			return nil
		}
		v := audiosearch.Video{ID: r.text(0), Path: r.text(1)}
		if err := scanMetadata(r, 2, &v.Metadata); err != nil {
			return err
		}
		videos = append(videos, v)
		return nil
	})
	if err == nil && !found {
		err = audiosearch.ErrDatasetNotFound
	}
	return videos, err
}

// scanMetadata reads a column of metadata.
func scanMetadata(r *row, i int, m *metadata.Map) (err error) {
	if *m = nil; r.null(i) {
		return nil
	}
	if *m, err = metadata.Parse(r.bytes(i)); err != nil {
		err = fmt.Errorf("sqlite: a row is damaged: column %d is no metadata: %w", i, err)
	}
	return err
}
