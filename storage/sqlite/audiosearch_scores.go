package sqlite

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

const (
	modelByName  = "SELECT seq FROM audiosearch_models WHERE dataset = ? AND model = ? AND window = ? AND hop = ? AND classes = ?"
	insertModel  = "INSERT INTO audiosearch_models (dataset, model, window, hop, classes) VALUES (?,?,?,?,?)"
	countLoose   = "UPDATE audiosearch_models SET loose_live = loose_live + ?, loose_dead = loose_dead + ?, segments = segments + ? WHERE seq = ?"
	lastBlock    = "SELECT max(seq) FROM audiosearch_blocks"
	insertBlock  = "INSERT INTO audiosearch_blocks (seq, model, packed, loose, windows, live, layout, maxima) VALUES (?,?,?,?,?,?,?,?)"
	insertScores = "INSERT INTO audiosearch_segments (block, scores) VALUES (?,?)"

	scoringColumns = "size, modified_at, digest, at, problem, duration, windows, has_video, keyframes, places"
	insertScoring  = "INSERT INTO audiosearch_scorings (video, model, " + scoringColumns + ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"
	scoringOf      = "SELECT s.model, m.model, m.window, m.hop, m.classes, " + scoringColumns + " FROM audiosearch_datasets d" +
		" LEFT JOIN audiosearch_videos v ON v.dataset = d.seq AND v.id = ?3" +
		" LEFT JOIN audiosearch_scorings s ON s.video = v.seq AND s.model IN" +
		" (SELECT seq FROM audiosearch_models WHERE dataset = d.seq AND model = ?4)" + " LEFT JOIN audiosearch_models m ON m.seq = s.model" + ofDataset
)

// scoringArgs are what a scoring is stored as. They hold nothing that the caller could change.
type scoringArgs struct {
	model    []any // name, window, hop, classes
	scoring  []any // scoringColumns without the places
	segments []segment
}

// segment is some windows of a video that was scored just now.
type segment struct {
	first, rows int
	scores      []byte // class by class
}

func newScoringArgs(s *audiosearch.Scoring, columns [][]uint16) (scoringArgs, error) {
	args := scoringArgs{
		model: []any{s.Model, int64(s.Window), int64(s.Hop), classBlob(s.Classes)},
		scoring: []any{s.File.Size, micros(s.File.ModTime), bytes.Clone(s.File.Digest[:]), micros(s.At), text(s.Problem, s.Problem != ""),
			s.Duration.Milliseconds(), s.Windows, s.HasVideo, keyframeBlob(s.Keyframes)},
	}
	if !s.Scored() {
		return args, nil
	}
	if len(columns) != len(s.Classes) {
		return args, fmt.Errorf("sqlite: %d columns of scores for %d classes", len(columns), len(s.Classes))
	}
	for _, column := range columns {
		if len(column) != s.Windows {
			return args, fmt.Errorf("sqlite: a column of %d scores for %d segments", len(column), s.Windows)
		}
	}
	for first := 0; first == 0 || first < s.Windows; first += segmentWindows { // one without windows too: it says that the video is scored
		seg := segment{first: first, rows: min(segmentWindows, s.Windows-first)}
		seg.scores = make([]byte, 0, scoreBytes*seg.rows*len(columns))
		for _, column := range columns {
			seg.scores = appendScores(seg.scores, column[first:first+seg.rows])
		}
		args.segments = append(args.segments, seg)
	}
	return args, nil
}

// PutScoring implements [audiosearch.ScoreStore].
func (a *AudioSearch) PutScoring(ctx context.Context, org, dataset, video, path string, scoring audiosearch.Scoring, columns [][]uint16) error {
	args, err := newScoringArgs(&scoring, columns)
	if err != nil {
		return err
	}
	model := scoring.Model
	return a.db.writer.write(ctx, func(tx *tx) error {
		c, err := tx.changeDataset(org, dataset)
		if err != nil {
			return err
		}
		seq, v, err := c.video(video)
		if err == nil && (seq == 0 || v.path != path) {
			err = audiosearch.ErrConflict
		}
		if err != nil {
			return err
		}
		if err := c.removeScoringsBy(seq, model); err != nil {
			return err
		}
		if err := c.putScoring(seq, &args); err != nil {
			return err
		}
		return c.note()
	})
}

func (c *datasetChange) putScoring(video int64, args *scoringArgs) error {
	model, err := c.model(args.model)
	if err != nil {
		return err
	}
	var places []place
	if len(args.segments) > 0 {
		if places, err = c.putSegments(model, video, args.segments); err != nil {
			return err
		}
	}
	values := append([]any{video, model}, args.scoring...)
	_, err = c.exec(insertScoring, append(values, blob(appendPlaces(nil, places), places != nil))...)
	return err
}

// model returns the number of a model, and stores it if it is new.
func (c *datasetChange) model(key []any) (seq int64, err error) {
	args := append([]any{c.seq}, key...)
	find := func() error {
		return c.query(modelByName, args, func(r *row) error {
			seq = cell[int64](r, 0)
			return nil
		})
	}
	if err := find(); err != nil || seq != 0 {
		return seq, err
	}
	if _, err := c.exec(insertModel, args...); err != nil {
		return 0, err
	}
	return seq, find()
}

// putSegments stores the scores of a video, each segment as a block.
func (c *datasetChange) putSegments(model, video int64, segments []segment) ([]place, error) {
	block, err := c.lastBlock()
	if err != nil {
		return nil, err
	}
	var places []place
	windows := 0
	for _, s := range segments {
		block++
		layout := appendLayout(nil, []part{{video: video, first: s.first, rows: s.rows}})
		if _, err := c.exec(insertBlock, block, model, 0, 1, s.rows, s.rows, layout, nil); err != nil {
			return nil, err
		}
		if _, err := c.exec(insertScores, block, s.scores); err != nil {
			return nil, err
		}
		c.blocks = append(c.blocks, block)
		places = append(places, place{block: block, rows: s.rows})
		windows += s.rows
	}
	_, err = c.exec(countLoose, windows, 0, len(segments), model)
	return places, err
}

func (t *tx) lastBlock() (seq int64, err error) {
	err = t.query(lastBlock, nil, func(r *row) error {
		seq = cell[int64](r, 0)
		return nil
	})
	return seq, err
}

// storedScoring is a scoring with where its scores are.
type storedScoring struct {
	audiosearch.Scoring
	model   int64
	classes []byte
	places  []place
}

// Scoring implements [audiosearch.ScoreStore].
func (a *AudioSearch) Scoring(ctx context.Context, org, dataset, video, model string) (audiosearch.Scoring, error) {
	var s storedScoring
	found := false
	err := a.db.find(ctx, org, scoringOf, []any{org, dataset, video, model}, func(r *row) error {
		found = true
		return s.scan(r)
	})
	if err := s.found(found, err); err != nil {
		return audiosearch.Scoring{}, err
	}
	return s.Scoring, nil
}

// found returns an error unless the dataset was found, and the scoring.
func (s *storedScoring) found(dataset bool, err error) error {
	switch {
	case err != nil:
		return err
	case !dataset:
		return audiosearch.ErrDatasetNotFound
	case s.model == 0:
		return audiosearch.ErrNotScored
	}
	return nil
}

// scan reads a row of scoringOf: NULLs if there is none.
func (s *storedScoring) scan(r *row) (err error) {
	if r.null(0) {
		return nil
	}
	s.model, s.classes = cell[int64](r, 0), cell[[]byte](r, 4)
	s.Model, s.Window, s.Hop = r.text(1), time.Duration(cell[int64](r, 2)), time.Duration(cell[int64](r, 3))
	s.Classes = classesOf(s.classes)
	s.File.Size, s.File.ModTime = cell[int64](r, 5), r.moment(6)
	r.blob(7, s.File.Digest[:])
	s.At, s.Problem = r.moment(8), r.text(9)
	s.Duration, s.Windows, s.HasVideo = time.Duration(r.number(10))*time.Millisecond, r.number(11), r.number(12) != 0
	if s.Keyframes, err = scanKeyframes(r, 13); err != nil {
		return err
	}
	s.places, err = readPlaces(cell[[]byte](r, 14))
	return err
}

const (
	segmentScores = "SELECT scores FROM audiosearch_segments WHERE block = ?"
	chunkScores   = "SELECT seq % 1024, substr(scores, ?3, ?4) FROM audiosearch_chunks WHERE seq >= ?1 AND seq < ?2"
)

// WindowScores implements [audiosearch.ScoreStore].
func (a *AudioSearch) WindowScores(ctx context.Context, org, dataset, video, model string, from, to int) ([][]uint16, error) {
	var s storedScoring
	var scores [][]uint16
	found := false
	err := a.db.lister.use(ctx, a.db.busy, org, func(c *conn) error {
		s, scores, found = storedScoring{}, nil, false
		// As long as this statement is not at its end, the others see the same state of the database.
		return c.query(unbounded, scoringOf, []any{org, dataset, video, model}, func(r *row) (err error) {
			found = true
			if err = s.scan(r); err == nil && s.model != 0 {
				scores, err = s.windows(ctx, c, max(from, 0), min(to, s.Windows))
			}
			return err
		})
	})
	if err == nil && !s.Scored() {
		s.model = 0 // there are none
	}
	if err := s.found(found, err); err != nil {
		return nil, err
	}
	return scores, nil
}

// windows reads the scores of a range of segments.
func (s *storedScoring) windows(ctx context.Context, c *conn, from, to int) ([][]uint16, error) {
	if from >= to {
		return nil, nil
	}
	n := len(s.Classes)
	cells := make([]uint16, (to-from)*n)
	scores := make([][]uint16, to-from)
	for i := range scores {
		scores[i] = cells[i*n : (i+1)*n : (i+1)*n]
	}
	first := 0 // window of the video where a place begins
	for _, p := range s.places {
		lo, hi := max(from, first), min(to, first+p.rows)
		if lo < hi {
			err := p.columns(ctx, c, n, lo-first, hi-first, func(class int, column []byte) error {
				if class >= n || len(column) != scoreBytes*(hi-lo) {
					return errLayout
				}
				for i := range hi - lo {
					scores[lo-from+i][class] = binary.LittleEndian.Uint16(column[scoreBytes*i:])
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
		first += p.rows
	}
	return scores, nil
}

// columns calls each with the scores of every class for some windows of a place.
func (p *place) columns(ctx context.Context, c *conn, classes, from, to int, each func(class int, column []byte) error) error {
	segment := false
	err := c.query(ctx, segmentScores, []any{p.block}, func(r *row) error {
		segment = true
		scores := cell[[]byte](r, 0)
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
	return c.query(ctx, chunkScores, args, func(r *row) error { return each(r.number(0), cell[[]byte](r, 1)) })
}
