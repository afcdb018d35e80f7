package audiosearchdb

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

const (
	// ?3 is a list of IDs, in JSON.
	scoringsOfVideos = "SELECT v.id, m.window, m.hop, m.vocabulary, m.media, " + scoringColumns +
		" FROM json_each(?3) CROSS JOIN audiosearch_videos v ON v.dataset = ?1 AND v.id = value" +
		" CROSS JOIN audiosearch_scorings s ON s.video = v.seq AND s.model IN" +
		" (SELECT seq FROM audiosearch_models WHERE dataset = ?1 AND model = ?2 AND shelf = 0)" +
		" CROSS JOIN audiosearch_models m ON m.seq = s.model"
	shelvesOfVideo = "SELECT m.shelf, m.vocabulary, s.problem IS NULL OR s.windows > 0, s.windows, s.places" +
		" FROM audiosearch_videos v CROSS JOIN audiosearch_scorings s ON s.video = v.seq AND s.model IN" +
		" (SELECT seq FROM audiosearch_models WHERE dataset = ?1 AND model = ?2)" +
		" CROSS JOIN audiosearch_models m ON m.seq = s.model WHERE v.dataset = ?1 AND v.id = ?3"
)

// idList is a list of IDs for json_each.
func idList(ids []string) (string, error) {
	if len(ids) == 0 {
		return "[]", nil
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return "", fmt.Errorf("sqlite: write a list of IDs: %w", err)
	}
	return string(list), nil
}

// Scorings implements [audiosearch.ScoreStore].
func (a *Store) Scorings(
	ctx context.Context, org, dataset, model string, videos []string,
) (map[string]audiosearch.Scoring, error) {
	list, err := idList(videos)
	if err != nil {
		return nil, err
	}
	var found map[string]audiosearch.Scoring
	err = a.within(ctx, org, dataset, func(c *file.Conn, d *audioDataset) error {
		found = make(map[string]audiosearch.Scoring, len(videos))
		return c.Query(ctx, scoringsOfVideos, []any{d.seq, model, list}, func(r *file.Row) error {
			s := audiosearch.Scoring{Model: model}
			if err := scanScoring(r, &s); err != nil {
				return err
			}
			v, err := a.viewsOf(ctx).vocabularies.get(c, file.Cell[int64](r, 3))
			if err != nil {
				return err
			}
			s.Classes = v.classes
			found[r.Text(0)] = s
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// scanScoring reads a row of scoringsOfVideos, without the classes.
func scanScoring(r *file.Row, s *audiosearch.Scoring) (err error) {
	s.Window, s.Hop = time.Duration(file.Cell[int64](r, 1)), time.Duration(file.Cell[int64](r, 2))
	s.Media, s.FileSize, s.FileTime = r.Text(4), file.Cell[int64](r, 5), r.Moment(6)
	r.Blob(7, s.Digest[:])
	s.At, s.Problem = r.Moment(8), r.Text(9)
	s.Start, s.Duration = time.Duration(r.Number(10))*time.Millisecond, time.Duration(r.Number(11))*time.Millisecond
	s.Windows, s.HasVideo = r.Number(12), r.Number(13) != 0
	s.Keyframes, err = scanKeyframes(r, 14)
	return err
}

const (
	segmentScores = "SELECT scores FROM audiosearch_segments WHERE block = ?"
	chunkScores   = "SELECT seq % 1024, substr(scores, ?3, ?4) FROM audiosearch_chunks WHERE seq >= ?1 AND seq < ?2"
)

// storedShelf is where the scores of a video are, of a shelf of a model's classes.
type storedShelf struct {
	shelf   int
	scored  bool // the rest counts only on the first one
	windows int
	all     int // classes, on all shelves
	places  []place
}

// WindowScores implements [audiosearch.ScoreStore].
func (a *Store) WindowScores(
	ctx context.Context, org, dataset, video, model string, from, to int,
) ([][]uint16, error) {
	var scores [][]uint16
	var scored bool
	err := a.within(ctx, org, dataset, func(c *file.Conn, d *audioDataset) error {
		scores, scored = nil, false
		var found []storedShelf
		err := c.Query(context.Background(), shelvesOfVideo, []any{d.seq, model, video}, func(r *file.Row) error {
			v, err := a.viewsOf(ctx).vocabularies.get(c, file.Cell[int64](r, 1))
			if err != nil {
				return err
			}
			s := storedShelf{shelf: r.Number(0), scored: r.Number(2) != 0, windows: r.Number(3), all: len(v.classes)}
			s.places, err = readPlaces(file.Cell[[]byte](r, 4))
			found = append(found, s)
			return err
		})
		if err != nil || len(found) == 0 {
			return err
		}
		slices.SortFunc(found, func(a, b storedShelf) int { return cmp.Compare(a.shelf, b.shelf) })
		if scored = found[0].scored; scored {
			scores, err = readWindows(ctx, c, found, max(from, 0), min(to, found[0].windows))
		}
		return err
	})
	if err == nil && !scored {
		err = audiosearch.ErrNotScored
	}
	if err != nil {
		return nil, err
	}
	return scores, nil
}

// readWindows reads the scores of a range of segments from all shelves.
func readWindows(ctx context.Context, c *file.Conn, from []storedShelf, first, last int) ([][]uint16, error) {
	if first >= last {
		return nil, nil
	}
	n := from[0].all
	cells := make([]uint16, (last-first)*n)
	scores := make([][]uint16, last-first)
	for i := range scores {
		scores[i] = cells[i*n : (i+1)*n : (i+1)*n]
	}
	for _, s := range from {
		if err := s.windowsInto(ctx, c, scores, first, last); err != nil {
			return nil, err
		}
	}
	return scores, nil
}

// windowsInto is readWindows for one shelf.
func (s *storedShelf) windowsInto(ctx context.Context, c *file.Conn, scores [][]uint16, from, to int) error {
	n := shelfSize(s.all, s.shelf)
	first := 0 // window of the video where a place begins
	for _, p := range s.places {
		lo, hi := max(from, first), min(to, first+p.rows)
		if lo < hi {
			err := p.columns(ctx, c, n, lo-first, hi-first, func(class int, column []byte) error {
				if class >= n || len(column) != scoreBytes*(hi-lo) {
					return errLayout
				}
				for i := range hi - lo {
					scores[lo-from+i][s.shelf*blockRoom+class] = binary.LittleEndian.Uint16(column[scoreBytes*i:])
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		first += p.rows
	}
	return nil
}

// columns calls each with the scores of every class for some windows of a place.
func (p *place) columns(
	ctx context.Context, c *file.Conn, classes, from, to int, each func(class int, column []byte) error,
) error {
	segment := false
	err := c.Query(ctx, segmentScores, []any{p.block}, func(r *file.Row) error {
		segment = true
		scores := file.Cell[[]byte](r, 0)
		if len(scores) != scoreBytes*classes*p.rows {
			return errLayout
		}
		for class := range classes {
			at := scoreBytes * class * p.rows
			if err := each(class, scores[at+scoreBytes*from:at+scoreBytes*to]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || segment {
		return err
	}
	args := []any{p.block * blockRoom, (p.block + 1) * blockRoom, scoreBytes*(p.start+from) + 1, scoreBytes * (to - from)}
	return c.Query(ctx, chunkScores, args, func(r *file.Row) error { return each(r.Number(0), file.Cell[[]byte](r, 1)) })
}
