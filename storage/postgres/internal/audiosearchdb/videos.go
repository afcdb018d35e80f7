package audiosearchdb

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
)

// metadataText returns metadata as they are stored: NULL for none. People read them, so the
// characters <, > and & stay as they are.
func metadataText(m metadata.Map) (pgtype.Text, error) {
	if m == nil {
		return pgtype.Text{}, nil
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		return pgtype.Text{}, fmt.Errorf("postgres: write the metadata of a video: %w", err)
	}
	return pgtype.Text{String: strings.TrimSuffix(b.String(), "\n"), Valid: true}, nil
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
type videoArrays struct {
	ids, paths []string
	metadata   []pgtype.Text // JSON; NULL for none
}

func arraysOf(videos []audiosearch.Video) (v videoArrays, err error) {
	for i := range videos {
		text, err := metadataText(videos[i].Metadata)
		if err != nil {
			return v, err
		}
		v.ids = append(v.ids, videos[i].ID)
		v.paths = append(v.paths, videos[i].Path)
		v.metadata = append(v.metadata, text)
	}
	return v, nil
}

const (
	pathsOf = "SELECT id, path FROM @.audiosearch_videos WHERE dataset = $1 AND id = ANY ($2::text[])"

	putVideos = "INSERT INTO @.audiosearch_videos (dataset, changed, id, path, metadata)" +
		" SELECT $1, $2, v.* FROM unnest($3::text[], $4::text[], $5::text[]) AS v" +
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
		var moved []string
		err := s.Query(func(rows pgx.Rows) error {
			var id, path []byte
			if err := rows.Scan(&id, &path); err != nil {
				return err
			}
			if paths[string(id)] != string(path) {
				moved = append(moved, string(id))
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
	"DELETE FROM @.audiosearch_scores WHERE dataset = $1 AND video = ANY ($2::text[])",
	"DELETE FROM @.audiosearch_scorings WHERE dataset = $1 AND video = ANY ($2::text[])",
	"DELETE FROM @.audiosearch_part_scores WHERE dataset = $1 AND video = ANY ($2::text[])",
	"DELETE FROM @.audiosearch_parts WHERE dataset = $1 AND video = ANY ($2::text[])",
}

// forgetScorings removes what models made of videos.
func forgetScorings(s *engine.Session, dataset int64, videos []string) error {
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
	"SELECT i.n, v.id, v.path, v.metadata, sum(coalesce(octet_length(v.metadata), 0)) OVER (ORDER BY i.n) AS bytes, row_number() OVER (ORDER BY i.n) AS place" +
	" FROM unnest($2::text[]) WITH ORDINALITY AS i (id, n) JOIN @.audiosearch_videos AS v ON v.dataset = $1 AND v.id = i.id) AS v" +
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
	if err := s.Row("SELECT count(*) FROM @.audiosearch_videos WHERE dataset = $1 AND id = ANY ($2::text[])", []any{dataset, ids}, &there); err != nil {
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
	}, someVideos, dataset, ids, maxVideosBytes)
	if len(found) == there { // those that are left are not there
		looked = len(ids)
	}
	return found, looked, err
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
		videos, err = engine.Collect(s, scan, listVideos, d.seq, id, limit+1)
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
		changed, err := s.Exec("DELETE FROM @.audiosearch_videos WHERE dataset = $1 AND id = $2", d.seq, id)
		if err == nil && changed == 0 {
			err = audiosearch.ErrVideoNotFound
		}
		if err != nil {
			return err
		}
		if err := forgetScorings(s, d.seq, []string{id}); err != nil {
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
