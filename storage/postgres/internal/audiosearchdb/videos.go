package audiosearchdb

import (
	stdbytes "bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
)

// plainJSON writes JSON that somebody may read.
func plainJSON(v any) ([]byte, error) {
	var b stdbytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("postgres: write JSON: %w", err)
	}
	return stdbytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// metadataText returns metadata as they are stored: nil for none.
func metadataText(m metadata.Map) ([]byte, error) {
	if m == nil {
		return nil, nil
	}
	return plainJSON(m)
}

func metadataOf(stored []byte) (m metadata.Map, err error) {
	if stored == nil {
		return nil, nil
	}
	if m, err = metadata.Parse(stored); err != nil {
		return nil, fmt.Errorf("postgres: a row is damaged: the metadata of a video: %w", err)
	}
	return m, nil
}

// videoArrays are the columns of videos.
type videoArrays struct{ ids, paths, metadata [][]byte }

func arraysOf(videos []audiosearch.Video) (v videoArrays, err error) {
	for i := range videos {
		text, err := metadataText(videos[i].Metadata)
		if err != nil {
			return v, err
		}
		v.ids = append(v.ids, sqltext.Bytes(videos[i].ID))
		v.paths = append(v.paths, sqltext.Bytes(videos[i].Path))
		v.metadata = append(v.metadata, text)
	}
	return v, nil
}

const (
	pathsOf = "SELECT id, path FROM @.audiosearch_videos WHERE dataset = $1 AND id = ANY ($2::bytea[])"

	putVideos = "INSERT INTO @.audiosearch_videos (dataset, changed, id, path, metadata)" +
		" SELECT $1, $2, v.* FROM unnest($3::bytea[], $4::bytea[], $5::bytea[]) AS v" +
		" ON CONFLICT (dataset, id) DO UPDATE SET changed = excluded.changed, path = excluded.path, metadata = excluded.metadata"

	// For a dataset and its new version.
	countVersion = "UPDATE @.audiosearch_datasets SET version = $2 WHERE seq = $1"
)

// PutVideos implements [audiosearch.Catalog].
func (a *Store) PutVideos(ctx context.Context, org, dataset string, videos []audiosearch.Video) error {
	all, err := arraysOf(videos)
	if err != nil {
		return err
	}
	paths := make(map[string]string, len(videos))
	for i := range videos {
		paths[videos[i].ID] = videos[i].Path
	}
	return a.write(ctx, org, dataset, func(s *engine.Session, d audioDataset) error {
		if len(videos) == 0 {
			return nil
		}
		var moved [][]byte
		err := s.Query(func(rows pgx.Rows) error {
			var id, path []byte
			if err := rows.Scan(&id, &path); err != nil {
				return err
			}
			if paths[string(id)] != string(path) {
				moved = append(moved, id)
			}
			return nil
		}, pathsOf, d.seq, all.ids)
		if err != nil {
			return err
		}
		if err := forgetScorings(s, d.seq, moved); err != nil {
			return err
		}
		if _, err := s.Exec(putVideos, d.seq, d.version+1, all.ids, all.paths, all.metadata); err != nil {
			return err
		}
		_, err = s.Exec(countVersion, d.seq, d.version+1)
		return err
	})
}

// videoScorings are for a dataset and videos.
var videoScorings = [...]string{
	"DELETE FROM @.audiosearch_scores WHERE dataset = $1 AND video = ANY ($2::bytea[])",
	"DELETE FROM @.audiosearch_scorings WHERE dataset = $1 AND video = ANY ($2::bytea[])",
	"DELETE FROM @.audiosearch_part_scores WHERE dataset = $1 AND video = ANY ($2::bytea[])",
	"DELETE FROM @.audiosearch_parts WHERE dataset = $1 AND video = ANY ($2::bytea[])",
}

// forgetScorings removes what models made of videos.
func forgetScorings(s *engine.Session, dataset int64, videos [][]byte) error {
	if len(videos) == 0 {
		return nil
	}
	for _, statement := range videoScorings {
		if _, err := s.Exec(statement, dataset, videos); err != nil {
			return err
		}
	}
	return nil
}

// maxVideosBytes is how much metadata Videos returns beside that of one video.
const maxVideosBytes = 1 << 20

// The first so many of the IDs, up to a number of bytes of metadata.
const someVideos = "SELECT n, id, path, metadata FROM (" +
	"SELECT i.n, v.id, v.path, v.metadata, sum(coalesce(length(v.metadata), 0)) OVER (ORDER BY i.n) AS bytes, row_number() OVER (ORDER BY i.n) AS place" +
	" FROM unnest($2::bytea[]) WITH ORDINALITY AS i (id, n) JOIN @.audiosearch_videos AS v ON v.dataset = $1 AND v.id = i.id) AS v" +
	" WHERE bytes <= $3 OR place = 1 ORDER BY n"

// Videos implements [audiosearch.Catalog].
func (a *Store) Videos(ctx context.Context, org, dataset string, ids []string) (found []audiosearch.Video, looked int, err error) {
	err = a.read(ctx, org, dataset, func(s *engine.Session, d audioDataset) error {
		found, looked, err = pickVideos(s, d.seq, ids)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return found, looked, nil
}

func pickVideos(s *engine.Session, dataset int64, ids []string) (found []audiosearch.Video, looked int, err error) {
	var there int
	if err := s.Row("SELECT count(*) FROM @.audiosearch_videos WHERE dataset = $1 AND id = ANY ($2::bytea[])", []any{dataset, byteses(ids)}, &there); err != nil {
		return nil, 0, err
	}
	err = s.Query(func(rows pgx.Rows) error {
		var n int
		v, err := scanVideo(rows, &n)
		if err != nil {
			return err
		}
		found, looked = append(found, v), n
		return nil
	}, someVideos, dataset, byteses(ids), maxVideosBytes)
	if len(found) == there { // those that are left are not there
		looked = len(ids)
	}
	return found, looked, err
}

func byteses(texts []string) [][]byte {
	all := make([][]byte, len(texts))
	for i, text := range texts {
		all[i] = sqltext.Bytes(text)
	}
	return all
}

// scanVideo reads what stands before, and then id, path and metadata.
func scanVideo(rows pgx.Rows, before ...any) (v audiosearch.Video, err error) {
	var id, path, text []byte
	if err := rows.Scan(append(before, &id, &path, &text)...); err != nil {
		return v, err
	}
	v.ID, v.Path = string(id), string(path)
	v.Metadata, err = metadataOf(text)
	return v, err
}

const listVideos = "SELECT id, path, metadata FROM @.audiosearch_videos WHERE dataset = $1 AND id > $2 ORDER BY id LIMIT $3"

// ListVideos implements [audiosearch.Catalog].
func (a *Store) ListVideos(
	ctx context.Context, org, dataset string, after mortise.Cursor, limit int,
) (page mortise.Page[audiosearch.Video], err error) {
	_, id, _, err := pages.ByNameAlone(after)
	if err != nil {
		return page, err
	}
	var videos []audiosearch.Video
	err = a.read(ctx, org, dataset, func(s *engine.Session, d audioDataset) (err error) {
		scan := func(rows pgx.Rows) (audiosearch.Video, error) { return scanVideo(rows) }
		videos, err = engine.Collect(s, scan, listVideos, d.seq, sqltext.Bytes(id), limit+1)
		return err
	})
	if err != nil {
		return page, err
	}
	return pages.Cut(videos, limit, (*audiosearch.Video).Position), nil
}

// For a dataset and its new version.
const countRemoved = "UPDATE @.audiosearch_datasets SET version = $2, removed = $2 WHERE seq = $1"

// DeleteVideo implements [audiosearch.Catalog].
func (a *Store) DeleteVideo(ctx context.Context, org, dataset, id string) error {
	return a.write(ctx, org, dataset, func(s *engine.Session, d audioDataset) error {
		changed, err := s.Exec("DELETE FROM @.audiosearch_videos WHERE dataset = $1 AND id = $2", d.seq, sqltext.Bytes(id))
		if err == nil && changed == 0 {
			err = audiosearch.ErrVideoNotFound
		}
		if err != nil {
			return err
		}
		if err := forgetScorings(s, d.seq, [][]byte{sqltext.Bytes(id)}); err != nil {
			return err
		}
		_, err = s.Exec(countRemoved, d.seq, d.version+1)
		return err
	})
}

// MissingKeys implements [audiosearch.Catalog].
func (a *Store) MissingKeys(ctx context.Context, org, dataset string, keys []string) (missing []string, err error) {
	err = a.readCatalog(ctx, org, dataset, func(_ *engine.Session, _ audioDataset, c *audioCatalog) error {
		missing = nil
		for _, key := range keys {
			if !c.columns.HasKey(key) {
				missing = append(missing, key)
			}
		}
		return nil
	})
	return missing, err
}
