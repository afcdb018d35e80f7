package audiosearchdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

// What RunResults returns at a time.
const (
	bytesOfAPage = 256 << 10 // of metadata
	resultsAPage = resultsInRow
)

const (
	rowOfResults = "SELECT r.result_set, f.place, f.results FROM audiosearch_runs r LEFT JOIN audiosearch_found_results f ON f.result_set = r.result_set" +
		" AND f.place = (SELECT max(place) FROM audiosearch_found_results WHERE result_set = r.result_set AND place <= ?3) WHERE r.organization = ?1 AND r.id = ?2" + andThere
	// It asks for the run too: once a set is gone, its number may be given to another
	// one, of another organization.
	foundVideo = "SELECT v.path, v.metadata, t.text FROM audiosearch_result_sets s JOIN audiosearch_found_videos v ON v.result_set = s.seq" +
		" LEFT JOIN audiosearch_found_texts t ON t.metadata = v.metadata WHERE s.seq = ? AND s.run = ? AND v.id = ?"
)

// RunResults implements [audiosearch.ResultStore].
func (a *Store) RunResults(ctx context.Context, org string, run int64, from int) ([]audiosearch.Result, error) {
	from = max(from, 0)
	var set int64
	var stored []storedResult
	found := false
	err := a.db.Find(ctx, org, rowOfResults, []any{org, run, from}, func(r *file.Row) error {
		found, set = true, file.Cell[int64](r, 0)
		if r.Null(2) {
			return nil
		}
		if err := json.Unmarshal(r.Bytes(2), &stored); err != nil {
			return fmt.Errorf("sqlite: a row is damaged: column 2 holds no results: %w", err)
		}
		stored = stored[min(from-r.Number(1), len(stored)):]
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, audiosearch.ErrRunNotFound
	case set == 0: // it has found nothing yet
		return nil, nil
	}
	p := page{}
	videos := make(map[string]audiosearch.Result)
	for _, s := range stored {
		r, known := videos[s.Video]
		size := 0
		if !known {
			if r, size, err = a.foundVideo(ctx, org, run, set, s.Video); err != nil {
				// The run may have been forgotten between the two reads.
				if _, gone := a.Run(ctx, org, run); gone != nil {
					err = gone
				}
				return nil, err
			}
			videos[s.Video] = r
		}
		r.Start, r.End, r.VideoStart, r.Score, r.Moderation = s.Start, s.End, s.VideoStart, s.Score, s.Moderation
		r.Keyframe = audiosearch.Keyframe{ImageID: s.Image, At: s.ImageAt}
		if !p.add(r, size) {
			break
		}
	}
	return p.results, nil
}

// foundVideo returns what results have of a video of a run's set, and how long the text
// of its metadata is.
func (a *Store) foundVideo(ctx context.Context, org string, run, set int64, id string) (result audiosearch.Result, size int, err error) {
	found := false
	err = a.db.Find(ctx, org, foundVideo, []any{set, run, id}, func(r *file.Row) error {
		found = r.Null(1) == r.Null(2)
		result.VideoID, result.Path, size = id, r.Text(0), len(r.Text(2))
		return scanMetadata(r, 2, &result.Metadata)
	})
	if err == nil && !found {
		err = errors.New("sqlite: a row is damaged: results lack their video")
	}
	return result, size, err
}

// page takes results until there are enough.
type page struct {
	bytes   int // of metadata
	results []audiosearch.Result
}

// add takes a result with so many more bytes of metadata, unless the page is full.
func (p *page) add(r audiosearch.Result, size int) bool {
	p.bytes += size
	if len(p.results) > 0 && (len(p.results) == resultsAPage || p.bytes > bytesOfAPage) {
		return false
	}
	p.results = append(p.results, r)
	return true
}
