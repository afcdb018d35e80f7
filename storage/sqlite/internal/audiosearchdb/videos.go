package audiosearchdb

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
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
func (a *Store) PutVideos(ctx context.Context, org, dataset string, videos []audiosearch.Video) error {
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
	return a.db.Write(ctx, func(tx *file.Tx) error {
		c, err := changeDataset(tx, org, dataset)
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
	err := c.Query(lastVideo, nil, func(r *file.Row) error {
		last = file.Cell[int64](r, 0)
		return nil
	})
	if err != nil {
		return err
	}
	for i := range videos {
		v := &videos[i]
		added, err := c.Exec(insertVideo, last+1, c.seq, v.id, v.path, v.metadata)
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
	_, err = c.Exec(updateVideo, v.path, v.metadata, seq)
	return err
}

// video returns a video of the dataset, with the number 0 if there is none.
func (c *datasetChange) video(id string) (seq int64, v storedVideo, err error) {
	err = c.Query(videoByID, []any{c.seq, id}, func(r *file.Row) error {
		seq, v = file.Cell[int64](r, 0), storedVideo{id: id, path: r.Text(1), metadata: file.Text(r.Text(2), !r.Null(2))}
		return nil
	})
	return seq, v, err
}

// DeleteVideo implements [audiosearch.Catalog].
func (a *Store) DeleteVideo(ctx context.Context, org, dataset, id string) error {
	return a.db.Write(ctx, func(tx *file.Tx) error {
		c, err := changeDataset(tx, org, dataset)
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
		if _, err := c.Exec(deleteVideo, seq); err != nil {
			return err
		}
		c.videos = append(c.videos, seq)
		return c.note()
	})
}

// metadataAtOnce is how many bytes of metadata Videos returns, beside those of one video.
const metadataAtOnce = 1 << 20

// Videos implements [audiosearch.Catalog].
func (a *Store) Videos(ctx context.Context, org, dataset string, ids []string) ([]audiosearch.Video, int, error) {
	list, err := idList(ids)
	if err != nil {
		return nil, 0, err
	}
	wanted := len(ids)
	var found []audiosearch.Video
	var looked int
	err = a.within(ctx, org, dataset, func(c *file.Conn, d *audioDataset) error {
		found, looked = nil, wanted
		bytes := 0
		return c.Query(ctx, videosByID, []any{d.seq, list}, func(r *file.Row) error {
			v := audiosearch.Video{ID: r.Text(0), Path: r.Text(1)}
			if err := scanMetadata(r, 2, &v.Metadata); err != nil {
				return err
			}
			found = append(found, v)
			if bytes += len(r.Text(2)); bytes >= metadataAtOnce {
				looked = r.Number(3) + 1
				return file.ErrEnough
			}
			return nil
		})
	})
	if err != nil {
		return nil, 0, err
	}
	return found, looked, nil
}

// ListVideos implements [audiosearch.Catalog].
func (a *Store) ListVideos(
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
func (a *Store) videos(ctx context.Context, statement, org string, args ...any) ([]audiosearch.Video, error) {
	var videos []audiosearch.Video
	found := false
	err := a.db.List(ctx, org, statement, append([]any{org}, args...), func(r *file.Row) error {
		found = true
		if r.Null(0) {
			return nil
		}
		v := audiosearch.Video{ID: r.Text(0), Path: r.Text(1)}
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
func scanMetadata(r *file.Row, i int, m *metadata.Map) (err error) {
	if *m = nil; r.Null(i) {
		return nil
	}
	if *m, err = metadata.Parse(r.Bytes(i)); err != nil {
		err = fmt.Errorf("sqlite: a row is damaged: column %d is no metadata: %w", i, err)
	}
	return err
}
