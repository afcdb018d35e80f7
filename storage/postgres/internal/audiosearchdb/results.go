package audiosearchdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
)

// What a row has of results, and a page of them at most.
const (
	resultsInRow = 100
	pageMetadata = 256 << 10 // bytes, beside that of one video
)

// storedResult is a result within a row.
type storedResult struct {
	Video      string        `json:"v"`
	Start      time.Duration `json:"s"`
	End        time.Duration `json:"e"`
	VideoStart time.Duration `json:"o,omitempty"`
	Image      string        `json:"i"`
	ImageAt    time.Duration `json:"a"`
	Score      float64       `json:"c"`
	Moderation *float64      `json:"m,omitempty"`
}

var errNoVideo = errors.New("postgres: a result is of a video that its set does not have")

const (
	stateOfRun = "SELECT r.state FROM @.audiosearch_runs AS r WHERE r.organization || '' = $1 AND r.id = $2 AND " + runNotDeleted + " FOR SHARE OF r"
	addSet     = "INSERT INTO @.audiosearch_result_sets (run, token) VALUES ($1, $2) ON CONFLICT DO NOTHING"
	setByToken = "SELECT seq FROM @.audiosearch_result_sets WHERE run = $1 AND token = $2"
	addVideos  = "INSERT INTO @.audiosearch_result_videos (result_set, id, path, metadata)" +
		" SELECT $1, v.* FROM unnest($2::text[], $3::text[], $4::text[]) AS v ON CONFLICT DO NOTHING"
	videosThere = "SELECT count(*) FROM @.audiosearch_result_videos WHERE result_set = $1 AND id = ANY ($2::text[])"
	cutResults  = "DELETE FROM @.audiosearch_results WHERE result_set = $1"
	addResults  = "INSERT INTO @.audiosearch_results (result_set, first, results) SELECT $1, r.* FROM unnest($2::bigint[], $3::text[]) AS r"
)

// inSet calls do with a set of a run that has not ended.
func (a *Store) inSet(ctx context.Context, org string, run int64, set uuid.UUID, do func(s *engine.Session, seq int64) error) error {
	return a.db.Transact(ctx, org, func(s *engine.Session) error {
		var state audiosearch.State
		err := s.Row(stateOfRun, []any{org, run}, &state)
		switch {
		case engine.IsNoRow(err):
			return audiosearch.ErrRunNotFound
		case err != nil:
			return err
		case state == audiosearch.StateTerminated:
			return audiosearch.ErrFinished
		}
		if _, err := s.Exec(addSet, run, set); err != nil {
			return err
		}
		var seq int64
		if err := s.Row(setByToken, []any{run, set}, &seq); err != nil {
			return err
		}
		return do(s, seq)
	})
}

// PutResultVideos implements [audiosearch.ResultStore].
func (a *Store) PutResultVideos(ctx context.Context, org string, run int64, set uuid.UUID, videos []audiosearch.Video) error {
	all, err := arraysOf(videos)
	if err != nil {
		return err
	}
	return a.inSet(ctx, org, run, set, func(s *engine.Session, seq int64) error {
		_, err := s.Exec(addVideos, seq, all.ids, all.paths, all.metadata)
		return err
	})
}

// PutResults implements [audiosearch.ResultStore].
func (a *Store) PutResults(ctx context.Context, org string, run int64, set uuid.UUID, results []audiosearch.Result) error {
	var firsts []int64
	var texts, videos []string
	seen := make(map[string]bool)
	for from := 0; from < len(results); from += resultsInRow {
		var part []storedResult
		for _, r := range results[from:min(from+resultsInRow, len(results))] {
			part = append(part, storedResult{r.VideoID, r.Start, r.End, r.VideoStart, r.Keyframe.ImageID, r.Keyframe.At, r.Score, r.Moderation})
			if !seen[r.VideoID] {
				seen[r.VideoID] = true
				videos = append(videos, r.VideoID)
			}
		}
		text, err := json.Marshal(part)
		if err != nil {
			return fmt.Errorf("postgres: write the results of a run: %w", err)
		}
		firsts, texts = append(firsts, int64(from)), append(texts, string(text))
	}
	return a.inSet(ctx, org, run, set, func(s *engine.Session, seq int64) error {
		var there int
		if err := s.Row(videosThere, []any{seq, videos}, &there); err != nil {
			return err
		}
		if there < len(videos) {
			return errNoVideo
		}
		if _, err := s.Exec(cutResults, seq); err != nil {
			return err
		}
		_, err := s.Exec(addResults, seq, firsts, texts)
		return err
	})
}

const (
	setOfRun = "SELECT s.seq FROM @.audiosearch_runs AS r LEFT JOIN @.audiosearch_result_sets AS s ON s.run = r.id AND s.token = r.result_set" +
		" WHERE r.organization || '' = $1 AND r.id = $2 AND " + runNotDeleted
	resultRows  = "SELECT first, results FROM @.audiosearch_results WHERE result_set = $1 AND first > $2 ORDER BY first LIMIT 2"
	foundVideos = "SELECT id, path, metadata FROM (SELECT v.id, v.path, v.metadata, i.n," +
		" sum(coalesce(octet_length(v.metadata), 0)) OVER (ORDER BY i.n) AS bytes, row_number() OVER (ORDER BY i.n) AS place" +
		" FROM unnest($2::text[]) WITH ORDINALITY AS i (id, n) JOIN @.audiosearch_result_videos AS v ON v.result_set = $1 AND v.id = i.id) AS v" +
		" WHERE bytes <= $3 OR place = 1 ORDER BY n"
)

// RunResults implements [audiosearch.ResultStore].
func (a *Store) RunResults(ctx context.Context, org string, run int64, from int) (page []audiosearch.Result, err error) {
	err = a.db.Snapshot(ctx, org, func(s *engine.Session) error {
		page = nil
		var set *int64
		err := s.Row(setOfRun, []any{org, run}, &set)
		if engine.IsNoRow(err) {
			return audiosearch.ErrRunNotFound
		}
		if err != nil || set == nil || from < 0 {
			return err
		}
		results, err := results(s, *set, from)
		if err != nil {
			return err
		}
		var ids []string
		seen := make(map[string]bool)
		for _, r := range results {
			if !seen[r.Video] {
				seen[r.Video] = true
				ids = append(ids, r.Video)
			}
		}
		videos := make(map[string]audiosearch.Video)
		err = s.Query(func(rows pgx.Rows) error {
			v, err := scanVideo(rows)
			videos[v.ID] = v
			return err
		}, foundVideos, *set, ids, pageMetadata)
		if err != nil {
			return err
		}
		for _, r := range results {
			v, ok := videos[r.Video]
			if !ok {
				break
			}
			page = append(page, audiosearch.Result{
				VideoID: v.ID, Path: v.Path, Metadata: v.Metadata, VideoStart: r.VideoStart, Start: r.Start, End: r.End,
				Keyframe: audiosearch.Keyframe{ImageID: r.Image, At: r.ImageAt}, Score: r.Score, Moderation: r.Moderation,
			})
		}
		page = audiosearch.Run{Results: page}.Clone().Results // whose metadata the caller may change
		return nil
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

// results reads at most resultsInRow results from a place on.
func results(s *engine.Session, set int64, from int) (results []storedResult, err error) {
	err = s.Query(func(rows pgx.Rows) error {
		var first int
		var text []byte
		if err := rows.Scan(&first, &text); err != nil {
			return err
		}
		var part []storedResult
		if err := json.Unmarshal(text, &part); err != nil {
			return fmt.Errorf("postgres: a row is damaged: the results of a run: %w", err)
		}
		results = append(results, part[min(max(from-first, 0), len(part)):]...)
		return nil
	}, resultRows, set, from-resultsInRow)
	return results[:min(resultsInRow, len(results))], err
}
