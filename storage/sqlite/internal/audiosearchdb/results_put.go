package audiosearchdb

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
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

// PutResults implements [audiosearch.ResultStore].
func (a *Store) PutResults(ctx context.Context, org string, run int64, set uuid.UUID, results []audiosearch.Result) error {
	var rows []string
	videos := make(map[string]bool)
	for from := 0; from < len(results); from += resultsInRow {
		part := make([]storedResult, 0, resultsInRow)
		for _, r := range results[from:min(from+resultsInRow, len(results))] {
			part = append(part, storedResult{r.VideoID, r.Start, r.End, r.VideoStart, r.Keyframe.ImageID, r.Keyframe.At, r.Score, r.Moderation})
			videos[r.VideoID] = true
		}
		text, err := plainJSON(part)
		if err != nil {
			return fmt.Errorf("sqlite: write the results of a run: %w", err)
		}
		rows = append(rows, text)
	}
	for from := 0; from == 0 || from < len(rows); from += rowsAtOnce {
		part := rows[from:min(from+rowsAtOnce, len(rows))]
		err := a.db.Write(ctx, func(tx *file.Tx) error {
			seq, err := openSet(tx, org, run, set)
			if err != nil {
				return err
			}
			if from == 0 {
				if err := hasVideos(tx, seq, videos); err != nil {
					return err
				}
				if _, err := tx.Exec(cutRows, seq, len(rows)*resultsInRow); err != nil {
					return err
				}
			}
			for i, text := range part {
				if _, err := tx.Exec(putRow, seq, (from+i)*resultsInRow, text); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// hasVideos returns an error unless a set has all of the videos.
func hasVideos(t *file.Tx, set int64, videos map[string]bool) error {
	found := 0
	err := t.Query(videosOfSet, []any{set}, func(r *file.Row) error {
		if videos[r.Text(0)] {
			found++
		}
		return nil
	})
	if err == nil && found < len(videos) {
		err = errNoVideo
	}
	return err
}

// plainJSON encodes v without escaping <, > and &.
func plainJSON(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}
